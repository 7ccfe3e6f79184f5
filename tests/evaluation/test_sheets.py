from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from puzzleflow.evaluation.journal import Record
from puzzleflow.evaluation.results import Results
from puzzleflow.evaluation.runner import Bench
from puzzleflow.evaluation.sheets import case_sheet, pick_cases
from puzzleflow.evaluation.spec import parse_solvers


def results(quality: list[float | None]) -> Results:
    records = tuple(
        Record(index, "", None if value is None else (0,), 0.1)
        for index, value in enumerate(quality)
    )
    share = np.array([value or 0.0 for value in quality])
    shares = {"PA": share, "AA": share, "SRA": share}
    return Results("any", records, shares, np.zeros(len(quality), dtype=np.int64))


def places(cases: dict[str, Any]) -> dict[str, set[int]]:
    return {kind: {case.place for case in chosen} for kind, chosen in cases.items()}


def test_best_typical_and_worst() -> None:
    quality: list[float | None] = [0.5, 0.0, 1.0, 0.1, 0.9, 0.6, None, 0.4, 0.45]
    chosen = places(pick_cases(results(quality), num_cases=2))
    assert chosen == {"best": {2, 4}, "typical": {0, 8}, "worst": {1, 3}}


@pytest.mark.parametrize("size", range(1, 12))
def test_no_layout_is_on_two_sheets(size: int) -> None:
    chosen = places(pick_cases(results([1.0] * size), num_cases=4))
    shown = [place for kind in chosen.values() for place in kind]
    assert len(shown) == len(set(shown))
    assert shown


def test_nothing_to_show() -> None:
    assert pick_cases(results([None, None])) == {}


def test_a_sheet_has_three_panels_for_each_case(make_source: Any, tmp_path: Path) -> None:
    source = make_source(6)
    (found,) = Bench(source, parse_solvers("reading:wrong=1"), tmp_path).run()
    cases = pick_cases(found)
    page = case_sheet(source, found, cases["best"])
    assert page.dtype == np.uint8
    assert page.ndim == 3
    assert page.shape[1] > 2.5 * page.shape[0]  # two cases side by side, three panels each
    assert "AA 78" in cases["best"][0].caption
