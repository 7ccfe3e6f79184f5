from pathlib import Path

import numpy as np
import pytest

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.pictures import write_picture
from puzzleflow.training.packing import cut_puzzles


def test_pictures_repeat_but_puzzles_do_not(tmp_path: Path) -> None:
    paths = [tmp_path / "grey.png", tmp_path / "white.png"]
    for path, level in zip(paths, (90, 255), strict=True):
        write_picture(path, np.full((40, 40, 3), level, np.uint8))
    puzzles = cut_puzzles(paths, Grid(3, 3), "linear", 5, 3)
    assert [int(puzzle.pieces[..., :3].max()) for puzzle in puzzles] == [90, 255, 90]
    assert not np.array_equal(puzzles[0].masks, puzzles[2].masks)
    assert not np.array_equal(puzzles[0].truth, puzzles[2].truth)
    again = cut_puzzles(paths, Grid(3, 3), "linear", 5, 3)
    assert all(np.array_equal(a.pieces, b.pieces) for a, b in zip(puzzles, again, strict=True))


def test_no_pictures_is_an_error() -> None:
    with pytest.raises(InputError, match="no pictures"):
        cut_puzzles([], Grid(2, 2), "none", 0, 3)
