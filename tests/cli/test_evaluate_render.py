from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from puzzleflow.cli.main import main
from puzzleflow.core.canvas import RIGHT, WRONG
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.rng import child_rng
from puzzleflow.files import write_json
from puzzleflow.pictures import read_picture, write_picture
from puzzleflow.storage.folder import write_folder
from puzzleflow.storage.gap_writer import write_gap_split
from puzzleflow.storage.layout import SavedLayout, write_layout
from puzzleflow.storage.predictions import write_predictions

GRID = Grid(2, 2)
NUM_PUZZLES = 3


def make_puzzle(seed):
    rng = child_rng(seed, "cli")
    pieces = rng.integers(0, 255, (4, 16, 16, 4), dtype=np.uint8)
    pieces[..., 3] = 255
    return Puzzle(pieces, GRID, rng.permutation(4))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A GAP split, predictions in both conventions, a folder of pieces and a layout."""
    root = tmp_path_factory.mktemp("cli")
    puzzles = [make_puzzle(seed) for seed in range(NUM_PUZZLES)]
    write_gap_split(root / "test", puzzles, NUM_PUZZLES, GRID, 16)
    truth = np.stack([puzzle.truth for puzzle in puzzles])
    predicted = truth.copy()
    predicted[0, [0, 1]] = predicted[0, [1, 0]]
    write_predictions(root / "p.npz", predicted, targets=truth, grid=GRID)
    write_predictions(root / "p.npy", predicted)
    write_folder(root / "pieces", puzzles[0])
    names = tuple(sorted(path.name for path in (root / "pieces").glob("*.png")))
    write_layout(root / "layout.json", SavedLayout(predicted[0], GRID, names, solver="hand"))
    write_repair(root / "repair" / "puzzle_1")
    return root


def write_repair(folder):
    """Two fragments of RePAIR, each drawn on the whole canvas."""
    for number in range(2):
        drawn = np.zeros((20, 30, 4), np.uint8)
        drawn[4:16, 2 + 14 * number : 14 + 14 * number] = (90, 60, 30, 255)
        write_picture(folder / f"RPf_{number}.png", drawn)
    fragments = [{"idx": i, "filename": f"RPf_{i}.obj", "pixel_position": [1, 2]} for i in (0, 1)]
    write_json(folder / "data.json", {"transform": [], "adjacency": [], "fragments": fragments})


@pytest.fixture
def run(monkeypatch, capsys, folder, tmp_path):
    def run_in(*arguments):
        monkeypatch.chdir(tmp_path)
        words = [str(word).replace("@", f"{folder}/") for word in arguments]
        monkeypatch.setattr(sys, "argv", ["puzzleflow", *words])
        monkeypatch.setenv("COLUMNS", "100")
        with pytest.raises(SystemExit) as stopped:
            main()
        return stopped.value.code or 0, capsys.readouterr()

    return run_in


@pytest.mark.parametrize("predictions", ["@p.npz", "@p.npy"])
def test_evaluate_prints_a_table_and_writes_the_official_result(run, tmp_path, predictions):
    status, printed = run(
        "evaluate", "--predictions", predictions, "--data", "@test", "--json", "out.json"
    )
    assert status == 0, printed.err
    assert "3 puzzles of 2x2 pieces" in printed.out
    assert "66.67" in printed.out  # PA
    assert "local swap" in printed.out
    result = json.loads((tmp_path / "out.json").read_text())
    assert result["dataset_info"] == {
        "num_puzzles": 3,
        "num_pieces_per_puzzle": 4,
        "grid_size": 2,
    }
    assert result["detailed_stats"]["perfect_puzzles"] == 2
    assert result["detailed_stats"]["correct_pieces"] == 10
    assert result["legacy_format"]["per_sample_perfect"] == [False, True, True]
    assert result["puzzleflow"]["failures"]["solved"] == 2


def test_evaluate_without_data_takes_the_targets(run):
    status, printed = run("evaluate", "--predictions", "@p.npz")
    assert status == 0, printed.err
    assert "66.67" in printed.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--predictions", "@p.npy"), "no targets"),
        (("--predictions", "gone.npz", "--data", "@test"), "gone.npz: no such file"),
        (("--predictions", "@p.npz", "--data", "gone"), "gone: no such file or folder"),
        (("--predictions", "@layout.json", "--data", "@test"), "no puzzle called ''"),
        (("--predictions", "@layout.json"), "give the puzzles too"),
        (("--predictions", "@p.npz", "--direction", "up"), "unknown direction"),
        (("--predictions", "@p.npz", "--data", "@pieces"), "holds 1 puzzles of 4 pieces"),
        (("--predictions", "@p.npz", "--grid", "2by2"), "is no grid"),
        (("--predictions", "@p.npz", "--json", "@test"), "a folder is in the way"),
    ],
)
def test_evaluate_says_what_is_wrong_in_one_line(run, arguments, message):
    status, printed = run("evaluate", *arguments)
    assert status == 2
    assert message in printed.err
    assert printed.err.count("\n") == 1


def test_evaluate_one_layout_of_one_puzzle(run):
    status, printed = run("evaluate", "--predictions", "@layout.json", "--data", "@pieces")
    assert status == 0, printed.err
    assert "50.00" in printed.out  # AA: two of four exchanged


def test_evaluate_hints_at_the_other_direction(run, tmp_path):
    turning = replace(make_puzzle(0), truth=np.array([1, 2, 3, 0]))  # inverse: no piece the same
    write_gap_split(tmp_path / "turning", [turning], 1, GRID, 16)
    np.save(tmp_path / "wrong.npy", [[1.0, 2.0, 3.0, 0.0]])  # piece → position in an .npy
    words = ("evaluate", "--predictions", "wrong.npy", "--data", "turning")
    assert "hint: read in the other direction, 100.0%" in run(*words)[1].out
    told = run(*words, "--direction", "piece-to-position")[1].out
    assert "hint" not in told
    assert "100.00" in told


def test_render_refuses_the_layout_of_another_puzzle(run, tmp_path):
    run("solve", "@test", "--solver", "random", "--index", "1", "--out", "one")
    layout = next((tmp_path / "one").glob("*.layout.json"))
    assert run("render", "@test", "--index", "1", "--layout", layout)[0] == 0
    status, printed = run("render", "@test", "--index", "0", "--layout", layout)
    assert status == 2
    assert "layout of puzzle 'test/1', not of 'test/0'" in printed.err


def count(picture, colour):
    return int((picture == colour).all(axis=-1).sum())


def test_render_one_puzzle_with_predictions(run, tmp_path):
    status, printed = run("render", "@test", "--predictions", "@p.npz", "--out", "one.png")
    assert status == 0, printed.err
    picture = read_picture(tmp_path / "one.png")
    assert printed.out == f"one.png: {picture.shape[1]}x{picture.shape[0]} pixels\n"
    assert count(picture, RIGHT) > 0
    assert count(picture, WRONG) > 0
    run("render", "@test", "--predictions", "@p.npz", "--index", "1", "--out", "two.png")
    assert count(read_picture(tmp_path / "two.png"), WRONG) == 0


def test_render_what_solve_wrote(run, tmp_path):
    run("solve", "@test", "--solver", "random", "--out", "solved")
    for name in ("predictions.npz", "solutions.jsonl"):
        status, printed = run("render", "@test", "--predictions", f"solved/{name}", "-o", "a.png")
        assert status == 0, printed.err
        (tmp_path / "a.png").rename(tmp_path / f"{name}.png")
    pictures = [
        (tmp_path / f"{n}.png").read_bytes() for n in ("predictions.npz", "solutions.jsonl")
    ]
    assert pictures[0] == pictures[1]


def test_render_without_solution_shows_two_panels(run, tmp_path):
    run("render", "@test", "--out", "plain.png", "--no-captions")
    run("render", "@test", "--predictions", "@p.npz", "--out", "solved.png", "--no-captions")
    plain, solved = (read_picture(tmp_path / name) for name in ("plain.png", "solved.png"))
    assert solved.shape[1] > plain.shape[1]


def test_render_a_layout_file(run, tmp_path):
    status, printed = run("render", "@pieces", "--layout", "@layout.json")
    assert status == 0, printed.err
    picture = read_picture(tmp_path / "puzzle.png")
    assert count(picture, WRONG) > 0


def test_render_a_sheet(run, tmp_path):
    common = ("render", "@test", "--sheet", "--tile-px", "64", "--no-captions")
    run(*common, "--out", "all.png", "--columns", "3")
    run(*common, "--out", "some.png", "--columns", "3", "--index", "1", "--count", "9")
    assert read_picture(tmp_path / "all.png").shape == (64 + 32, 3 * 64 + 4 * 16, 3)
    assert read_picture(tmp_path / "some.png").shape == (64 + 32, 2 * 64 + 3 * 16, 3)


@pytest.mark.parametrize("extra", [(), ("--sheet",)])
def test_render_fragments_that_lie_on_no_grid(run, tmp_path, extra):
    status, printed = run("render", "@repair", *extra)
    assert status == 0, printed.err
    assert count(read_picture(tmp_path / "puzzle.png"), (90, 60, 30)) > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("@repair", "--predictions", "@p.npz"), "no predictions to draw"),
        (("@repair", "--layout", "@layout.json"), "expected the format"),
        (("@test", "--out", "a.svg"), "cannot be written as '.svg'"),
        (("@test", "--index", "3"), "holds 3 puzzles: no puzzle 3"),
        (("@test", "--index", "-1"), "no puzzle -1"),
        (("gone",), "gone: no such file or folder"),
        (("@test", "--out", "a.xyz"), "cannot be written as '.xyz'"),
        (("@test", "--layout", "@layout.json", "--sheet"), "--layout draws one puzzle"),
        (("@test", "--layout", "@p.npz"), "expected JSON"),
        (("@pieces", "--predictions", "@p.npz"), "holds 1 puzzles"),
    ],
)
def test_render_says_what_is_wrong_in_one_line(run, tmp_path, arguments, message):
    status, printed = run("render", *arguments)
    assert status == 2
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words", [("evaluate", "--predictions", "@p.npz", "--data", "@test"), ("inspect", "@test")]
)
def test_json_on_the_standard_output_is_alone_there(run, words):
    status, printed = run(*words, "--json", "-")
    assert status == 0, printed.err
    assert isinstance(json.loads(printed.out), dict)
    assert "2x2" in printed.err  # the table, for people
