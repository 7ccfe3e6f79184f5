"""Figures with captions: one puzzle and its layouts, or a sheet of many puzzles or cases.

Puzzles lie on a grid; :class:`FragmentSet` holds fragments that lie anywhere,
whose only layout is their truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from puzzleflow.core import canvas
from puzzleflow.core.fragments import FragmentSet
from puzzleflow.core.plane import draw, window_around
from puzzleflow.core.puzzle import Layout, Puzzle
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import ByteArray, IntArray
from puzzleflow.evaluation.results import Results
from puzzleflow.pictures import fitted
from puzzleflow.storage.source import PuzzleSource

INK: canvas.Colour = (64, 62, 58)
MIN_SIDE_PX = 256  # smaller pictures of a figure are enlarged to at least this
MAX_SIDE_PX = 960  # larger assemblies of free fragments are reduced to this
NUM_CASES = 6  # on a sheet of a solver's best, typical or worst layouts
PANEL_PX = 176


def puzzle_figure(
    puzzle: Puzzle, position_of: IntArray | Layout | None = None, *, captions: bool = True
) -> ByteArray:
    """RGB "shuffled / solved / truth" side by side, as far as they are known.

    ``position_of`` may be a whole layout, which tells its grid and the turns of the pieces.
    """
    shown = canvas.panels(puzzle, position_of)
    factor = max(1, -(-MIN_SIDE_PX // max(next(iter(shown.values())).shape[:2])))
    enlarged = {name: _enlarge(panel, factor) for name, panel in shown.items()}
    if not captions:
        return canvas.tile(list(enlarged.values()), len(enlarged))
    texts = {name: name for name in enlarged}
    if position_of is not None and puzzle.truth is not None:
        right = canvas.rightly_laid(puzzle, canvas.as_layout(position_of, puzzle))
        assert right is not None
        texts["solved"] = f"solved: {np.count_nonzero(right)} of {puzzle.num_pieces} right"
    columns = [caption(panel, texts[name]) for name, panel in enlarged.items()]
    return canvas.tile(columns, len(columns))


def contact_sheet(
    puzzles: Iterable[Puzzle | FragmentSet],
    layouts: Sequence[IntArray | Layout | None] | None = None,
    *,
    columns: int = 6,
    tile_px: int = 192,
    captions: bool = True,
) -> ByteArray:
    """RGB page of many puzzles, each with a longer side of ``tile_px``.

    A puzzle with a layout shows it, marked right and wrong where the truth is
    known; one without shows the truth, or else its pieces as they came.
    Puzzles are taken one at a time and only their small pictures are kept.
    """
    tiles = []
    for index, puzzle in enumerate(puzzles):
        if isinstance(puzzle, FragmentSet):
            name = puzzle.name
            picture = fitted(canvas.board(_assembled(puzzle, 2 * tile_px)), tile_px)
        else:
            name = puzzle.puzzle_id
            picture = _thumbnail(puzzle, None if layouts is None else layouts[index], tile_px)
        tiles.append(caption(picture, name or str(index)) if captions else picture)
    return canvas.tile(tiles, columns)


def fragment_figure(fragments: FragmentSet, *, captions: bool = True) -> ByteArray:
    """RGB "fragments / truth": the fragments side by side, and assembled by their poses.

    Without poses the fragments alone.
    """
    known = bool(fragments.placed.any())
    truth = canvas.board(_assembled(fragments, MAX_SIDE_PX)) if known else None
    side_px = MAX_SIDE_PX if truth is None else max(truth.shape[:2])
    heap = canvas.tile(
        [canvas.composite(fragment.pixels) for fragment in fragments.fragments],
        columns=max(1, round(len(fragments) ** 0.5)),
        background=canvas.BOARD,
    )
    heap = fitted(heap, side_px)
    told = f"{len(fragments)} fragments"
    if truth is None:
        return canvas.tile([caption(heap, told) if captions else heap], 1)
    if not captions:
        return canvas.tile([heap, truth], 2)
    placed = int(fragments.placed.sum())
    shown = "truth" if fragments.has_truth else f"truth, as far as known ({placed})"
    return canvas.tile([caption(heap, told), caption(truth, shown)], 2)


def _assembled(fragments: FragmentSet, max_side_px: int) -> ByteArray:
    """(H, W, 4) the fragments at their true poses."""
    window = window_around(fragments.fragments, fragments.poses, max_side_px=max_side_px)
    return draw(fragments.fragments, fragments.poses, window)


def caption(picture: ByteArray, text: str, *, background: canvas.Colour = canvas.PAGE) -> ByteArray:
    """The picture with one centred line of text below it, shortened to fit."""
    height, width = picture.shape[:2]
    size_px = int(np.clip(width / 18, 11, 28))
    font = ImageFont.load_default(size_px)
    while len(text) > 1 and font.getlength(text) > width:
        text = text.removesuffix("…")[:-1] + "…"
    page = Image.new("RGB", (width, height + round(1.9 * size_px)), background)
    page.paste(Image.fromarray(picture), (0, 0))
    draw = ImageDraw.Draw(page)
    draw.text((width / 2, height + 1.0 * size_px), text, fill=INK, font=font, anchor="mm")
    return np.array(page)


def _thumbnail(puzzle: Puzzle, answer: IntArray | Layout | None, tile_px: int) -> ByteArray:
    if answer is None:
        shown = canvas.panels(puzzle, None)
        return fitted(shown.get("truth", shown["shuffled"]), tile_px)
    layout = canvas.as_layout(answer, puzzle)
    pieces, right = puzzle.pieces, canvas.rightly_laid(puzzle, layout)
    laid = canvas.lay_layout(pieces, layout)
    if right is not None:
        width_px = max(1, round(1.2 * max(laid.shape[:2]) / tile_px))  # about 1 px when small
        laid = canvas.lay_layout(canvas.mark(pieces, right, width_px=width_px), layout)
    return fitted(canvas.board(laid), tile_px)


def _enlarge(picture: ByteArray, factor: int) -> ByteArray:
    return picture.repeat(factor, axis=0).repeat(factor, axis=1)


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
        kind: [Case(place, _case_caption(results, place)) for place in places[kind]]
        for kind in ("best", "typical", "worst")
        if kind in places
    }


def case_sheet(source: PuzzleSource, results: Results, cases: list[Case]) -> ByteArray:
    """RGB page: per case the pieces as given, the layout marked right and wrong, the truth."""
    strips = []
    for case in cases:
        record = results.records[case.place]
        shown = canvas.panels(source.read(record.index), record.layout)
        strip = canvas.tile(
            [fitted(panel, PANEL_PX) for panel in shown.values()], 3, margin_px=0, spacing_px=8
        )
        strips.append(caption(strip, case.caption))
    return canvas.tile(strips, 2)


def _case_caption(results: Results, place: int) -> str:
    record = results.records[place]
    name = f" ({record.puzzle_id})" if record.puzzle_id else ""
    shares = (f"{metric} {100 * results.shares[metric][place]:.0f}" for metric in ("AA", "SRA"))
    return f"puzzle {record.index}{name}: {', '.join(shares)}"
