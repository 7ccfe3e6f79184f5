"""Solving by energy: best layouts, marginals, confidence, pins, for any solver that has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from puzzleflow.core.errors import UnknownName
from puzzleflow.core.puzzle import Solution
from puzzleflow.search import minimise, most_pieces_right, posterior
from puzzleflow.search.energy import Energy
from puzzleflow.solvers.base import Question, TimedSession

if TYPE_CHECKING:
    from puzzleflow.solvers.second_look import Looking

DECODINGS = ("layout", "pieces")
EFFORT_AGAIN = 0.5  # of sampling when somebody has pinned a piece and waits for the answer


def check_decoding(name: str) -> str:
    """``name`` itself, or an error that lists the known names."""
    if name not in DECODINGS:
        raise UnknownName("decoding", name, DECODINGS)
    return name


class EnergySession(TimedSession):
    """Every question about one puzzle is a search over the layouts of its energy.

    decode   "layout": the most probable whole layout (for PA);
             "pieces": the most expected pieces in place (for AA)
    looking  a second look at whole layouts, taken where the energy leaves doubt
    """

    def __init__(
        self,
        energy: Energy,
        solver: str,
        decode: str,
        prepare_s: float,
        looking: Looking | None = None,
    ) -> None:
        self.energy = energy
        self.looking = looking
        self.solver = solver
        self.decode = decode
        self.prepare_s = prepare_s

    def answer(self, asked: Question) -> Solution:
        seed, num_alternatives = asked.seed, asked.num_alternatives
        energy = self._constrained(asked)
        layouts = minimise(energy, seed=seed, num_layouts=max(1, num_alternatives))
        effort = 1.0 if energy is self.energy else EFFORT_AGAIN
        belief = posterior(energy, seed=seed, start=layouts[0], effort=effort)
        if self.looking and not self.looking.is_sure(layouts[0], belief):
            wanted = max(self.looking.num_layouts, num_alternatives)
            layouts = minimise(energy, seed=seed, num_layouts=wanted)
            layouts, belief = self.looking.again(energy, layouts, belief)
        best = layouts[0]
        position_of = (
            most_pieces_right(belief.position_prob) if self.decode == "pieces" else best.position_of
        )
        return Solution(
            position_of=position_of,
            solver=self.solver,
            energy=energy.of_layout(position_of),
            confidence=belief.confidence(position_of),
            seam_confidence=belief.seam_confidence(position_of),
            position_prob=belief.position_prob,
            alternatives=tuple(layouts[:num_alternatives]),
        )

    def _constrained(self, asked: Question) -> Energy:
        allowed = asked.allowed(self.energy.grid.num_pieces)
        if allowed.all():
            return self.energy
        return self.energy.changed(np.where(allowed, self.energy.unary, np.inf))
