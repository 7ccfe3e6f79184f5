from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.evaluation.limits.conditions import Plan
from puzzleflow.evaluation.limits.measure import LimitsReport, estimates, measure_limits
from puzzleflow.evaluation.results import Record, Truth, score_records
from puzzleflow.evaluation.spec import parse_solvers

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
    assert report.solvers == ["sure:confidence=0.25", "random"]
    sure, random = report.sections["calibration"]
    assert list(sure.calibrations) == ["pieces", "seams", "puzzles"]
    pieces = sure.calibrations["pieces"]
    assert pieces.num_answers == 12
    assert pieces.ece.value == pytest.approx(abs(0.25 - pieces.right.value))
    assert sure.metrics["ECE"].value == pytest.approx(100 * pieces.ece.value)
    (grid,) = (
        row
        for row in report.sections["grid"]
        if row.condition.label == "2x2" and row.solver == sure.solver
    )
    assert grid.metrics["AA"].value == pytest.approx(100 * pieces.right.value)
    assert not random.calibrations, "it has no confidence"
    assert "ECE" not in random.metrics


def test_a_second_run_solves_nothing_anew(
    make_folder: MakeFolder, tmp_path: Path, solver_calls: list[int]
) -> None:
    folder = make_folder(prints=3)
    first = measure(folder, tmp_path / "work")
    solver_calls.clear()
    again = measure(folder, tmp_path / "work")
    assert not solver_calls
    assert again.rows == first.rows


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


@pytest.mark.parametrize("claim", ["confidence=1.5", "order=unsure", "confidence=-1"])
def test_a_confidence_that_is_none_is_not_judged(
    make_folder: MakeFolder, tmp_path: Path, claim: str
) -> None:
    report = measure(make_folder(prints=3), tmp_path / "work", f"sure:{claim}")
    assert report.rows
    assert not any(row.calibrations for row in report.rows)
