"""A page for people who put fragments together: the answer, and who may lie beside whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from puzzleflow.core.arrangement import arrange
from puzzleflow.core.assembly import Assembly, Candidate
from puzzleflow.core.fragments import FragmentSet
from puzzleflow.core.plane import draw, window_around
from puzzleflow.core.pose import IDENTITY, Pose
from puzzleflow.core.types import ByteArray
from puzzleflow.pages import render
from puzzleflow.pictures import encoded

PAIR_PX, BOARD_PX = 150, 1400


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
    return render(
        "suggestions.html",
        title=f"Suggestions for {fragments.name or 'fragments'}",
        summary=summary,
        board=_webp(board),
        parts=[_part(fragments, assembly, index, found) for index, found in ranked.items()],
    )


def _part(
    fragments: FragmentSet, assembly: Assembly, index: int, candidates: Sequence[Candidate]
) -> dict[str, Any]:
    names = fragments.names
    sure = assembly.confidence[index]
    state = "not placed" if index in assembly.unplaced else "placed"
    if np.isfinite(sure):
        state += f", confidence {sure:.0%}"
    others = [
        (
            _pair(fragments, {index: IDENTITY, each.second: each.pose}),
            f"{names[each.second]}, score {each.score:.2f}",
        )
        for each in candidates
    ]
    own = _pair(fragments, {index: IDENTITY})
    return {"name": names[index], "state": state, "own": own, "others": others}


def _pair(fragments: FragmentSet, poses: Mapping[int, Pose]) -> bytes:
    parts = [fragments.fragments[index] for index in poses]
    placed = list(poses.values())
    return _webp(draw(parts, placed, window_around(parts, placed, max_side_px=PAIR_PX)))


def _webp(picture: ByteArray) -> bytes:
    return encoded(picture, "WEBP", quality=80)
