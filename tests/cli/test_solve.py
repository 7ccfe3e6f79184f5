import json
import sys

import numpy as np
import pytest
from scipy import ndimage

from puzzleflow.cli.main import main
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle, Solution
from puzzleflow.core.rng import child_rng
from puzzleflow.evaluation.solved_puzzle import frames_of
from puzzleflow.pictures import read_picture, write_picture
from puzzleflow.storage.folder import write_folder
from puzzleflow.storage.gap_writer import write_gap_split
from puzzleflow.storage.layout import read_layout
from puzzleflow.storage.predictions import read_predictions
from puzzleflow.storage.shuffled import cut

GRID = Grid(2, 2)


def make_puzzle(seed, puzzle_id=""):
    """A smooth 2x2 picture that every sound solver puts together."""
    y, x = np.mgrid[:32, :32]
    picture = np.stack([8 * y, 8 * x, 4 * (x + y)], axis=-1).astype(np.uint8)
    cells = picture.reshape(2, 16, 2, 16, 3).swapaxes(1, 2).reshape(4, 16, 16, 3)
    pieces = np.concatenate([cells, np.full_like(cells[..., :1], 255)], axis=-1)
    truth = child_rng(seed, "solve").permutation(4)
    return Puzzle(pieces[truth], GRID, truth, puzzle_id=puzzle_id)


def noise_puzzle(grid):
    """Random blocks, cut into pieces of any grid, in their order."""
    blocks = np.random.default_rng(0).integers(0, 256, (4 * grid.rows, 4 * grid.cols, 4), np.uint8)
    blocks[..., 3] = 255
    picture = blocks.repeat(4, axis=0).repeat(4, axis=1)
    return Puzzle(cut(picture, grid, ""), grid, np.arange(grid.num_pieces))


@pytest.fixture
def run(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["puzzleflow", "solve", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        told = capsys.readouterr()
        return stopped.value.code or 0, told.out, told.err

    return call


@pytest.fixture
def data(tmp_path):
    write_gap_split(tmp_path / "test", [make_puzzle(seed) for seed in range(3)], 3, GRID, 16)
    return tmp_path / "test"


def test_solves_a_data_set_and_scores_it(run, data, tmp_path):
    out = tmp_path / "out"
    solver = ("--solver", "greedy-alpha", "--alternatives", 2)
    status, told, _ = run(data, *solver, "--out", out, "--pictures")
    assert status == 0
    assert "PA 100.0%" in told
    layouts = sorted(out.glob("*.layout.json"))
    assert len(layouts) == 3
    saved = read_layout(layouts[1])
    assert np.array_equal(saved.position_of, make_puzzle(1).truth)
    assert saved.solver == "greedy-alpha"
    stem = layouts[0].name.removesuffix(".layout.json")
    picture = read_picture(out / f"{stem}.png")
    assert picture.shape == (32, 32, 3)
    assert picture[31, 31].tolist() == [248, 248, 248]
    confidence = json.loads((out / f"{stem}.confidence.json").read_text())
    assert len(confidence["pieces"]) == 4
    assert np.shape(confidence["right_seams"]) == (2, 1)
    assert confidence["alternatives"][0]["position_of"] == make_puzzle(0).truth.tolist()
    assert (out / f"{stem}.confidence.png").exists()
    predictions = read_predictions(out / "predictions.npz")
    truths = np.stack([make_puzzle(seed).truth for seed in range(3)])
    assert np.array_equal(predictions.position_of, truths)
    assert np.array_equal(predictions.targets, truths)
    assert run(data, *solver, "-o", tmp_path / "plain")[0] == 0
    names = {"predictions.npz", "predictions.json", "solutions.jsonl"}
    assert {path.name for path in (tmp_path / "plain").iterdir()} == names
    for name in names:
        assert (tmp_path / "plain" / name).read_bytes() == (out / name).read_bytes()
    first = json.loads((out / "solutions.jsonl").read_text().splitlines()[1])
    assert (first["index"], first["id"], first["grid"]) == (0, "test/0", "2x2")
    assert first["layout"] == make_puzzle(0).truth.tolist()
    assert first["confidence"] == pytest.approx(confidence["pieces"], abs=1e-6)
    assert first["energy"] == pytest.approx(confidence["energy"], abs=1e-6)
    assert first["alternatives"][0]["layout"] == first["layout"]


def test_pictures_may_be_asked_for_later(run, data, tmp_path):
    run(data, "--solver", "random", "-o", tmp_path)
    before = (tmp_path / "solutions.jsonl").read_bytes()
    run(data, "--solver", "random", "-o", tmp_path, "--pictures")
    assert (tmp_path / "solutions.jsonl").read_bytes() == before
    for number, line in enumerate(before.splitlines()[1:]):
        saved = read_layout(tmp_path / f"{number:05d}_test_{number}.layout.json")
        assert saved.position_of.tolist() == json.loads(line)["layout"]


def test_pins_by_name_and_number_are_honoured_and_marked(run, tmp_path):
    puzzle = make_puzzle(5)
    write_folder(tmp_path / "pieces", puzzle)
    names = sorted(path.name for path in (tmp_path / "pieces").glob("*.png"))
    out = tmp_path / "out"
    pins = ["--pin", f"{names[0]}=1,1", "--pin", "1=0,1"]
    status, *_ = run(tmp_path / "pieces", "--solver", "greedy", "--grid", "2x2", "-o", out, *pins)
    assert status == 0
    saved = read_layout(next(out.glob("*.layout.json")))
    assert saved.position_of[:2].tolist() == [3, 1]
    assert saved.pinned == {0, 1}


def test_trace_is_an_animation(run, data, tmp_path):
    from PIL import Image

    out = tmp_path / "out"
    assert run(data, "--solver", "tabu", "-o", out, "--trace", "--limit", 2)[0] == 0
    for path in out.glob("*.trace.webp"):
        with Image.open(path) as image:
            assert image.n_frames > 1
    assert len(list(out.glob("*.layout.json"))) == 2
    assert list(out.glob("*.trace.webp"))


def test_index_picks_one_puzzle_and_seeds_repeat(run, data, tmp_path):
    files = []
    for out in (tmp_path / "a", tmp_path / "b"):
        run(data, "--solver", "random", "-o", out, "--index", 2, "--seed", 9)
        files.append({path.name: path.read_bytes() for path in out.iterdir()})
        assert len(list(out.glob("*.layout.json"))) == 1
    assert files[0] == files[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--solver", "nose"], "unknown solver"),
        (["--solver", "greedy", "--pin", "0=0,0"], "--index"),
        (["--solver", "greedy", "--index", "0", "--pin", "0:0,0"], "PIECE=ROW,COL"),
        (["--solver", "greedy", "--index", "0", "--pin", "0=2,0"], "no such cell"),
        (["--solver", "greedy", "--index", "0", "--pin", "nose=0,0"], "no piece"),
        (["--solver", "greedy", "--index", "0", "--pin", "1=0,0", "--pin", "1=0,1"], "twice"),
        (["--solver", "greedy", "--index", "3"], "no puzzle 3"),
    ],
)
def test_mistakes_are_told_in_one_line(run, data, tmp_path, arguments, message):
    status, _, told = run(data, "-o", tmp_path / "out", *arguments)
    assert status == 2
    assert message in told
    assert not (tmp_path / "out").exists()


def test_trace_of_a_solver_without_steps_lays_the_surest_first(run, data, tmp_path):
    from PIL import Image

    out = tmp_path / "out"
    assert run(data, "--solver", "random", "-o", out, "--trace", "--gif", "--index", 0)[0] == 0
    (path,) = out.glob("*.trace.gif")
    with Image.open(path) as image:
        assert image.n_frames == 5  # nothing, then piece after piece


def test_frames_follow_confidence() -> None:
    puzzle = make_puzzle(1)
    solution = Solution(np.arange(4), "x", confidence=np.array([0.1, 0.9, 0.5, 0.7]))
    frames = frames_of(puzzle, solution)
    px = puzzle.piece_px[0]
    cells = [frame[:px, px:] for frame in frames]  # of the surest piece, position 1
    assert not np.array_equal(cells[0], cells[1])
    assert all(np.array_equal(cell, cells[1]) for cell in cells[1:])
    last = [frame[:px, :px] for frame in frames]
    assert np.array_equal(last[0], last[3])
    assert not np.array_equal(last[3], last[4])


def test_a_shuffled_picture_is_a_puzzle(run, tmp_path):
    rng = np.random.default_rng(0)
    small = rng.integers(0, 256, (6, 9, 3))
    whole = ndimage.zoom(small.astype(float), (16, 16, 1), order=1).clip(0, 255).astype(np.uint8)
    pieces = whole.reshape(2, 48, 3, 48, 3).swapaxes(1, 2).reshape(6, 48, 48, 3)
    shuffled = pieces[[3, 0, 5, 1, 4, 2]].reshape(2, 3, 48, 48, 3).swapaxes(1, 2)
    write_picture(tmp_path / "shuffled.png", shuffled.reshape(96, 144, 3))
    for extra in ([], ["--piece-px", 48], ["--grid", "2x3"]):
        out = tmp_path / f"out{len(extra)}{extra[:1]}"
        assert run(tmp_path / "shuffled.png", "--solver", "greedy", "-o", out, *extra)[0] == 0
        saved = read_layout(next(out.glob("*.layout.json")))
        assert (saved.grid, saved.position_of.tolist()) == (Grid(2, 3), [3, 0, 5, 1, 4, 2])
    status, _, error = run(tmp_path / "shuffled.png", "--piece-px", 50, "-o", tmp_path / "no")
    assert status == 2
    assert "144x96 pixels are no whole pieces of 50 px" in error


def test_a_folder_of_folders_is_solved_one_by_one(run, tmp_path):
    for number, grid in enumerate((Grid(2, 2), Grid(3, 3))):
        write_folder(tmp_path / "many" / f"puzzle{number}", noise_puzzle(grid))
        (tmp_path / "many" / f"puzzle{number}" / "layout.json").unlink()
    out = tmp_path / "out"
    status, printed, error = run(tmp_path / "many", "--solver", "greedy", "-o", out)
    assert status == 0, error
    assert printed.count("1 solved by greedy") == 2
    names = [path.name for path in sorted(out.glob("*.layout.json"))]
    assert names == ["00000_puzzle0.layout.json", "00001_puzzle1.layout.json"]


def test_one_picture_is_no_puzzle(run, tmp_path):
    write_picture(tmp_path / "one" / "preview.png", np.full((40, 40, 3), 90, np.uint8))
    status, _, error = run(tmp_path / "one", "--solver", "greedy", "-o", tmp_path / "out")
    assert status == 2
    assert "one picture is no puzzle" in error


@pytest.mark.parametrize("grid", ["1x6", "2x3"])
def test_a_grid_unlike_those_trained_is_said(run, tmp_path, grid):
    write_folder(tmp_path / "pieces", noise_puzzle(Grid.parse(grid)))
    solver = ["--solver", "rg-lns", "--threads", 1]
    status, _, error = run(tmp_path / "pieces", *solver, "--grid", grid, "-o", tmp_path / "out")
    assert status == 0
    assert ("less than twice as long as wide" in error) == (grid == "1x6")


def test_a_device_that_is_not_there(run, data, tmp_path, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    words = ["--index", 0, "-o", tmp_path / "out", "--device"]
    status, _, error = run(data, "--solver", "relational", *words, "cuda")
    assert (status, "no device 'cuda'" in error) == (2, True)
    status, _, error = run(data, "--solver", "greedy", *words, "cpu")
    assert (status, "has no network" in error) == (2, True)


def test_grids_are_suggested_where_pieces_fill_no_square(run, tmp_path):
    write_folder(tmp_path / "pieces", noise_puzzle(Grid(4, 6)))
    (tmp_path / "pieces" / "layout.json").unlink()
    status, _, error = run(tmp_path / "pieces", "--solver", "greedy", "-o", tmp_path / "out")
    assert status == 2
    assert "24 pieces fill no square grid; say which grid: 4x6 or 3x8" in error
