"""The report in a few sentences, about the solver that was named first."""

from __future__ import annotations

from collections.abc import Sequence

from puzzleflow.core.intervals import Estimate, percent
from puzzleflow.evaluation.limits.scores import Calibration, LimitsReport, Row
from puzzleflow.evaluation.tables import interval_text

SURE = 0.95


def in_short(report: LimitsReport) -> list[str]:
    """A few sentences with intervals; the first says which solver they are about."""
    solver = report.solvers[0]
    lines = [f"About `{solver}`; the tables below have every solver."]
    for calibration in report.calibrations:
        if calibration.solver == solver and calibration.what == "pieces":
            lines.append(_confidence(calibration))
    rows = [row for row in report.rows if row.solver == solver]
    kinds = sorted(_section(rows, "kind"), key=lambda row: row.metrics["AA"].value)
    if len(kinds) > 1:
        lines.append(f"Hardest kind of picture: {_accuracy(kinds[0])}; {_accuracy(kinds[-1])}.")
    gaps = [row for row in _section(rows, "gap") if row.series != "straight"]
    if gaps:
        shown = [gaps[0], *(row for row in gaps if row.label == "as made"), gaps[-1]]
        lines.append(f"Wider gaps: {'; '.join(_at_gap(row) for row in shown)}.")
    grids = _section(rows, "grid")
    if grids:
        places = dict.fromkeys([0, len(grids) // 2, len(grids) - 1])
        lines.append(f"More pieces: {'; '.join(_accuracy(grids[place]) for place in places)}.")
    samples = _section(rows, "samples")
    if samples:
        lines.append(f"Met pictures: {'; '.join(_accuracy(row) for row in samples)}.")
    return lines


def _confidence(calibration: Calibration) -> str:
    found = calibration.reliability
    excess = 100 * found.excess.value
    sure = next(covered for covered in calibration.thresholds if covered.threshold == SURE)
    told = "of none"
    if sure.right:
        told = f"of {100 * sure.coverage:.0f} % of them, and then {_percent(sure.right)} % right"
    return (
        f"{calibration.label}: confidence in a piece is {_percent(found.ece)} points off (ECE), "
        f"{'too high' if excess > 0 else 'too low'} by {abs(excess):.1f} in the mean; it is "
        f"at least {100 * SURE:g} % sure {told}."
    )


def _section(rows: Sequence[Row], section: str) -> list[Row]:
    return [row for row in rows if row.section == section]


def _at_gap(row: Row) -> str:
    told = f"{row.kept.value:.0f} % of a cell kept, AA {interval_text(row.metrics['AA'])}"
    return f"{told}, ECE {interval_text(row.metrics['ECE'])}" if "ECE" in row.metrics else told


def _accuracy(row: Row) -> str:
    aa, pa = (interval_text(row.metrics[metric]) for metric in ("AA", "PA"))
    return f"{row.label}, AA {aa}, PA {pa}"


def _percent(share: Estimate) -> str:
    return interval_text(percent(share))
