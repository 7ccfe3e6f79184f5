"""How good layouts are, as published with GAP and with JPwLEG.

A *relation* is a true pair of neighbours with its direction: piece v belongs
directly right of (down, left, up from) piece u. It is *preserved* when v was
also put directly in that direction of u, wherever the two lie.

perfect     PA   share of puzzles with every piece in its place
absolute    AA   share of pieces in their place
relations   SRA  share of directed relations preserved, pooled over all puzzles
horizontal  HA   the same for right and left alone
vertical    VA   the same for down and up alone
neighbours       share of true pairs put next to each other in whatever direction
                 (``neighbor_accuracy`` of the official code)

A relation to the right and the one to the left that mirrors it are preserved
together, so "right" and "left" always agree, as do "down" and "up"; the
official result lists all four. All puzzles of a set have one grid, so pooling
and averaging over puzzles are the same. Where a grid has no relation of a kind
(1xN has none up or down) none is broken and the share is 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from puzzleflow.core.assignment import as_assignments, as_permutations, invert_rows
from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.intervals import LEVEL, NUM_RESAMPLES, Estimate, bootstrap_mean
from puzzleflow.core.types import BoolArray, FloatArray, IntArray

BLOCK = 4096  # puzzles scored at once: what they need stays in the cache
METRICS = ("perfect", "absolute", "relations", "horizontal", "vertical", "neighbours")


@dataclass(frozen=True, eq=False)
class Scores:
    """Counts for each of M puzzles, and the shares that follow from them.

    correct           (M,) pieces in their place, of ``num_counted`` each
    right_preserved   (M,) relations to the right preserved (= to the left)
    down_preserved    (M,) relations down preserved (= up)
    pairs_adjacent    (M,) true pairs of neighbours put next to each other
    failure           (M,) :class:`~puzzleflow.core.metrics.Failure`
    """

    grid: Grid
    num_counted: int
    correct: IntArray
    right_preserved: IntArray
    down_preserved: IntArray
    pairs_adjacent: IntArray
    failure: IntArray

    def __len__(self) -> int:
        return len(self.correct)

    @property
    def num_right(self) -> int:
        """Relations to the right in one puzzle."""
        return self.grid.rows * (self.grid.cols - 1)

    @property
    def num_down(self) -> int:
        """Relations down in one puzzle."""
        return (self.grid.rows - 1) * self.grid.cols

    @cached_property
    def is_perfect(self) -> BoolArray:
        """(M,) every piece in its place."""
        perfect: BoolArray = self.correct == self.num_counted
        return perfect

    def per_puzzle(self, metric: str) -> FloatArray:
        """(M,) share in [0, 1] for one of :data:`METRICS`."""
        right, down = self.right_preserved, self.down_preserved
        num_right, num_down = self.num_right, self.num_down
        counts: dict[str, tuple[IntArray | BoolArray, int]] = {
            "perfect": (self.is_perfect, 1),
            "absolute": (self.correct, self.num_counted),
            "relations": (right + down, num_right + num_down),
            "horizontal": (right, num_right),
            "vertical": (down, num_down),
            "neighbours": (self.pairs_adjacent, num_right + num_down),
        }
        count, total = counts[metric]
        return count / total if total else np.ones(len(self))

    def mean(self, metric: str) -> float:
        """Share over the whole set, in [0, 1]."""
        return float(self.per_puzzle(metric).mean())

    @property
    def perfect_accuracy(self) -> float:
        """PA."""
        return self.mean("perfect")

    @property
    def absolute_accuracy(self) -> float:
        """AA."""
        return self.mean("absolute")

    @property
    def relation_accuracy(self) -> float:
        """SRA."""
        return self.mean("relations")

    def rounded(self) -> dict[str, float]:
        """PA, AA and SRA with four digits, as networks note them."""
        shares = zip(("PA", "AA", "SRA"), METRICS, strict=False)
        return {name: round(self.mean(metric), 4) for name, metric in shares}

    def estimates(
        self, *, seed: int = 0, num_resamples: int = NUM_RESAMPLES, level: float = LEVEL
    ) -> dict[str, Estimate]:
        """Every metric with its bootstrap interval over puzzles."""
        return {
            metric: bootstrap_mean(
                self.per_puzzle(metric), seed=seed, num_resamples=num_resamples, level=level
            )
            for metric in METRICS
        }

    def failure_counts(self) -> dict[str, int]:
        """How many puzzles fall in each class, by label, every class present."""
        counts = np.bincount(self.failure, minlength=len(Failure))
        return {kind.label: int(counts[kind]) for kind in Failure}


def score(
    predicted: ArrayLike, truth: ArrayLike, grid: Grid, *, given: Sequence[int] = ()
) -> Scores:
    """Score layouts against the truth.

    predicted  (M, N) or (N,) ``position_of``; collisions count as they fall
    truth      the same shape, permutations
    given      positions whose pieces the solver was told (the centre, in one
               protocol of JPwLEG): they do not count in AA
    """
    n = grid.num_pieces
    predicted, truth = np.atleast_2d(predicted), np.atleast_2d(truth)
    if predicted.shape != truth.shape:
        raise InputError(f"predictions {predicted.shape} and truth {truth.shape} differ in shape")
    if len(truth) == 0:
        raise InputError("no puzzles to score")
    predicted, truth = as_assignments(predicted, n), as_permutations(truth, n)
    blocks = (slice(i, i + BLOCK) for i in range(0, len(truth), BLOCK))
    return _joined([_score_block(predicted[b], truth[b], grid, given) for b in blocks])


def _joined(blocks: list[Scores]) -> Scores:
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(block, name) for block in blocks])
        for name, value in vars(blocks[0]).items()
        if isinstance(value, np.ndarray)
    }
    return replace(blocks[0], **arrays)


def _score_block(predicted: IntArray, truth: IntArray, grid: Grid, given: Sequence[int]) -> Scores:
    n = grid.num_pieces
    counted = ~np.isin(np.arange(n), np.asarray(given, dtype=np.int64))
    if not counted.any():
        raise InputError("every piece is given: nothing to score")

    # put_at[m, j]: where the piece that belongs at position j was put
    put_at = np.take_along_axis(predicted, invert_rows(truth), axis=1)  # (M, N)
    row, col = (axis[put_at] for axis in grid.coordinates.T)
    right, down = grid.neighbours(Direction.RIGHT), grid.neighbours(Direction.DOWN)
    right_rows, right_cols = _steps(row, right), _steps(col, right)  # (M, E)
    down_rows, down_cols = _steps(row, down), _steps(col, down)
    adjacent = np.count_nonzero(np.abs(right_rows) + np.abs(right_cols) == 1, axis=1)
    adjacent += np.count_nonzero(np.abs(down_rows) + np.abs(down_cols) == 1, axis=1)
    return Scores(
        grid=grid,
        num_counted=int(counted.sum()),
        correct=np.count_nonzero(put_at[:, counted] == np.flatnonzero(counted), axis=1),
        right_preserved=np.count_nonzero((right_rows == 0) & (right_cols == 1), axis=1),
        down_preserved=np.count_nonzero((down_rows == 1) & (down_cols == 0), axis=1),
        pairs_adjacent=adjacent,
        failure=classify(put_at, grid),
    )


def _steps(coordinate: IntArray, pairs: IntArray) -> IntArray:
    """(M, E) how much further the second of each pair lies than the first."""
    steps: IntArray = coordinate[:, pairs[:, 1]] - coordinate[:, pairs[:, 0]]
    return steps


def official_result(scores: Scores) -> dict[str, Any]:
    """The dict that the official ``evaluate_predictions`` returns; percentages in 0..100.

    ``grid_size`` is the side of a square grid, and [rows, cols] of any other.
    """
    grid, num_puzzles = scores.grid, len(scores)
    by_axis = {
        "right": (int(scores.right_preserved.sum()), num_puzzles * scores.num_right),
        "down": (int(scores.down_preserved.sum()), num_puzzles * scores.num_down),
    }
    pieces = (int(scores.correct.sum()), num_puzzles * scores.num_counted)
    perfect = (int(scores.is_perfect.sum()), num_puzzles)
    by_direction = {
        "right": by_axis["right"],
        "down": by_axis["down"],
        "left": by_axis["right"],
        "up": by_axis["down"],
    }
    relations = (
        sum(kept for kept, _ in by_direction.values()),
        sum(total for _, total in by_direction.values()),
    )
    return {
        "dataset_info": {
            "num_puzzles": num_puzzles,
            "num_pieces_per_puzzle": grid.num_pieces,
            "grid_size": grid.rows if grid.rows == grid.cols else [grid.rows, grid.cols],
        },
        "metrics": {
            "perfect_accuracy": _percent(*perfect),
            "absolute_accuracy": _percent(*pieces),
            "spatial_relationship_accuracy": _percent(*relations),
        },
        "detailed_stats": {
            "perfect_puzzles": perfect[0],
            "total_puzzles": perfect[1],
            "correct_pieces": pieces[0],
            "total_pieces": pieces[1],
            "spatial_relationships": {
                "preserved_relationships": relations[0],
                "total_relationships": relations[1],
                "relationship_accuracies": {
                    name: _percent(kept, total) for name, (kept, total) in by_direction.items()
                },
                "relationship_preserved": {name: kept for name, (kept, _) in by_direction.items()},
                "relationship_counts": {name: total for name, (_, total) in by_direction.items()},
            },
        },
    }


def _percent(count: int, total: int) -> float:
    return 100 * count / total if total else 100.0


class Failure(IntEnum):
    """How a layout is wrong, from the best to the worst: a taxonomy from the offsets of its pieces.

    The *offset* of a piece is how far it was put from its true cell, counted
    round the edges: ((row - true row) mod rows, (col - true col) mod cols). The
    *bulk* is the largest group of pieces with one common offset (of equally large
    groups, the one at offset zero, else the one at the smallest offset). Let b be
    its size among N pieces:

    solved       b = N, offset zero: every piece lies right
    exact shift  b = N, another offset: the whole picture, rolled round the edges
    local swap   b < N but large, offset zero: a few pieces changed places
    near shift   b < N but large, another offset: rolled, and a few pieces besides
    lost         no large bulk

    *Large* means at least two thirds of the pieces, or all but two of them (a
    2x2 puzzle with two pieces exchanged is a local swap). Every layout falls in
    exactly one class. On a grid of one row and two columns the only mistake is an
    exact shift.
    """

    SOLVED = 0
    LOCAL_SWAP = 1
    EXACT_SHIFT = 2
    NEAR_SHIFT = 3
    LOST = 4

    @property
    def label(self) -> str:
        """For tables and files: ``"exact shift"``."""
        return self.name.lower().replace("_", " ")


def cyclic_offsets(put_at: IntArray, grid: Grid) -> IntArray:
    """(M, N) offset of the piece that belongs at each position, ``rows_off * cols + cols_off``.

    put_at  (M, N) where the piece that belongs at position j was put
    """
    rows, cols = grid.coordinates.T
    rows_off = rows[put_at] - rows
    cols_off = cols[put_at] - cols
    rows_off += grid.rows * (rows_off < 0)  # a modulo, four times as fast
    cols_off += grid.cols * (cols_off < 0)
    offsets: IntArray = rows_off * grid.cols + cols_off
    return offsets


def classify(put_at: IntArray, grid: Grid) -> IntArray:
    """(M,) :class:`Failure` of every layout; see :func:`cyclic_offsets` for ``put_at``."""
    num_puzzles, n = put_at.shape
    flat = cyclic_offsets(put_at, grid) + n * np.arange(num_puzzles)[:, None]
    sizes = np.bincount(flat.ravel(), minlength=num_puzzles * n).reshape(num_puzzles, n)
    bulk_offset = sizes.argmax(axis=1)  # (M,) the first of equals, so zero wins
    bulk = sizes.max(axis=1)
    large = (3 * bulk >= 2 * n) | (bulk >= n - 2)
    at_zero = bulk_offset == 0
    return np.select(
        [(bulk == n) & at_zero, bulk == n, large & at_zero, large],
        [Failure.SOLVED, Failure.EXACT_SHIFT, Failure.LOCAL_SWAP, Failure.NEAR_SHIFT],
        default=Failure.LOST,
    ).astype(np.int64)
