from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.evaluation.journal import Record
from puzzleflow.evaluation.limits.measure import measure_limits
from puzzleflow.evaluation.limits.page import write_limits
from puzzleflow.evaluation.limits.plan import Plan
from puzzleflow.evaluation.limits.scores import LimitsReport, estimates
from puzzleflow.evaluation.limits.summary import in_short
from puzzleflow.evaluation.results import Truth, score_records
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


def test_claims_reach_the_report(make_folder: MakeFolder, tmp_path: Path) -> None:
    report = measure(make_folder(prints=3), tmp_path / "work", "sure:confidence=0.25,random")
    assert report.solvers == ("sure:confidence=0.25", "random")
    (pieces,) = (c for c in report.calibrations if c.what == "pieces")
    right = pieces.reliability.right.value
    assert pieces.reliability.num_answers == 12
    assert pieces.reliability.ece.value == pytest.approx(abs(0.25 - right))
    assert {c.what for c in report.calibrations} == {"pieces", "seams", "puzzles"}
    aa = next(r for r in report.of("grid") if r.label == "2x2" and r.solver.startswith("sure"))
    assert aa.metrics["AA"].value == pytest.approx(100 * right)
    assert "random" not in {c.solver for c in report.calibrations}, "it has no confidence"


def test_a_second_run_solves_nothing_anew(
    make_folder: MakeFolder, tmp_path: Path, solver_calls: list[int]
) -> None:
    folder = make_folder(prints=3)
    first = measure(folder, tmp_path / "work")
    solver_calls.clear()
    again = measure(folder, tmp_path / "work")
    assert len(solver_calls) <= 3, "one known puzzle, to see that the solver is the same"
    assert again.rows == first.rows
    assert again.calibrations == first.calibrations


def test_a_stopped_run_goes_on(
    make_folder: MakeFolder, tmp_path: Path, solver_calls: list[int]
) -> None:
    folder = make_folder(prints=3)
    whole = measure(folder, tmp_path / "whole")
    done = []

    def stop(stage: str, count: int, total: int) -> None:
        done.append(stage)
        if len(done) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_limits(
            GRID, parse_solvers("sure"), tmp_path / "work", images=folder, on_progress=stop
        )
    assert done == ["1/2 2x2-linear"] * 3 + ["2/2 2x3-linear"]
    lines = (tmp_path / "work" / "2x3-linear" / "journal" / "sure.jsonl").read_text().splitlines()
    assert len(lines) == 2, "a heading and what was finished"
    assert measure(folder, tmp_path / "work").rows == whole.rows


def test_results_of_other_weights_are_not_mixed(
    make_folder: MakeFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_folder(prints=3)
    measure(folder, tmp_path / "work")
    solver = type(parse_solvers("sure")[0].load())
    monkeypatch.setattr(solver.__init__, "__kwdefaults__", {"confidence": 0.6, "order": "kept"})
    with pytest.raises(InputError, match="sure answers otherwise now"):
        measure(folder, tmp_path / "work")
    fresh = measure_limits(
        GRID, parse_solvers("sure"), tmp_path / "work", images=folder, fresh=True
    )
    assert fresh.calibrations[0].reliability.bins[0].confidence == pytest.approx(0.6)


def test_other_pictures_are_not_mixed(make_folder: MakeFolder, tmp_path: Path) -> None:
    folder = make_folder(prints=3)
    measure(folder, tmp_path / "work")
    (folder / "prints" / "prints-1.png").unlink()
    with pytest.raises(InputError, match="begun with data"):
        measure(folder, tmp_path / "work")


def test_a_work_folder_among_the_pictures(make_folder: MakeFolder) -> None:
    folder = make_folder(prints=1)
    with pytest.raises(InputError, match="inside the picture folder"):
        measure(folder, folder / "work")


def test_puzzles_of_one_picture_are_one_cluster() -> None:
    grid = Grid(1, 2)
    truths = [Truth(np.array([0, 1]), grid)] * 20
    layouts = [(0, 1) if index % 2 else (1, 0) for index in range(20)]

    def width(names: list[str]) -> float:
        records = [Record(i, names[i], layouts[i], 0.1) for i in range(20)]
        estimate = estimates(score_records("any", records, truths), grid)["AA"]
        assert estimate.value == 50
        return estimate.high - estimate.low

    apart = width([str(index) for index in range(20)])
    assert width([str(index % 2) for index in range(20)]) > 1.5 * apart


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


@pytest.mark.parametrize("claim", ["1.5", "NaN", "-1"])
def test_a_confidence_that_is_none_is_not_judged(
    make_folder: MakeFolder, tmp_path: Path, claim: str
) -> None:
    report = measure(make_folder(prints=3), tmp_path / "work", f"sure:confidence={claim}")
    assert not report.calibrations
    assert report.rows


def test_the_summary_is_about_the_first_solver(make_folder: MakeFolder, tmp_path: Path) -> None:
    report = measure(make_folder(prints=3), tmp_path / "work", "sure:confidence=1.0,random")
    first, confidence, pieces = in_short(report)
    assert first.startswith("About `sure:confidence=1.0`")
    assert "at least 95 % sure of 100 % of them" in confidence
    assert "too high by" in confidence
    assert pieces.startswith("More pieces: 2x2, AA")
    modest = measure(make_folder(prints=3), tmp_path / "other", "sure:confidence=0.0")
    assert "too low by" in in_short(modest)[1]
    assert "at least 95 % sure of none" in in_short(modest)[1]
