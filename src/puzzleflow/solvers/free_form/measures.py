"""What the seam of two placed fragments shows: strips along both edges, and measures of them.

A strip runs along the outline of one fragment, at most L points with the middle of the
contact in its middle. Every point tells the colours behind it, those behind the point of
the other fragment that is nearest, and how the two edges lie to each other. Points that
face each other nearer count more. The scorer is shown both strips of a join as they are, and
what is measured along them: the mean of both and how they differ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from puzzleflow.core.pose import Pose
from puzzleflow.search.compiling import compiled, inner
from puzzleflow.solvers.free_form.contour import SIGHT, SPACING, Contour

LENGTH = 56  # L, points of a strip
MEASURES = 33  # of one strip
FACTS = 5  # of a join as a whole
INPUTS = 2 * MEASURES + FACTS
CONTACT, MEAN_GAP = 0, 32  # among the measures
CHANNELS = 30  # of a point of a strip; see _draw
SINE, SLIDE, SEEN, COLOURS = 2, 3, 5, 9  # among the channels
NUM_COLOURS = 6  # three of the edge itself, three of the other
GAP_UNIT = 0.1  # of √area
GAPS = (0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.065, 0.08, 0.1, 0.12, 0.14, 0.17, 0.2)  # of a set
FACING = -0.2  # cosine of normals from which two edges face each other
NEAR = 0.85  # of the sight: points that are farther apart count nothing
LITTLE = 0.02  # variance of colours below which they say nothing together
SLOW = 3  # points to either side over which what varies slowly is averaged
Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Doubles = NDArray[np.float64]
JoinPose = tuple[int, int, Pose]


@dataclass(frozen=True, eq=False)
class Measured:
    """S joins.

    inputs    (S, I) what the scorer is told; of the gap that a set has it knows nothing yet
    strips    (S, 2, C, L) what it sees along both edges
    gaps      (S,) mean distance of the edges that face each other, over the median √area
    contacts  (S,) how long they face each other, over the median √area
    frames    (S, 4) middle of the contact and outward normal there, as the first fragment
              sees them, in pixels of the scale; zeros without contact
    """

    inputs: Floats
    strips: Floats
    gaps: Floats
    contacts: Floats
    frames: Floats


def placed(joins: Sequence[JoinPose], scale: float) -> tuple[NDArray[np.intp], Doubles]:
    """(S, 2) ends and (S, 3) x, y in pixels of the scale and angle in radians, of joins."""
    ends = np.array([(i, j) for i, j, _ in joins], dtype=np.intp).reshape(-1, 2)
    at = [(pose.x * scale, pose.y * scale, math.radians(pose.angle)) for _, _, pose in joins]
    return ends, np.array(at, dtype=np.float64).reshape(-1, 3)


def measured(rings: Sequence[Contour], ends: NDArray[np.intp], at: Doubles) -> Measured:
    """Of joins as :func:`placed` tells them: how the second lies as the first sees it."""
    count = len(ends)
    strips = np.zeros((count, 2, CHANNELS, LENGTH), dtype=np.float32)
    measures = np.zeros((count, 2, MEASURES), dtype=np.float32)
    frames = np.zeros((count, 2, 4), dtype=np.float32)
    facts = np.zeros((count, FACTS), dtype=np.float32)
    for number, ((i, j), (x, y, angle)) in enumerate(zip(ends.tolist(), at.tolist(), strict=True)):
        one, two = rings[i], rings[j]
        sight = SIGHT * one.unit
        cos, sin = math.cos(angle), math.sin(angle)
        _strip(
            one.points, one.normals, one.profile, two.points, two.normals, two.profile,
            two.nearest, two.distance, sight, x, y, angle,
            strips[number, 0], measures[number, 0], frames[number, 0],
        )  # fmt: skip
        _strip(
            two.points, two.normals, two.profile, one.points, one.normals, one.profile,
            one.nearest, one.distance, sight, -(cos * x - sin * y), -(sin * x + cos * y), -angle,
            strips[number, 1], measures[number, 1], frames[number, 1],
        )  # fmt: skip
        small, large = sorted((one.root, two.root))
        facts[number, :2] = math.log(small / large), math.log(small / one.unit)
    mean, apart = measures.mean(axis=1), np.abs(measures[:, 0] - measures[:, 1])  # (S, M)
    return Measured(
        np.concatenate([mean, apart, facts], axis=1),
        strips,
        SIGHT * mean[:, MEAN_GAP],
        LENGTH * SPACING * mean[:, CONTACT],
        frames[:, 0],
    )


def expecting(inputs: Floats, gap: float | Floats) -> Floats:
    """(S, I) the inputs where the gap of the set, over √area, is known."""
    told = inputs.copy()
    away = (SIGHT * inputs[:, MEAN_GAP] - gap) / GAP_UNIT
    told[:, -3:] = np.stack([np.ones_like(away), away, np.abs(away)], axis=1)
    return told


@inner
def _draw(
    normals: Floats, profile: Floats, profile_2: Floats, size: int,
    rows: Ints, told: Floats, faces: Floats, first: int, used: int, strip: Floats,
) -> None:  # fmt: skip
    """(C, L) of every point: how it lies to the nearest of the other's, and colours of both.

    Distance, cosine and sine of the normals, slide, whether it faces the other, whether one is
    near, how much it counts, bend of the edge, how far the nearest point moves on to the next;
    colours at the edge, softened and deep, of its own and of the other; how alike each is.
    """
    count = len(rows)
    for k in range(used):
        i = (first + k) % count
        j = rows[i]
        ahead = (i + 1) % count
        strip[0, k] = told[i, 0]
        strip[7, k] = 2 * (normals[i, 0] * normals[ahead, 1] - normals[i, 1] * normals[ahead, 0])
        _colours(profile, i, strip, 9, k)
        if j < 0:
            continue
        strip[1, k] = told[i, 1]
        strip[2, k] = told[i, 2]
        strip[3, k] = told[i, 3]
        strip[4, k] = faces[i]
        strip[5, k] = 1.0
        strip[6, k] = faces[i] * max(0.0, min(1.0, 1.0 - told[i, 0] / NEAR))
        if rows[ahead] >= 0:
            step = (j - rows[ahead] + size // 2) % size - size // 2
            strip[8, k] = min(max(step / 4.0, -1.0), 1.0)
        _colours(profile_2, j, strip, 18, k)
        for kind in range(3):
            away = 0.0
            for c in range(3 * kind, 3 * kind + 3):
                away += (strip[9 + c, k] - strip[18 + c, k]) ** 2
            strip[27 + kind, k] = math.exp(-3.0 * away)


@inner
def _colours(profile: Floats, i: int, strip: Floats, channel: int, k: int) -> None:
    """Behind a point: at the edge, softened, deep."""
    for c in range(3):
        edge, second, third = profile[i, c], profile[i, 3 + c], profile[i, 6 + c]
        strip[channel + c, k] = edge
        strip[channel + 3 + c, k] = (edge + second + third) / 3.0
        strip[channel + 6 + c, k] = (third + profile[i, 9 + c] + profile[i, 12 + c]) / 3.0


@compiled
def _strip(
    points: Floats, normals: Floats, profile: Floats,
    points_2: Floats, normals_2: Floats, profile_2: Floats,
    nearest: Ints, distance: Floats, sight: float,
    x: float, y: float, angle: float, strip: Floats, out: Floats, frame: Floats,
) -> None:  # fmt: skip
    """Draw and measure one strip; the second lies at (x, y, angle) as the first sees it."""
    cos = math.cos(angle)
    sin = math.sin(angle)
    height, width = distance.shape
    count = points.shape[0]
    rows = np.full(count, -1, np.int32)
    told = np.zeros((count, 4), np.float32)  # distance, cosine, sine, slide
    faces = np.zeros(count, np.float32)
    mid_x = 0.0
    mid_y = 0.0
    turn = 2.0 * math.pi / count
    for i in range(count):
        dx = points[i, 0] - x
        dy = points[i, 1] - y
        at_x = cos * dx - sin * dy + width / 2.0  # as the second sees it
        at_y = sin * dx + cos * dy + height / 2.0
        told[i, 0] = 1.0
        if at_x < 0 or at_y < 0 or at_x >= width or at_y >= height:
            continue
        away = distance[int(at_y), int(at_x)]
        if away > sight or away < -sight:
            continue
        j = nearest[int(at_y), int(at_x)]
        nx = cos * normals[i, 0] - sin * normals[i, 1]
        ny = sin * normals[i, 0] + cos * normals[i, 1]
        cosine = nx * normals_2[j, 0] + ny * normals_2[j, 1]
        off_x = at_x - width / 2.0 - points_2[j, 0]
        off_y = at_y - height / 2.0 - points_2[j, 1]
        slide = -off_x * normals_2[j, 1] + off_y * normals_2[j, 0]
        rows[i] = j
        told[i, 0] = max(away / sight, -1.0)
        told[i, 1] = cosine
        told[i, 2] = nx * normals_2[j, 1] - ny * normals_2[j, 0]
        told[i, 3] = min(max(slide / sight, -2.0), 2.0)
        if cosine < FACING:
            faces[i] = 1.0
            near = max(0.0, 1.0 - told[i, 0])
            mid_x += near * math.cos(i * turn)
            mid_y += near * math.sin(i * turn)
    middle = round(math.atan2(mid_y, mid_x) / turn)
    used = min(LENGTH, count)
    size = points_2.shape[0]
    _draw(normals, profile, profile_2, size, rows, told, faces, middle - used // 2, used, strip)

    # the strip: colours at the edge, softened, deep, carried on into the gap
    weight = np.zeros(used)
    away_of = np.ones(used)
    sides = np.zeros((2, used, 4, 3))
    valid = np.zeros(used, np.bool_)
    total = 1e-9
    sums = np.zeros(12)
    face_sum = 0.0
    face_gap = 0.0
    norm_x = 0.0
    norm_y = 0.0
    centre_x = 0.0
    centre_y = 0.0
    for k in range(used):
        i = (middle - used // 2 + k) % count
        j = rows[i]
        away_of[k] = told[i, 0]
        if j < 0:
            continue
        valid[k] = True
        for side in range(2):
            for c in range(3):
                if side == 0:
                    v0, v1, v2 = profile[i, c], profile[i, 3 + c], profile[i, 6 + c]
                    v3, v4 = profile[i, 9 + c], profile[i, 12 + c]
                else:
                    v0, v1, v2 = profile_2[j, c], profile_2[j, 3 + c], profile_2[j, 6 + c]
                    v3, v4 = profile_2[j, 9 + c], profile_2[j, 12 + c]
                deep = (v2 + v3 + v4) / 3.0
                sides[side, k, 0, c] = v0
                sides[side, k, 1, c] = (v0 + v1 + v2) / 3.0
                sides[side, k, 2, c] = v0 + (v0 - deep) / 2.0
                sides[side, k, 3, c] = deep
        if faces[i] == 0.0:
            continue
        d = told[i, 0]
        w = min(1.0, 1.0 - d / NEAR)
        if w <= 0.0:
            continue
        weight[k] = w
        total += w
        face_sum += 1.0
        face_gap += d
        sums[0] += w * d
        sums[1] += w * d * d
        sums[2] += w * k
        sums[3] += w * k * k
        sums[4] += w * k * d
        if d < 0:
            sums[5] += w
        sums[6] += w * (1.0 + told[i, 1])
        sums[7] += w * abs(told[i, 2])
        sums[8] += w * abs(told[i, 3])
        ahead = (i + 1) % count
        if rows[ahead] >= 0:
            step = (
                j - rows[ahead] + size // 2
            ) % size - size // 2  # outlines run against each other
            sums[9] += w * abs(min(max(step / 4.0, -1.0), 1.0) - 0.25)
            sums[10] += w * abs(told[ahead, 0] - d)
        else:
            sums[9] += w * 0.25
        sums[11] += w * abs(normals[i, 0] * normals[ahead, 1] - normals[i, 1] * normals[ahead, 0])
        norm_x += w * normals[i, 0]
        norm_y += w * normals[i, 1]
        centre_x += w * points[i, 0]
        centre_y += w * points[i, 1]
    whole = total + 1e-3
    gap = sums[0] / whole
    variance = max(0.0, sums[1] / whole - gap * gap)
    at = sums[2] / total
    along = max(0.0, sums[3] / total - at * at)
    slope = (sums[4] / total - at * sums[0] / total) / (along + 1.0)
    straight = math.sqrt(norm_x * norm_x + norm_y * norm_y)
    out[0] = face_sum / LENGTH
    out[1] = total / LENGTH
    out[2] = gap
    out[3] = math.sqrt(variance)
    out[4] = sums[10] / whole
    out[5] = sums[5] / whole
    out[6] = sums[6] / whole
    out[7] = sums[7] / whole
    out[8] = sums[8] / whole
    out[9] = sums[9] / whole
    out[26] = 10.0 * abs(slope)
    out[27] = math.sqrt(max(0.0, variance - slope * slope * along))
    out[29] = 1.0 - straight / total if total > 1e-6 else 0.0
    out[30] = sums[11] / whole
    out[32] = face_gap / face_sum if face_sum > 0 else 1.0
    if straight > 1e-6:
        frame[0] = centre_x / total
        frame[1] = centre_y / total
        frame[2] = norm_x / straight
        frame[3] = norm_y / straight

    # colours of both sides
    light = np.zeros(3)
    means = np.zeros((2, 3))
    for k in range(used):
        w = weight[k]
        if w == 0.0:
            continue
        for c in range(3):
            means[0, c] += w * sides[0, k, 1, c] / whole
            means[1, c] += w * sides[1, k, 1, c] / whole
    for c in range(3):
        light[c] = means[0, c] - means[1, c]
    fine = np.zeros((2, used, 3))
    for k in range(used):
        if weight[k] == 0.0:
            continue
        for side in range(2):
            n = 0
            slow = np.zeros(3)
            for m in range(max(0, k - SLOW), min(used, k + SLOW + 1)):
                if valid[m]:
                    n += 1
                    for c in range(3):
                        slow[c] += sides[side, m, 0, c]
            for c in range(3):
                fine[side, k, c] = sides[side, k, 0, c] - slow[c] / max(1, n)
    vary = np.zeros(3)  # of the first, of the second, together
    rough = np.zeros(2)
    shifted = np.zeros(5)
    elsewhere = 0.0
    places = 0.0
    for k in range(used):
        w = weight[k]
        if w == 0.0:
            continue
        for kind in range(3):
            away = 0.0
            for c in range(3):
                difference = sides[0, k, kind, c] - sides[1, k, kind, c]
                away += difference * difference
            out[10 + 2 * kind] += w * math.exp(-away) / whole
            out[11 + 2 * kind] += w * math.exp(-6.0 * away) / whole
            if kind == 0:
                out[16] += w * (math.exp(-3.0 * away) - 0.3) / LENGTH
            if kind == 1:
                out[28] += w * math.exp(-3.0 * away) / whole
        away = 0.0
        rest = 0.0
        across = 0.0
        for c in range(3):
            a = sides[0, k, 1, c] - means[0, c]
            b = sides[1, k, 1, c] - means[1, c]
            vary[0] += w * a * a / whole
            vary[1] += w * b * b / whole
            vary[2] += w * a * b / whole
            rest += (a - b) * (a - b)
            difference = sides[0, k, 3, c] - sides[1, k, 3, c]
            away += difference * difference
            across += (sides[0, k, 0, c] - sides[0, k, 3, c]) * (
                sides[1, k, 3, c] - sides[1, k, 0, c]
            )
            rough[0] += w * fine[0, k, c] * fine[0, k, c] / whole
            rough[1] += w * fine[1, k, c] * fine[1, k, c] / whole
            for s in range(5):
                m = k + s - 2
                if 0 <= m < used:
                    shifted[s] += w * fine[0, k, c] * fine[1, m, c] / whole
        out[18] += w * rest / whole
        out[25] += w * across / whole
        out[31] += w * math.exp(-3.0 * away) / whole
        for far in (-12, -6, 6, 12):
            m = k + far
            if 0 <= m < used and weight[m] > 0:
                away = 0.0
                for c in range(3):
                    difference = sides[0, k, 1, c] - sides[1, m, 1, c]
                    away += difference * difference
                elsewhere += w * math.exp(-3.0 * away)
                places += w
    out[17] = light[0] ** 2 + light[1] ** 2 + light[2] ** 2
    out[19] = math.log(vary[0] + LITTLE)
    out[20] = math.log(vary[1] + LITTLE)
    out[21] = vary[2] / (math.sqrt(vary[0] * vary[1]) + LITTLE)
    out[22] = vary[2]
    scale = math.sqrt(rough[0] * rough[1]) + LITTLE / 4.0
    out[23] = shifted[2] / scale
    out[24] = max(shifted[0], shifted[1], shifted[2], shifted[3], shifted[4]) / scale
    if places > 0:
        out[28] -= elsewhere / places  # how much liker than a place farther along
    else:
        out[28] = 0.0
