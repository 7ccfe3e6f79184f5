"""Files with one layer for each fragment: cut-outs, SVG, PSD."""

from __future__ import annotations

import base64
import io
import zipfile
from pathlib import PurePath
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from puzzleflow.core.cells import crop_to_material
from puzzleflow.core.errors import InputError
from puzzleflow.pictures import to_image
from puzzleflow.web.drawing import Drawing, Laid
from puzzleflow.web.exports import png
from puzzleflow.web.workbench import Workbench


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
