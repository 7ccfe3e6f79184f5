"""From a folder of pictures to weights that the solver takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from puzzleflow.cli.main import build_app
from puzzleflow.core.assignment import as_permutation
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.rng import child_rng
from puzzleflow.pictures import write_picture
from puzzleflow.solvers.rg_lns import RgLnsSolver


def test_train_edges_writes_weights_and_goes_on(tmp_path: Path) -> None:
    rng = child_rng(0, "pictures")
    for index in range(24):
        picture = rng.integers(0, 256, size=(96, 96, 3)).astype(np.uint8)
        write_picture(tmp_path / "pictures" / f"{index:02}.png", picture)
    y, x = np.mgrid[-64:64, -64:64]
    disc = (x**2 + y**2 < 58**2).astype(np.uint8) * np.uint8(255)
    write_picture(tmp_path / "masks" / "disc.png", disc)
    for steps in (1, 2):
        words = [
            "train", "edges", "--data", tmp_path / "pictures", "--out", tmp_path / "run",
            "--masks", tmp_path / "masks", "--steps", steps, "--grids", "2x2",
            "--pieces-per-batch", 8, "--validation-grids", "2x2", "--num-validation", 2,
            "--workers", 0,
        ]  # fmt: skip
        result = CliRunner().invoke(build_app(), [str(word) for word in words])
        assert result.exit_code == 0, result.output
        assert f"step {steps}" in result.output
    pieces = rng.integers(0, 256, size=(9, 64, 64, 4)).astype(np.uint8)
    solver = RgLnsSolver(weights=tmp_path / "run" / "edges.safetensors")
    as_permutation(
        solver.prepare(Puzzle(pieces, Grid(3, 3))).solve(seed=0).position_of,
        len(solver.prepare(Puzzle(pieces, Grid(3, 3))).solve(seed=0).position_of),
    )
