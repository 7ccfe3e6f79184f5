"""How varied a collection is: departments, centuries, media and cultures, as in the paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from puzzleflow.files import write_json, write_text
from puzzleflow.pages import render
from puzzleflow.sources.met import MetRecord

UNKNOWN = "unknown"
TOP = 10  # rows of each table
# First word found decides; the museum's classification is read before the medium.
MEDIA: dict[str, tuple[str, ...]] = {
    "photographs": ("photograph", "negative", "daguerreotype", "albumen", "gelatin silver"),
    "prints": (
        *("print", "etching", "engraving", "lithograph", "woodcut", "woodblock", "mezzotint"),
        *("aquatint", "drypoint", "ephemera"),
    ),
    "drawings": ("drawing", "graphite", "chalk", "charcoal", "pastel", "sketch"),
    "paintings": ("painting", "oil on", "tempera", "watercolor", "gouache", "scroll", "fresco"),
    "textiles": (
        *("textile", "costume", "silk", "wool", "cotton", "linen", "lace", "tapestr"),
        *("embroider", "velvet", "carpet", "woven"),
    ),
    "ceramics": (
        *("ceramic", "porcelain", "earthenware", "stoneware", "terracotta", "faience", "pottery"),
        *("vase", "clay", "maiolica"),
    ),
    "metalwork": (
        *("metalwork", "silver", "gold", "bronze", "copper", "brass", "iron", "steel", "pewter"),
        *("coin", "medal", "jewelry", "arms", "armor", "sword", "enamel"),
    ),
    "sculptures": (
        *("sculpture", "marble", "limestone", "stone", "ivory", "alabaster", "plaster", "relief"),
    ),
    "glass": ("glass",),
    "woodwork and furniture": ("furniture", "woodwork", "wood", "lacquer", "oak", "mahogany"),
    "books and manuscripts": ("book", "manuscript", "codex", "album", "papyrus", "parchment"),
}
# Shares in per cent of the 40,000 pictures of GAP, as far as the paper gives them.
PAPER: dict[str, dict[str, float]] = {
    "departments": {
        "Drawings and Prints": 29.8,
        "European Sculpture and Decorative Arts": 14.4,
        "Asian Art": 13.8,
        "Greek and Roman Art": 5.7,
        "Egyptian Art": 5.4,
    },
    "periods": {
        "19th century": 24.6,
        "16th-17th centuries": 11.7,
        "18th century": 11.5,
        "ancient-medieval": 3.8,
        "before 0 CE": 2.6,
    },
    "media": {
        "prints": 21.6,
        "metalwork": 15.4,
        "textiles": 10.4,
        "ceramics": 10.2,
        "drawings": 8.3,
        "photographs": 5.6,
        "sculptures": 3.6,
        "paintings": 2.1,
    },
    "cultures": {"Japanese": 12.9, "American": 10.2, "Chinese": 8.1, "French": 7, "Italian": 3},
}


def medium_of(record: MetRecord) -> str:
    """The kind of thing, by words in its classification, then in its medium."""
    for text in (record.classification.lower(), record.medium.lower()):
        for medium, words in MEDIA.items():
            if any(word in text for word in words):
                return medium
    return "other" if record.classification or record.medium else UNKNOWN


def year_of(record: MetRecord) -> int | None:
    """The middle of the museum's dating; both years 0 (or absent) means not dated."""
    begin, end = record.begin_year, record.end_year
    if begin is None or end is None or (begin == 0 and end == 0):
        return None
    return (begin + end) // 2


def century_of(year: int | None) -> str:
    """1889 -> "19th century", -450 -> "5th century BCE"."""
    if year is None:
        return UNKNOWN
    number = (year - 1) // 100 + 1 if year > 0 else (-year - 1) // 100 + 1 if year < 0 else 1
    return f"{_ordinal(number)} century{'' if year > 0 else ' BCE'}"


def band_of(year: int | None) -> str:
    """The paper's five spans of time, and what comes after them."""
    if year is None:
        return UNKNOWN
    if year < 0:
        return "before 0 CE"
    for last, band in (
        (1500, "ancient-medieval"),
        (1700, "16th-17th centuries"),
        (1800, "18th century"),
        (1900, "19th century"),
    ):
        if year <= last:
            return band
    return "20th-21st centuries"


def culture_of(record: MetRecord) -> str:
    """The museum's culture, or the artist's nationality where it names none."""
    return record.culture or record.artist_nationality or UNKNOWN


def describe(records: Sequence[MetRecord]) -> dict[str, Any]:
    """Counts, the most frequent first; ``unique_*`` leaves out what is unknown."""
    years = [year for year in map(year_of, records) if year is not None]
    report: dict[str, Any] = {
        "num_pictures": len(records),
        "first_year": min(years, default=None),
        "last_year": max(years, default=None),
    }
    views: dict[str, Callable[[MetRecord], str]] = {
        "departments": lambda record: record.department or UNKNOWN,
        "centuries": lambda record: century_of(year_of(record)),
        "periods": lambda record: band_of(year_of(record)),
        "media": medium_of,
        "cultures": culture_of,
    }
    for name, view in views.items():
        counted = Counter(map(view, records))
        counts = dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))
        report[f"unique_{name}"] = len(counts.keys() - {UNKNOWN})
        report[name] = counts
    return report


def write_diversity(out: Path, records_of: Mapping[str, Sequence[MetRecord]]) -> None:
    """``diversity.json`` and ``diversity.md``, for every set and for all together."""
    everything = [record for records in records_of.values() for record in records]
    reports = {name: describe(records) for name, records in records_of.items()}
    if len(reports) > 1:
        reports = {"all": describe(everything), **reports}
    write_json(out / "diversity.json", reports)
    views = ("departments", "periods", "centuries", "media", "cultures")
    page = render("diversity.md", reports=reports, views=views, paper=PAPER, top=TOP, year=_year)
    write_text(out / "diversity.md", page)


def _year(year: int | None) -> str:
    if year is None:
        return "?"
    return f"{year} CE" if year > 0 else f"{-year} BCE"


def _ordinal(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"
