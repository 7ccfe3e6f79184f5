"""From the network's logits to the energy that is minimised.

Every side of every piece says what lies beyond it (a piece, none of the given
pieces, the frame), every piece says where it belongs and whether it belongs at
all. The energy is the sum of these log-probabilities, weighted term by term; the
weights are fitted on validation puzzles so that exp(-E) is a calibrated posterior
over layouts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import torch
from torch import Tensor

from puzzleflow.core.errors import FormatError, naming
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.records import from_json
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.models.relational import Relations
from puzzleflow.search.energy import Energy

FLOOR = -30.0  # log-probabilities below this say no more


@dataclass(frozen=True)
class EnergyWeights:
    """How much each term counts; those from ``absent`` to ``aside`` only in the open world.

    alone   a seam, as its two pieces tell it without the others
    absent  a side beyond which none of the given pieces lies
    gap     every such side, whatever the network says
    stray   the log odds that a piece belongs to another picture
    aside   every piece that is left aside
    look    what a second look says of closed layouts
    upright what it says of turns of the whole, in any world
    """

    position: float = 0.3
    pair: float = 0.5
    border: float = 0.5
    colour: float = 0.5
    alone: float = 0.0
    absent: float = 1.0
    gap: float = 1.0
    stray: float = 1.0
    aside: float = 0.0
    look: float = 0.3
    upright: float = 0.5

    def to_dict(self) -> dict[str, float]:
        return asdict(self)

    @property
    def vector(self) -> FloatArray:
        """(F,) in the order of the fields."""
        return np.array(list(asdict(self).values()))

    @classmethod
    def of(cls, vector: FloatArray) -> EnergyWeights:
        return cls(*np.asarray(vector).tolist())


WEIGHTS = tuple(field.name for field in fields(EnergyWeights))


def check_fitted(fitted: Any) -> Any:
    """The weights in a file's config, by grid or further divided; other things are refused."""
    if not isinstance(fitted, dict):
        raise FormatError("energy: expected an object")
    for key, inner in fitted.items():
        if isinstance(inner, dict) and any(isinstance(value, dict) for value in inner.values()):
            check_fitted(inner)
        elif inner != {}:
            with naming("energy"):
                Grid.parse(key)
                from_json(EnergyWeights, inner)
    return fitted


def weights_for(grid: Grid, fitted: Mapping[str, Mapping[str, float]]) -> EnergyWeights:
    """Of the weights fitted on some grids, those of the grid nearest in number of pieces."""
    if not fitted:
        return EnergyWeights()
    nearest = min(
        fitted, key=lambda text: abs(np.log(Grid.parse(text).num_pieces / grid.num_pieces))
    )
    return EnergyWeights(**fitted[nearest])


@dataclass(frozen=True, eq=False)
class Parts:
    """The energy is linear in its weights: one energy for each of F weights.

    unary        (F, N, P) candidate, position
    right, down  (F, N, N)
    """

    grid: Grid
    unary: FloatArray
    right: FloatArray
    down: FloatArray

    def energy(self, weights: EnergyWeights) -> Energy:
        """Their weighted sum."""
        vector = weights.vector
        unary, right, down = (
            np.tensordot(vector, part, axes=1) for part in (self.unary, self.right, self.down)
        )
        return Energy(self.grid, unary, right, down)


@dataclass(frozen=True, eq=False)
class Terms:
    """Costs of one puzzle of N pieces before weighting."""

    position: FloatArray  # (N, P) piece, position
    right: FloatArray  # (N, N)
    down: FloatArray  # (N, N)
    border: FloatArray  # (N, 4)
    colour_right: FloatArray  # (N, N) of the seam prior alone
    colour_down: FloatArray  # (N, N)
    alone_right: FloatArray  # (N, N) as the two pieces alone tell it
    alone_down: FloatArray  # (N, N)
    absent: FloatArray  # (N, 4) beyond the side lies none of the given pieces
    stray: FloatArray  # (N,) log odds that the piece belongs to another picture

    def among(self, chosen: IntArray) -> Terms:
        """The terms of some of the pieces alone."""
        box = np.ix_(chosen, chosen)
        pairs = ("right", "down", "colour_right", "colour_down", "alone_right", "alone_down")
        return Terms(
            **{
                name: term[box] if name in pairs else term[chosen]
                for name, term in vars(self).items()
            }
        )

    def mixed(self, other: Terms) -> Terms:
        """The mean of two tellings of the same pieces; where they belong is told by the first."""
        told = vars(other)
        return Terms(
            **{
                name: term if name == "position" else 0.5 * (term + told[name])
                for name, term in vars(self).items()
            }
        )

    def parts(self, grid: Grid, num_empty: int | None = None) -> Parts:
        """The parts of the energy on ``grid``.

        num_empty  of the open world: so many empty places join the N pieces as
                   candidates, and pieces may lie aside; None for a closed puzzle
        """
        N, P = len(self.right), grid.num_pieces
        total = N + (num_empty or 0)
        unary = np.zeros((len(WEIGHTS), total, P))
        right, down = np.zeros((2, len(WEIGHTS), total, total))
        where = {name: index for index, name in enumerate(WEIGHTS)}
        unary[where["position"], :N] = self.position
        for direction in Direction:
            unary[where["border"], :N, grid.on_frame(direction)] += self.border[:, direction]
        for seam, pair, colour, alone in (
            (right, self.right, self.colour_right, self.alone_right),
            (down, self.down, self.colour_down, self.alone_down),
        ):
            seam[where["pair"], :N, :N] = pair
            seam[where["colour"], :N, :N] = colour
            seam[where["alone"], :N, :N] = alone
        if num_empty is None:
            return Parts(grid, unary, right, down)
        for seam, ahead in ((right, Direction.RIGHT), (down, Direction.DOWN)):
            seam[where["absent"], :N, N:] = self.absent[:, ahead, None]
            seam[where["absent"], N:, :N] = self.absent[:, ahead.opposite]
            seam[where["gap"], :N, N:] = seam[where["gap"], N:, :N] = 1.0
        # what lies aside costs nothing, so every placing is charged for leaving it
        unary[where["absent"], :N] = -self.absent.sum(axis=1)[:, None]
        unary[where["gap"], :N] = -4.0
        unary[where["stray"], :N] = self.stray[:, None]
        unary[where["aside"], :N] = -1.0
        return Parts(grid, unary, right, down)

    def energy(self, grid: Grid, weights: EnergyWeights, num_empty: int | None = None) -> Energy:
        """The weighted energy on ``grid``; see :meth:`parts`."""
        return self.parts(grid, num_empty).energy(weights)


@dataclass(frozen=True, eq=False)
class Costs:
    """What the network says of B puzzles, as costs: negative log-probabilities of its logits.

    position      (B, N, P)
    right, down   (B, N, N) a seam is explained from both sides, so its cost is the sum of both
    border        (B, N, 4) the side lies on the frame
    absent        (B, N, 4) beyond it lies none of the given pieces
    """

    position: Tensor
    right: Tensor
    down: Tensor
    border: Tensor
    absent: Tensor

    @classmethod
    def of(cls, relations: Relations, positions: Tensor, *, closed: bool = True) -> Costs:
        """From relations and the logits (B, N, P) of pieces at positions.

        closed  every position has its piece, and every piece its position
        """
        sides = _sides(relations)
        right, down = _seams(sides)
        absent, border = (
            -torch.stack([side[..., end] for side in sides], dim=2) for end in (-2, -1)
        )
        places = _balanced(positions) if closed else positions.log_softmax(dim=2)
        return cls(-places.clamp_min(FLOOR), right, down, border, absent)


def _sides(relations: Relations) -> list[Tensor]:
    """(B, N, N + 2) for every direction: log-probabilities of what lies beyond a side."""
    return [
        relations.side_logits(direction).log_softmax(dim=2).clamp_min(FLOOR)
        for direction in Direction
    ]


def alone_costs(isolated: Relations) -> tuple[Tensor, Tensor]:
    """(B, N, N) costs of right and down seams as their two pieces tell them by themselves."""
    return _seams(_sides(isolated))


def _seams(sides: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """(B, N, N) costs of right and down seams, which both of their sides explain."""
    right = -(sides[Direction.RIGHT][..., :-2] + sides[Direction.LEFT][..., :-2].mT)
    down = -(sides[Direction.DOWN][..., :-2] + sides[Direction.UP][..., :-2].mT)
    return right, down


def terms_of(
    relations: Relations,
    isolated: Relations,
    positions: Tensor,
    priors: Sequence[FloatArray],
    *,
    closed: bool = True,
) -> list[Terms]:
    """Costs of every puzzle of a batch, from its relations and seam priors (2, N, N, F).

    isolated   the relations of pairs without the context of the others
    positions  (B, N, P) logits of pieces at positions
    closed     every position has its piece, and every piece its position
    """
    costs = Costs.of(relations, positions, closed=closed)
    told = (costs.position, costs.right, costs.down, costs.border)
    alone = alone_costs(isolated)
    return [
        Terms(
            *(np.asarray(t[b].double()) for t in told),
            *-prior[..., :2].sum(axis=-1, dtype=np.float64),
            *(np.asarray(t[b].double()) for t in (*alone, costs.absent, relations.stray)),
        )
        for b, prior in enumerate(priors)
    ]


def _balanced(logits: Tensor, rounds: int = 8) -> Tensor:
    """Sinkhorn in log space: log-probabilities whose rows and columns both sum to one."""
    for _ in range(rounds):
        logits = logits.log_softmax(dim=2).log_softmax(dim=1)
    return logits.log_softmax(dim=2)
