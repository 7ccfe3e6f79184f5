"""The report: one page of HTML that needs nothing beside itself and prints on one sheet."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import version

import numpy as np

from puzzleflow.core.canvas import composite, lay, outline
from puzzleflow.core.types import ByteArray
from puzzleflow.pages import render
from puzzleflow.pictures import reduced
from puzzleflow.web.confidence import BANDS, UNKNOWN, band_of, extent, percent
from puzzleflow.web.exports import BY_HAND, jpeg
from puzzleflow.web.workbench import Workbench

REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
PICTURE_PX = 1100
PIECE_PX = 320
PAPER = (255, 255, 255)


def report_html(workbench: Workbench, made_at: datetime | None = None) -> str:
    """The report of the arrangement on the board."""
    now = workbench.history.now
    confidence = [float(value) for value in now.confidence()]
    moment = (made_at or datetime.now(UTC).astimezone()).strftime("%Y-%m-%d %H:%M")
    by = BY_HAND if now.answer is None else f"solver “{now.answer.solver}”"
    guessed = " (a guess: the pieces also fill other grids)" if now.ranking else ""
    pieces = np.stack([reduced(cell, PIECE_PX) for cell in workbench.cells()])  # (N, h, w, 4)
    bands = [band_of(value) for value in confidence]
    width_px = max(2, pieces.shape[1] // 32)
    marked = outline(pieces, [band.rgb for band in bands], [width_px] * len(bands))
    return render(
        "reconstruction.html",
        title=workbench.title,
        facts=[
            f"{len(workbench.pieces)} pieces",
            f"grid {now.grid.rows} × {now.grid.cols}{guessed}",
            f"laid by {by}",
            f"{len(now.pinned)} fixed by hand",
            moment,
            f"PuzzleFlow {version('puzzleflow')}",
        ],
        pictures={
            "The reconstruction": _picture(lay(pieces, now.position_of, now.grid)),
            "How sure each piece is": _picture(lay(marked, now.position_of, now.grid)),
        },
        legend=[*((band, extent(index)) for index, band in enumerate(BANDS)), (UNKNOWN, "")],
        pieces=[
            {
                "number": piece + 1,
                "name": workbench.pieces[piece].name,
                "row": now.grid.cell(position)[0] + 1,
                "col": now.grid.cell(position)[1] + 1,
                "band": bands[piece],
                "confidence": percent(confidence[piece]),
                "fixed": piece in now.pinned,
            }
            for position, piece in enumerate(now.piece_at)
        ],
    )


def _picture(rgba: ByteArray) -> bytes:
    return jpeg(composite(reduced(rgba, PICTURE_PX), PAPER))
