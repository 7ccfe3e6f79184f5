"""Open puzzles through the commands: solve, evaluate, bench, render, inspect, folders."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import run
from open_reading import told_puzzle

from puzzleflow.cli._open_folder import (
    Asked,
    describe_answer,
    describe_confidence,
    describe_rift,
    untried,
)
from puzzleflow.core.conditions import Conditions, fits_well
from puzzleflow.core.errors import InputError, NotAGrid
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle, Solution
from puzzleflow.core.rng import child_rng
from puzzleflow.formats.audit import inspect_path
from puzzleflow.generation.builder import opened
from puzzleflow.pictures import write_picture
from puzzleflow.storage.gap_writer import write_gap_split
from puzzleflow.storage.layout import read_layout

READER = Path(__file__).parents[1] / "helpers" / "open_reading.py"
SOLVER = f"{READER}:OpenReader"
GRID = Grid(2, 3)
ALL = Conditions(missing=2, foreign=1, turned=True, hidden=True)
NUM = 4


def open_puzzle(seed: int, conditions: Conditions = ALL) -> Puzzle:
    rng = child_rng(seed, "open world")
    one, other = (
        Puzzle(
            rng.integers(0, 255, (6, 16, 16, 4)).astype(np.uint8), GRID, truth=rng.permutation(6)
        )
        for _ in range(2)
    )
    return told_puzzle(opened(one, conditions, seed, [other]))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    puzzles = [open_puzzle(seed) for seed in range(NUM)]
    write_gap_split(tmp_path / "test", puzzles, NUM, GRID, 16, conditions=ALL)
    return tmp_path / "test"


def test_solve_evaluate_and_render(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    told = run("solve", data, "--solver", SOLVER, "--out", out, "--pictures", "--workers", 1)
    assert "PA 100.0%" in told
    assert "foreign F1 100.0 %" in told
    assert "grids found 100.0 %" in told
    for answers in (out, out / "predictions.npz", out / "solutions.jsonl"):
        report = tmp_path / "report.json"
        told = run("evaluate", "--predictions", answers, "--data", data, "--json", report)
        assert "2 missing, 1 foreign, turned, grid hidden" in told
        metrics = json.loads(report.read_text())["metrics"]
        assert metrics["absolute"]["percent"] == 100
        assert metrics["foreign_f1"]["percent"] == 100
        assert metrics["foreign_auroc"]["percent"] == 100
    with np.load(out / "predictions.npz") as arrays:
        assert arrays["predictions"].shape == (NUM, 5)
        assert (arrays["predictions"] == arrays["targets"]).all()
        assert (arrays["grid"] == [2, 3]).all()
        assert arrays["turns"].shape == (NUM, 5)
    (out / "solutions.jsonl").unlink()
    told = run("evaluate", "--predictions", out, "--data", data)  # the layouts
    assert "100.00" in told
    for words in (("--predictions", out / "predictions.npz"), ()):
        run("render", data, "--out", tmp_path / "figure.png", *words)
        run("render", data, "--sheet", "--out", tmp_path / "sheet.png", *words)
    layout = sorted(out.glob("*.layout.json"))[0]
    run("render", data, "--layout", layout, "--out", tmp_path / "figure.png")
    assert "aside" in run("inspect", layout)
    assert inspect_path(data)["splits"][""]["conditions"] == str(ALL)


def test_bench_shows_what_the_open_world_adds(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "bench"
    run("bench", data, "--solvers", f"{SOLVER},{SOLVER}:wrong=1,random", "--out", out)
    page = (out / "bench.md").read_text()
    assert "## Open world" in page
    assert "foreign F1 %" in page
    assert "this method wants every piece" in page  # random refuses
    right, wrong, refused = json.loads((out / "bench.json").read_text())["solvers"]
    assert right["metrics"]["PA"]["value"] == 100
    assert right["metrics"]["foreign_f1"]["value"] == 100
    assert wrong["metrics"]["PA"]["value"] < 100
    assert refused["failures"]["no answer"] == NUM
    again = run("bench", data, "--solvers", SOLVER, "--out", out)
    assert "wrote" in again


def test_options_of_folders_are_refused_for_data_sets(data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="folders of mere pieces"):
        run("solve", data, "--solver", SOLVER, "--turned", "--out", tmp_path / "out")


def folder_of(path: Path, puzzle: Puzzle) -> Path:
    for number, piece in enumerate(puzzle.pieces):
        write_picture(path / f"{number}.png", piece)
    return path


def test_a_folder_with_pieces_missing(tmp_path: Path) -> None:
    puzzle = open_puzzle(0, Conditions(missing=1))
    folder = folder_of(tmp_path / "pieces", puzzle)
    told = run("solve", folder, "--solver", SOLVER, "--out", tmp_path / "out")
    assert "5 pieces: 2x3 with one missing (75 %), 1x5 (25 %)" in told
    (path,) = (tmp_path / "out").glob("*.layout.json")
    content = json.loads(path.read_text())
    assert content["version"] == 2
    assert content["grid"] == {"rows": 2, "cols": 3}
    assert content["grids"][0] == {"rows": 2, "cols": 3, "probability": 0.75}
    assert np.array_equal(read_layout(path).position_of, puzzle.truth)


def test_a_folder_with_a_stranger_among_turned_pieces(tmp_path: Path) -> None:
    puzzle = open_puzzle(1, Conditions(foreign=1, turned=True))
    folder = folder_of(tmp_path / "pieces", puzzle)
    words = ("--turned", "--allow-foreign", 1, "--grid", "2x3")
    told = run("solve", folder, "--solver", SOLVER, "--out", tmp_path / "out", *words)
    stranger = int(np.flatnonzero(puzzle.truth < 0)[0])
    assert f"; one left aside ({stranger}.png)" in told
    (path,) = (tmp_path / "out").glob("*.layout.json")
    saved = read_layout(path)
    assert np.array_equal(saved.whole.turns, puzzle.true_turns)
    assert np.array_equal(saved.position_of, puzzle.truth)


def test_pieces_that_make_one_grid_are_closed(tmp_path: Path) -> None:
    pieces = np.full((9, 8, 8, 4), 255, dtype=np.uint8)
    folder = folder_of(tmp_path / "pieces", Puzzle(pieces, Grid(3, 3)))
    run("solve", folder, "--solver", "random", "--out", tmp_path / "out")
    (path,) = (tmp_path / "out").glob("*.layout.json")
    assert json.loads(path.read_text())["version"] == 1


def test_what_a_folder_cannot_be(tmp_path: Path) -> None:
    pieces = np.full((8, 8, 8, 4), 255, dtype=np.uint8)
    folder = folder_of(tmp_path / "pieces", Puzzle(pieces, Grid(2, 4)))
    out = ("--out", tmp_path / "out")
    with pytest.raises(NotAGrid, match="say which grid"):  # a closed solver wants a square
        run("solve", folder, "--solver", "random", *out)
    with pytest.raises(NotAGrid, match="8 pieces do not fill a 3x3 grid"):
        run("solve", folder, "--solver", SOLVER, "--grid", "3x3", *out)
    with pytest.raises(InputError, match="the grid is not known"):
        run("solve", folder, "--solver", SOLVER, "--pin", "0=0,0", *out)


def test_numbers_that_fit_a_grid_well() -> None:
    well = [number for number in range(1, 26) if fits_well(number)]
    assert well == [1, 2, 3, 4, 6, 9, 12, 15, 16, 20, 24, 25]


def test_the_answer_in_words() -> None:
    shares = ((Grid(3, 3), 0.87), (Grid(2, 4), 0.129), (Grid(1, 8), 0.001))
    solution = Solution(np.arange(8), "x", grid=Grid(3, 3), grid_prob=shares)
    assert describe_answer(solution) == "8 pieces: 3x3 with one missing (87 %), 2x4 (13 %)"
    left = Solution(np.array([0, -1, 1]), "x", grid=Grid(1, 2))
    assert describe_answer(left) == "3 pieces: 1x2 with one too many (100 %); one left aside (1)"
    names = [f"{letter}.png" for letter in "abcdef"]
    both = Solution(np.array([0, -1, 1, -1, -1, -1]), "x", grid=Grid(2, 3))
    assert describe_answer(both, names[:6]) == (
        "6 pieces: 2x3 (100 %); four left aside (b.png, d.png, e.png, f.png), four cells empty"
    )


def test_confidence_in_words() -> None:
    def said(*sure: float) -> str:
        names = [f"p{number}" for number in range(len(sure))]
        solution = Solution(np.arange(len(sure)), "x", confidence=np.array(sure))
        return describe_confidence(solution, names)

    assert said(0.99, 0.97) == "sure of every piece (97 % or more)"
    assert said(1.0, 0.9999) == "sure of every piece (99 % or more)"
    assert said(0.99, 0.6, 0.5) == "likely right: 2 of 3 pieces; look first at p2 (50 %), p1 (60 %)"
    assert said(*[0.1] * 6) == (
        "likely right: 1 of 6 pieces; look first at p0 (10 %), p1 (10 %), p2 (10 %), p3 (10 %) "
        "and 2 more. Do not trust this layout"
    )


def test_a_line_between_two_pictures_in_words() -> None:
    def said(right: list[list[float]], down: list[list[float]]) -> str:
        seams = (np.array(right), np.array(down))
        return describe_rift(Solution(np.arange(6), "x", grid=Grid(3, 2), seam_confidence=seams))

    sure = [[0.9], [0.9], [0.9]]
    assert said(sure, [[0.9, 0.9], [0.9, 0.4]]) == ""  # one seam is no line
    assert said([[0.2], [0.1], [0.3]], [[0.1, 0.2], [0.1, 0.2]]) == ""  # nothing is known
    assert said(sure, [[0.9, 0.9], [0.3, 0.4]]) == (
        "nothing seems to belong together between rows 2 and 3: if these are two pictures, solve "
        "their pieces apart"
    )
    assert said(sure, [[0.9, 0.9], [np.nan, 0.4]]) == ""  # a cell is empty
    assert describe_rift(Solution(np.arange(6), "x", grid=Grid(3, 2))) == ""


def test_what_was_not_tried_is_said_of_doubtful_answers() -> None:
    def said(num_pieces: int, sure: float, asked: Asked) -> str:
        confidence = np.full(num_pieces, sure)
        return untried(Solution(np.arange(num_pieces), "x", confidence=confidence), asked)

    nothing = Asked(None, False, False, None, 0)
    assert said(9, 0.99, nothing) == ""
    assert "--allow-foreign N" in said(18, 0.99, nothing)  # two objects, or no broad grid
    assert said(9, 0.5, nothing).count("--") == 3
    assert said(9, 0.5, Asked(Grid(3, 3), False, True, None, 2)) == (
        "not tried: --allow-missing N if more are lost"
    )
    assert said(9, 0.5, Asked(None, True, True, 1, 1)) == ""
