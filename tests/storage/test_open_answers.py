"""Answers of the open world in files: layouts, predictions, solutions, folders."""

import json
from dataclasses import replace

import numpy as np
import pytest

from puzzleflow.core.conditions import Conditions
from puzzleflow.core.errors import FormatError, InputError, NotAGrid, NotAPermutation
from puzzleflow.core.grid import Grid
from puzzleflow.core.open_facts import GridShare, OpenFacts
from puzzleflow.core.puzzle import Layout, Puzzle, Solution
from puzzleflow.core.records import from_json, to_json
from puzzleflow.storage.folder import FolderSource, write_folder
from puzzleflow.storage.layout import SavedLayout, read_layout, write_layout
from puzzleflow.storage.predictions import read_predictions, write_predictions
from puzzleflow.storage.solutions import Solved, open_arrays

GRID = Grid(2, 2)
CONDITIONS = Conditions(missing=2, foreign=1, turned=True, hidden=True)
PUZZLE = Puzzle(np.zeros((3, 4, 4, 4), np.uint8), GRID, puzzle_id="x", conditions=CONDITIONS)
SOLUTION = Solution(
    [3, -1, 0],
    "y",
    confidence=np.array([0.5, 0.25, 1.0]),
    grid=GRID,
    turns=[0, 3, 1],
    aside_prob=np.array([0.0, 0.75, 0.125]),
    grid_prob=((GRID, 0.75), (Grid(1, 4), 0.25)),
)


def test_a_layout_of_the_open_world(tmp_path):
    write_layout(tmp_path / "l.json", SavedLayout.of(PUZZLE, SOLUTION, frozenset({2})))
    content = json.loads((tmp_path / "l.json").read_text())
    assert content["version"] == 2
    assert content["grids"][1] == {"rows": 1, "cols": 4, "probability": 0.25}
    assert content["pieces"][1] == {
        "name": "piece_01.png", "row": None, "col": None, "confidence": 0.25,
        "pinned": False, "turn": 3, "aside": 0.75,
    }  # fmt: skip
    saved = read_layout(tmp_path / "l.json")
    assert saved.complete
    assert saved.position_of.tolist() == [3, -1, 0]
    assert saved.open == OpenFacts.of(SOLUTION)
    assert saved.whole.turns.tolist() == [0, 3, 1]
    assert saved.pinned == {2}


def test_closed_layouts_keep_their_version(tmp_path):
    puzzle = Puzzle(np.zeros((4, 4, 4, 4), np.uint8), GRID)
    write_layout(tmp_path / "l.json", SavedLayout.of(puzzle, Solution([3, 2, 1, 0], "y")))
    content = json.loads((tmp_path / "l.json").read_text())
    assert content["version"] == 1
    assert "grids" not in content
    assert set(content["pieces"][0]) == {"name", "row", "col", "confidence", "pinned"}


def test_pieces_in_another_order():
    saved = SavedLayout.of(PUZZLE, SOLUTION, frozenset({2})).reordered([2, 0, 1])
    assert saved.position_of.tolist() == [0, 3, -1]
    assert saved.names == ("piece_02.png", "piece_00.png", "piece_01.png")
    assert saved.pinned == {0}
    assert saved.open.turns == (1, 0, 3)
    assert saved.open.aside == (0.125, 0.0, 0.75)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"grids": 3}, FormatError),
        ({"grids": [3]}, FormatError),
        ({"grids": [{"rows": 2, "cols": 2}]}, FormatError),
        ({"grids": [{"rows": 0, "cols": 2, "probability": 0.5}]}, NotAGrid),
        ({"pieces": [{"name": "a", "row": 0, "col": 0}] * 2}, NotAPermutation),
        ({"pieces": [{"name": "a", "row": 0, "col": 0, "turn": 4}]}, FormatError),
        ({"pieces": [{"name": "a", "row": 0, "col": 0, "turn": 0.5}]}, FormatError),
        ({"pieces": [{"name": "a", "row": 0, "col": 0, "aside": "x"}]}, FormatError),
    ],
)
def test_what_is_no_open_layout(tmp_path, change, error):
    path = tmp_path / "l.json"
    write_layout(path, SavedLayout.of(PUZZLE, SOLUTION))
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(error, match=r"l\.json"):
        read_layout(path)


def test_solutions_tell_the_open_world_only_where_it_is(tmp_path):
    layouts = (Layout([3, -1, 0], energy=1.5, grid=GRID, turns=[0, 3, 1]),)
    solved = Solved.of(4, PUZZLE, replace(SOLUTION, alternatives=layouts))
    line = to_json(solved)
    assert line["open"]["turns"] == [0, 3, 1]
    assert line["alternatives"][0]["open"] == {
        "grid": "2x2", "turns": [0, 3, 1], "aside": None, "grids": [],
    }  # fmt: skip
    assert from_json(Solved, json.loads(json.dumps(line))) == solved
    assert solved.whole.grid == GRID
    closed = Puzzle(np.zeros((4, 4, 4, 4), np.uint8), GRID)
    told = to_json(
        Solved.of(0, closed, Solution([3, 2, 1, 0], "y", alternatives=(Layout([3, 2, 1, 0]),)))
    )
    assert "open" not in told
    assert "open" not in told["alternatives"][0]
    for wrong in ({"layout": (3, 3, 0)}, {"layout": (4, 1, 0)}, {"grid": "x"}):
        with pytest.raises(FormatError):
            replace(solved, **wrong)
    facts = OpenFacts("2x2", (0, 1), (0.5, 0.5), (GridShare("2x2", 1.0),))
    for broken in (
        replace(facts, turns=(0, 4)), replace(facts, aside=(0.5,)), replace(facts, grid="q"),
    ):  # fmt: skip
        with pytest.raises(FormatError):
            broken.check(2)


def test_predictions_of_the_open_world(tmp_path):
    solved = [Solved.of(index, PUZZLE, SOLUTION) for index in range(2)]
    path = tmp_path / "p.npz"
    rows = np.stack([one.position_of for one in solved])
    write_predictions(path, rows, targets=rows, grid=GRID, told=open_arrays(solved))
    found = read_predictions(path)
    assert np.array_equal(found.position_of, rows)
    assert np.array_equal(found.targets, rows)
    assert found.grid_of(1) == GRID
    assert found.told["turns"].tolist() == [[0, 3, 1]] * 2
    assert found.told["aside_prob"][0].tolist() == [0.0, 0.75, 0.125]
    with pytest.raises(InputError, match=r"written as \.npz"):
        write_predictions(tmp_path / "p.npy", rows, grid=GRID, told=open_arrays(solved))


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("grid", np.array([[2, 2]])),
        ("grid", np.array([[1, 2], [1, 2]])),
        ("grid", np.array([[0, 2], [1, 2]])),
        ("turns", np.array([[0, 1, 2], [0, 1, 4]])),
        ("turns", np.array([[0, 1], [0, 1]])),
        ("predictions", np.array([[0, 0, -1], [0, 1, 2]])),
        ("predictions", np.array([[0, 1, -2], [0, 1, 2]])),
        ("targets", np.array([[0, 1, 2]])),
    ],
)
def test_what_are_no_open_predictions(tmp_path, name, array):
    rows = np.array([[3, -1, 0], [0, 1, 2]])
    arrays = {"predictions": rows, "targets": rows, "grid": np.array([[2, 2]] * 2)}
    np.savez(tmp_path / "p.npz", **arrays | {name: array})
    with pytest.raises(InputError, match=r"p\.npz"):
        read_predictions(tmp_path / "p.npz")


def test_folders_of_open_puzzles(tmp_path):
    rng = np.random.default_rng(0)
    pieces = rng.integers(0, 255, (3, 4, 4, 4), dtype=np.uint8)
    pieces[..., 3] = 255
    puzzle = Puzzle(
        pieces, GRID, truth=[3, -1, 0], conditions=CONDITIONS, true_turns=[0, 3, 1], puzzle_id="x"
    )
    write_folder(tmp_path / "x", puzzle)
    source = FolderSource(tmp_path / "x")
    again = source[0]
    assert np.array_equal(again.pieces, pieces)
    assert again.truth.tolist() == [3, -1, 0]
    assert again.true_turns.tolist() == [0, 3, 1]
    assert again.conditions == source.conditions == Conditions(missing=2, foreign=1, turned=True)
    with pytest.raises(InputError, match="by their truth"):
        write_folder(tmp_path / "y", puzzle.without_truth())
