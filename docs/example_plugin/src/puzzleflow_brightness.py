"""A complete solver for PuzzleFlow in one file: the bright pieces go to the top.

Not a good method (skies are bright, that is all), but an honest one: it
honours what the user pinned or ruled out, and passes the conformance suite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from puzzleflow import Puzzle, Solution, allowed_placements, nearest_allowed


@dataclass(frozen=True)
class BrightnessSolver:
    """``brightest_first=False`` puts the dark pieces to the top instead."""

    brightest_first: bool = True
    name = "brightness"

    def prepare(self, puzzle: Puzzle) -> BrightnessSession:
        """Once for each puzzle: the mean brightness of every piece, its material only."""
        grey = puzzle.pieces[..., :3].mean(axis=-1)  # (N, H, W)
        material = puzzle.masks  # (N, H, W)
        brightness = (grey * material).sum(axis=(1, 2)) / np.maximum(material.sum(axis=(1, 2)), 1)
        order = np.argsort(-brightness if self.brightest_first else brightness, kind="stable")
        return BrightnessSession(piece_at=order)


@dataclass(frozen=True)
class BrightnessSession:
    """Answers as often as it is asked; the seed changes nothing here."""

    piece_at: np.ndarray  # (N,) piece at each position

    def solve(
        self,
        *,
        seed: int,
        pinned: Mapping[int, int] | None = None,
        forbidden: Sequence[tuple[int, int]] = (),
        num_alternatives: int = 0,
    ) -> Solution:
        num_pieces = len(self.piece_at)
        position_of = np.empty(num_pieces, dtype=np.int64)
        position_of[self.piece_at] = np.arange(num_pieces)
        allowed = allowed_placements(num_pieces, pinned, forbidden)
        return Solution(nearest_allowed(position_of, allowed), solver="brightness")
