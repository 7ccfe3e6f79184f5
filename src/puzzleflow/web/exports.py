"""The reconstruction as files: pictures, layers (SVG, PSD), the layout as JSON and as CSV."""

from __future__ import annotations

import base64
import csv
import io
import math
import tempfile
import zipfile
from pathlib import Path, PurePath
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from puzzleflow.core.canvas import crop_to_material
from puzzleflow.core.errors import InputError
from puzzleflow.core.open_facts import GridShare, OpenFacts
from puzzleflow.core.types import ByteArray
from puzzleflow.pictures import encoded, to_image
from puzzleflow.storage.layout import SavedLayout, write_layout
from puzzleflow.web.drawing import Drawing, Laid
from puzzleflow.web.stock import Sheet
from puzzleflow.web.workbench import Workbench

BY_HAND = "by hand"


def png(pixels: ByteArray, *, quick: bool = False, sheet: Sheet | None = None) -> bytes:
    """PNG of uint8 pixels, with its resolution where the scale is known."""
    dpi = None if sheet is None else sheet.dpi
    scale = {} if dpi is None else {"dpi": (dpi, dpi)}
    return encoded(pixels, "PNG", compress_level=1 if quick else 6, **scale)


def jpeg(pixels: ByteArray) -> bytes:
    """JPEG of (H, W, 3) uint8 pixels."""
    return encoded(pixels, "JPEG", quality=87)


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


def cutouts_zip(workbench: Workbench) -> bytes:
    """Every fragment as a PNG at full resolution, upright."""
    stream = io.BytesIO()
    turns = workbench.turns
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for piece, turn in zip(workbench.pieces, turns, strict=True):
            pixels = crop_to_material(piece.turned(int(turn)))
            archive.writestr(piece.name, png(pixels, quick=True, sheet=workbench.sheet))
    return stream.getvalue()


def svg(workbench: Workbench, drawing: Drawing) -> bytes:
    """A group for each fragment, named after it, in millimetres where the scale is known."""
    scale = workbench.sheet.px_per_mm
    size = (drawing.width, drawing.height)
    shown = [f"{side / scale:.3f}mm" if scale else f"{side}" for side in size]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{shown[0]}" height="{shown[1]}" '
        f'viewBox="0 0 {size[0]} {size[1]}">',
        f"<title>{escape(workbench.sheet.title)}</title>",
    ]
    for each in drawing.laid:
        piece = workbench.pieces[each.piece]
        name, cropped = PurePath(piece.name).stem, _cropped(each)
        data = base64.b64encode(png(cropped.pixels, quick=True)).decode()
        height, width = cropped.pixels.shape[:2]
        lines += [
            f'<g id="fragment-{each.piece + 1}" data-name={quoteattr(piece.name)} '
            f"data-inventory={quoteattr(piece.inventory)}>",
            f"<title>{escape(piece.inventory or name)}</title>",
            f'<image x="{cropped.left}" y="{cropped.top}" width="{width}" height="{height}" '
            f'href="data:image/png;base64,{data}"/>',
            "</g>",
        ]
    return "\n".join([*lines, "</svg>", ""]).encode()


def psd(workbench: Workbench, drawing: Drawing) -> bytes:
    """A layered file; needs the package ``psd-tools``."""
    try:
        from psd_tools import PSDImage
        from psd_tools.api.layers import PixelLayer
    except ImportError as error:
        raise InputError("layered files need psd-tools: pip install 'puzzleflow[psd]'") from error
    if max(drawing.height, drawing.width) > 30_000:
        raise InputError("a PSD holds at most 30,000 pixels a side")
    image = PSDImage.new("RGB", (drawing.width, drawing.height), color=255)
    for each in drawing.laid:
        cropped = _cropped(each)
        name = PurePath(workbench.pieces[each.piece].name).stem
        layer = PixelLayer.frompil(to_image(cropped.pixels), image, name, cropped.top, cropped.left)
        if layer not in image:
            image.append(layer)
    stream = io.BytesIO()
    image.save(stream)
    return stream.getvalue()


def _cropped(each: Laid) -> Laid:
    """Without its empty margins."""
    alpha = each.pixels[..., 3]
    rows, cols = np.flatnonzero(alpha.any(axis=1)), np.flatnonzero(alpha.any(axis=0))
    pixels = each.pixels[rows[0] : rows[-1] + 1, cols[0] : cols[-1] + 1]
    return Laid(each.piece, pixels, each.top + int(rows[0]), each.left + int(cols[0]))
