from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from PIL import Image

from puzzleflow.core.errors import CannotSolve, FormatError, InputError
from puzzleflow.formats.open import open_puzzles, open_source
from puzzleflow.pictures import write_picture
from puzzleflow.storage.fragment_set import FragmentSet, centroid, corner, pose_of_corner
from puzzleflow.storage.repair_dataset import RepairSource
from puzzleflow.storage.source import HoldsFragments


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
    for seed, (top, left) in enumerate([(2, 3), (15, 20), (19, 44)]):
        canvas[top : top + 20, left : left + 14] = blob(seed)
    return canvas


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
    for seed, (top, left) in enumerate([(2, 3), (15, 20), (19, 44)]):
        piece = solution[top : top + 20, left : left + 14]
        x, y = centroid(piece) + np.array([left, top])
        turned = np.array(Image.fromarray(piece).rotate(-rotation, expand=True))
        write_picture(folder / f"RPf_{seed}.png", turned)
        name = f"RPf_{seed}.png"
        fragments.append({"idx": seed, "filename": name, "position_2d": [x, y, rotation]})
    data = {"metadata_version": 3, "solution_size": [60, 40], "adjacency": np.eye(3).tolist()}
    (folder / "data.json").write_text(json.dumps(data | {"fragments": fragments}))


def write_v1(folder, rotation=0):
    """Fragments and the text file; returns what the reference procedure pastes together."""
    folder.mkdir(parents=True)
    canvas = Image.new("RGBA", (100, 90))
    lines = [",rpf,x,y,rot"]
    for seed, (x, y) in enumerate([(5, 6), (30, 11), (60, 40)]):
        piece = blob(seed)
        write_picture(folder / f"RPf_0000{seed}.png", piece)
        lines.append(f"{seed},RPf_0000{seed}.png,{x},{y},{rotation}")
        turned = Image.fromarray(piece).rotate(rotation, expand=True)
        canvas.paste(turned, (x, y), turned)
    (folder / "ground_truth.txt").write_text("\n".join(lines) + "\n")
    return np.array(canvas)


def material(picture):
    """The picture cut down to what is not transparent."""
    rows, cols = np.nonzero(picture[..., 3])
    return picture[rows.min() : rows.max() + 1, cols.min() : cols.max() + 1]


def test_v2_is_drawn_as_it_lies(tmp_path, solution):
    write_v2(tmp_path / "SOLVED/puzzle_0000001_RP_group_1", solution)
    write_v2(tmp_path / "SOLVED/puzzle_0000002_RP_group_2", solution)
    with open_source(tmp_path) as source:
        assert isinstance(source, RepairSource)
        assert isinstance(source, HoldsFragments)
        assert len(source) == 2
        fragments = source.fragments(-1)
        with pytest.raises(CannotSolve, match=r"a free-form set \(repair\)"):
            open_puzzles(tmp_path)
        copy = pickle.loads(pickle.dumps(source))
    assert fragments.pieces[0].shape == (13, 11, 4)
    assert np.array_equal(fragments.assemble(), solution)
    assert fragments.adjacency.sum() == 4
    assert copy.fragments(0).names == ("RPf_0.png", "RPf_1.png", "RPf_2.png")


@pytest.mark.parametrize("rotation", [0.0, 90.0, 180.0, 270.0])
def test_v3_puts_every_centroid_where_it_says(tmp_path, solution, rotation):
    write_v3(tmp_path / "puzzle_1", solution, rotation)
    fragments = open_source(tmp_path / "puzzle_1").fragments(0)
    assert np.array_equal(fragments.assemble(), solution)


@pytest.mark.parametrize("rotation", [0, 90, 180, 270, 30, -77])
def test_v1_is_pasted_like_the_reference_procedure(tmp_path, rotation):
    expected = write_v1(tmp_path / "RPobj_g1_o0001", rotation)
    with open_source(tmp_path) as source:
        assembled = source.fragments(0).assemble()
        assert source.describe()["versions"] == ["v1"]
    first, second = material(assembled), material(expected)
    if rotation % 90 == 0:
        assert np.array_equal(first, second)
    else:  # cut down before turning: the edges are sampled elsewhere
        assert abs(first.shape[0] - second.shape[0]) <= 2
        rows, cols = np.minimum(first.shape, second.shape)[:2]
        differs = first[:rows, :cols, 3] != second[:rows, :cols, 3]
        assert differs.mean() < 0.06


@pytest.mark.parametrize("rotation", [0.0, 33.0, 90.0, 211.5])
def test_corner_and_pose_are_inverse(rotation):
    piece = blob(0)
    assert corner(piece, pose_of_corner(piece, 17, -4, rotation)) == (17, -4)


def test_v1_poses_beside_the_folder_and_unknown_ones(tmp_path):
    write_v1(tmp_path / "RPobj_g1_o0001")
    table = (tmp_path / "RPobj_g1_o0001/ground_truth.txt").read_text().splitlines()
    (tmp_path / "RPobj_g1_o0001/ground_truth.txt").unlink()
    assert not open_source(tmp_path).fragments(0).placed.any()
    with pytest.raises(InputError, match="known pose"):
        open_source(tmp_path).fragments(0).assemble()
    (tmp_path / "gt").mkdir()
    (tmp_path / "gt/RPobj_g1_o0001.csv").write_text("\n".join(table[:3]))
    fragments = open_source(tmp_path).fragments(0)
    assert fragments.placed.tolist() == [True, True, False]
    assert fragments.assemble().shape[2] == 4


@pytest.mark.parametrize(
    "change",
    [
        {"fragments": "none"},
        {"fragments": []},
        {"fragments": [{"filename": "../../x.png"}]},
        {"fragments": [{"filename": "gone.png", "position_2d": [1, 2, 3]}]},
        {"fragments": [{"filename": "RPf_0.png", "position_2d": [1, 2]}]},
        {"fragments": [{"filename": "RPf_0.png", "position_2d": [1, 2, 1e300]}]},
        {"solution_size": [1e6, 1e6]},
        {"solution_size": [0, 0]},
        {"solution_size": "large"},
    ],
)
def test_bad_data_json(tmp_path, solution, change):
    write_v3(tmp_path / "p", solution)
    content = json.loads((tmp_path / "p/data.json").read_text())
    (tmp_path / "p/data.json").write_text(json.dumps(content | change))
    with pytest.raises(InputError):
        open_source(tmp_path / "p").fragments(0).assemble()


def test_bad_tables_and_empty_fragments(tmp_path):
    write_v1(tmp_path / "p")
    (tmp_path / "p/ground_truth.txt").write_text("rpf,x,y,rot\nRPf_00000.png,1,two,3\n")
    with pytest.raises(FormatError, match="expected a number"):
        open_source(tmp_path).fragments(0)
    (tmp_path / "p/ground_truth.txt").write_text("x,y\n1,2\n")  # a contour, not poses
    assert not open_source(tmp_path).fragments(0).placed.any()
    write_picture(tmp_path / "p/RPf_00000.png", np.zeros((4, 4, 4), np.uint8))
    with pytest.raises(FormatError, match="without material"):
        open_source(tmp_path).fragments(0)
    with pytest.raises(InputError, match="no fragments"):
        FragmentSet(tmp_path, (), (), np.zeros((0, 3)))
