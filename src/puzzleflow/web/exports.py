"""Pictures as files, and the layout as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import math
import tempfile
from pathlib import Path
from typing import Any

from puzzleflow.core.open_facts import GridShare, OpenFacts
from puzzleflow.core.types import ByteArray
from puzzleflow.pictures import to_image
from puzzleflow.storage.layout import SavedLayout, write_layout
from puzzleflow.web.sheet import Sheet
from puzzleflow.web.workbench import Workbench

BY_HAND = "by hand"


def png(pixels: ByteArray, *, quick: bool = False, sheet: Sheet | None = None) -> bytes:
    """PNG of uint8 pixels, with its resolution where the scale is known."""
    stream = io.BytesIO()
    options: dict[str, Any] = {}
    if sheet is not None and sheet.dpi is not None:
        options["dpi"] = (sheet.dpi, sheet.dpi)
    to_image(pixels).save(stream, format="PNG", compress_level=1 if quick else 6, **options)
    return stream.getvalue()


def jpeg(pixels: ByteArray) -> bytes:
    """JPEG of (H, W, 3) uint8 pixels."""
    stream = io.BytesIO()
    to_image(pixels).save(stream, format="JPEG", quality=87)
    return stream.getvalue()


def saved_layout(workbench: Workbench) -> SavedLayout:
    """The arrangement as ``puzzleflow render`` and ``evaluate`` read it.

    The pictures that go with it are upright, so no turns are told.
    """
    now = workbench.history.now
    told = None
    if now.aside or now.grid.num_pieces != now.num_pieces:
        shares = tuple(
            GridShare(str(guess.grid), guess.probability)
            for guess in now.ranking
            if guess.probability is not None
        )
        told = OpenFacts(str(now.grid), grids=shares)
    return SavedLayout(
        now.position_of,
        now.grid,
        tuple(piece.name for piece in workbench.pieces),
        now.confidence(),
        now.pinned,
        now.answer.solution.solver if now.answer is not None else BY_HAND,
        workbench.sheet.title,
        told,
    )


def layout_json(workbench: Workbench) -> bytes:
    """Layout JSON."""
    with tempfile.TemporaryDirectory(dir=workbench.folder) as folder:
        path = Path(folder) / "layout.json"
        write_layout(path, saved_layout(workbench))
        return path.read_bytes()


def layout_csv(workbench: Workbench) -> bytes:
    """One line per piece, row by row, those in the tray last; rows and columns count from 1."""
    now = workbench.history.now
    confidence = now.confidence()
    turns = workbench.turns
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(
        ["piece", "row", "column", "confidence", "pinned", "turned", "inventory", "note"]
    )
    for piece in [*(int(p) for p in now.piece_at if p >= 0), *now.aside]:
        position = int(now.position_of[piece])
        row, col = now.grid.cell(position) if position >= 0 else (-1, -1)
        sure = float(confidence[piece])
        told = workbench.pieces[piece]
        writer.writerow(
            [
                _plain_cell(told.name),
                row + 1 if position >= 0 else "",
                col + 1 if position >= 0 else "",
                "" if math.isnan(sure) else f"{sure:.4f}",
                "yes" if piece in now.pinned else "no",
                90 * int(turns[piece]),
                _plain_cell(told.inventory),
                _plain_cell(told.note),
            ]
        )
    return stream.getvalue().encode("utf-8-sig")


def _plain_cell(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in "=+-@\t\r" and text else text
