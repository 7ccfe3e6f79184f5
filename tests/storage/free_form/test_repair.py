from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from PIL import Image

from puzzleflow.core.errors import CannotSolve, FormatError, InputError
from puzzleflow.core.fragments import FragmentSet
from puzzleflow.core.plane import Window, draw
from puzzleflow.formats.audit import inspect_path
from puzzleflow.formats.open import is_free_form, open_fragments, open_puzzles
from puzzleflow.pictures import write_picture
from puzzleflow.storage.free_form.repair import RepairSource

PLACES = [(2, 3), (15, 20), (19, 44)]


def blob(seed: int, height: int = 20, width: int = 14) -> np.ndarray:
    """A lopsided fragment inside a larger transparent picture."""
    rng = np.random.default_rng(seed)
    piece = np.zeros((height, width, 4), np.uint8)
    piece[3:-4, 2:-1] = 255
    piece[3:9, 2:7] = 0
    piece[..., :3] = rng.integers(0, 256, 3)
    piece[piece[..., 3] == 0] = 0
    return piece


@pytest.fixture
def solution():
    """(40, 60, 4) three fragments that do not touch."""
    canvas = np.zeros((40, 60, 4), np.uint8)
    for seed, (top, left) in enumerate(PLACES):
        canvas[top : top + 20, left : left + 14] = blob(seed)
    return canvas


def centroid(piece):
    rows, cols = np.nonzero(piece[..., 3])
    return np.array([cols.mean(), rows.mean()])


def drawn(fragments: FragmentSet, height=40, width=60) -> np.ndarray:
    return draw(fragments.fragments, fragments.poses, Window(0, 0, height, width))


def write_v2(folder, solution):
    folder.mkdir(parents=True)
    fragments = []
    for seed, left in enumerate([3, 20, 44]):
        alone = np.zeros_like(solution)
        alone[:, left : left + 14] = solution[:, left : left + 14]
        write_picture(folder / f"RPf_{seed}.png", alone)
        fragments.append({"idx": seed, "filename": f"RPf_{seed}.obj", "pixel_position": [1, 2]})
    write_picture(folder / "preview.png", solution)
    data = {"transform": [], "adjacency": [[0, 1], [1, 2]], "fragments": fragments}
    (folder / "data.json").write_text(json.dumps(data))


def write_v3(folder, solution, rotation=0.0):
    folder.mkdir(parents=True)
    fragments = []
    for seed, (top, left) in enumerate(PLACES):
        piece = solution[top : top + 20, left : left + 14]
        x, y = centroid(piece) + np.array([left, top])
        turned = np.array(Image.fromarray(piece).rotate(-rotation, expand=True))
        name = f"RPf_{seed}.png"
        write_picture(folder / name, turned)
        fragments.append({"idx": seed, "filename": name, "position_2d": [x, y, rotation]})
    data = {"metadata_version": 3, "solution_size": [60, 40], "adjacency": np.eye(3).tolist()}
    (folder / "data.json").write_text(json.dumps(data | {"fragments": fragments}))


def write_v1(folder, rotation=0, suffix="", reassemblenet=False):
    """Fragments and the text file; returns what the published evaluation draws."""
    folder.mkdir(parents=True)
    canvas = Image.new("RGBA", (100, 90))
    lines, entries = [",rpf,x,y,rot"], []
    for seed, (x, y) in enumerate([(5, 6), (30, 11), (60, 40)]):
        piece = np.pad(blob(seed), [(5, 5), (8, 8), (0, 0)])  # square, nothing in the corners
        name = f"RPf_0000{seed}{suffix}.png"
        write_picture(folder / name, piece)
        lines.append(f"{seed},{name},{x},{y},{rotation}")
        entries.append({"filename": name, "pixel_position": [x, y], "rotation": rotation})
        turned = Image.fromarray(piece).rotate(rotation, expand=False)
        canvas.paste(turned, (x, y), turned)
    if reassemblenet:
        data = {"original_id": "RPobj_g1_o0001", "fragments": entries}
        (folder / "data.json").write_text(json.dumps(data))
    else:
        (folder / "ground_truth.txt").write_text("\n".join(lines) + "\n")
    return np.array(canvas)


def test_v2_is_drawn_as_it_lies(tmp_path, solution):
    write_v2(tmp_path / "SOLVED/puzzle_0000001_RP_group_1", solution)
    write_v2(tmp_path / "SOLVED/puzzle_0000002_RP_group_2", solution)
    source = open_fragments(tmp_path)
    assert isinstance(source, RepairSource)
    assert (len(source), source.names[1]) == (2, "puzzle_0000002_RP_group_2")
    fragments = source[-1]
    assert fragments.fragments[0].pixels.shape == (13, 11, 4)
    assert np.array_equal(drawn(fragments), solution)
    assert fragments.true_neighbours.sum() == 4  # as the file says, though they do not touch
    assert pickle.loads(pickle.dumps(source))[0].names == ("RPf_0.png", "RPf_1.png", "RPf_2.png")
    with pytest.raises(IndexError):
        source[2]


def test_it_is_no_puzzle_on_a_grid(tmp_path, solution):
    write_v2(tmp_path / "SOLVED/puzzle_0000001_RP_group_1", solution)
    assert is_free_form(tmp_path)
    for path in (tmp_path, tmp_path / "SOLVED/puzzle_0000001_RP_group_1"):
        with pytest.raises(CannotSolve, match="not on a grid"):
            open_puzzles(path)


@pytest.mark.parametrize("rotation", [0.0, 90.0, 180.0, 270.0])
def test_v3_puts_every_centroid_where_it_says(tmp_path, solution, rotation):
    write_v3(tmp_path / "puzzle_1", solution, rotation)
    fragments = open_fragments(tmp_path / "puzzle_1")[0]
    assert np.array_equal(drawn(fragments), solution)


@pytest.mark.parametrize("reassemblenet", [False, True])
@pytest.mark.parametrize("rotation", [0, 90, 180, 270, 30, -77])
def test_v1_is_drawn_like_the_published_evaluation(tmp_path, rotation, reassemblenet):
    expected = write_v1(tmp_path / "RPobj_g1_o0001", rotation, reassemblenet=reassemblenet)
    source = open_fragments(tmp_path)
    found = drawn(source[0], 90, 100)
    if not reassemblenet:
        assert source.describe()["versions"] == ["v1"]
        assert source[0].fragments[0].pixels_per_mm == 7.369
    if rotation % 90 == 0:
        assert np.array_equal(found, expected)
    else:  # smooth edges against jagged ones
        differs = (found[..., 3] > 127) != (expected[..., 3] > 127)
        assert differs.sum() < 0.05 * (expected[..., 3] > 0).sum()


def test_the_real_tree_of_v1_is_joined_to_its_poses(tmp_path):
    root = tmp_path / "REPAIR_DATASET_NIPS_24/2D_Fragments"
    objects = root / "2D_Images/assembled_objects"
    for name in ("RPobj_g1_o0001", "RPobj_g2_o0002"):
        expected = write_v1(objects / name, suffix="_intact_mesh")
        (root / "2D_Ground_Truth").mkdir(exist_ok=True)
        (objects / name / "ground_truth.txt").rename(root / f"2D_Ground_Truth/{name}.txt")
    for path in (root, root / "2D_Images", objects, objects / "RPobj_g2_o0002"):
        fragments = open_fragments(path)[-1]
        assert (fragments.name, fragments.has_truth) == ("RPobj_g2_o0002", True)
        assert np.array_equal(drawn(fragments, 90, 100), expected)
    report = inspect_path(root)
    assert (report["faults"], report["splits"][""]["audit"]["placed"]) == ([], 6)


def test_v1_poses_beside_the_folder_and_unknown_ones(tmp_path):
    write_v1(tmp_path / "RPobj_g1_o0001")
    table = (tmp_path / "RPobj_g1_o0001/ground_truth.txt").read_text().splitlines()
    (tmp_path / "RPobj_g1_o0001/ground_truth.txt").unlink()
    assert not open_fragments(tmp_path)[0].placed.any()
    (tmp_path / "gt").mkdir()
    (tmp_path / "gt/RPobj_g1_o0001.csv").write_text("\n".join(table[:3]))
    assert open_fragments(tmp_path)[0].placed.tolist() == [True, True, False]
    assert inspect_path(tmp_path)["faults"] == ["1 of 3 fragments have no known pose"]


@pytest.mark.parametrize(
    "change",
    [
        {"fragments": "none"},
        {"fragments": []},
        {"fragments": [{"filename": "../../x.png"}]},
        {"fragments": [{"filename": "gone.png", "position_2d": [1, 2, 3]}]},
        {"fragments": [{"filename": "RPf_0.png", "position_2d": [1, 2]}]},
        {"fragments": [{"filename": "RPf_0.png", "position_2d": [1, 2, 1e300]}]},
    ],
)
def test_bad_data_json(tmp_path, solution, change):
    write_v3(tmp_path / "p", solution)
    content = json.loads((tmp_path / "p/data.json").read_text())
    (tmp_path / "p/data.json").write_text(json.dumps(content | change))
    with pytest.raises(InputError, match=str(tmp_path / "p")):
        open_fragments(tmp_path / "p")[0]


def test_bad_tables_and_empty_fragments(tmp_path):
    write_v1(tmp_path / "p")
    (tmp_path / "p/ground_truth.txt").write_text("rpf,x,y,rot\nRPf_00000.png,1,two,3\n")
    with pytest.raises(FormatError, match="expected a number"):
        open_fragments(tmp_path)[0]
    (tmp_path / "p/ground_truth.txt").write_text("x,y\n1,2\n")  # a contour, not poses
    assert not open_fragments(tmp_path)[0].placed.any()
    write_picture(tmp_path / "p/RPf_00000.png", np.zeros((4, 4, 4), np.uint8))
    with pytest.raises(FormatError, match="without material"):
        open_fragments(tmp_path)[0]
