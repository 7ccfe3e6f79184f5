from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from puzzleflow.cli.main import build_app
from puzzleflow.core.errors import InputError
from puzzleflow.pictures import read_picture
from puzzleflow.samples import list_samples


def invoke(*arguments: Any) -> str:
    runner = CliRunner()
    result = runner.invoke(build_app(), ["demo", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_demo_writes_three_pictures_and_prints_the_metrics(tmp_path: Path) -> None:
    text = invoke("--out", tmp_path, "--solver", "random", "--sample", "irises")
    assert "Irises, Vincent van Gogh, 1890" in text
    assert "PA 0.0 %   AA " in text
    assert "SRA " in text
    pictures = {path.name: read_picture(path) for path in tmp_path.iterdir()}
    assert set(pictures) == {"puzzle.png", "solved.png", "figure.png"}
    assert pictures["puzzle.png"].shape == pictures["solved.png"].shape
    assert min(pictures["puzzle.png"].shape[:2]) >= 384
    assert pictures["figure.png"].shape[1] > 3 * 384
    assert not np.array_equal(pictures["puzzle.png"], pictures["solved.png"])


def test_the_default_solver_runs_and_the_seed_decides(tmp_path: Path) -> None:
    options = ("--erosion", "linear", "--piece-px", 32, "--grid", "2x3")
    invoke("--out", tmp_path / "a", "--seed", 1, *options)
    invoke("--out", tmp_path / "b", "--seed", 1, *options)
    invoke("--out", tmp_path / "c", "--seed", 2, *options)
    first, again, other = (
        (tmp_path / name / "puzzle.png").read_bytes() for name in ("a", "b", "c")
    )
    assert first == again != other


def test_one_piece_is_solved(tmp_path: Path) -> None:
    text = invoke("--out", tmp_path, "--grid", "1x1", "--erosion", "none", "--solver", "random")
    assert "PA 100.0 %   AA 100.0 %   SRA 100.0 %" in text
    assert (tmp_path / "puzzle.png").read_bytes() == (tmp_path / "solved.png").read_bytes()


def test_the_samples_can_be_listed(tmp_path: Path) -> None:
    lines = invoke("--sample", "list", "--out", tmp_path / "none").splitlines()
    assert len(lines) == len(list_samples())
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    "bad",
    [
        ("--sample", "mona-lisa"),
        ("--solver", "no-such"),
        ("--grid", "three"),
        ("--erosion", "acid"),
    ],
)
def test_unknown_names_write_nothing(tmp_path: Path, bad: tuple[str, str]) -> None:
    with pytest.raises(InputError):
        invoke("--out", tmp_path / "out", *bad)
    assert not (tmp_path / "out").exists()
