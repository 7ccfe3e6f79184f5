"""Free-form fragments: cut-outs of any shape and size, without a grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from puzzleflow.core.contact import outline_points, touching
from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.pose import Pose
from puzzleflow.core.types import BoolArray, ByteArray, FloatArray

MATERIAL = 128  # alpha from which a pixel counts as material


@dataclass(frozen=True, eq=False)
class Fragment:
    """One cut-out of its own size.

    pixels         (H, W, 4) uint8, straight alpha, 255 = material, 0 = nothing
    name           mostly the name of its file
    pixels_per_mm  scale of the picture, or None where nobody told it
    """

    pixels: ByteArray
    name: str
    pixels_per_mm: float | None = None

    def __post_init__(self) -> None:
        pixels = np.asarray(self.pixels)
        if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 4:
            raise FormatError(
                f"{self.name}: expected (height, width, 4) uint8, got {pixels.dtype} {pixels.shape}"
            )
        if not (pixels[..., 3] >= MATERIAL).any():
            raise FormatError(f"{self.name}: a fragment without material")
        scale = self.pixels_per_mm
        if scale is not None and not (math.isfinite(scale) and scale > 0):
            raise FormatError(f"{self.name}: {scale} pixels per mm")
        view = pixels.view()
        view.flags.writeable = False
        object.__setattr__(self, "pixels", view)

    @cached_property
    def mask(self) -> BoolArray:
        """(H, W) where there is material."""
        return np.asarray(self.pixels[..., 3] >= MATERIAL)

    @cached_property
    def area_px(self) -> int:
        """Pixels of material."""
        return int(np.count_nonzero(self.mask))

    @property
    def root_area(self) -> float:
        """Square root of the area: the length by which errors and gaps are measured."""
        return math.sqrt(self.area_px)

    @property
    def centre(self) -> FloatArray:
        """(2,) x and y of the centre of the picture, from its corner: what a pose places."""
        height, width = self.pixels.shape[:2]
        return np.array([width / 2, height / 2])

    @cached_property
    def centroid(self) -> FloatArray:
        """(2,) mean x and y of the material, counted from the centre of the picture."""
        rows, cols = np.nonzero(self.mask)
        return np.array([cols.mean() + 0.5, rows.mean() + 0.5]) - self.centre

    @cached_property
    def outline(self) -> FloatArray:
        """(M, 2) middles of the outermost pixels, counted from the centre of the picture."""
        return outline_points(self.mask)

    def cropped(self) -> tuple[Self, FloatArray]:
        """The smallest cut-out that holds all that is not transparent, and its centre.

        The centre, (2,) x and y, is counted from the centre of this picture.
        """
        seen = self.pixels[..., 3] > 0
        rows, cols = np.flatnonzero(seen.any(axis=1)), np.flatnonzero(seen.any(axis=0))
        top, bottom, left, right = rows[0], rows[-1] + 1, cols[0], cols[-1] + 1
        offset = np.array([(left + right) / 2, (top + bottom) / 2]) - self.centre
        return replace(self, pixels=self.pixels[top:bottom, left:right].copy()), offset


@dataclass(frozen=True, eq=False)
class FragmentSet:
    """Fragments that may belong together, and the truth as far as it is known.

    fragments  N of them, all at one scale, names distinct
    poses      true pose of each, None = unknown; a foreign fragment has none
    foreign    indices of fragments known not to belong to the rest
    adjacency  (N, N) which fragments are neighbours, where somebody told it
    name       of the set, mostly its folder
    """

    fragments: tuple[Fragment, ...]
    poses: tuple[Pose | None, ...] = ()
    foreign: frozenset[int] = frozenset()
    adjacency: BoolArray | None = None
    name: str = ""

    def __post_init__(self) -> None:
        n = len(self.fragments)
        if n == 0:
            raise InputError(f"{self.name or 'a set'}: no fragments")
        object.__setattr__(self, "fragments", tuple(self.fragments))
        object.__setattr__(self, "poses", tuple(self.poses) or (None,) * n)
        object.__setattr__(self, "foreign", frozenset(map(int, self.foreign)))
        if len(self.poses) != n:
            raise FormatError(f"{self.name}: {len(self.poses)} poses for {n} fragments")
        if len(set(self.names)) != n:
            raise FormatError(f"{self.name}: several fragments have one name")
        if not self.foreign <= set(range(n)):
            raise FormatError(f"{self.name}: foreign fragments beyond the {n} there are")
        if any(self.poses[index] is not None for index in self.foreign):
            raise FormatError(f"{self.name}: a foreign fragment has a pose among the others")
        if self.adjacency is not None and self.adjacency.shape != (n, n):
            raise FormatError(f"{self.name}: adjacency {self.adjacency.shape} of {n} fragments")
        if len({f.pixels_per_mm for f in self.fragments} - {None}) > 1:
            raise FormatError(f"{self.name}: fragments at different scales; resize them first")

    def __len__(self) -> int:
        return len(self.fragments)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the fragments."""
        return tuple(fragment.name for fragment in self.fragments)

    @property
    def placed(self) -> BoolArray:
        """(N,) whether the true pose is known."""
        return np.array([pose is not None for pose in self.poses])

    @property
    def has_truth(self) -> bool:
        """Whether every fragment has a true pose or is known to be foreign."""
        return bool(self.placed.any()) and all(
            pose is not None or index in self.foreign for index, pose in enumerate(self.poses)
        )

    @property
    def areas(self) -> FloatArray:
        """(N,) pixels of material."""
        return np.array([fragment.area_px for fragment in self.fragments], dtype=np.float64)

    @cached_property
    def true_neighbours(self) -> BoolArray:
        """(N, N) as told in ``adjacency``, else from the true poses by :func:`neighbours`."""
        if self.adjacency is not None:
            return self.adjacency
        return neighbours(self.fragments, self.poses)

    def without_truth(self) -> Self:
        """What a solver is given: the fragments and their names, nothing else."""
        return replace(
            self,
            poses=(None,) * len(self),
            foreign=frozenset(),
            adjacency=None,
        )


def neighbours(fragments: Sequence[Fragment], poses: Sequence[Pose | None]) -> BoolArray:
    """(N, N) which fragments are neighbours when they lie at ``poses``; see :func:`touching`."""
    outlines = [
        None if pose is None else pose.apply(fragment.outline)
        for fragment, pose in zip(fragments, poses, strict=True)
    ]
    return touching(outlines, np.array([fragment.root_area for fragment in fragments]))
