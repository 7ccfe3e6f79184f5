"""Fragments at their poses as SVG: one group a fragment, to be moved by hand."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from puzzleflow.core.fragments import Fragment
from puzzleflow.core.plane import window_around
from puzzleflow.core.pose import Pose
from puzzleflow.files import write_text
from puzzleflow.pictures import to_image


def svg_of(fragments: Sequence[Fragment], poses: Sequence[Pose | None]) -> str:
    """The drawing; one user unit is one pixel of the fragments."""
    window = window_around(fragments, poses, max_side_px=1 << 20)
    left, top, scale = window.left, window.top, window.scale
    box = f"{left:g} {top:g} {window.width / scale:g} {window.height / scale:g}"
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" '
        f'width="{window.width}" height="{window.height}" viewBox="{box}">'
    ]
    for number, (fragment, pose) in enumerate(zip(fragments, poses, strict=True)):
        if pose is None:
            continue
        height, width = fragment.pixels.shape[:2]
        turn = f" rotate({-pose.angle:.4f})" if pose.angle else ""  # SVG turns clockwise
        lines.append(
            f'<g id="fragment-{number}" data-name={quoteattr(_printable(fragment.name))} '
            f'transform="translate({pose.x:.3f} {pose.y:.3f}){turn}">'
            f"<title>{_escaped(fragment.name)}</title>"
            f'<image x="{-width / 2:g}" y="{-height / 2:g}" width="{width}" height="{height}" '
            f'href="data:image/png;base64,{_png(fragment)}"/></g>'
        )
    return "\n".join([*lines, "</svg>"]) + "\n"


def write_svg(
    path: str | Path, fragments: Sequence[Fragment], poses: Sequence[Pose | None]
) -> None:
    """Write the drawing, whole or not at all."""
    write_text(path, svg_of(fragments, poses))


def _png(fragment: Fragment) -> str:
    stream = io.BytesIO()
    to_image(fragment.pixels).save(stream, format="PNG")
    return base64.b64encode(stream.getvalue()).decode("ascii")


def _printable(text: str) -> str:
    """Without characters that XML does not allow."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _escaped(text: str) -> str:
    return _printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
