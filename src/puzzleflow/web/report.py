"""The report: one page of HTML that needs nothing beside itself; and a sheet to print 1:1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

from puzzleflow.core.canvas import Colour, composite, outline
from puzzleflow.core.errors import InputError
from puzzleflow.core.types import ByteArray
from puzzleflow.pages import render
from puzzleflow.pictures import reduced
from puzzleflow.web.drawing import Drawing, Laid, numbered, on_board, on_table
from puzzleflow.web.exports import BY_HAND, jpeg
from puzzleflow.web.workbench import Workbench

REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
PICTURE_PX = 1100
PAPER = (255, 255, 255)


@dataclass(frozen=True)
class Band:
    """A range of probability; colours that colour-blind people tell apart."""

    least: float
    label: str
    colour: str

    @property
    def rgb(self) -> Colour:
        red, green, blue = bytes.fromhex(self.colour[1:])
        return red, green, blue


BANDS = (
    Band(0.95, "almost certain", "#0b62a8"),
    Band(0.80, "likely", "#4fa3d8"),
    Band(0.50, "unsure", "#e0ad2f"),
    Band(0.00, "little more than a guess", "#cf5a16"),
)
UNKNOWN = Band(math.nan, "no estimate", "#8b8d91")
FIXED = Band(math.nan, "fixed by hand", "#ffffff")


def band_of(probability: float | None) -> Band:
    """The band of a probability; :data:`UNKNOWN` for None and NaN."""
    if probability is None or math.isnan(probability):
        return UNKNOWN
    return next((band for band in BANDS if probability >= band.least), BANDS[-1])


def percent(probability: float | None) -> str:
    """``"93 %"``; a dash where nobody knows."""
    if probability is None or math.isnan(probability):
        return "–"
    return f"{math.floor(100 * probability + 0.5)} %"


def extent(index: int) -> str:
    """Where band number ``index`` begins or ends, in words."""
    if BANDS[index].least > 0:
        return f"from {percent(BANDS[index].least)}"
    return f"below {percent(BANDS[index - 1].least)}"


def report_html(workbench: Workbench, gap: float = 0.0, made_at: datetime | None = None) -> str:
    """The report of what lies on the board."""
    now = workbench.history.now
    confidence = [float(value) for value in now.confidence()]
    by = BY_HAND if now.answer is None else f"solver “{now.answer.solution.solver}”"
    guessed = " (a guess: the pieces also fill other grids)" if now.ranking else ""
    given = 0 if now.answer is None else len(now.answer.pinned)
    bands = [
        FIXED if piece in now.pinned else band_of(value) for piece, value in enumerate(confidence)
    ]
    drawing = on_board(workbench, gap)
    facts = [
        *_facts(workbench, made_at),
        f"grid {now.grid.rows} × {now.grid.cols}{guessed}",
        f"laid by {by}",
        f"{len(now.pinned)} fixed by hand",
    ]
    if given:
        facts.append(f"the numbers hold given the {given} that were fixed")
    empty = int((now.piece_at < 0).sum())
    if empty:
        facts.append(f"{empty} cell{'' if empty == 1 else 's'} empty")
    order = [*(int(piece) for piece in now.piece_at if piece >= 0), *now.aside]
    return _render(
        workbench,
        facts,
        {
            "The reconstruction": _picture(drawing),
            "Numbers of the pieces": jpeg(numbered(drawing, _paper(drawing))),
            "How sure each piece is": _picture(_outlined(drawing, bands)),
        },
        [
            {
                "place": _place(workbench, piece),
                "band": bands[piece],
                "confidence": percent(confidence[piece]),
                "fixed": piece in now.pinned,
            }
            | _described(workbench, piece)
            for piece in order
        ],
    )


def free_report_html(workbench: Workbench, made_at: datetime | None = None) -> str:
    """The report of the free table."""
    table = workbench.stock.free.now
    drawing = on_table(workbench)
    bands = [
        FIXED if piece in table.pinned else band_of(table.confidence.get(piece))
        for piece in range(len(workbench.pieces))
    ]
    return _render(
        workbench,
        [*_facts(workbench, made_at), f"{len(table.poses)} laid freely"],
        {
            "The reconstruction": _picture(drawing),
            "Numbers of the pieces": jpeg(numbered(drawing, _paper(drawing))),
        },
        [
            {
                "place": f"{pose.x:.0f}, {pose.y:.0f} px, turned {pose.angle:.1f}°"
                if (pose := table.poses.get(piece)) is not None
                else "waits in the tray",
                "band": bands[piece],
                "confidence": percent(table.confidence.get(piece)),
                "fixed": piece in table.pinned,
            }
            | _described(workbench, piece)
            for piece in range(len(workbench.pieces))
        ],
    )


def sheet_html(workbench: Workbench, drawing: Drawing) -> str:
    """A page that prints the reconstruction at its own size."""
    scale = workbench.sheet.px_per_mm
    if scale is None:
        raise InputError("printing 1:1 needs the scale: measure a ruler in the photograph first")
    return render(
        "life_size.html",
        title=workbench.sheet.title,
        picture=jpeg(composite(reduced(drawing.picture(), 4 * PICTURE_PX), PAPER)),
        width_mm=drawing.width / scale,
        height_mm=drawing.height / scale,
    )


def _facts(workbench: Workbench, made_at: datetime | None) -> list[str]:
    sheet = workbench.sheet
    count = len(workbench.pieces)
    moment = (made_at or datetime.now(UTC).astimezone()).strftime("%Y-%m-%d %H:%M")
    told = [
        sheet.author,
        sheet.date,
        f"{count} piece{'' if count == 1 else 's'}",
        "" if sheet.px_per_mm is None else f"{sheet.px_per_mm:.4g} pixels a millimetre",
        f"printed {moment}",
        f"PuzzleFlow {version('puzzleflow')}",
    ]
    return [fact for fact in told if fact]


def _render(
    workbench: Workbench,
    facts: list[str],
    pictures: dict[str, bytes],
    pieces: list[dict[str, Any]],
) -> str:
    sheet = workbench.sheet
    return render(
        "reconstruction.html",
        title=sheet.title,
        facts=facts,
        pictures=pictures,
        legend=[
            *((band, extent(index)) for index, band in enumerate(BANDS)),
            (UNKNOWN, ""),
            (FIXED, ""),
        ],
        pieces=pieces,
    )


def _place(workbench: Workbench, piece: int) -> str:
    now = workbench.history.now
    position = int(now.position_of[piece])
    if position < 0:
        return "aside"
    row, col = now.grid.cell(position)
    return f"row {row + 1}, column {col + 1}"


def _described(workbench: Workbench, piece: int) -> dict[str, Any]:
    told = workbench.pieces[piece]
    return {
        "number": piece + 1,
        "name": told.name,
        "turned": 90 * int(workbench.turns[piece]),
        "inventory": told.inventory,
        "note": told.note,
    }


def _outlined(drawing: Drawing, bands: list[Band]) -> Drawing:
    """Every fragment with a line in the colour of its band."""
    side = max(2, max(drawing.height, drawing.width) // 160)
    return Drawing(
        drawing.height,
        drawing.width,
        tuple(
            Laid(
                each.piece,
                outline(each.pixels[None], [bands[each.piece].rgb], [side])[0],
                each.top,
                each.left,
            )
            if bands[each.piece] is not FIXED
            else each
            for each in drawing.laid
        ),
    )


def _paper(drawing: Drawing) -> ByteArray:
    paper: ByteArray = np.asarray(composite(reduced(drawing.picture(), PICTURE_PX), PAPER))
    return paper


def _picture(drawing: Drawing) -> bytes:
    return jpeg(_paper(drawing))
