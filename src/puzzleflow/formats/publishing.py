"""Data sets made ready for a hub: Parquet tables of every split, and a card for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from puzzleflow.files import read_regular, write_bytes, write_text
from puzzleflow.formats.open import on_grid, open_all
from puzzleflow.lock import locked
from puzzleflow.pages import render
from puzzleflow.storage.parquet import write_parquet
from puzzleflow.storage.source import chosen_split

CARD = "README.md"
SHEET = "contact_sheet.png"
_NAMES = {"": "train", "val": "validation"}  # as hubs call splits; the others keep their name


def write_tables(
    path: str | Path,
    out: Path,
    *,
    only: str | None = None,
    report: Callable[[str, int, int], None] = lambda stage, done, total: None,
) -> dict[str, int]:
    """``OUT/data/SPLIT-….parquet`` and ``OUT/README.md``; the number of puzzles by split.

    only  this split alone
    """
    sources = {name: on_grid(source) for name, source in open_all(path).items()}
    if only is not None:
        sources = {only: sources[chosen_split(Path(path), sources, only)]}
    beside = Path(path)
    text = read_regular(beside / CARD).decode(errors="replace") if (beside / CARD).is_file() else ""
    counts = {}
    with locked(out):
        for name, source in sources.items():
            with source:
                split = _NAMES.get(name, name)
                write_parquet(out / "data", source, split, report=report)
                counts[split] = len(source)
        if (beside / SHEET).is_file():
            write_bytes(out / SHEET, read_regular(beside / SHEET))
        first = next(iter(sources.values()))
        card = render(
            "dataset_card.md", counts=counts, grid=first.grid, text=text, name=beside.name
        )
        write_text(out / CARD, card)
    return counts
