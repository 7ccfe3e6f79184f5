from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.models.relational import RelationalConfig, RelationalNet
from puzzleflow.pictures import write_picture
from puzzleflow.training.packing import cut_puzzles, mean_of


def test_pictures_repeat_but_puzzles_do_not(tmp_path: Path) -> None:
    paths = [tmp_path / "grey.png", tmp_path / "white.png"]
    for path, level in zip(paths, (90, 255), strict=True):
        write_picture(path, np.full((40, 40, 3), level, np.uint8))
    puzzles = cut_puzzles(paths, Grid(3, 3), ["linear", "none"], 5, 3)
    assert [int(puzzle.pieces[..., :3].max()) for puzzle in puzzles] == [90, 255, 90]
    assert not np.array_equal(puzzles[0].masks, puzzles[2].masks)
    assert not np.array_equal(puzzles[0].truth, puzzles[2].truth)
    again = cut_puzzles(paths, Grid(3, 3), ["linear", "none"], 5, 3)
    assert all(np.array_equal(a.pieces, b.pieces) for a, b in zip(puzzles, again, strict=True))


def test_no_pictures_is_an_error() -> None:
    with pytest.raises(InputError, match="no pictures"):
        cut_puzzles([], Grid(2, 2), ["none"], 0, 3)


def test_the_mean_of_two_networks() -> None:
    sizes = RelationalConfig(
        piece_px=32, widths=(8, 12, 16), blocks=(0, 0, 1), side_hidden=16, side_dim=8, dim=24,
        num_heads=3, num_layers=1,
    )  # fmt: skip
    one, other = RelationalNet(sizes), RelationalNet(sizes)
    mean = mean_of(one, other).state_dict()
    for name, ours in one.state_dict().items():
        theirs = other.state_dict()[name]
        if ours.is_floating_point():
            assert torch.allclose(mean[name], (ours + theirs) / 2), name
    assert not mean_of(one, other).training
    with pytest.raises(InputError, match="same sizes"):
        mean_of(one, RelationalNet(replace(sizes, num_layers=2)))
