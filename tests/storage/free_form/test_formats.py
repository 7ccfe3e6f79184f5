"""Every format of others, written as its convention says, must close without a gap."""

from __future__ import annotations

import json

import numpy as np
import pytest

from puzzleflow.core.assembly import Assembly, Candidate
from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.fragments import Fragment, FragmentSet
from puzzleflow.core.plane import Window, draw, place
from puzzleflow.core.pose import Pose, rotation
from puzzleflow.formats.audit import inspect_path
from puzzleflow.formats.open import is_free_form, open_fragments
from puzzleflow.pictures import write_picture
from puzzleflow.storage.free_form.answer import read_assembly, write_assembly
from puzzleflow.storage.free_form.own import write_fragments

SIZE = 60


@pytest.fixture
def picture() -> np.ndarray:
    """(60, 60, 3) smooth colours, far from white."""
    y, x = np.mgrid[:SIZE, :SIZE] / SIZE
    planes = [60 + 120 * x, 60 + 120 * y, 90 + 60 * np.sin(6 * x + 4 * y)]
    return np.stack(planes, axis=-1).astype(np.uint8)


def cut(picture, angle) -> list[tuple[np.ndarray, Pose]]:
    """The left and right part of the picture, each turned back by ``angle``, with its pose."""
    whole = np.concatenate([picture, np.full((SIZE, SIZE, 1), 255, np.uint8)], axis=2)
    parts = []
    for left, right in ((0, 25), (25, SIZE)):
        fragment = Fragment(whole[:, left:right].copy(), "part")
        middle = Pose((left + right) / 2, SIZE / 2)
        turned = place(fragment, Pose(40.5, 50, -angle), Window(0, 0, 100, 81))
        canvas = np.zeros((100, 81, 4), np.uint8)
        alpha = turned.alpha > 0.5
        colours = turned.colours / np.maximum(turned.alpha, 1e-6)[..., None]
        canvas[turned.box] = np.where(alpha[..., None], np.dstack([255 * colours, 255 * alpha]), 0)
        parts.append((canvas, Pose(middle.x, middle.y, angle)))
    return parts


def on_ground(rgba, ground=(255, 255, 255)):
    return np.where(rgba[..., 3:] > 0, rgba[..., :3], np.uint8(ground)).astype(np.uint8)


def closes(fragments: FragmentSet, picture, at=(0.0, 0.0)) -> bool:
    """Whether the set, drawn at its poses, is the picture: nothing bare, nothing off."""
    drawn = draw(fragments.fragments, fragments.poses, Window(*at, SIZE, SIZE))
    inner = drawn[3:-3, 3:-3]
    away = np.abs(inner[..., :3].astype(int) - picture[3:-3, 3:-3])
    return bool((inner[..., 3] > 100).mean() > 0.99 and away.mean() < 3)


def test_the_check_can_fail(picture, tmp_path):
    parts = cut(picture, 0)
    fragments = tuple(Fragment(p, str(i)) for i, (p, _) in enumerate(parts))
    right = FragmentSet(fragments, tuple(pose for _, pose in parts))
    wrong = FragmentSet(fragments, (parts[0][1], Pose(parts[1][1].x + 3, 30, 0)))
    turned = FragmentSet(fragments, (parts[0][1], Pose(parts[1][1].x, 30, 10)))
    assert closes(right, picture)
    assert not closes(wrong, picture)
    assert not closes(turned, picture)


@pytest.mark.parametrize("angle", [0, 30, -110])
def test_jigsawnet(tmp_path, picture, angle):
    lines = []
    for index, (pixels, pose) in enumerate(cut(picture, angle)):
        write_picture(tmp_path / f"fragment_000{index + 1}.png", on_ground(pixels, (8, 248, 8)))
        # (row, column) of a pixel -> of the whole; a turn seen in (row, column) is the other way
        turn = rotation(angle).T
        centre = np.array([pixels.shape[0] / 2, pixels.shape[1] / 2]) - 0.5
        shift = np.array([pose.y, pose.x]) - 0.5 - turn @ centre
        matrix = np.eye(3)
        matrix[:2, :2], matrix[:2, 2] = turn, shift
        lines.append(f"{index + 1} \n" + " ".join(f"{v:.6f}" for v in matrix.ravel()))
    (tmp_path / "fragmentList.txt").write_text("fragment_0001.png\nfragment_0002.png\n")
    (tmp_path / "bg_color.txt").write_text("8 248 8")
    (tmp_path / "groundTruth.txt").write_text("\n".join(lines) + "\n")
    source = open_fragments(tmp_path)
    assert source.kind == "jigsawnet"
    assert closes(source[0], picture)
    assert source[0].poses[0].angle == pytest.approx(angle, abs=1e-3)


@pytest.mark.parametrize("angle", [0, 30, -110])
def test_dafne(tmp_path, picture, angle):
    lines = []
    for key, (pixels, pose) in zip((2, 11), cut(picture, angle), strict=True):
        write_picture(tmp_path / f"frag_eroded/frag_eroded_{key}.png", pixels)
        lines.append(f"{key} {pose.x - 0.5} {pose.y - 0.5} {pose.angle - 360}")
    write_picture(tmp_path / "frag_eroded/frag_eroded_3.png", cut(picture, 5)[0][0])
    (tmp_path / "fragments.txt").write_text("\n".join(lines))
    (tmp_path / "fragments_s.txt").write_text("3\n")
    source = open_fragments(tmp_path)
    assert source.kind == "dafne"
    fragments = source[0]
    assert closes(fragments, picture)
    assert (fragments.foreign, fragments.has_truth) == ({1}, True)
    assert fragments.names[1:] == ("frag_eroded_3.png", "frag_eroded_11.png")
    report = inspect_path(tmp_path)
    assert (report["faults"], report["splits"][""]["audit"]["foreign"]) == ([], 1)


@pytest.mark.parametrize("angle", [0, 30, -110])
def test_derech(tmp_path, picture, angle):
    listed = []
    for index, (pixels, pose) in enumerate(cut(picture, angle), start=1):
        write_picture(tmp_path / f"wall_s2/wall_s2_p{index}_m.png", on_ground(pixels))
        listed.append({"name": f"wall_s2_p{index}.jpg", "T": [pose.y - 30, pose.x - 9, angle]})
    truth = [{"options": {"series": "wall_s2"}, "fragments": listed}]
    (tmp_path / "groundtruth.json").write_text(json.dumps(truth))
    for path in (tmp_path, tmp_path / "wall_s2", tmp_path / "groundtruth.json"):
        source = open_fragments(path)
        assert (source.kind, source.names) == ("derech", ["wall_s2"])
        assert closes(source[0], picture, at=(-9.0, -30.0))


def test_a_folder_of_cut_outs_and_the_output_of_segment(tmp_path, picture):
    for index, (pixels, _) in enumerate(cut(picture, 20)):
        write_picture(tmp_path / f"out/fragments/fragment_{index}.png", pixels)
    write_picture(tmp_path / "out/preview.png", picture)
    (tmp_path / "out/segments.json").write_text("{}")
    for path in (tmp_path / "out", tmp_path / "out/fragments"):
        fragments = open_fragments(path)[0]
        assert (len(fragments), fragments.name, fragments.placed.any()) == (2, "out", False)
        assert not is_free_form(path)  # as far as anybody knows they may lie on a grid
    write_picture(tmp_path / "out/fragments/photo.png", picture)
    with pytest.raises(FormatError, match=r"photo\.png: expected transparency"):
        open_fragments(tmp_path / "out")[0]


def test_white_inside_is_material_and_dust_is_not(tmp_path):
    scan = np.full((40, 40, 3), 255, np.uint8)
    scan[10:30, 10:30] = 90
    scan[15:20, 15:20] = 255  # a white robe
    scan[2, 2] = 0
    write_picture(tmp_path / "w_s1/w_s1_p1_m.png", scan)
    truth = [{"options": {"series": "w_s1"}, "fragments": []}]
    (tmp_path / "groundtruth.json").write_text(json.dumps(truth))
    fragment = open_fragments(tmp_path)[0].fragments[0]
    assert fragment.area_px == 400
    assert fragment.pixels[17, 17].tolist() == [255, 255, 255, 255]
    write_picture(tmp_path / "w_s1/w_s1_p1_m.png", np.full((9, 9, 3), 255, np.uint8))
    with pytest.raises(FormatError, match=r"w_s1_p1_m.png.*without material"):
        open_fragments(tmp_path)[0]


def some_set() -> FragmentSet:
    rng = np.random.default_rng(0)
    fragments = []
    for index, name in enumerate(("a.png", "b", "c.jpg", "d")):
        pixels = rng.integers(0, 256, (5 + index, 7, 4), np.uint8)
        pixels[0, 0, 3] = 255
        fragments.append(Fragment(pixels, name, 3.5))
    adjacency = np.zeros((4, 4), bool)
    adjacency[0, 2] = adjacency[2, 0] = True
    poses = (Pose(1.25, -3.0, 77.125), None, Pose(0.1, 1 / 3, -0.2), None)
    return FragmentSet(tuple(fragments), poses, frozenset({3}), adjacency, "some")


def test_our_own_format_brings_everything_back(tmp_path):
    written = some_set()
    write_fragments(tmp_path / "one", written, facts={"seed": 7})
    source = open_fragments(tmp_path / "one/fragments.json")
    read = source[0]
    assert source.facts(0) == {"seed": 7}
    assert (read.names, read.poses) == (written.names, written.poses)
    assert (read.foreign, read.name) == (written.foreign, written.name)
    assert np.array_equal(read.adjacency, written.adjacency)
    for first, second in zip(read.fragments, written.fragments, strict=True):
        assert np.array_equal(first.pixels, second.pixels)
        assert first.pixels_per_mm == second.pixels_per_mm
    write_fragments(tmp_path / "two", written.without_truth())
    assert [len(each) for each in open_fragments(tmp_path)] == [4, 4]
    assert open_fragments(tmp_path)[1].adjacency is None


def test_names_that_cannot_be_files(tmp_path):
    pixels = np.full((2, 2, 4), 255, np.uint8)
    names = ("../up", "a/b", "x.png", "X.tif")
    write_fragments(tmp_path / "s", FragmentSet(tuple(Fragment(pixels, name) for name in names)))
    assert open_fragments(tmp_path / "s")[0].names == names
    assert len(list((tmp_path / "s").glob("fragment_0?.png"))) == 4


def test_assemblies_come_back(tmp_path):
    fragments = some_set()
    assembly = Assembly(
        4,
        ({0: Pose(1, 2, 3), 2: Pose(0.1, 0.2, 0.3)}, {1: Pose(0, 0)}),
        np.array([0.5, np.nan, 1.0, 0.25]),
        (Candidate(0, 2, Pose(5, 6, 7), 1.5), Candidate(3, 1, Pose(0, 0), -2.0)),
    )
    write_assembly(tmp_path / "a.json", assembly, fragments, solver="x")
    read = read_assembly(tmp_path / "a.json", fragments)
    assert read.components == assembly.components
    assert read.candidates == assembly.candidates
    assert np.array_equal(read.confidence, assembly.confidence, equal_nan=True)
    other = FragmentSet(fragments.fragments[:2], name="other")
    with pytest.raises(FormatError, match=r"a.json: no fragment 'c.jpg' in 'other'"):
        read_assembly(tmp_path / "a.json", other)
    content = json.loads((tmp_path / "a.json").read_text())
    for key, value in [("components", 3), ("candidates", [1]), ("format", "x"), ("version", 9)]:
        (tmp_path / "b.json").write_text(json.dumps(content | {key: value}))
        with pytest.raises(FormatError, match=r"b\.json"):
            read_assembly(tmp_path / "b.json", fragments)


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("groundTruth.txt", "1\n1 0 0 0 1", "3x3 matrix"),
        ("groundTruth.txt", "1\n2 0 0 0 2 0 0 0 1", "not rigid"),
        ("groundTruth.txt", "1\n1 0 x 0 1 0 0 0 1", "expected a number"),
        ("bg_color.txt", "1 2", "three levels"),
        ("fragmentList.txt", "../x.png", "expected a file name"),
        ("fragmentList.txt", "gone.png", "no such file"),
    ],
)
def test_damaged_jigsawnet_files_are_named(tmp_path, picture, file, text, words):
    write_picture(tmp_path / "a.png", on_ground(cut(picture, 0)[0][0]))
    (tmp_path / "fragmentList.txt").write_text("a.png\n")
    (tmp_path / file).write_text(text)
    with pytest.raises(InputError, match=words):
        open_fragments(tmp_path)[0]


def test_nothing_to_open(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        open_fragments(tmp_path / "gone")
    with pytest.raises(FormatError, match="no fragments recognised"):
        open_fragments(tmp_path)


def test_sets_that_look_doubtful_are_told(tmp_path):
    rng = np.random.default_rng(0)
    small, large = rng.integers(0, 255, (4, 4, 4), np.uint8), np.full((90, 90, 4), 255, np.uint8)
    small[..., 3] = 255
    two = np.pad(small, [(0, 0), (0, 9), (0, 0)])
    two[:, 8:12] = small
    fragments = tuple(
        Fragment(p, n) for p, n in zip((small, small, large, two), "abcd", strict=True)
    )
    poses = (Pose(0, 0), Pose(9, 0), Pose(99, 0), Pose(200, 0))
    write_fragments(tmp_path / "s", FragmentSet(fragments, poses, name="s"))
    assert inspect_path(tmp_path / "s")["faults"] == [
        "s: c has 506 times the material of a; are they at one scale?",
        "s: d holds separate parts; several fragments in one?",
        "s: a and b are the same",
    ]
