"""How good answers are where pieces may be missing, foreign or turned, or the grid is hidden.

A piece *belongs* if the truth has a cell for it. It is *right* in the cell where it
belongs, on the true grid and, where pieces may be turned, with its true turn; a foreign
piece is right if it is left aside.

perfect     PA   share of puzzles in which every piece is right
absolute    AA   share of the pieces that belong that are right
relations   SRA  share of true neighbours, both of them there, that were put next to each
                 other on the true sides, with their true turns

PA, AA and SRA are means over puzzles. They are given again *aligned*: up to one turn of the
whole where pieces may be turned, and up to one shift of the whole where the grid is hidden,
the ones that suit each puzzle best. An aligned answer to a hidden grid may lie on another
grid than the true one.

Foreign pieces are found by being left aside: precision, recall and F1 are pooled over all
puzzles, and so is the AUROC of the probability that a piece belongs nowhere. *Grids* is the
share of true grids among the answers to hidden ones. *Coverage* is the share of pieces that
are answered for, the surest first. Where nothing is counted nothing is broken: the share is 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from puzzleflow.core.assignment import as_placement
from puzzleflow.core.conditions import CLOSED, Conditions
from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.intervals import Estimate, bootstrap_mean, bootstrap_ratio, bootstrap_weighted
from puzzleflow.core.metrics import Failure
from puzzleflow.core.types import BoolArray, FloatArray, IntArray

COVERAGES = (0.5, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True, eq=False)
class OpenTruth:
    """The truth of one puzzle; ``position_of`` is -1 for a foreign piece."""

    position_of: IntArray
    grid: Grid
    conditions: Conditions = CLOSED
    turns: IntArray | None = None


@dataclass(frozen=True, eq=False)
class OpenAnswer:
    """What a solver says of one puzzle; see :class:`~puzzleflow.core.puzzle.Solution`."""

    position_of: IntArray
    grid: Grid
    turns: IntArray | None = None
    aside_prob: FloatArray | None = None
    confidence: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class _Scored:
    """One puzzle: which of its N pieces belong, are right, were left aside; and its shares."""

    belongs: BoolArray
    right: BoolArray
    aside: BoolArray
    shares: tuple[float, float, float, float, float, float]  # of SHARES
    found_grid: bool
    aside_prob: FloatArray | None = None
    confidence: FloatArray | None = None


SHARES = (
    "perfect",
    "absolute",
    "relations",
    "perfect_aligned",
    "absolute_aligned",
    "relations_aligned",
)


@dataclass(frozen=True, eq=False)
class OpenScores:
    """M puzzles under one set of conditions, scored."""

    conditions: Conditions
    puzzles: tuple[_Scored, ...]

    def __len__(self) -> int:
        return len(self.puzzles)

    def per_puzzle(self, metric: str) -> FloatArray:
        """(M,) share in [0, 1] for one of :data:`SHARES`, or for "grids"."""
        if metric == "grids":
            return np.array([float(one.found_grid) for one in self.puzzles])
        place = SHARES.index(metric)
        return np.array([one.shares[place] for one in self.puzzles])

    @property
    def failure(self) -> IntArray:
        """(M,) :class:`Failure`: shifts and turns of the whole count as shifts."""
        solved, moved = self.per_puzzle("perfect") == 1, self.per_puzzle("perfect_aligned") == 1
        absolute, aligned = self.per_puzzle("absolute"), self.per_puzzle("absolute_aligned")
        return np.select(
            [solved, moved, absolute >= 2 / 3, aligned >= 2 / 3],
            [Failure.SOLVED, Failure.EXACT_SHIFT, Failure.LOCAL_SWAP, Failure.NEAR_SHIFT],
            default=Failure.LOST,
        ).astype(np.int64)

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The names of the figures that these conditions and answers have."""
        names = list(SHARES[:3])
        if self.conditions.turned or self.conditions.hidden:
            names += SHARES[3:]
        if self.conditions.foreign:
            names += ["foreign_precision", "foreign_recall", "foreign_f1"]
            if self._pieces("aside_prob") is not None:
                names.append("foreign_auroc")
        if self.conditions.hidden:
            names.append("grids")
        if self._pieces("confidence") is not None:
            names += [f"accuracy_at_{round(100 * coverage)}" for coverage in COVERAGES]
        return tuple(names)

    def estimate(self, metric: str, *, seed: int = 0) -> Estimate:
        """One of :attr:`metrics` in [0, 1], with its bootstrap interval over puzzles."""
        if metric in SHARES or metric == "grids":
            return bootstrap_mean(self.per_puzzle(metric), seed=seed)
        if metric == "foreign_auroc":
            return self._auroc(seed)
        if metric.startswith("accuracy_at_"):
            return self._accuracy_at(float(metric.removeprefix("accuracy_at_")) / 100, seed)
        foreign = np.array([np.count_nonzero(~one.belongs) for one in self.puzzles])
        called = np.array([np.count_nonzero(one.aside) for one in self.puzzles])
        caught = np.array([np.count_nonzero(one.aside & ~one.belongs) for one in self.puzzles])
        part, whole = {
            "foreign_precision": (caught, called),
            "foreign_recall": (caught, foreign),
            "foreign_f1": (2 * caught, called + foreign),
        }[metric]
        return bootstrap_ratio(part, whole, seed=seed)

    def estimates(self, *, seed: int = 0) -> dict[str, Estimate]:
        """Every figure of :attr:`metrics`."""
        return {metric: self.estimate(metric, seed=seed) for metric in self.metrics}

    def failure_counts(self) -> dict[str, int]:
        """How many puzzles fall in each class, by label, every class present."""
        counts = np.bincount(self.failure, minlength=len(Failure))
        return {kind.label: int(counts[kind]) for kind in Failure}

    def _pieces(self, name: str) -> tuple[FloatArray, IntArray] | None:
        """A number of each piece, and which puzzle it belongs to; None if nobody tells it."""
        told = [
            (getattr(one, name), index)
            for index, one in enumerate(self.puzzles)
            if getattr(one, name) is not None
        ]
        if not told:
            return None
        values = np.concatenate([value for value, _ in told])
        return values, np.repeat([index for _, index in told], [len(value) for value, _ in told])

    def _flags(self, name: str, like: str) -> BoolArray:
        chosen = [getattr(p, name) for p in self.puzzles if getattr(p, like) is not None]
        return np.concatenate(chosen)

    def _auroc(self, seed: int) -> Estimate:
        found = self._pieces("aside_prob")
        assert found is not None
        foreign = ~self._flags("belongs", "aside_prob")
        values, rank = np.unique(found[0], return_inverse=True)

        def area(weights: FloatArray) -> FloatArray:
            """(R,) of puzzles weighted by (R, M): chance that a foreign piece scores higher."""
            per_piece = weights[:, found[1]]  # (R, pieces)
            theirs, own = (
                np.stack([np.bincount(rank, row, len(values)) for row in per_piece * chosen])
                for chosen in (foreign, ~foreign)
            )  # (R, values)
            below = np.cumsum(own, axis=1) - own / 2
            pairs = theirs.sum(axis=1) * own.sum(axis=1)
            won = (theirs * below).sum(axis=1)
            area: FloatArray = np.divide(won, pairs, out=np.ones_like(won), where=pairs > 0)
            return area

        return bootstrap_weighted(area, len(self), seed=seed)

    def _accuracy_at(self, coverage: float, seed: int) -> Estimate:
        found = self._pieces("confidence")
        assert found is not None
        order = np.argsort(-found[0], kind="stable")
        right, puzzle = self._flags("right", "confidence")[order], found[1][order]

        def accuracy(weights: FloatArray) -> FloatArray:
            """(R,) of puzzles weighted by (R, M): share of right pieces among the surest."""
            per_piece = weights[:, puzzle]  # (R, pieces)
            covered = np.cumsum(per_piece, axis=1)
            enough = covered >= coverage * covered[:, -1:] - 1e-9
            last = np.argmax(enough, axis=1)[:, None]
            kept = np.take_along_axis(np.cumsum(per_piece * right, axis=1), last, axis=1)
            total = np.take_along_axis(covered, last, axis=1)
            share: FloatArray = np.where(total > 0, kept / np.maximum(total, 1), 1.0)[:, 0]
            return share

        return bootstrap_weighted(accuracy, len(self), seed=seed)


def score_open(answers: Sequence[OpenAnswer | None], truths: Sequence[OpenTruth]) -> OpenScores:
    """Score answers, None where there is none, against the truths of the same puzzles."""
    if len(answers) != len(truths):
        raise InputError(f"{len(answers)} answers for {len(truths)} puzzles")
    if not truths:
        raise InputError("no puzzles to score")
    conditions = truths[0].conditions
    if any(truth.conditions != conditions for truth in truths):
        raise InputError("puzzles of different conditions are not scored together")
    return OpenScores(conditions, tuple(map(_score, answers, truths)))


def _score(answer: OpenAnswer | None, truth: OpenTruth) -> _Scored:
    num_pieces = len(truth.position_of)
    belongs: BoolArray = np.asarray(truth.position_of) >= 0
    nothing = np.zeros(num_pieces, dtype=bool)
    known_grid = None if truth.conditions.hidden else truth.grid
    if answer is None or known_grid not in (None, answer.grid):
        return _Scored(belongs, nothing, nothing, (0.0,) * 6, found_grid=False)
    laid = as_placement(answer.position_of, num_pieces, answer.grid.num_pieces)
    aside = laid < 0
    at = np.stack(np.divmod(laid, answer.grid.cols), axis=1)  # (N, 2)
    turns = _or_zero(answer.turns, num_pieces)
    absolute = aligned = (nothing, 0.0)
    for turn in range(4 if truth.conditions.turned else 1):
        true = _turned(truth, turn)
        fits = belongs & ~aside
        if truth.conditions.turned:
            fits &= turns == true.turns
        same_grid = true.grid == answer.grid
        kept = _kept_relations(at, fits, true)
        cells = np.stack(np.divmod(true.position_of, true.grid.cols), axis=1)  # (N, 2)
        moved = at - cells
        in_place = fits & (moved == 0).all(axis=1) if same_grid else nothing
        if turn == 0:
            absolute = (in_place, kept)
        right = fits & _most_common(moved, fits) if truth.conditions.hidden else in_place
        if not (same_grid or truth.conditions.hidden):
            kept = 0.0  # this turn of the whole does not fit the grid
        aligned = max(aligned, (right, kept), key=lambda found: (found[0].sum(), found[1]))
    foreign_right = aside & ~belongs
    right = absolute[0] | foreign_right
    shares = []
    for own, kept in (absolute, aligned):
        perfect = float((own | foreign_right).all())
        shares += [perfect, _share(int(own.sum()), int(belongs.sum())), kept]
    return _Scored(
        belongs, right, aside, tuple(shares), answer.grid == truth.grid,  # type: ignore[arg-type]
        answer.aside_prob, answer.confidence,
    )  # fmt: skip


def _turned(truth: OpenTruth, turn: int) -> OpenTruth:
    """The truth of the whole picture turned by ``turn`` quarters against the clock."""
    moved = truth.grid.turned_position(truth.position_of, turn)
    position_of = np.where(truth.position_of < 0, -1, moved)
    turns = (_or_zero(truth.turns, len(position_of)) + turn) % 4
    return OpenTruth(position_of, truth.grid.turned(turn), truth.conditions, turns)


def _kept_relations(at: IntArray, fits: BoolArray, truth: OpenTruth) -> float:
    """Share of true neighbours that lie as they should; ``fits`` are placed as turned."""
    piece_at = np.full(truth.grid.num_pieces, -1)
    belongs = np.flatnonzero(truth.position_of >= 0)
    piece_at[truth.position_of[belongs]] = belongs
    kept = total = 0
    for direction in (Direction.RIGHT, Direction.DOWN):
        one, other = piece_at[truth.grid.neighbours(direction)].T  # (E,)
        both = (one >= 0) & (other >= 0)
        one, other = one[both], other[both]
        beside = (at[other] - at[one] == direction.step).all(axis=1)
        total += len(one)
        kept += int(np.count_nonzero(beside & fits[one] & fits[other]))
    return _share(kept, total)


def _most_common(moved: IntArray, fits: BoolArray) -> BoolArray:
    """(N,) which pieces moved (N, 2) as most of those that fit; no move wins among equals."""
    if not fits.any():
        return fits
    moves, counts = np.unique(moved[fits], axis=0, return_counts=True)
    still = (moves == 0).all(axis=1)
    best = moves[np.lexsort((~still, -counts))[0]]
    return np.asarray((moved == best).all(axis=1))


def _or_zero(turns: IntArray | None, num_pieces: int) -> IntArray:
    return np.zeros(num_pieces, dtype=np.int64) if turns is None else np.asarray(turns)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
