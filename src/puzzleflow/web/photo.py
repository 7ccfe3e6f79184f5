"""A photograph of many fragments: found by the segmentation, corrected by hand."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from puzzleflow.core.errors import FormatError
from puzzleflow.core.types import ByteArray
from puzzleflow.web.pieces import Piece, keep

if TYPE_CHECKING:  # scipy and scikit-image are loaded with the first photograph
    from numpy.typing import NDArray

    from puzzleflow.segmentation import Segmentation

Box = tuple[int, int, int, int]


@dataclass(frozen=True, eq=False)
class Photo:
    """What was found in a photograph, all arrays on disk; a correction makes a new one.

    folder     with the arrays of this division; the photograph itself lies beside it
    automatic  whether the threshold was estimated and not given
    """

    segmentation: Segmentation
    folder: Path
    automatic: bool

    @classmethod
    def found(cls, workbench: Path, pixels: ByteArray, threshold: float | None = None) -> Photo:
        """Look for fragments in (H, W, 3 or 4) ``pixels``, kept in the folder ``workbench``."""
        from puzzleflow.segmentation import segment

        kept = keep(workbench, f"photo-{secrets.token_hex(4)}", _without_idle_alpha(pixels))
        return _parked(workbench, segment(kept, threshold=threshold), threshold is None)

    @classmethod
    def restored(
        cls,
        workbench: Path,
        pixels: ByteArray,
        labels: NDArray[np.int32],
        threshold: float,
        automatic: bool,
    ) -> Photo:
        """A photograph whose division is known: (H, W) ``labels`` number the fragments."""
        from puzzleflow.segmentation import Segmentation
        from puzzleflow.segmentation.background import fit_ground
        from puzzleflow.segmentation.fragments import cut_fragment

        if labels.shape != pixels.shape[:2]:
            raise FormatError("photograph and labels differ in size")
        kept = keep(workbench, f"photo-{secrets.token_hex(4)}", _without_idle_alpha(pixels))
        numbers = range(1, int(labels.max(initial=0)) + 1)
        ground = fit_ground(kept) if kept.shape[2] == 3 else None
        fragments = tuple(cut_fragment(kept, labels, number, ground) for number in numbers)
        found = Segmentation(fragments, labels, ground, threshold, kept)
        return _parked(workbench, found, automatic)

    @property
    def pixels(self) -> ByteArray:
        """(H, W, 3 or 4) uint8."""
        return self.segmentation.photo

    @property
    def threshold(self) -> float:
        return self.segmentation.threshold

    @property
    def version(self) -> str:
        """Changes with every correction."""
        return self.folder.name

    def boxes(self) -> list[Box]:
        """(top, left, height, width) of every fragment."""
        return [fragment.bbox for fragment in self.segmentation.fragments]

    def pieces(self) -> list[Piece]:
        """The fragments as pieces, numbered as on the page."""
        return [
            Piece(f"fragment_{number:02d}.png", fragment.pixels)
            for number, fragment in enumerate(self.segmentation.fragments, 1)
        ]

    def with_threshold(self, threshold: float | None) -> Photo:
        """Found again; corrections are forgotten."""
        from puzzleflow.segmentation import segment

        found = segment(self.pixels, threshold=threshold)
        return _parked(self.folder.parent, found, threshold is None)

    def merged(self, chosen: Sequence[int]) -> Photo:
        """Several fragments as one."""
        from puzzleflow.segmentation import merge

        return self._corrected(merge(self.segmentation, [index + 1 for index in chosen]))

    def divided(self, index: int) -> Photo:
        """One fragment as two."""
        from puzzleflow.segmentation import split

        return self._corrected(split(self.segmentation, index + 1))

    def without(self, chosen: Sequence[int]) -> Photo:
        """Without some fragments; the others may be numbered anew."""
        from puzzleflow.segmentation import delete

        gone = [self.boxes()[index] for index in chosen]
        left = self.segmentation
        for box in gone:
            number = next(n for n, f in enumerate(left.fragments, 1) if f.bbox == box)
            left = delete(left, number)
        return self._corrected(left)

    def _corrected(self, segmentation: Segmentation) -> Photo:
        return _parked(self.folder.parent, segmentation, self.automatic)


def _parked(workbench: Path, segmentation: Segmentation, automatic: bool) -> Photo:
    """The same on disk, in a new folder."""
    folder = workbench / f"found-{secrets.token_hex(4)}"
    folder.mkdir()
    parked = replace(
        segmentation,
        labels=np.asarray(keep(folder, "labels", segmentation.labels)),
        fragments=tuple(
            replace(fragment, pixels=keep(folder, f"{index}", fragment.pixels))
            for index, fragment in enumerate(segmentation.fragments)
        ),
    )
    return Photo(parked, folder, automatic)


def _without_idle_alpha(pixels: ByteArray) -> ByteArray:
    idle = pixels.shape[2] == 4 and pixels[..., 3].min() >= 128
    return pixels[..., :3] if idle else pixels
