"""Solving where pieces may be missing, foreign or turned, or the grid is not known.

What is not known of the whole (grid, turns) becomes a *hypothesis* each; within a
hypothesis a layout is a layout of the pieces and some empty places, searched and
weighed like any other. The answer is the best layout of the likeliest hypothesis;
its confidence is averaged over all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from puzzleflow.core.assignment import check_pins
from puzzleflow.core.errors import CannotSolve, InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Layout, Solution
from puzzleflow.core.types import BoolArray, FloatArray, IntArray
from puzzleflow.search import minimise, posterior
from puzzleflow.search.energy import Energy
from puzzleflow.search.posterior import CLEAR, Posterior
from puzzleflow.solvers.base import Question, TimedSession

if TYPE_CHECKING:
    from puzzleflow.solvers.rifts import Apart, Rift
    from puzzleflow.solvers.second_look import Looking

WORTH_A_LOOK = 2 * CLEAR  # beyond the best hypothesis: a look may say so much
TURN_DOUBT = 4.0  # how fast trust falls where pieces do not agree about their turns


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """What the whole may be: a grid, turns of the pieces, and the energy of layouts then.

    energy     of the N pieces and some empty places, in this order
    cost       of the hypothesis itself: minus the log of its prior probability
    agreement  of each piece's turn with those of the others: 1 where only the whole may be turned
    apart      what speaks against two pieces touching at all, where the grid is not known
    """

    grid: Grid
    turns: IntArray  # (N,)
    energy: Energy
    cost: float = 0.0
    agreement: FloatArray | None = None  # (N,)
    apart: Apart | None = None

    def trust(self, laid: BoolArray) -> float:
        """How far places under this hypothesis can be believed: other turns were not tried.

        laid  (N,) the pieces that lie somewhere: how the others are turned says nothing
        """
        if self.agreement is None or not laid.any():
            return 1.0
        return float(self.agreement[laid].mean() ** TURN_DOUBT)


_Tried = tuple[Hypothesis, list[Layout], Energy]  # with its best layout and pins


@dataclass(frozen=True, eq=False)
class _Answer:
    """The best layouts under one hypothesis, and what is believed then."""

    hypothesis: Hypothesis
    layouts: list[Layout]  # of pieces; their energies include the hypothesis' cost
    belief: Posterior

    @property
    def cost(self) -> float:
        return float(self.layouts[0].energy or 0.0)


class OpenSession(TimedSession):
    """One puzzle of the open world, prepared.

    grid     the grid where it is known: pins are placements on it
    turned   pieces may be turned, so that answers tell turns
    looking  a second look at the best layout of each hypothesis
    """

    def __init__(
        self,
        hypotheses: Sequence[Hypothesis],
        solver: str,
        *,
        num_pieces: int,
        grid: Grid | None,
        turned: bool,
        prepare_s: float = 0.0,
        looking: Looking | None = None,
    ) -> None:
        self.hypotheses = hypotheses
        self.solver = solver
        self.num_pieces = num_pieces
        self.grid = grid
        self.turned = turned
        self.prepare_s = prepare_s
        self.looking = looking

    def answer(self, asked: Question) -> Solution:
        """Lay the pieces; see :class:`~puzzleflow.solvers.base.Session`.

        A pin to -1 says that a piece belongs nowhere.
        """
        answers = sorted(
            self._answers(asked.seed, asked.pinned, asked.forbidden, asked.num_alternatives),
            key=lambda answer: answer.cost,
        )
        if not answers:
            raise CannotSolve("no layout honours the pinned and forbidden placements together")
        best = answers[0]
        layouts = sorted(
            (layout for answer in answers for layout in answer.layouts),
            key=lambda layout: layout.energy or 0.0,
        )
        shares = _shares([answer.cost for answer in answers])
        position_of = layouts[0].position_of
        trust = best.hypothesis.trust(position_of >= 0)
        rift = _rift(best.hypothesis, position_of)
        whole = 1.0 - (rift.share if rift else 0.0)  # probability of one picture
        placed = whole * self._mixed(answers, shares, best)  # (N, P + 1), last: aside
        placed[:, :-1] *= trust
        here = np.where(position_of < 0, best.hypothesis.grid.num_pieces, position_of)
        grids: dict[Grid, float] = {}
        for answer, share in zip(answers, shares.tolist(), strict=True):
            grids[answer.hypothesis.grid] = grids.get(answer.hypothesis.grid, 0.0) + share
        aside = sum(
            share * _aside(answer.belief, self.num_pieces)
            for answer, share in zip(answers, shares, strict=True)
        )
        return Solution(
            position_of=position_of,
            solver=self.solver,
            energy=best.cost,
            confidence=placed[np.arange(self.num_pieces), here],
            seam_confidence=_seams(best, position_of, trust * float(shares[0]), rift),
            position_prob=placed[:, :-1],
            alternatives=tuple(layouts[: asked.num_alternatives]),
            grid=best.hypothesis.grid,
            turns=best.hypothesis.turns if self.turned else None,
            aside_prob=np.asarray(aside),
            grid_prob=tuple(sorted(grids.items(), key=lambda item: -item[1])),
        )

    def _answers(
        self,
        seed: int,
        pins: dict[int, int],
        forbidden: Sequence[tuple[int, int]],
        num_alternatives: int,
    ) -> Iterator[_Answer]:
        """One answer a hypothesis, but for those that are out of the question."""
        kept = [
            tried
            for hypothesis in self.hypotheses
            if (tried := self._tried(hypothesis, seed, pins, forbidden))
        ]
        kept = _near(kept, WORTH_A_LOOK if self.looking else CLEAR)
        if self.looking and len(kept) > 1:
            kept = _near(self._looked_at(self.looking, kept), CLEAR)
        effort = min(1.0, 2 / max(1, len(kept)))  # of sampling: many share what one would have
        for hypothesis, found, energy in kept:
            belief = posterior(energy, seed=seed, start=found[0], effort=effort)
            if num_alternatives > 1:
                found = minimise(energy, seed=seed, num_layouts=4 * num_alternatives)
            found = distinct(found, self.num_pieces)[: max(1, num_alternatives)]
            laid = [self._of_pieces(hypothesis, layout) for layout in found]
            yield _Answer(hypothesis, laid, belief)

    def _tried(
        self,
        hypothesis: Hypothesis,
        seed: int,
        pins: dict[int, int],
        forbidden: Sequence[tuple[int, int]],
    ) -> _Tried | None:
        """The best layout under a hypothesis, if there is one."""
        energy = self._constrained(hypothesis, pins, forbidden)
        try:
            return hypothesis, minimise(energy, seed=seed), energy
        except CannotSolve:
            return None

    def _looked_at(self, looking: Looking, kept: list[_Tried]) -> list[_Tried]:
        """The hypotheses with what a second look at their best layouts adds to their costs."""
        layouts = [self._of_pieces(hypothesis, found[0]) for hypothesis, found, _ in kept]
        costs = looking.costs(layouts, kept[0][0].grid)
        return [
            (replace(hypothesis, cost=hypothesis.cost + cost), found, energy)
            for (hypothesis, found, energy), cost in zip(kept, costs.tolist(), strict=True)
        ]

    def _of_pieces(self, hypothesis: Hypothesis, layout: Layout) -> Layout:
        """A layout of the pieces alone, under a hypothesis."""
        return Layout(
            layout.position_of[: self.num_pieces],
            energy=(layout.energy or 0.0) + hypothesis.cost,
            grid=hypothesis.grid,
            turns=hypothesis.turns if self.turned else None,
        )

    def _constrained(
        self, hypothesis: Hypothesis, pins: dict[int, int], forbidden: Sequence[tuple[int, int]]
    ) -> Energy:
        if not pins and not forbidden:
            return hypothesis.energy
        if self.grid is None:
            raise InputError("pins name cells of a grid, and the grid is not known")
        aside = [piece for piece, position in pins.items() if position == -1]
        laid = check_pins(
            {piece: at for piece, at in pins.items() if at != -1}, self.num_pieces,
            self.grid.num_pieces,
        )  # fmt: skip
        unary = hypothesis.energy.unary.copy()
        for piece, position in laid.items():
            kept = unary[piece, position]
            unary[piece] = np.inf
            unary[:, position] = np.inf
            unary[piece, position] = kept
        unary[aside] = np.inf
        for piece, position in forbidden:
            unary[piece, position] = np.inf
        return hypothesis.energy.changed(unary)

    def _mixed(self, answers: Sequence[_Answer], shares: FloatArray, best: _Answer) -> FloatArray:
        """(N, P + 1) probabilities of placements on the best grid with the best turns."""
        N, P = self.num_pieces, best.hypothesis.grid.num_pieces
        mixed = np.zeros((N, P + 1))
        for answer, share in zip(answers, shares, strict=True):
            mixed[:, P] += share * _aside(answer.belief, N)
            if answer.hypothesis.grid == best.hypothesis.grid:
                same = answer.hypothesis.turns == best.hypothesis.turns  # (N,)
                mixed[:, :P] += share * same[:, None] * answer.belief.position_prob[:N]
        return mixed


def _near(tried: Sequence[_Tried], most: float) -> list[_Tried]:
    """Those that cost at most so much more than the best."""
    costs = [_total(*one) for one in tried]
    return [one for one, cost in zip(tried, costs, strict=True) if cost <= min(costs) + most]


def _total(hypothesis: Hypothesis, found: Sequence[Layout], energy: Energy) -> float:
    """What the best layout under a hypothesis costs in all."""
    return (found[0].energy or 0.0) + hypothesis.cost


def distinct(layouts: Sequence[Layout], num_pieces: int) -> list[Layout]:
    """The best first of those with the pieces at the same places.

    Which of several empty places lies where is all the same.
    """
    by_pieces: dict[tuple[int, ...], Layout] = {}
    for layout in layouts:
        by_pieces.setdefault(tuple(layout.position_of[:num_pieces].tolist()), layout)
    return list(by_pieces.values())


def _aside(belief: Posterior, num_pieces: int) -> FloatArray:
    """(N,) the probability that each piece lies nowhere."""
    aside: FloatArray = np.clip(1.0 - belief.position_prob[:num_pieces].sum(axis=1), 0.0, 1.0)
    return aside


def _shares(costs: Sequence[float]) -> FloatArray:
    """Probabilities of hypotheses from the costs of their best layouts."""
    weights = np.exp(min(costs) - np.array(costs))
    shares: FloatArray = weights / weights.sum()
    return shares


def _cells(grid: Grid, position_of: IntArray) -> IntArray:
    """(rows, cols) the piece of every cell, -1 where there is none."""
    piece_at = np.full(grid.num_pieces, -1)
    placed = np.flatnonzero(position_of >= 0)
    piece_at[position_of[placed]] = placed
    return piece_at.reshape(grid.shape)


def _rift(hypothesis: Hypothesis, position_of: IntArray) -> Rift | None:
    """The line across which least belongs together, where two pictures would not be noticed."""
    if hypothesis.apart is None:
        return None
    return hypothesis.apart.rift(_cells(hypothesis.grid, position_of))


def _seams(
    best: _Answer, position_of: IntArray, share: float, rift: Rift | None
) -> tuple[FloatArray, FloatArray]:
    """Probability of each seam between two pieces; NaN beside an empty cell."""
    cells = _cells(best.hypothesis.grid, position_of)
    right, down = (
        np.where((one < 0) | (other < 0), np.nan, share * prob[one, other])
        for one, other, prob in (
            (cells[:, :-1], cells[:, 1:], best.belief.right_prob),
            (cells[:-1], cells[1:], best.belief.down_prob),
        )
    )
    if rift:
        line = down[rift.before] if rift.between_rows else right[:, rift.before]
        line *= 1.0 - rift.share
    return right, down
