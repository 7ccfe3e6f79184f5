"""The report: one page of HTML that needs nothing beside itself and prints on one sheet."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version

import numpy as np

from puzzleflow.core.canvas import composite, lay, outline
from puzzleflow.core.types import ByteArray
from puzzleflow.pictures import reduced
from puzzleflow.web.confidence import BANDS, UNKNOWN, Band, band_of, extent, percent
from puzzleflow.web.exports import BY_HAND, jpeg
from puzzleflow.web.workbench import Workbench

REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
PICTURE_PX = 1100
PIECE_PX = 320
PAPER = (255, 255, 255)

_STYLE = """
body{font:14px/1.45 system-ui,sans-serif;color:#1d1f23;background:#fff;max-width:60rem;
margin:2rem auto;padding:0 1.5rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1rem;margin:1.2rem 0 .4rem}
p{margin:.3rem 0}.facts{color:#555}figure{margin:0}figcaption{color:#555;font-size:.85rem}
.pictures{display:grid;grid-template-columns:1fr 1fr;gap:1rem;margin-top:1rem}
img{max-width:100%;max-height:55vh;display:block;border:1px solid #ddd}
table{border-collapse:collapse;width:100%;font-size:.85rem}
td,th{text-align:left;padding:.15rem .5rem;border-bottom:1px solid #e4e4e4}
.key{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin-right:.4em}
.legend span{margin-right:1.2rem}
@media print{body{margin:0;font-size:11px}img{max-height:42vh}}
"""


def report_html(workbench: Workbench, made_at: datetime | None = None) -> str:
    """The report of the arrangement on the board."""
    now = workbench.history.now
    confidence = now.confidence()
    answer = now.answer
    moment = (made_at or datetime.now(UTC).astimezone()).strftime("%Y-%m-%d %H:%M")
    by = BY_HAND if answer is None else f"solver “{answer.solver}”"
    grid = f"{now.grid.rows} × {now.grid.cols}"
    guessed = " (a guess: the pieces also fill other grids)" if now.ranking else ""
    pieces = np.stack([reduced(cell, PIECE_PX) for cell in workbench.cells()])  # (N, h, w, 4)
    bands = [band_of(float(value)) for value in confidence]
    width_px = max(2, pieces.shape[1] // 32)
    marked = outline(pieces, [band.rgb for band in bands], [width_px] * len(bands))
    facts = [
        f"{len(workbench.pieces)} pieces",
        f"grid {grid}{guessed}",
        f"laid by {by}",
        f"{len(now.pinned)} fixed by hand",
        moment,
        f"PuzzleFlow {version('puzzleflow')}",
    ]
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f"<title>{escape(workbench.title)} – reconstruction</title>",
            f"<style>{_STYLE}</style></head><body>",
            f"<h1>{escape(workbench.title)}</h1>",
            f'<p class="facts">{escape(" · ".join(facts))}</p>',
            '<div class="pictures">',
            _figure(lay(pieces, now.position_of, now.grid), "The reconstruction"),
            _figure(lay(marked, now.position_of, now.grid), "How sure each piece is"),
            "</div>",
            _legend(),
            "<h2>Pieces</h2>",
            _table(workbench, bands),
            "<p class='facts'>A confidence is the solver’s own estimate. It is not evidence: a "
            "piece fixed by hand says what a person decided, and a confident solver may be "
            "wrong.</p>",
            "</body></html>",
        ]
    )


def _figure(rgba: ByteArray, caption: str) -> str:
    small = composite(reduced(rgba, PICTURE_PX), PAPER)
    data = base64.b64encode(jpeg(small)).decode()
    return (
        f'<figure><img alt="{escape(caption)}" src="data:image/jpeg;base64,{data}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def _key(band: Band) -> str:
    return f'<span class="key" style="background:{band.colour}"></span>'


def _legend() -> str:
    items = [
        f"<span>{_key(band)}{escape(band.label)} ({extent(index)})</span>"
        for index, band in enumerate(BANDS)
    ]
    items.append(f"<span>{_key(UNKNOWN)}{escape(UNKNOWN.label)}</span>")
    return f'<p class="legend">{"".join(items)}</p>'


def _table(workbench: Workbench, bands: list[Band]) -> str:
    now = workbench.history.now
    confidence = now.confidence()
    rows = []
    for position, piece in enumerate(now.piece_at):
        row, col = now.grid.cell(position)
        fixed = "fixed by hand" if piece in now.pinned else ""
        rows.append(
            f"<tr><td>{piece + 1}</td><td>{escape(workbench.pieces[piece].name)}</td>"
            f"<td>{row + 1}</td><td>{col + 1}</td>"
            f"<td>{_key(bands[piece])}{percent(float(confidence[piece]))}</td><td>{fixed}</td></tr>"
        )
    head = "".join(
        f"<th>{name}</th>" for name in ("No.", "Piece", "Row", "Column", "Confidence", "")
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
