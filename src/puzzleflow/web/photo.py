"""A photograph of many fragments: found by the segmentation, corrected by hand."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from puzzleflow.core.types import ByteArray, IntArray
from puzzleflow.web.pieces import Piece, keep

if TYPE_CHECKING:
    from puzzleflow.segmentation import Segmentation

Box = tuple[int, int, int, int]


@dataclass(frozen=True, eq=False)
class Photo:
    """Pixels on disk and what was found in them; every correction makes a new one.

    pixels     (H, W, 3) uint8
    automatic  whether the threshold was found and not given
    """

    pixels: ByteArray
    segmentation: Segmentation
    automatic: bool = True
    version: str = field(default_factory=lambda: secrets.token_hex(4))

    @classmethod
    def found(cls, folder: Path, pixels: ByteArray, threshold: float | None = None) -> Photo:
        """Look for fragments in (H, W, 3 or 4) ``pixels``, which are kept below ``folder``."""
        from puzzleflow.segmentation import segment

        kept = keep(folder, f"photo-{secrets.token_hex(4)}", pixels[..., :3])
        return cls(kept, segment(kept, threshold=threshold), threshold is None)

    @classmethod
    def restored(
        cls, folder: Path, pixels: ByteArray, labels: IntArray, threshold: float, automatic: bool
    ) -> Photo:
        """A photograph whose division into fragments is known."""
        raise NotImplementedError

    @property
    def threshold(self) -> float:
        return self.segmentation.threshold

    @property
    def labels(self) -> IntArray:
        return self.segmentation.labels

    def boxes(self) -> list[Box]:
        """(top, left, height, width) of every fragment."""
        return [fragment.bbox for fragment in self.segmentation.fragments]

    def pieces(self) -> list[Piece]:
        """The fragments as pieces, numbered as on the page."""
        return [
            Piece(f"fragment_{number:02d}.png", fragment.pixels)
            for number, fragment in enumerate(self.segmentation.fragments, 1)
        ]


def single_fragment(pixels: ByteArray) -> ByteArray:
    """(h, w, 4) the one fragment on a plain ground; all of the picture where there is none."""
    return pixels
