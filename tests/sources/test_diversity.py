from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from puzzleflow.core.errors import FormatError
from puzzleflow.sources.diversity import (
    band_of,
    century_of,
    culture_of,
    describe,
    medium_of,
    write_diversity,
    year_of,
)
from puzzleflow.sources.met import MetRecord


def record(**changes: Any) -> MetRecord:
    return MetRecord.from_api({"objectID": 1, "isPublicDomain": True, **changes})


@pytest.mark.parametrize(
    ("year", "century", "band"),
    [
        (1, "1st century", "ancient-medieval"),
        (100, "1st century", "ancient-medieval"),
        (101, "2nd century", "ancient-medieval"),
        (1250, "13th century", "ancient-medieval"),
        (1501, "16th century", "16th-17th centuries"),
        (1700, "17th century", "16th-17th centuries"),
        (1701, "18th century", "18th century"),
        (1889, "19th century", "19th century"),
        (1901, "20th century", "20th-21st centuries"),
        (2001, "21st century", "20th-21st centuries"),
        (-1, "1st century BCE", "before 0 CE"),
        (-100, "1st century BCE", "before 0 CE"),
        (-970, "10th century BCE", "before 0 CE"),
        (-1050, "11th century BCE", "before 0 CE"),
        (None, "unknown", "unknown"),
    ],
)
def test_centuries_and_the_papers_spans(year: int | None, century: str, band: str) -> None:
    assert century_of(year) == century
    assert band_of(year) == band


def test_years_are_the_middle_of_the_dating() -> None:
    assert year_of(record(objectBeginDate=1800, objectEndDate=1900)) == 1850
    assert year_of(record(objectBeginDate=-50, objectEndDate=-40)) == -45
    assert year_of(record(objectBeginDate=0, objectEndDate=0)) is None
    assert year_of(record(objectBeginDate="1800", objectEndDate=1900)) is None


@pytest.mark.parametrize(
    ("classification", "medium", "expected"),
    [
        ("Prints", "Etching", "prints"),
        ("Photographs", "Albumen silver print", "photographs"),
        ("", "Gelatin silver print", "photographs"),
        ("Textiles-Woven", "Silk", "textiles"),
        ("Ceramics-Porcelain", "Porcelain", "ceramics"),
        ("", "Terracotta", "ceramics"),
        ("Metalwork-Silver", "Silver", "metalwork"),
        ("Sculpture", "Bronze", "sculptures"),
        ("Paintings", "Tempera and gold on wood", "paintings"),
        ("Drawings", "Pen and ink", "drawings"),
        ("Glass", "Glass", "glass"),
        ("Feathers", "Feather", "other"),
        ("", "", "unknown"),
    ],
)
def test_media(classification: str, medium: str, expected: str) -> None:
    assert medium_of(record(classification=classification, medium=medium)) == expected


def test_culture_falls_back_on_the_artist() -> None:
    assert culture_of(record(culture="Japan", artistNationality="French")) == "Japan"
    assert culture_of(record(artistNationality="French")) == "French"
    assert culture_of(record()) == "unknown"


def test_a_report_worked_by_hand(tmp_path: Path) -> None:
    three = [
        record(department="A|B", culture="French", objectBeginDate=1800, objectEndDate=1810),
        record(department="A|B", culture="French", objectBeginDate=-20, objectEndDate=-10),
        record(department="C"),
    ]
    report = describe(three)
    assert report["departments"] == {"A|B": 2, "C": 1}
    assert report["unique_departments"] == 2
    assert report["cultures"] == {"French": 2, "unknown": 1}
    assert report["unique_cultures"] == 1
    assert (report["first_year"], report["last_year"]) == (-15, 1805)
    write_diversity(tmp_path, {"GAP-3": three, "GAP-5": []})
    assert json.loads((tmp_path / "diversity.json").read_text())["all"] == report
    text = (tmp_path / "diversity.md").read_text()
    assert "## GAP-3: 3 pictures, 15 BCE to 1805 CE" in text
    assert "| A\\|B | 2 | 66.7 % |  |" in text
    assert "| French | 2 | 66.7 % | 7 % |" in text
    assert "## GAP-5: 0 pictures, ? to ?" in text


@pytest.mark.parametrize("answer", [None, [], {}, {"objectID": "1"}, "x", 3])
def test_answers_that_are_no_record(answer: Any) -> None:
    with pytest.raises(FormatError, match="objectID"):
        MetRecord.from_api(answer)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, "no-image"),
        ({"primaryImage": "https://x/y.jpg"}, None),
        ({"primaryImage": "https://x/y.jpg", "title": "Two Fragments of a bowl"}, "fragment-title"),
        ({"primaryImage": "https://x/y.jpg", "isPublicDomain": False}, "not-public-domain"),
        ({"primaryImage": "https://x/y.jpg", "isPublicDomain": "true"}, "not-public-domain"),
        ({"primaryImage": "data:image/png;base64,x"}, "no-image"),
        ({"primaryImage": "http://["}, "no-image"),
        ({"primaryImage": None, "title": None}, "no-image"),
    ],
)
def test_the_papers_filter(changes: dict[str, Any], reason: str | None) -> None:
    assert record(**changes).unsuitable() == reason
