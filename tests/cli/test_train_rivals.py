"""runs/train_rivals.sh: tries, trains, copies the weights, and does nothing twice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.models.checkpoint import load_weights
from puzzleflow.pictures import write_picture
from puzzleflow.solvers.registry import load_solver

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_rival_is_trained_within_its_minutes(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "masks").mkdir()
    rng = np.random.default_rng(0)
    for number in range(30):  # enough for every split
        ramp = np.linspace(0, 255, 96)[:, None, None] * np.ones((1, 96, 3)) * rng.random(3)
        write_picture(tmp_path / "pictures" / f"{number}.png", ramp.astype(np.uint8))
    y, x = np.mgrid[-64:64, -64:64]
    for radius in (50, 60):
        disc = np.where(x**2 + y**2 < radius**2, 255, 0).astype(np.uint8)
        write_picture(tmp_path / "masks" / f"{radius}.png", disc)
    command = str(Path(sys.executable).parent / "puzzleflow")
    settings = {"PUZZLEFLOW": command, "MASKS": str(tmp_path / "masks"), "RATES": "1e-3 3e-3",
                "TRY": "0.01", "VALIDATION": "2"}  # fmt: skip
    words = [ROOT / "runs/train_rivals.sh", tmp_path / "pictures", tmp_path / "out", "0.02"]
    for _ in range(2):
        done = subprocess.run(
            [*words, "fcvit+"],
            env=os.environ | settings, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert done.stdout == ""  # the second time nothing is left to do
    weights = tmp_path / "out" / "fcvit+.safetensors"
    assert weights.stat().st_size < 4_000_000
    assert load_weights(weights)[1]["puzzles_seen"] > 0
    solver = load_solver("fcvit+", weights=weights)
    pieces = np.full((9, 32, 32, 4), 255, np.uint8)
    assert len(solver.prepare(Puzzle(pieces, Grid(3, 3))).solve(seed=0).position_of) == 9
    assert len(list((tmp_path / "out" / "fcvit+" / "tries").iterdir())) == 2
    figure = tmp_path / "curve.png"
    curves = [sys.executable, ROOT / "runs/rival_curves.py", tmp_path / "out", figure]
    subprocess.run(curves, check=True)
    assert figure.stat().st_size > 1000
