"""Features of a mask fast enough to judge every drawn outline.

Perimeter and border equal scikit-image's (the border up to where it begins) at a
tenth of the time, vertices but for ties; the hull's area is a polygon's and no
count of pixels. What reports state is measured by ``geometry`` itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from puzzleflow.core.types import BoolArray
from puzzleflow.generation.geometry import (
    CURVATURE_POINTS,
    CURVATURE_THRESHOLD,
    VERTEX_TOLERANCE,
    concavities,
    curvature,
    resample,
    vertices,
)

PHASES = 4

# what a border pixel adds, by 1 + 2 * edge neighbours + 10 * corner neighbours on the border
_LENGTHS = np.zeros(50)
_LENGTHS[[5, 7, 15, 17, 25, 27]] = 1
_LENGTHS[[21, 33]] = np.sqrt(2)
_LENGTHS[[13, 23]] = (1 + np.sqrt(2)) / 2

# up, right, down, left: the way out of a pixel; material lies on the right hand of the walk
_OUT = np.array([[-1, 0], [0, 1], [1, 0], [0, -1]])


def quick_perimeter(mask: BoolArray) -> float:
    """``skimage.measure.perimeter`` with 4 neighbours."""
    inside = np.pad(mask, 1)
    core = inside[1:-1, 1:-1]
    whole = core & inside[:-2, 1:-1] & inside[2:, 1:-1] & inside[1:-1, :-2] & inside[1:-1, 2:]
    border = np.pad(core & ~whole, 1).astype(np.int64)
    edges = border[:-2, 1:-1] + border[2:, 1:-1] + border[1:-1, :-2] + border[1:-1, 2:]
    corners = border[:-2, :-2] + border[:-2, 2:] + border[2:, :-2] + border[2:, 2:]
    codes = (1 + 2 * edges + 10 * corners)[border[1:-1, 1:-1] > 0]
    return float(_LENGTHS[codes].sum())


def quick_outline(mask: BoolArray) -> NDArray[np.float64]:
    """(K, 2) row and column along the longest border, through the middles of pixel edges.

    Every pixel edge between material and background has one follower; walking
    them gives the borders. Pixels that touch at a corner only are apart.
    """
    inside = np.pad(mask, 1)
    width = inside.shape[1]
    flat = inside.ravel()
    starts, followers = [], []
    for way, (row, col) in enumerate(_OUT):
        out = int(row * width + col)
        ahead = int(_OUT[(way + 1) % 4] @ np.array([width, 1]))
        pixels = np.flatnonzero(flat & ~np.roll(flat, -out))  # material with background that way
        straight = flat[pixels + ahead]
        around = flat[pixels + ahead + out] & straight
        turned = np.where(straight, pixels + ahead, pixels)
        turned = np.where(around, pixels + ahead + out, turned)
        face = np.where(around, (way + 3) % 4, np.where(straight, way, (way + 1) % 4))
        starts.append(pixels * 4 + way)
        followers.append(turned * 4 + face)
    edges = np.sort(np.concatenate(starts))
    order = np.argsort(np.concatenate(starts))
    following = np.searchsorted(edges, np.concatenate(followers)[order]).tolist()
    longest = max(_walks(following), key=len)
    chosen = edges[longest]
    pixels, ways = chosen // 4, chosen % 4
    points = np.stack([pixels // width, pixels % width], axis=1) - 1 + _OUT[ways] / 2
    return np.asarray(points, dtype=np.float64)


def _walks(following: list[int]) -> list[list[int]]:
    """Closed walks that together use every edge once."""
    left = [True] * len(following)
    walks = []
    for first in range(len(following)):
        if not left[first]:
            continue
        walk = []
        here = first
        while left[here]:
            left[here] = False
            walk.append(here)
            here = following[here]
        walks.append(walk)
    return walks


def quick_vertices(border: NDArray[np.float64], perimeter: float) -> int:
    """``geometry.vertices``: Douglas-Peucker from the border's first point and back to it."""
    limit = (VERTEX_TOLERANCE * perimeter) ** 2
    points = border[:, 1] + 1j * border[:, 0]
    points = np.append(points, points[:1])  # (K + 1,) closed
    open_parts, corners = [(0, len(points) - 1)], 1
    while open_parts:
        first, last = open_parts.pop()
        if last - first < 2:
            continue
        away, along = points[first + 1 : last] - points[first], points[last] - points[first]
        square = along.real**2 + along.imag**2
        if square > 0:  # to the nearest point of the chord, in chords
            away = away * (along.conjugate() / square)
            away -= np.minimum(np.maximum(away.real, 0), 1)
        distances = (away.real**2 + away.imag**2) * (square or 1.0)
        farthest = int(distances.argmax())
        if distances[farthest] > limit:
            corner = first + 1 + farthest
            corners += 1
            open_parts += [(first, corner), (corner, last)]
    return corners


def quick_solidity(border: NDArray[np.float64], area: float) -> float:
    """Area over that of the border's convex hull."""
    return area / float(ConvexHull(border).volume)  # in the plane the volume is the area


def steady_concavities(border: NDArray[np.float64]) -> float:
    """``geometry.concavities``, averaged over where along the border the points begin."""
    points = resample(border, PHASES * CURVATURE_POINTS)
    bends = [curvature(points[phase::PHASES]) < -CURVATURE_THRESHOLD for phase in range(PHASES)]
    return float(np.sum(bends)) / PHASES


def size_features(mask: BoolArray) -> NDArray[np.float64]:
    """Area and perimeter."""
    return np.array([float(mask.sum()), quick_perimeter(mask)])


def edge_features(mask: BoolArray, size: NDArray[np.float64]) -> NDArray[np.float64]:
    """Area and perimeter as given, vertices and concavities."""
    border = quick_outline(mask)
    return np.array([*size, vertices(border, float(size[1])), concavities(border)])


def hull_features(mask: BoolArray, size: NDArray[np.float64]) -> NDArray[np.float64]:
    """Area and perimeter as given, solidity, vertices and steady concavities."""
    area, perimeter = float(size[0]), float(size[1])
    border = quick_outline(mask)
    solidity = quick_solidity(border, area)
    corners = quick_vertices(border, perimeter)
    return np.array([area, perimeter, solidity, corners, steady_concavities(border)])
