"""Features of a mask fast enough to judge every drawn outline: loops in machine code.

Perimeter and border equal scikit-image's (the border up to where it begins), vertices but for
ties; the hull's area is a polygon's and no count of pixels. What reports state is measured by
``geometry`` itself. Every drawn outline passes here, kept or not, so this decides how long a
data set takes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from puzzleflow.core.types import BoolArray
from puzzleflow.generation.geometry import (
    CURVATURE_POINTS,
    CURVATURE_THRESHOLD,
    VERTEX_TOLERANCE,
    concavities,
    vertices,
)
from puzzleflow.search.compiling import compiled, inner

Edge = tuple[int, int, int]  # row and column of a pixel in the frame, and which of its sides

# up, right, down, left: the way out of a pixel; material lies on the right hand of the walk
_ROW_OUT = np.array([-1, 0, 1, 0])
_COL_OUT = np.array([0, 1, 0, -1])
PHASES = 4

# what a border pixel adds, by 1 + 2 * edge neighbours + 10 * corner neighbours on the border:
# nothing, 1, the square root of 2, or the mean of both
_KINDS = np.zeros(50, np.int64)
_KINDS[[5, 7, 15, 17, 25, 27]] = 1
_KINDS[[21, 33]] = 2
_KINDS[[13, 23]] = 3


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


@compiled
def quick_perimeter(mask: BoolArray) -> float:
    """``skimage.measure.perimeter`` with 4 neighbours."""
    inside = framed(mask)
    border = np.zeros(inside.shape, np.uint8)
    height, width = mask.shape
    for r in range(1, height + 1):
        for c in range(1, width + 1):
            whole = inside[r - 1, c] & inside[r + 1, c] & inside[r, c - 1] & inside[r, c + 1]
            border[r, c] = inside[r, c] & (1 - whole)
    ones, diagonals, halves = 0, 0, 0
    for r in range(1, height + 1):
        for c in range(1, width + 1):
            if border[r, c]:
                edges = border[r - 1, c] + border[r + 1, c] + border[r, c - 1] + border[r, c + 1]
                corners = border[r - 1, c - 1] + border[r - 1, c + 1]
                corners += border[r + 1, c - 1] + border[r + 1, c + 1]
                kind = _KINDS[1 + 2 * edges + 10 * corners]
                ones += kind == 1
                diagonals += kind == 2
                halves += kind == 3
    return float(ones + diagonals * np.sqrt(2.0) + halves * (1 + np.sqrt(2.0)) / 2)


@compiled
def quick_vertices(border: NDArray[np.float64], perimeter: float) -> int:
    """``geometry.vertices``: Douglas-Peucker from the border's first point and back to it."""
    limit = (VERTEX_TOLERANCE * perimeter) ** 2
    count = len(border)
    open_parts, corners = [(0, count)], 1
    while len(open_parts) > 0:
        first, last = open_parts.pop()
        y, x = border[first, 0], border[first, 1]
        along_y, along_x = border[last % count, 0] - y, border[last % count, 1] - x
        square = along_x**2 + along_y**2
        largest, farthest = -1.0, first
        for index in range(first + 1, last):
            away_y, away_x = border[index, 0] - y, border[index, 1] - x
            if square > 0:  # to the nearest point of the chord, in chords
                part = (away_x * along_x + away_y * along_y) / square
                aside = (away_y * along_x - away_x * along_y) / square
                part -= min(max(part, 0.0), 1.0)
                distance = (part**2 + aside**2) * square
            else:
                distance = away_x**2 + away_y**2
            if distance > largest:
                largest, farthest = distance, index
        if largest > limit:
            corners += 1
            open_parts.append((first, farthest))
            open_parts.append((farthest, last))
    return corners


@compiled
def quick_solidity(border: NDArray[np.float64], area: float) -> float:
    """Area over that of the border's convex hull: of the outermost points of every half row."""
    top, bottom = border[0, 0], border[0, 0]
    for index in range(len(border)):
        top, bottom = min(top, border[index, 0]), max(bottom, border[index, 0])
    num_rows = int(2 * (bottom - top)) + 1
    ends = np.full((2, num_rows), np.inf)  # the leftmost, and the rightmost mirrored
    for index in range(len(border)):
        row, x = int(2 * (border[index, 0] - top)), border[index, 1]
        ends[0, row], ends[1, row] = min(ends[0, row], x), min(ends[1, row], -x)
    enclosed = 0.0
    hull = np.empty(num_rows, np.int64)
    for side in range(2):
        size = 0
        for row in range(num_rows):
            if ends[side, row] == np.inf:
                continue
            while size > 1 and not _bends_out(ends[side], hull[size - 2], hull[size - 1], row):
                size -= 1
            hull[size] = row
            size += 1
        for index in range(1, size):
            before, row = hull[index - 1], hull[index]
            enclosed -= (ends[side, before] + ends[side, row]) * (row - before) / 4
    return area / enclosed


@inner
def _bends_out(ends: NDArray[np.float64], first: int, second: int, third: int) -> bool:
    """Whether the end of row ``second`` lies outside the chord of two others, to the left."""
    reached = (ends[second] - ends[first]) * (third - first)
    return bool(reached < (ends[third] - ends[first]) * (second - first))


@compiled
def steady_concavities(border: NDArray[np.float64]) -> float:
    """``geometry.concavities``, averaged over where along the border the points begin."""
    count, wanted = len(border), PHASES * CURVATURE_POINTS
    length = np.zeros(count + 1)
    for index in range(count):
        after = (index + 1) % count
        dy, dx = border[after, 0] - border[index, 0], border[after, 1] - border[index, 1]
        length[index + 1] = length[index] + np.sqrt(dy * dy + dx * dx)
    points = np.empty((wanted, 2))
    before = 0
    for index in range(wanted):
        at = index * (length[count] / wanted)
        while before < count - 1 and length[before + 1] <= at:
            before += 1
        after = (before + 1) % count
        step = length[before + 1] - length[before]
        for axis in range(2):
            slope = (border[after, axis] - border[before, axis]) / step
            points[index, axis] = slope * (at - length[before]) + border[before, axis]
    bends = 0
    for phase in range(PHASES):
        enclosed, inward, outward = 0.0, 0, 0
        for index in range(phase, wanted, PHASES):
            y, x = points[index, 0], points[index, 1]
            prior_y, prior_x = points[index - PHASES, 0], points[index - PHASES, 1]
            after = (index + PHASES) % wanted
            after_y, after_x = points[after, 0], points[after, 1]
            first_y, first_x = (after_y - prior_y) / 2, (after_x - prior_x) / 2
            second_y, second_x = after_y - 2 * y + prior_y, after_x - 2 * x + prior_x
            speed = max(np.sqrt(first_y * first_y + first_x * first_x), 1e-9)
            turn = (first_y * second_x - first_x * second_y) / speed**3
            inward += turn < -CURVATURE_THRESHOLD
            outward += turn > CURVATURE_THRESHOLD
            enclosed += y * after_x - x * after_y
        bends += inward if enclosed > 0 else outward
    return bends / PHASES


def size_features(mask: BoolArray) -> NDArray[np.float64]:
    """Area and perimeter."""
    return np.array([float(mask.sum()), quick_perimeter(mask)])


def edge_features(mask: BoolArray, size: NDArray[np.float64]) -> NDArray[np.float64]:
    """Area and perimeter as given, vertices and concavities."""
    border = longest_border(mask)
    return np.array([*size, vertices(border, float(size[1])), concavities(border)])


def hull_features(mask: BoolArray, size: NDArray[np.float64]) -> NDArray[np.float64]:
    """Area and perimeter as given, solidity, vertices and steady concavities."""
    area, perimeter = float(size[0]), float(size[1])
    border = longest_border(mask)
    solidity = quick_solidity(border, area)
    corners = quick_vertices(border, perimeter)
    return np.array([area, perimeter, solidity, corners, steady_concavities(border)])
