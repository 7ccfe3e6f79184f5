"""What is taken away: the assembled picture, the layout as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import math
import tempfile
from pathlib import Path

from puzzleflow.core.canvas import lay
from puzzleflow.core.types import ByteArray
from puzzleflow.pictures import to_image
from puzzleflow.storage.layout import SavedLayout, write_layout
from puzzleflow.web.workbench import Workbench

BY_HAND = "by hand"


def png(pixels: ByteArray, *, quick: bool = False) -> bytes:
    """PNG of uint8 pixels."""
    stream = io.BytesIO()
    to_image(pixels).save(stream, format="PNG", compress_level=1 if quick else 6)
    return stream.getvalue()


def jpeg(pixels: ByteArray) -> bytes:
    """JPEG of (H, W, 3) uint8 pixels."""
    stream = io.BytesIO()
    to_image(pixels).save(stream, format="JPEG", quality=87)
    return stream.getvalue()


def assembled(workbench: Workbench) -> ByteArray:
    """(rows*H, cols*W, 4) the pieces as they lie, at full resolution, transparent around."""
    now = workbench.history.now
    return lay(workbench.cells(), now.position_of, now.grid)


def saved_layout(workbench: Workbench) -> SavedLayout:
    """The arrangement as ``puzzleflow render`` and ``evaluate`` read it."""
    now = workbench.history.now
    return SavedLayout(
        now.position_of,
        now.grid,
        tuple(piece.name for piece in workbench.pieces),
        now.confidence(),
        now.pinned,
        now.answer.solver if now.answer is not None else BY_HAND,
        workbench.title,
    )


def layout_json(workbench: Workbench) -> bytes:
    """Layout JSON."""
    with tempfile.TemporaryDirectory(dir=workbench.folder) as folder:
        path = Path(folder) / "layout.json"
        write_layout(path, saved_layout(workbench))
        return path.read_bytes()


def layout_csv(workbench: Workbench) -> bytes:
    """One line per piece, row by row; rows and columns count from 1."""
    now = workbench.history.now
    confidence = now.confidence()
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(["piece", "row", "column", "confidence", "pinned"])
    for position, piece in enumerate(now.piece_at):
        row, col = now.grid.cell(position)
        sure = float(confidence[piece])
        writer.writerow(
            [
                workbench.pieces[piece].name,
                row + 1,
                col + 1,
                "" if math.isnan(sure) else f"{sure:.4f}",
                "yes" if piece in now.pinned else "no",
            ]
        )
    return stream.getvalue().encode("utf-8-sig")
