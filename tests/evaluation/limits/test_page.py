from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from puzzleflow.core.grid import Grid
from puzzleflow.evaluation.limits.conditions import Plan
from puzzleflow.evaluation.limits.measure import LimitsReport, measure_limits
from puzzleflow.evaluation.limits.page import _marked, as_markdown, write_limits
from puzzleflow.evaluation.spec import parse_solvers
from puzzleflow.pictures import read_picture

MakeFolder = Callable[..., Path]
GRID = Plan(
    sections=("calibration", "grid"),
    num_puzzles=3,
    base_grids=(Grid(2, 2),),
    grids=(Grid(2, 2), Grid(2, 3)),
    erosion="linear",
    piece_px=16,
)


def measure(folder: Path, work: Path, solvers: str = "sure", plan: Plan = GRID) -> LimitsReport:
    return measure_limits(plan, parse_solvers(solvers), work, images=folder)


def test_the_page_shows_every_section(make_folder: MakeFolder, tmp_path: Path) -> None:
    plan = Plan(
        num_puzzles=2,
        base_grids=(Grid(2, 2),),
        grids=(Grid(1, 2), Grid(2, 2)),
        erosion="linear",
        piece_px=16,
    )
    folder = make_folder(prints=2, coins=2)
    report = measure(folder, tmp_path / "work", "random,sure", plan)
    written = write_limits(tmp_path / "out", report)
    page = (tmp_path / "out" / "limits.md").read_text()
    for heading in ("confidence", "kind of picture", "width of the gap", "pieces", "Met sample"):
        assert heading in page
    assert "No confidence to judge: random." in page
    assert "About `random`" in page
    assert str(tmp_path) not in page, "no path of this machine"
    figures = [path for path in written if path.suffix == ".png"]
    assert len(figures) == 6
    for figure in figures:
        assert f"images/{figure.name}" in page
        assert read_picture(figure).std() > 5
        assert figure.stat().st_size < 120_000
    content: dict[str, Any] = json.loads((tmp_path / "out" / "limits.json").read_text())
    assert {"ECE" in row["metrics"] for row in content["rows"]} == {True, False}
    for row in content["rows"]:
        for estimate in row["metrics"].values():
            assert 0 <= estimate["low"] <= estimate["value"] <= estimate["high"] <= 100


def test_the_summary_is_about_the_first_solver(make_folder: MakeFolder, tmp_path: Path) -> None:
    report = measure(make_folder(prints=3), tmp_path / "work", "sure:confidence=1.0,random")
    first, confidence, pieces = summary(report)
    assert first.startswith("- About `sure:confidence=1.0`")
    assert "at least 95 % sure of 100 % of them" in confidence
    assert "too high by" in confidence
    assert pieces.startswith("- More pieces: 2x2, AA")
    modest = measure(make_folder(prints=3), tmp_path / "other", "sure:confidence=0.0")
    assert "too low by" in summary(modest)[1]
    assert "at least 95 % sure of none." in summary(modest)[1]


def summary(report: LimitsReport) -> list[str]:
    figures = dict.fromkeys(("calibration", "coverage", "grid"), "")
    short = as_markdown(report, figures).split("## In short")[1]
    return short.split("##")[0].strip().splitlines()


def test_masks_as_eroded_as_the_papers_are_marked_once() -> None:
    assert _marked([64.3]) == [(64.3, "paper, as made")]
    assert _marked([71.0]) == [(65.0, "paper"), (71.0, "as made")]
    assert _marked([]) == [(65.0, "paper")]
