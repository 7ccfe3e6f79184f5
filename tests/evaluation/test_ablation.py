import json
from pathlib import Path

import numpy as np
import pytest

from puzzleflow.core.grid import Grid
from puzzleflow.evaluation.ablation import (
    AblationReport,
    Row,
    ablation_table,
    published_deltas,
    write_ablation,
)
from puzzleflow.evaluation.published import PUBLISHED_ABLATIONS
from puzzleflow.evaluation.results import Record, Truth, score_records
from puzzleflow.pictures import read_picture
from puzzleflow.training.ablation import FULL, VARIANTS

# four 2x2 puzzles whose truth is (0, 1, 2, 3)
RIGHT, SWAPPED, WRONG = [0, 1, 2, 3], [1, 0, 2, 3], [1, 2, 3, 0]


def row(name: str, layouts: list[list[int]], label: str = "") -> Row:
    records = [Record(index, "", tuple(laid), 0.0) for index, laid in enumerate(layouts)]
    truths = [Truth(np.array(RIGHT), Grid(2, 2))] * len(layouts)
    results = score_records(f"flow:weights={name}", records, truths)
    return Row(name, label or name, VARIANTS[name].group, results)


@pytest.fixture
def report() -> AblationReport:
    return AblationReport(
        {"steps": "7"},
        [
            row("direct", [RIGHT, SWAPPED, SWAPPED, WRONG]),
            row("frozen", [SWAPPED] * 4),
            row(FULL, [RIGHT, RIGHT, RIGHT, SWAPPED]),
            row("one-step", [RIGHT, RIGHT, RIGHT, SWAPPED]),
        ],
    )


def test_deltas_are_paired_and_in_points(report: AblationReport) -> None:
    direct, frozen, full, one_step = report.rows
    # AA: 1, ½, ½, 0 against 1, 1, 1, ½
    assert direct.results.estimate("AA").value == pytest.approx(50.0)
    assert full.results.estimate("AA").value == pytest.approx(87.5)
    delta = report.deltas(direct)["AA"]
    assert delta.value == pytest.approx(-37.5)
    assert -50 <= delta.low < delta.high <= 0  # no puzzle differs by more than half
    assert report.deltas(direct)["PA"].value == pytest.approx(25.0 - 75.0)
    # swapping the upper two keeps the lower pair beside each other and breaks the other three
    assert frozen.results.estimate("SRA").value == pytest.approx(25.0)
    assert report.deltas(frozen)["SRA"].value == pytest.approx(25.0 - (3 * 100 + 25) / 4)
    same = report.deltas(one_step)["SRA"]
    assert (same.value, same.low, same.high) == (0, 0, 0)
    assert report.deltas(full) == {}


def test_the_table_has_the_papers_groups_and_rows_beside_ours(report: AblationReport) -> None:
    head, *rows = ablation_table(report)
    assert {len(r) for r in rows} == {len(head)}
    by_label = {r[0]: dict(zip(head, r, strict=True)) for r in rows}
    assert list(by_label) == [
        "*Core framework*", "direct", "frozen", "**full**",
        "*Full model's weights, other inference*", "one-step",
    ]  # fmt: skip
    assert by_label["direct"]["paper PA / AA / SRA"] == "22.6 / 57.9 / 50.0"
    assert by_label["direct"]["paper Δ"] == "-5.9 / -5.0 / -5.7"
    assert by_label["direct"]["ΔAA"].startswith("-37.5 [")
    # three of four puzzles differ: four draws hit the fourth alone with probability 1/256
    assert by_label["frozen"]["ΔAA"].endswith("] *")
    # two of four differ: four draws miss both with probability 1/16, more than 2.5 %
    assert by_label["direct"]["ΔPA"].endswith("+0.0]")
    assert by_label["**full**"]["ΔPA"] == "–"
    assert by_label["one-step"]["paper Δ"] == "–"
    assert by_label["one-step"]["ΔSRA"] == "+0.0 [+0.0, +0.0]"


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("direct", [-5.9, -5.0, -5.7]),
        ("frozen", [-21.1, -20.7, -21.2]),
        ("layers-0", [-18.4, -17.8, -20.4]),
        ("layers-2", [-5.0, -4.1, -5.1]),
        ("layers-6", [-3.8, -3.4, -3.5]),
        ("rgb", [-19.3, -18.5, -21.1]),
        ("full", []),
        ("hungarian", []),
    ],
)
def test_published_deltas_are_those_printed(name: str, printed: list[float]) -> None:
    assert published_deltas(row(name, [RIGHT])) == printed


def test_every_published_row_has_its_variant() -> None:
    assert PUBLISHED_ABLATIONS.keys() <= VARIANTS.keys()


def test_written_report_is_whole(report: AblationReport, tmp_path: Path) -> None:
    page, figures, chart = write_ablation(tmp_path, report)
    text = page.read_text()
    assert "- steps: 7" in text
    assert "ablation.png" in text
    stored = json.loads(figures.read_text())
    by_name = {entry["variant"]: entry for entry in stored["variants"]}
    assert by_name["direct"]["deltas"]["PA"]["value"] == pytest.approx(-50.0)
    assert by_name["direct"]["published"]["pa"] == 22.6
    assert by_name[FULL]["deltas"] is None
    assert by_name["one-step"]["published"] is None
    assert np.ptp(read_picture(chart)) > 100
