from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from puzzleflow.core.grid import Grid
from puzzleflow.formats.open import open_puzzles
from puzzleflow.generation.dataset import generate_set
from puzzleflow.generation.plan import Request
from puzzleflow.pictures import write_picture
from puzzleflow.storage.gap import write_gap_split
from puzzleflow.training.puzzle_dataset import PuzzleDataset

REQUEST = Request(grid=Grid(2, 3), piece_px=16, erosion="linear", splits="1/0/0")


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    for index in range(6):
        pixels = rng.integers(0, 256, (40, 50, 3)).astype(np.uint8)
        write_picture(tmp_path / "pictures" / f"{index}.png", pixels)
    return tmp_path / "pictures"


@pytest.mark.parametrize("recipe_only", [False, True])
def test_items_are_the_puzzles_of_the_source(
    pictures: Path, tmp_path: Path, recipe_only: bool
) -> None:
    generate_set(pictures, tmp_path / "out", replace(REQUEST, recipe_only=recipe_only))
    source = open_puzzles(tmp_path / "out", split="train")
    dataset = PuzzleDataset(source)
    assert len(dataset) == 6
    for index in range(6):
        item, puzzle = dataset[index], source[index]
        assert item.pieces.shape == (6, 4, 16, 16)
        expected = puzzle.pieces.transpose(0, 3, 1, 2) / 255  # RGB is zero where alpha is
        assert np.allclose(item.pieces.numpy(), expected, atol=1e-6)
        assert puzzle.truth is not None
        assert item.position_of.tolist() == puzzle.truth.tolist()


def test_worker_processes_read_the_same(pictures: Path, tmp_path: Path) -> None:
    generate_set(pictures, tmp_path / "out", REQUEST)
    dataset = PuzzleDataset(open_puzzles(tmp_path / "out", split="train"), size_px=8)
    alone = next(iter(DataLoader(dataset, batch_size=6)))
    shared = list(DataLoader(dataset, batch_size=3, num_workers=2, multiprocessing_context="fork"))
    assert alone.pieces.shape == (6, 6, 4, 8, 8)
    assert torch.equal(torch.cat([batch.pieces for batch in shared]), alone.pieces)
    assert torch.equal(torch.cat([batch.position_of for batch in shared]), alone.position_of)


def test_puzzles_without_truth(pictures: Path, tmp_path: Path) -> None:
    generate_set(pictures, tmp_path / "out", REQUEST)
    puzzles = [p.without_truth() for p in open_puzzles(tmp_path / "out", split="train")]
    write_gap_split(tmp_path / "bare", puzzles, 6, REQUEST.grid, 16, labels=False)
    item = PuzzleDataset(open_puzzles(tmp_path / "bare", grid=REQUEST.grid))[0]
    assert item.position_of.tolist() == [-1] * 6
