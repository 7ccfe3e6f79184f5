"""Contact sheets of the best, typical and worst layouts of a solver."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from puzzleflow.core.canvas import panels, tile
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import ByteArray
from puzzleflow.evaluation.figures import caption
from puzzleflow.evaluation.results import Results
from puzzleflow.pictures import resize
from puzzleflow.storage.source import PuzzleSource

NUM_CASES = 6
PANEL_PX = 176


@dataclass(frozen=True)
class Case:
    """One layout on a sheet: a place in ``Results.records`` and what is said below it."""

    place: int
    caption: str


def pick_cases(
    results: Results, *, num_cases: int = NUM_CASES, seed: int = 0
) -> dict[str, list[Case]]:
    """Which layouts are "best", "typical" and "worst"; no layout is on two sheets.

    Layouts are ranked by AA + SRA; a seeded draw decides between equals, so
    that a solver with many perfect layouts does not always show the first ones.
    Puzzles without an answer are left out.
    """
    answered = [i for i, record in enumerate(results.records) if record.position_of is not None]
    if not answered:
        return {}
    quality = results.shares["AA"] + results.shares["SRA"]
    draw = child_rng(seed, "cases", results.solver).permutation(len(results))
    ranked = sorted(answered, key=lambda place: (-quality[place], draw[place]))
    count = max(1, min(num_cases, len(ranked) // 3))
    middle = (len(ranked) - count) // 2
    places = {"best": ranked[:count]}
    if len(ranked) > 1:
        places["worst"] = ranked[-count:]
    if len(ranked) > 2:
        places["typical"] = ranked[middle : middle + count]
    return {
        kind: [Case(place, _caption(results, place)) for place in places[kind]]
        for kind in ("best", "typical", "worst")
        if kind in places
    }


def case_sheet(source: PuzzleSource, results: Results, cases: list[Case]) -> ByteArray:
    """RGB page: per case the pieces as given, the layout marked right and wrong, the truth."""
    strips = []
    for case in cases:
        record = results.records[case.place]
        shown = panels(source.read(record.index), np.array(record.position_of, dtype=np.int64))
        strip = tile([_shrink(panel) for panel in shown.values()], 3, margin_px=0, spacing_px=8)
        strips.append(caption(strip, case.caption))
    return tile(strips, 2)


def _shrink(picture: ByteArray) -> ByteArray:
    height, width = picture.shape[:2]
    scale = PANEL_PX / max(height, width)
    return resize(picture, max(1, round(height * scale)), max(1, round(width * scale)))


def _caption(results: Results, place: int) -> str:
    record = results.records[place]
    name = f" ({record.puzzle_id})" if record.puzzle_id else ""
    shares = (f"{metric} {100 * results.shares[metric][place]:.0f}" for metric in ("AA", "SRA"))
    return f"puzzle {record.index}{name}: {', '.join(shares)}"
