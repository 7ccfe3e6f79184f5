from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from puzzleflow.cli.main import build_app
from puzzleflow.core.errors import CannotSolve, InputError, OutputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.evaluation.spec import SolverSpec
from puzzleflow.models.checkpoint import save_weights
from puzzleflow.models.flow_engine import DESCRIPTION, ENCODER, STEP, OnnxEngine
from puzzleflow.models.puzzleflow import build_puzzleflow, flow_preset
from puzzleflow.solvers.flow import FlowSolver

TINY_VIT = {
    "hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2,
    "intermediate_size": 32, "image_size": 32, "patch_size": 16,
}  # fmt: skip
CONFIG = replace(
    flow_preset("paper-supplement"), vit=TINY_VIT, dim=24, num_heads=2, num_layers=1,
    feed_forward=32, head=(32, 16), piece_px=16, num_positions=6,
)  # fmt: skip


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model for six pieces that never saw any."""
    path = tmp_path_factory.mktemp("weights") / "flow.safetensors"
    with torch.random.fork_rng():
        torch.manual_seed(3)
        network = build_puzzleflow(CONFIG)
    save_weights(path, network.state_dict(), {"kind": "flow", "network": CONFIG.to_dict()})
    return path


@pytest.fixture(scope="module")
def graphs(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graphs") / "new"
    words = ["export", "--weights", str(weights), "--out", str(folder)]
    result = CliRunner().invoke(build_app(), words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    encoder, step = result.output.splitlines()
    assert f"{ENCODER}: pixels;" in encoder
    assert f"{STEP}: features, x_t, t, grid;" in step
    return folder


def puzzle(grid: Grid, seed: int) -> Puzzle:
    rng = np.random.default_rng(seed)
    return Puzzle(rng.integers(0, 256, (grid.num_pieces, 40, 40, 4), dtype=np.uint8), grid)


def test_both_engines_give_the_same_layouts(weights: Path, graphs: Path) -> None:
    options = {"steps": 6, "starts": 3}
    in_torch, in_onnx = (FlowSolver(path, **options) for path in (weights, graphs))
    layouts = set()
    for seed, grid in enumerate([Grid(2, 3), Grid(3, 2), Grid(2, 3), Grid(1, 6)]):
        asked = puzzle(grid, seed)
        for pinned in (None, {1: 2}):
            first, second = (
                solver.prepare(asked).solve(seed=seed, pinned=pinned)
                for solver in (in_torch, in_onnx)
            )
            np.testing.assert_array_equal(first.position_of, second.position_of)
            np.testing.assert_array_equal(first.trace, second.trace)
            np.testing.assert_allclose(first.position_prob, second.position_prob, atol=1e-4)
            assert pinned is None or second.position_of[1] == 2
            layouts.add(tuple(second.position_of))
    assert len(layouts) > 2  # else there was nothing to agree on


def test_the_folder_is_an_option_of_the_solver(graphs: Path) -> None:
    solver = SolverSpec.parse(f"flow:weights={graphs}+steps=2").load()
    assert isinstance(solver, FlowSolver)
    assert isinstance(solver.engine, OnnxEngine)


@pytest.mark.slow
def test_int8_makes_a_vit_smaller(weights: Path, graphs: Path, tmp_path: Path) -> None:
    words = ["export", "--weights", str(weights), "--out", str(tmp_path), "--int8"]
    result = CliRunner().invoke(build_app(), words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "int8" in result.output
    for name in (ENCODER, STEP):
        assert (tmp_path / name).stat().st_size < (graphs / name).stat().st_size
    assert OnnxEngine(tmp_path).description.precision == "int8"


def test_other_grids_are_refused_by_both(weights: Path, graphs: Path) -> None:
    for path in (weights, graphs):
        with pytest.raises(CannotSolve, match="places 6 pieces, not the 3x3 grid's"):
            FlowSolver(path).prepare(puzzle(Grid(3, 3), 0))


def test_nothing_is_left_half_written(weights: Path, graphs: Path, tmp_path: Path) -> None:
    assert {path.name for path in graphs.iterdir()} == {ENCODER, STEP, DESCRIPTION}
    (tmp_path / "file").write_text("in the way")
    words = ["export", "--weights", str(weights), "--out", str(tmp_path / "file")]
    result = CliRunner().invoke(build_app(), words)
    assert isinstance(result.exception, OutputError)
    assert "file: it is no folder" in str(result.exception)
    assert (tmp_path / "file").read_text() == "in the way"


def test_missing_weights_are_named(tmp_path: Path) -> None:
    words = ["export", "--weights", str(tmp_path / "none"), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(build_app(), words)
    assert isinstance(result.exception, InputError)
    assert "none: no such weights file" in str(result.exception)
    assert not (tmp_path / "out").exists()
