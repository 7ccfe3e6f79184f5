"""One broken picture: fracture, weathering, turning, losses, photographs; the truth is kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from scipy import ndimage

from puzzleflow.core.errors import InputError, check_known
from puzzleflow.core.fragments import Fragment, FragmentSet
from puzzleflow.core.plane import Window, place
from puzzleflow.core.pose import Pose
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import BoolArray, ByteArray, FloatArray
from puzzleflow.generation.fracture import (
    PATTERNS,
    Weathering,
    fracture,
    inner_distance,
    largest_part,
    weathered,
)
from puzzleflow.generation.photography import Photography, photographed

ROTATIONS = {"free": 180.0, "small": 10.0, "none": 0.0}
MIN_AREA_PX = 64  # a fragment with less material is dust, not a fragment
TURNS = 12  # angles that are tried, so that the silhouette lies well on the part
STEPS = 12  # of the search for its size


@dataclass(frozen=True)
class FreeForm:
    """How pictures are broken.

    fragments   (least, most) number of parts; drawn evenly for each picture
    pattern     "cuts", "voronoi", or "any" of them
    weathering  of every fragment
    light       largest change of a fragment's brightness, as a share
    rotation    "free", "small" (up to 10 degrees) or "none"
    missing     share of the fragments that is lost
    foreign     share of fragments of another picture among all, added
    photographed  whether edges look as in photographs, of each set otherwise; see
                ``generation/photography.py``
    """

    fragments: tuple[int, int] = (4, 12)
    pattern: str = "any"
    weathering: Weathering = field(default_factory=Weathering)
    light: float = 0.1
    rotation: str = "free"
    missing: float = 0.0
    foreign: float = 0.0
    photographed: bool = False

    def __post_init__(self) -> None:
        low, high = self.fragments
        if not 2 <= low <= high <= 1000:
            raise InputError(f"a picture breaks into 2 to 1000 fragments, not {low} to {high}")
        check_known("fracture pattern", self.pattern, (*PATTERNS, "any"))
        check_known("rotation", self.rotation, ROTATIONS)
        if not (0 <= self.light < 1 and 0 <= self.missing < 1 and 0 <= self.foreign < 1):
            raise InputError("light, missing and foreign are shares in [0, 1)")

    def facts(self) -> dict[str, Any]:
        """JSON values that say it all."""
        return asdict(self)


def break_picture(
    picture: ByteArray,
    how: FreeForm,
    seed: int,
    *,
    other: ByteArray | None = None,
    outlines: Sequence[BoolArray] = (),
    name: str = "",
) -> FragmentSet:
    """A picture (H, W, 3) in fragments with their true poses; the same seed, the same set.

    other     the picture that foreign fragments come from; needed if there are to be some
    outlines  silhouettes of real fragments: every fragment takes one of them as its outline,
              as large as the gap of the weathering allows, instead of crumbling at random

    Poses lie in the plane of the picture. Fragments come in random order, each cut
    down to its material, so neither padding nor number tells where it belongs.
    """
    rng = child_rng(seed, "free-form")
    parts = _parts(picture, how, child_rng(seed, "own"), outlines)
    lost = round(how.missing * len(parts))
    kept = sorted(rng.permutation(len(parts))[: max(2, len(parts) - lost)].tolist())
    chosen: list[tuple[Fragment, Pose | None]] = [parts[index] for index in kept]
    strangers = round(how.foreign / (1 - how.foreign) * len(chosen))
    if strangers:
        if other is None:
            raise InputError("foreign fragments need another picture")
        count = max(strangers, how.fragments[0])
        spread = replace(how, fragments=(count, max(count, how.fragments[1])))
        others = _parts(other, spread, child_rng(seed, "foreign"), outlines)
        picks = rng.permutation(len(others))[:strangers].tolist()
        chosen += [(others[index][0], None) for index in picks]
    order = rng.permutation(len(chosen)).tolist()
    digits = max(2, len(str(len(order))))
    fragments = tuple(
        replace(chosen[index][0], name=f"fragment_{number:0{digits}d}.png")
        for number, index in enumerate(order, start=1)
    )
    found = FragmentSet(
        fragments,
        tuple(chosen[index][1] for index in order),
        frozenset(number for number, index in enumerate(order) if index >= len(kept)),
        name=name,
    )
    found = replace(found, adjacency=found.true_neighbours)
    return _photographed(found, child_rng(seed, "photographs")) if how.photographed else found


def _photographed(fragments: FragmentSet, rng: np.random.Generator) -> FragmentSet:
    """The same fragments at the same poses, all photographed and cut out in one way."""
    how = Photography.drawn(rng)
    unit = float(np.median([fragment.root_area for fragment in fragments.fragments]))
    taken = [photographed(each, how, unit, rng).cropped() for each in fragments.fragments]
    poses = tuple(
        None if pose is None else pose @ Pose(float(x), float(y))
        for pose, (_, (x, y)) in zip(fragments.poses, taken, strict=True)
    )
    return replace(fragments, fragments=tuple(part for part, _ in taken), poses=poses)


def turn_fragments(fragments: FragmentSet, seed: int, rotation: str = "free") -> FragmentSet:
    """The same fragments, each turned by an angle of its own; poses and truth go along.

    For sets whose files show every fragment upright.
    """
    check_known("rotation", rotation, ROTATIONS)
    turned, poses = [], []
    for index, (fragment, pose) in enumerate(
        zip(fragments.fragments, fragments.poses, strict=True)
    ):
        angle = ROTATIONS[rotation] * float(child_rng(seed, "turn", index).uniform(-1, 1))
        part, offset = _turned(fragment, -angle).cropped()
        turned.append(part)
        back = Pose(0, 0, angle) @ Pose(float(offset[0]), float(offset[1]))
        poses.append(None if pose is None else pose @ back)
    return replace(fragments, fragments=tuple(turned), poses=tuple(poses))


def _parts(
    picture: ByteArray, how: FreeForm, rng: np.random.Generator, outlines: Sequence[BoolArray]
) -> list[tuple[Fragment, Pose]]:
    """All fragments of a picture with their poses."""
    low, high = how.fragments
    count = int(rng.integers(low, high + 1))
    pattern = str(rng.choice(PATTERNS)) if how.pattern == "any" else how.pattern
    height, width = picture.shape[:2]
    if height * width < 4 * MIN_AREA_PX * count:
        raise InputError(f"a picture of {width}x{height} pixels cannot break into {count}")
    labels = fracture(rng, (height, width), count, pattern)
    inner = inner_distance(labels)
    parts = []
    for number, box in enumerate(ndimage.find_objects(labels + 1)):
        part = labels[box] == number
        if len(outlines):
            real = outlines[int(rng.integers(len(outlines)))]
            left = outlined(rng, part, real, how.weathering.gap)
        else:
            left = weathered(rng, part, inner[box], how.weathering)
        gain = 1 + how.light * float(rng.uniform(-1, 1))
        angle = ROTATIONS[how.rotation] * float(rng.uniform(-1, 1))
        if np.count_nonzero(left) >= MIN_AREA_PX:
            parts.append(_cut_out(picture, left, box, gain, angle))
    if len(parts) < 2:
        raise InputError("fewer than two fragments are left of the picture")
    return parts


def _cut_out(
    picture: ByteArray, mask: BoolArray, box: tuple[slice, slice], gain: float, angle: float
) -> tuple[Fragment, Pose]:
    """The fragment turned back by ``angle``, and the pose that turns it forth."""
    rows, cols = box
    pixels = np.zeros((*mask.shape, 4), dtype=np.uint8)
    lit = np.clip(np.rint(picture[box][mask] * gain), 0, 255)
    pixels[mask, :3], pixels[mask, 3] = lit, 255
    upright = Fragment(pixels, "part")
    pose = Pose((cols.start + cols.stop) / 2, (rows.start + rows.stop) / 2, angle)
    if angle:
        upright = _turned(upright, -angle)
    fragment, offset = upright.cropped()
    return fragment, pose @ Pose(float(offset[0]), float(offset[1]))


def _turned(fragment: Fragment, angle: float) -> Fragment:
    """The fragment turned about the centre of its picture, on a picture that holds all of it."""
    height, width = fragment.pixels.shape[:2]
    side = int(np.ceil(np.hypot(height, width))) + 2
    side_y, side_x = side + (side - height) % 2, side + (side - width) % 2  # same centre
    patch = place(fragment, Pose(side_x / 2, side_y / 2, angle), Window(0, 0, side_y, side_x))
    alpha = patch.alpha[..., None]
    colours = np.where(alpha > 0.5 / 255, patch.colours / np.maximum(alpha, 1e-6), 0)
    pixels = np.zeros((side_y, side_x, 4), dtype=np.uint8)
    pixels[patch.box] = np.clip(np.rint(255 * np.concatenate([colours, alpha], axis=2)), 0, 255)
    return replace(fragment, pixels=pixels)


def outlined(
    rng: np.random.Generator, mask: BoolArray, silhouette: BoolArray, gap: float
) -> BoolArray:
    """(H, W) what is left of a part, in one piece: where a real silhouette covers it.

    silhouette  (h, w) of any size; it is turned to where it covers most, from a random angle
                on, and made as large as leaves about the ``gap`` (over √area) to neighbours

    Of the edge, 4 √area long, gap / 2 · √area goes: 1 − 2 gap of the area is left.
    """
    share = max(0.3, 1 - 2 * gap)
    rows, cols = np.nonzero(mask)
    own = np.stack([cols - cols.mean(), rows - rows.mean()], axis=1)  # (M, 2)
    y, x = np.nonzero(silhouette)
    middle = np.array([x.mean(), y.mean()])
    alike = math.sqrt(len(x) / len(own))  # pixels of the silhouette for one of the part

    def covered(angle: float, size: float) -> BoolArray:
        cos, sin = math.cos(angle), math.sin(angle)
        at = own @ np.array([[cos, sin], [-sin, cos]]) * (alike / size) + middle  # (M, 2)
        return _looked_up(silhouette, at)

    start = float(rng.uniform(0, 2 * math.pi))
    angles = start + 2 * math.pi * np.arange(TURNS) / TURNS
    angle = float(max(angles, key=lambda each: covered(each, 1.0).sum()))
    low, high = 0.5, 4.0
    for _ in range(STEPS):
        size = (low + high) / 2
        low, high = (size, high) if covered(angle, size).mean() < share else (low, size)
    kept = np.zeros_like(mask)
    kept[rows, cols] = covered(angle, high)
    return largest_part(kept) if kept.any() else kept


def _looked_up(silhouette: BoolArray, at: FloatArray) -> BoolArray:
    """(M,) whether points x, y fall on the silhouette."""
    found = ndimage.map_coordinates(silhouette.astype(np.float32), at.T[::-1], order=1)
    return np.asarray(found >= 0.5)
