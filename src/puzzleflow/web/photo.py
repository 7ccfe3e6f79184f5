"""A photograph of many fragments: found in a reduced copy, corrected by hand, cut sharply last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.types import BoolArray, ByteArray
from puzzleflow.pictures import resize
from puzzleflow.web.kept import Kept, keep

if TYPE_CHECKING:  # scipy and scikit-image are loaded with the first photograph
    from puzzleflow.segmentation import Segmentation

Box = tuple[int, int, int, int]
Report = Callable[[str, float | None], None]
WORK_PIXELS = 700_000  # fragments are looked for, and corrected, at this size


@dataclass(frozen=True, eq=False)
class Photo:
    """A photograph and its division into fragments; a correction makes a new one.

    whole      (H, W, 3 or 4) as it was read
    work       (h, w, 3 or 4) the copy that fragments are found in
    labels     (h, w) int32: the fragment of every pixel of the copy, from 1; 0 is ground
    automatic  whether the threshold was estimated and not given
    aside      (number of a fragment, what it probably is): not among the pieces
    """

    whole: Kept
    work: Kept
    labels: Kept
    threshold: float
    automatic: bool
    warnings: tuple[str, ...] = ()
    aside: tuple[tuple[int, str], ...] = ()

    @classmethod
    def taken(cls, folder: Path, pixels: ByteArray) -> Photo:
        """A photograph (H, W, 3 or 4) in which nothing was looked for yet."""
        if pixels.shape[2] == 4 and pixels[..., 3].min() >= 128:
            pixels = pixels[..., :3]
        height, width = pixels.shape[:2]
        scale = max(1.0, (height * width / WORK_PIXELS) ** 0.5)
        size = max(1, round(height / scale)), max(1, round(width / scale))
        whole = keep(folder, pixels)
        work = whole if scale == 1 else keep(folder, resize(pixels, *size))
        return cls(whole, work, keep(folder, np.zeros(size, np.int32)), 0.0, True)

    def found(self, threshold: float | None, report: Report) -> Photo:
        """Fragments looked for anew; corrections are forgotten."""
        from puzzleflow.segmentation import segment
        from puzzleflow.segmentation.kinds import kind_of

        report("Looking for fragments", 0.1)
        segmentation = segment(self.work.load(), threshold=threshold)
        report("Looking at each of them", 0.8)
        kinds = [kind_of(fragment.pixels) for fragment in segmentation.fragments]
        aside = [(number, kind) for number, kind in enumerate(kinds, 1) if kind is not None]
        if len(aside) == len(kinds):
            aside = []
        fresh = replace(self, automatic=threshold is None)
        return fresh._with(segmentation, tuple(aside))

    @property
    def folder(self) -> Path:
        return self.labels.path.parent

    @property
    def version(self) -> str:
        """Changes with every correction."""
        return self.labels.path.stem

    @property
    def is_sharp(self) -> bool:
        """Whether the copy is the photograph itself."""
        return self.work.shape == self.whole.shape

    @cached_property
    def segmentation(self) -> Segmentation:
        """The division of the copy."""
        from scipy import ndimage

        from puzzleflow.segmentation import Segmentation
        from puzzleflow.segmentation.background import fit_ground
        from puzzleflow.segmentation.fragments import cut_fragment

        photo, labels = self.work.load(), self.labels.load()
        if labels.shape != photo.shape[:2]:
            raise FormatError("photograph and labels differ in size")
        ground = fit_ground(photo) if photo.shape[2] == 3 else None
        boxes = ndimage.find_objects(labels)
        fragments = tuple(
            cut_fragment(photo, labels, number, ground, box) for number, box in enumerate(boxes, 1)
        )
        return Segmentation(fragments, labels, ground, self.threshold, photo, self.warnings)

    def forget(self) -> None:
        """Let go of the division in memory (some 12 bytes a pixel); it is cut again when needed."""
        self.__dict__.pop("segmentation", None)

    @property
    def members(self) -> list[int]:
        """Numbers of the fragments that are pieces, in their order."""
        if not self.labels_max:
            return []
        gone = {number for number, _ in self.aside}
        return [number for number in range(1, self.labels_max + 1) if number not in gone]

    @cached_property
    def labels_max(self) -> int:
        """The number of fragments, those aside among them."""
        return int(self.labels.load().max(initial=0))

    def box(self, number: int) -> Box:
        """(top, left, height, width) of a fragment in the whole photograph."""
        scale = self.whole.shape[0] / self.work.shape[0], self.whole.shape[1] / self.work.shape[1]
        top, left, height, width = self.segmentation.fragments[number - 1].bbox
        return (
            round(top * scale[0]),
            round(left * scale[1]),
            round(height * scale[0]),
            round(width * scale[1]),
        )

    def boxes(self) -> list[Box]:
        """The boxes of all pieces."""
        return [self.box(number) for number in self.members]

    def cutout(self, number: int) -> ByteArray:
        """(h, w, 4) a fragment of the copy."""
        if not 1 <= number <= self.labels_max:
            raise InputError(f"no fragment {number}")
        return self.segmentation.fragments[number - 1].pixels

    def sharp(self, number: int) -> ByteArray:
        """(h, w, 4) a fragment of the whole photograph."""
        from puzzleflow.segmentation.cut_outs import sharpened

        shape = self.whole.shape[0], self.whole.shape[1]
        return sharpened(self.segmentation, number, self.whole.window, shape).pixels

    # -- corrections ----------------------------------------------------------------

    def merged(self, pieces: Sequence[int]) -> Photo:
        """Several pieces as one."""
        from puzzleflow.segmentation import merge

        numbers = [self.members[piece] for piece in pieces]
        return self._corrected(merge(self.segmentation, numbers))

    def divided(self, piece: int) -> Photo:
        """One piece as two."""
        from puzzleflow.segmentation import split

        return self._corrected(split(self.segmentation, self.members[piece]))

    def without(self, pieces: Sequence[int]) -> Photo:
        """Without some pieces; the others may be numbered anew."""
        from puzzleflow.segmentation import delete

        left = self.segmentation
        for box in [left.fragments[self.members[piece] - 1].bbox for piece in pieces]:
            number = next(n for n, f in enumerate(left.fragments, 1) if f.bbox == box)
            left = delete(left, number)
        return self._corrected(left)

    def painted(self, area: BoolArray, piece: int | None, *, add: bool) -> Photo:
        """The outline mended over ``area`` (h, w) of the copy."""
        from puzzleflow.segmentation import paint

        number = None if piece is None else self.members[piece]
        return self._corrected(paint(self.segmentation, area, number, add=add))

    def put(self, number: int, kind: str | None) -> Photo:
        """A fragment put aside for what it is, or back among the pieces (None)."""
        if not 1 <= number <= self.labels_max:
            raise InputError(f"no fragment {number}")
        rest = [each for each in self.aside if each[0] != number]
        aside = sorted([*rest, (number, kind)] if kind else rest)
        if len(aside) == self.labels_max:
            raise InputError("at least one piece must stay")
        changed = replace(self, aside=tuple(aside))
        changed.__dict__["segmentation"] = self.segmentation
        return changed

    def _corrected(self, segmentation: Segmentation) -> Photo:
        kind_at = {self.segmentation.fragments[n - 1].bbox: kind for n, kind in self.aside}
        aside = [
            (number, kind_at[fragment.bbox])
            for number, fragment in enumerate(segmentation.fragments, 1)
            if fragment.bbox in kind_at
        ]
        return self._with(segmentation, tuple(aside))

    def _with(self, segmentation: Segmentation, aside: tuple[tuple[int, str], ...]) -> Photo:
        changed = replace(
            self,
            labels=keep(self.folder, segmentation.labels),
            threshold=segmentation.threshold,
            warnings=segmentation.warnings,
            aside=aside,
        )
        changed.__dict__["segmentation"] = segmentation  # no need to cut it again
        return changed
