from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from puzzleflow.core.grid import Grid
from puzzleflow.evaluation.report import as_markdown, make_report, write_report
from puzzleflow.evaluation.runner import Bench
from puzzleflow.evaluation.spec import parse_solvers
from puzzleflow.evaluation.tables import accuracy_table


@pytest.fixture
def bench(make_source: Any, tmp_path: Path) -> Bench:
    return Bench(make_source(8), parse_solvers("reading,reading:wrong=1,random"), tmp_path / "out")


@pytest.fixture
def written(bench: Bench) -> list[Path]:
    return write_report(bench, make_report(bench, bench.run(), num_workers=1))


def test_every_file_is_there(bench: Bench, written: list[Path]) -> None:
    names = {path.name for path in written}
    assert {"index.html", "bench.md", "bench.json", "bench.csv", "puzzles.csv"} <= names
    assert sum(path.suffix == ".webp" for path in written) == 9
    assert all(path.stat().st_size > 0 for path in written)
    assert not list(bench.out.rglob("*.part"))


def test_json_holds_the_figures(bench: Bench, written: list[Path]) -> None:
    content = json.loads((bench.out / "bench.json").read_text())
    reading, swapped, _ = content["solvers"]
    assert reading["metrics"]["PA"] == {"value": 100.0, "low": 100.0, "high": 100.0}
    assert swapped["failures"]["local swap"] == 8
    first = content["comparisons"][0]
    assert (first["first"], first["second"]) == ("reading", "reading:wrong=1")
    assert first["differences"]["PA"]["value"] == 100.0
    assert first["only_first"] == 8
    assert first["mcnemar_p"] == pytest.approx(2 / 2**8)
    assert content["published"]["table"] == "GAP-3"
    assert content["published"]["other_data"] is True


def test_csv_agrees_with_json(bench: Bench, written: list[Path]) -> None:
    rows = list(csv.DictReader(io.StringIO((bench.out / "bench.csv").read_text())))
    content = json.loads((bench.out / "bench.json").read_text())
    for row, solver in zip(rows, content["solvers"], strict=True):
        assert row["solver"] == solver["solver"]
        assert float(row["aa"]) == pytest.approx(solver["metrics"]["AA"]["value"], abs=1e-3)
        assert int(row["solved"]) == solver["failures"]["solved"]
    puzzles = list(csv.DictReader(io.StringIO((bench.out / "puzzles.csv").read_text())))
    assert len(puzzles) == 3 * 8
    assert {row["class"] for row in puzzles if row["solver"] == "reading"} == {"solved"}


def test_markdown_tables_are_whole(bench: Bench, written: list[Path]) -> None:
    text = (bench.out / "bench.md").read_text()
    assert "**Other data**" in text
    tables = re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)
    assert len(tables) == 5
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_other_grids_have_no_published_table(make_source: Any, tmp_path: Path) -> None:
    bench = Bench(make_source(3, (Grid(2, 2),)), parse_solvers("random"), tmp_path)
    text = as_markdown(make_report(bench, bench.run(), num_workers=1))
    assert "Published" not in text
    assert "Paired" not in text


class _Checker(HTMLParser):
    """Tags that are open, and everything the page would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in ("meta", "img"):
            self.open.append(tag)
        self.fetched += [value or "" for key, value in attrs if key in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing(make_source: Any, tmp_path: Path) -> None:
    bench = Bench(make_source(6), parse_solvers("reading,reading:refuse=badly,random"), tmp_path)
    write_report(bench, make_report(bench, bench.run(), num_workers=1))
    page = (tmp_path / "index.html").read_text()
    checker = _Checker()
    checker.feed(page)
    assert checker.open == []
    assert len(checker.fetched) == 6  # three sheets of two solvers; the third never answered
    assert all(address.startswith("data:image/webp;base64,") for address in checker.fetched)
    assert "script" not in checker.tags
    assert "other data" in page
    assert page.index("Cases of reading<") < page.index("Cases of random<"), "in the order asked"
    assert "ZeroDivisionError" in page


def test_names_are_escaped(make_source: Any, tmp_path: Path) -> None:
    bench = Bench(make_source(3), parse_solvers("reading:refuse=<b>|x"), tmp_path)
    report = make_report(bench, bench.run(), num_workers=1)
    assert accuracy_table(report)[1][0] == "reading:refuse=<b>|x"
    write_report(bench, report)
    assert "<b>" not in (tmp_path / "index.html").read_text()
    assert "<b>\\|x" in (tmp_path / "bench.md").read_text()
