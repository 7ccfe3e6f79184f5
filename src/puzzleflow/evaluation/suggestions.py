"""A page for people who put fragments together: the answer, and who may lie beside whom."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from puzzleflow.core.arrangement import arrange
from puzzleflow.core.assembly import Assembly, Candidate
from puzzleflow.core.fragments import FragmentSet
from puzzleflow.core.plane import draw, window_around
from puzzleflow.core.pose import IDENTITY, Pose
from puzzleflow.core.types import ByteArray
from puzzleflow.pictures import to_image

PAIR_PX, BOARD_PX = 150, 1400

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem;
  padding: 0 1rem; color: #222; background: #f4f1ec }}
img {{ background: #e4dfd6; border-radius: 4px; max-width: 100% }}
section {{ margin: 1.2rem 0; padding-top: .6rem; border-top: 1px solid #cfc8bb }}
.row {{ display: flex; gap: .8rem; overflow-x: auto }}
figure {{ margin: 0; flex: none }} figcaption {{ font-size: 12px; max-width: 150px }}
h2 {{ font-size: 1rem }}
</style>
<h1>{title}</h1>
<p>{summary}</p>
<p><img alt="The fragments as they were put together" src="{board}"></p>
<p>Below, for every fragment, its likeliest partners, best first, as they would lie to each
other. A score is comparable within this page only; it is not a probability. Suggestions are
made from colours and outlines alone: look at the objects before you believe one.</p>
{sections}
</html>
"""


def suggestions_page(
    fragments: FragmentSet, assembly: Assembly, ranked: Mapping[int, Sequence[Candidate]]
) -> str:
    """Self-contained HTML; ``ranked`` lists for each fragment partners as it sees them."""
    parts = fragments.fragments
    poses = arrange(parts, assembly)
    board = draw(parts, poses, window_around(parts, poses, max_side_px=BOARD_PX))
    sizes = ", ".join(str(len(component)) for component in assembly.components) or "none"
    summary = (
        f"{len(fragments)} fragments; components of {sizes}; {len(assembly.unplaced)} not placed."
    )
    sections = "\n".join(
        _section(fragments, assembly, index, candidates) for index, candidates in ranked.items()
    )
    return _PAGE.format(
        title=escape(f"Suggestions for {fragments.name or 'fragments'}"),
        summary=escape(summary),
        board=_data_url(board),
        sections=sections,
    )


def _section(
    fragments: FragmentSet, assembly: Assembly, index: int, candidates: Sequence[Candidate]
) -> str:
    names = fragments.names
    sure = assembly.confidence[index]
    state = "not placed" if index in assembly.unplaced else "placed"
    if np.isfinite(sure):
        state += f", confidence {sure:.0%}"
    own = _figure(_pair(fragments, {index: IDENTITY}), names[index])
    others = [
        _figure(
            _pair(fragments, {index: IDENTITY, each.second: each.pose}),
            f"{names[each.second]}, score {each.score:.2f}",
        )
        for each in candidates
    ]
    rest = "".join(others) or "<p>Nothing fits.</p>"
    return (
        f'<section><h2>{escape(names[index])} <small>({state})</small></h2><div class="row">'
        f"{own}{rest}</div></section>"
    )


def _pair(fragments: FragmentSet, poses: Mapping[int, Pose]) -> ByteArray:
    parts = [fragments.fragments[index] for index in poses]
    placed = list(poses.values())
    return draw(parts, placed, window_around(parts, placed, max_side_px=PAIR_PX))


def _figure(picture: ByteArray, caption: str) -> str:
    return (
        f'<figure><img alt="" src="{_data_url(picture)}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def _data_url(picture: ByteArray) -> str:
    stream = io.BytesIO()
    to_image(picture).save(stream, format="WEBP", quality=80)
    return "data:image/webp;base64," + base64.b64encode(stream.getvalue()).decode("ascii")
