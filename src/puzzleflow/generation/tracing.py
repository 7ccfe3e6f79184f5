"""Walks along the borders of a mask, over the edges of its pixels, in machine code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from puzzleflow.core.types import BoolArray
from puzzleflow.search.compiling import compiled, inner

Edge = tuple[int, int, int]  # row and column of a pixel in the frame, and which of its sides

# up, right, down, left: the way out of a pixel; material lies on the right hand of the walk
_ROW_OUT = np.array([-1, 0, 1, 0])
_COL_OUT = np.array([0, 1, 0, -1])


@compiled
def longest_border(mask: BoolArray) -> NDArray[np.float64]:
    """(K, 2) row and column along the longest border, through the middles of pixel edges.

    Every pixel edge between material and background has one follower; walking
    them gives the borders. Pixels that touch at a corner only are apart.
    """
    inside = framed(mask)
    height, width = inside.shape
    used = np.zeros((height, width, 4), np.uint8)
    longest, first = 0, (0, 0, 0)
    for r in range(1, height - 1):
        for c in range(1, width - 1):
            for way in range(4):
                if used[r, c, way] or not _is_edge(inside, r, c, way):
                    continue
                length, edge = 0, (r, c, way)
                while not used[edge]:
                    used[edge] = 1
                    length += 1
                    edge = _follower(inside, edge, False)
                if length > longest:
                    longest, first = length, (r, c, way)
    points = np.empty((longest, 2))
    edge = first
    for index in range(longest):
        points[index, 0] = edge[0] - 1 + _ROW_OUT[edge[2]] / 2
        points[index, 1] = edge[1] - 1 + _COL_OUT[edge[2]] / 2
        edge = _follower(inside, edge, False)
    return points


@compiled
def is_whole(mask: BoolArray) -> bool:
    """Whether material hangs together, over corners too, without a hole: it has one border."""
    inside = framed(mask)
    height, width = inside.shape
    num_edges, first = 0, (0, 0, 0)
    for r in range(1, height - 1):
        for c in range(1, width - 1):
            if inside[r, c]:
                for way in range(4):
                    if _is_edge(inside, r, c, way):
                        num_edges, first = num_edges + 1, (r, c, way)
    edge = first
    for length in range(1, num_edges + 1):
        edge = _follower(inside, edge, True)
        if edge == first:
            return length == num_edges
    return False


@inner
def framed(mask: BoolArray) -> NDArray[np.uint8]:
    """The mask with background around it."""
    inside = np.zeros((mask.shape[0] + 2, mask.shape[1] + 2), np.uint8)
    for row in range(mask.shape[0]):
        for col in range(mask.shape[1]):
            inside[row + 1, col + 1] = mask[row, col]
    return inside


@inner
def _is_edge(inside: NDArray[np.uint8], r: int, c: int, way: int) -> bool:
    return bool(inside[r, c] and not inside[r + _ROW_OUT[way], c + _COL_OUT[way]])


@inner
def _follower(inside: NDArray[np.uint8], edge: Edge, corners: bool) -> Edge:
    """The next pixel edge; ``corners``: pixels that touch at a corner hang together."""
    r, c, way = edge
    right = (way + 1) % 4
    ahead_r, ahead_c = r + _ROW_OUT[right], c + _COL_OUT[right]
    out_r, out_c = ahead_r + _ROW_OUT[way], ahead_c + _COL_OUT[way]
    if inside[out_r, out_c] and (corners or inside[ahead_r, ahead_c]):
        return out_r, out_c, (way + 3) % 4
    if inside[ahead_r, ahead_c]:
        return ahead_r, ahead_c, way
    return r, c, right
