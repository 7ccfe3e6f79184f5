"""``puzzleflow jpwleg`` as a command, and the protocols of its files on the others."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import run

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.formats.open import open_puzzles
from puzzleflow.generation.jpwleg_sets import PIECE_PX, SquarePuzzles
from puzzleflow.pictures import write_picture
from puzzleflow.training.banks import split_pictures


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures whose colours tell where a pixel lies, some in every split."""
    folder = tmp_path_factory.mktemp("pictures")
    y, x = np.mgrid[0:144, 0:144]
    for index in range(24):
        ramp = np.stack([x, y, np.full_like(x, 10 * index)], axis=-1)
        write_picture(folder / f"{index:02}.png", ramp.astype(np.uint8))
    return folder


def test_gaps_are_as_wide_as_they_are_called(pictures: Path) -> None:
    path = split_pictures(pictures, "test")[0]
    puzzle = SquarePuzzles([path], Grid(3, 3), gap_px=48)[0]
    assert puzzle.pieces.shape == (9, PIECE_PX, PIECE_PX, 4)
    assert puzzle.truth is not None
    assert puzzle.truth[4] == 4
    cells = puzzle.pieces[np.argsort(puzzle.truth), :, :, 0].astype(float)  # red tells x
    step = 144 / (3 * 144)  # of the picture, for a pixel of the canvas
    between = cells[1, 0, 0] - cells[0, 0, -1]  # left edge of cell 1 after right edge of cell 0
    assert between == pytest.approx(49 * step, abs=1.5)


def test_sets_are_written_solved_and_put_into_one_table(pictures: Path, tmp_path: Path) -> None:
    words = ["jpwleg", "--images", pictures, "--out", tmp_path, "--sizes", "2/1/2",
             "--solvers", "random,greedy"]  # fmt: skip
    run(*words)
    table = (tmp_path / "jpwleg.md").read_text()
    assert "Greedy (Pomeranz 2011) (`greedy`)" in table
    assert "*PuzzleFlow, published, other data* | 72.6 | 43.7 | 29.0 | 0.0" in table
    figures = json.loads((tmp_path / "jpwleg.json").read_text())["figures"]
    assert set(figures["jpwleg-5"]) == {"random", "greedy"}
    for name, grid, gap in (("jpwleg-3", "33", 48), ("jpwleg-5", "55", 12)):
        for split, count in (("train", 2), ("valid", 1), ("test", 2)):
            images = np.load(tmp_path / name / f"{split}_img_{gap}gap_{grid}.npy", mmap_mode="r")
            assert images.shape == (count, 96 * int(grid[0]), 96 * int(grid[0]), 3)
        with open_puzzles(tmp_path / name, split="test") as source:
            assert source.has_truth
    run(*words)  # goes on: nothing is cut or solved again
    with pytest.raises(InputError, match=r"train\.made\.json: holds puzzles of other pictures"):
        run(*words, "--seed", 5)


def test_the_centre_is_given_or_free(pictures: Path, tmp_path: Path) -> None:
    run("jpwleg", "--images", pictures, "--out", tmp_path, "--sizes", "0/0/2", "--solvers", "")
    data = tmp_path / "jpwleg-3"
    for centre in ("given", "free"):
        solved = tmp_path / centre
        run("solve", data, "--solver", "random", "--out", solved, "--centre", centre,
            "--workers", 1)  # fmt: skip
        said = run("evaluate", "--predictions", solved / "solutions.jsonl", "--data", data,
                   "--centre", centre, "--json", solved / "score.json")  # fmt: skip
        assert "2 puzzles" in said
    run("bench", data, "--solvers", "random", "--out", tmp_path / "b", "--centre", "free")
    with pytest.raises(InputError, match="no piece is given away in folder puzzles"):
        run("solve", pictures, "--solver", "random", "--out", tmp_path / "c", "--centre", "free")


def test_what_cannot_be_is_said(pictures: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="either --images to cut or --data to read"):
        run("jpwleg", "--out", tmp_path)
    with pytest.raises(InputError, match="expected three numbers"):
        run("jpwleg", "--images", pictures, "--out", tmp_path, "--sizes", "9/x")
