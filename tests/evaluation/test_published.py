from __future__ import annotations

import pytest

from puzzleflow.core.grid import Grid
from puzzleflow.evaluation.published import METHODS, PUBLISHED, published_of, table_for


def test_rows_of_table_1() -> None:
    rows = {row.method: (row.pa, row.aa, row.sra) for row in PUBLISHED["GAP-3"]}
    assert rows["PuzzleFlow"] == (28.5, 62.9, 55.7)
    assert rows["FCViT"] == (25.2, 60.7, 47.6)
    rows = {row.method: (row.pa, row.aa, row.sra) for row in PUBLISHED["GAP-5"]}
    assert rows["PuzzleFlow"] == (0.3, 29.1, 19.8)


def test_the_slip_is_marked_and_nothing_else_is() -> None:
    marked = [(name, row.method) for name in PUBLISHED for row in PUBLISHED[name] if row.note]
    assert marked == [("GAP-5", "Genetic (Sholomon 2013)")]


@pytest.mark.parametrize("name", PUBLISHED)
def test_percentages_methods_and_sources(name: str) -> None:
    rows = PUBLISHED[name]
    assert len({row.method for row in rows}) == len(rows)
    for row in rows:
        assert row.source
        assert all(v is None or 0 <= v <= 100 for v in (row.pa, row.aa, row.sra))
        assert row.pa is None or row.aa is None or row.pa <= row.aa or row.method == "FCViT"


@pytest.mark.parametrize(
    ("grids", "kind", "expected"),
    [
        ({Grid(3, 3)}, "gap", "GAP-3"),
        ({Grid(5, 5)}, "recipe", "GAP-5"),
        ({Grid(5, 5)}, "jpwleg", "JPwLEG-5"),
        ({Grid(4, 4)}, "gap", None),
        ({Grid(3, 5)}, "gap", None),
        ({Grid(3, 3), Grid(5, 5)}, "gap", None),
    ],
)
def test_the_table_that_fits(grids: set[Grid], kind: str, expected: str | None) -> None:
    assert table_for(grids, kind) == expected


def test_our_solvers_find_their_published_rows() -> None:
    rows = PUBLISHED["GAP-3"]
    found = published_of("flow:steps=5", rows)
    assert found is not None
    assert found.method == "PuzzleFlow"
    for solver in ("relational", "fcvit+", "random"):
        assert published_of(solver, rows) is None
    published = [row.method for table in PUBLISHED.values() for row in table]
    for method in METHODS.values():
        assert any(name.startswith(method) for name in published), method
