"""An assembly in one plane, to look at: components side by side, the rest below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from puzzleflow.core.assembly import Assembly
from puzzleflow.core.fragments import Fragment
from puzzleflow.core.pose import IDENTITY, Pose

MARGIN = 0.5  # of the median √area, between things that do not belong together


def arrange(
    fragments: Sequence[Fragment], assembly: Assembly, *, with_rest: bool = True
) -> tuple[Pose | None, ...]:
    """(N) a pose for every fragment in one common plane.

    Components stand in rows, the one with most material first, each turned as its own
    frame is; fragments in none follow in rows below, as they are, or have no pose
    unless ``with_rest``.
    """
    areas = np.array([fragment.area_px for fragment in fragments], dtype=np.float64)
    margin = MARGIN * float(np.sqrt(np.median(areas)))
    groups: list[Mapping[int, Pose]] = sorted(
        assembly.components, key=lambda c: -float(areas[list(c)].sum())
    )
    placed: dict[int, Pose] = {}
    bottom = _rows(fragments, groups, 0.0, margin, placed)
    if with_rest:
        _rows(fragments, [{i: IDENTITY} for i in assembly.unplaced], bottom, margin, placed)
    return tuple(placed.get(i) for i in range(assembly.num_fragments))


def _rows(
    fragments: Sequence[Fragment],
    groups: Sequence[Mapping[int, Pose]],
    top: float,
    margin: float,
    placed: dict[int, Pose],
) -> float:
    """Stand groups in rows below ``top``, about as wide as high; returns where they end."""
    boxes = []
    for group in groups:
        points = np.concatenate([pose.apply(fragments[i].outline) for i, pose in group.items()])
        boxes.append((points.min(axis=0) - 0.5, points.max(axis=0) + 0.5))
    widths = [float(high[0] - low[0]) + margin for low, high in boxes]
    heights = [float(high[1] - low[1]) + margin for low, high in boxes]
    room = max([*widths, float(np.sqrt(1.5 * np.dot(widths, heights)))], default=0.0)
    left = row_height = 0.0
    for group, (low, _), width, height in zip(groups, boxes, widths, heights, strict=True):
        if left and left + width > room + 1e-6:
            top, left, row_height = top + row_height, 0.0, 0.0
        motion = Pose(left - float(low[0]), top - float(low[1]))
        placed.update({i: motion @ pose for i, pose in group.items()})
        left, row_height = left + width, max(row_height, height)
    return top + row_height
