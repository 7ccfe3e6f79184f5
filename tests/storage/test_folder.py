from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from puzzleflow.core.errors import FormatError, InputError, NotAGrid, OutputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Solution
from puzzleflow.formats.open import open_puzzles
from puzzleflow.pictures import write_picture
from puzzleflow.storage.folder import FolderSource, write_folder
from puzzleflow.storage.layout import SavedLayout, read_layout, write_layout


@settings(max_examples=12, deadline=None)
@given(
    rows=st.integers(1, 3),
    cols=st.integers(1, 4),
    px=st.integers(1, 6),
    seed=st.integers(0, 99),
    with_truth=st.booleans(),
)
def test_round_trip(tmp_path_factory, puzzle_of, same_puzzle, rows, cols, px, seed, with_truth):
    puzzle = puzzle_of(seed, Grid(rows, cols), px)
    puzzle = puzzle if with_truth else puzzle.without_truth()
    folder = tmp_path_factory.mktemp("pieces") / "one"
    write_folder(folder, puzzle)
    with open_puzzles(folder) as source:
        assert source.kind == "folder"
        assert len(source) == 1
        assert source.has_truth == with_truth
        assert same_puzzle(source[0], puzzle)
        copy = pickle.loads(pickle.dumps(source))
    assert same_puzzle(copy[-1], puzzle)


def test_plain_pngs_sort_by_number_and_rgb_is_opaque(tmp_path):
    for number in range(12):
        pixels = np.full((4, 4, 3), number, np.uint8)
        write_picture(tmp_path / f"p{number}.png", pixels)
    with pytest.raises(NotAGrid, match="12 pieces"):
        open_puzzles(tmp_path)[0]
    puzzle = open_puzzles(tmp_path, grid=Grid(3, 4))[0]
    assert list(puzzle.pieces[:, 0, 0, 0]) == list(range(12))
    assert (puzzle.pieces[..., 3] == 255).all()
    assert puzzle.names[10] == "p10.png"
    assert puzzle.truth is None


def test_what_a_solver_wrote_is_not_the_truth(tmp_path, puzzle_of):
    write_folder(tmp_path / "a", puzzle_of())
    puzzle = open_puzzles(tmp_path / "a")[0]
    layout = SavedLayout.of(puzzle, Solution(puzzle.truth, "greedy"), frozenset({3}))
    write_layout(tmp_path / "a/layout.json", layout)
    with open_puzzles(tmp_path / "a") as source:
        assert not source.has_truth
        assert source[0].truth is None
        assert source.pins(0) == {3: int(puzzle.truth[3])}
        assert source.truths() is None


def test_a_folder_of_folders(tmp_path, puzzle_of, same_puzzle):
    puzzles = [puzzle_of(seed) for seed in range(3)]
    for seed, puzzle in enumerate(puzzles):
        write_folder(tmp_path / f"puzzle{seed}", puzzle)
    with open_puzzles(tmp_path) as source:
        assert source.grid == Grid(3, 3)
        assert all(same_puzzle(a, b) for a, b in zip(source, puzzles, strict=True))
        assert np.array_equal(source.truths(), np.stack([p.truth for p in puzzles]))
    write_folder(tmp_path / "rectangle", puzzle_of(0, Grid(1, 2)))
    with open_puzzles(tmp_path) as source:
        assert source.grid is None
        assert source.truths() is None
        assert source[3].grid == Grid(1, 2)


def test_nothing_is_overwritten_and_nothing_left(tmp_path, puzzle_of):
    write_folder(tmp_path / "a", puzzle_of(0))
    with pytest.raises(OutputError):
        write_folder(tmp_path / "a", puzzle_of(1))
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_bad_folders(tmp_path, puzzle_of):
    with pytest.raises(InputError, match="no such"):
        open_puzzles(tmp_path / "missing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError, match="no puzzles recognised"):
        open_puzzles(tmp_path / "empty")
    with pytest.raises(InputError, match="no pictures"):
        FolderSource(tmp_path / "empty")
    write_folder(tmp_path / "a", puzzle_of())
    for change, error in (
        ({"name": "../b.png"}, FormatError),
        ({"name": "gone.png"}, InputError),
        ({"row": 5}, InputError),
        ({"row": None}, FormatError),
        ({"name": 7}, FormatError),
    ):
        write_layout(tmp_path / "a/layout.json", layout_of(puzzle_of()))
        content = json.loads((tmp_path / "a/layout.json").read_text())
        content["pieces"][0] |= change
        (tmp_path / "a/layout.json").write_text(json.dumps(content))
        with pytest.raises(error):
            open_puzzles(tmp_path / "a")[0]
    (tmp_path / "b").mkdir()
    (tmp_path / "b/x.png").write_bytes(b"no picture")
    with pytest.raises(FormatError, match=r"x\.png"):
        open_puzzles(tmp_path / "b")[0]


def layout_of(puzzle):
    names = tuple(f"piece_{i:02d}.png" for i in range(puzzle.num_pieces))
    return SavedLayout(puzzle.truth, puzzle.grid, names)


def test_partial_layouts_are_asked_for(tmp_path, puzzle_of):
    write_folder(tmp_path / "a", puzzle_of().without_truth())
    path = tmp_path / "a/layout.json"
    with pytest.raises(InputError, match="has no position"):
        read_layout(path)
    assert not read_layout(path, partial=True).complete
