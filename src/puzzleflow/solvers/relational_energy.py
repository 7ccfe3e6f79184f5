"""From the network's logits to the energy that is minimised.

Every side of every piece says who lies beyond it, the frame included, and every
piece says where it belongs. The energy is the sum of these log-probabilities,
weighted term by term; the weights are fitted on validation puzzles so that
exp(-E) is a calibrated posterior over layouts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from puzzleflow.core.errors import FormatError, naming
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.records import from_json
from puzzleflow.core.types import FloatArray
from puzzleflow.models.relational import Relations
from puzzleflow.search.energy import Energy

FLOOR = -30.0  # log-probabilities below this say no more


@dataclass(frozen=True)
class EnergyWeights:
    """How much each term counts."""

    position: float = 0.3
    pair: float = 0.5
    border: float = 0.5
    colour: float = 0.5

    def to_dict(self) -> dict[str, float]:
        return asdict(self)


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
class Terms:
    """Costs of one puzzle before weighting, as :class:`Energy` wants them."""

    position: FloatArray  # (N, N) piece, position
    right: FloatArray  # (N, N)
    down: FloatArray  # (N, N)
    border: FloatArray  # (N, 4)
    colour_right: FloatArray  # (N, N) of the seam prior alone
    colour_down: FloatArray  # (N, N)

    def energy(self, grid: Grid, weights: EnergyWeights) -> Energy:
        return Energy.of(
            grid,
            unary=weights.position * self.position,
            right=weights.pair * self.right + weights.colour * self.colour_right,
            down=weights.pair * self.down + weights.colour * self.colour_down,
            border=weights.border * self.border,
        )


def terms_of(relations: Relations, priors: Sequence[FloatArray]) -> list[Terms]:
    """Costs of every puzzle of a batch, from its relations and seam priors (2, N, N, F).

    A seam is explained from both sides, so its cost is the sum of both
    negative log-probabilities.
    """
    sides = [
        relations.side_logits(direction).log_softmax(dim=2).clamp_min(FLOOR)
        for direction in Direction
    ]  # each (B, N, N + 1)
    right = -(sides[Direction.RIGHT][..., :-1] + sides[Direction.LEFT][..., :-1].mT)
    down = -(sides[Direction.DOWN][..., :-1] + sides[Direction.UP][..., :-1].mT)
    border = -torch.stack([side[..., -1] for side in sides], dim=2)  # (B, N, 4)
    position = -_balanced(relations.position).clamp_min(FLOOR)
    return [
        Terms(
            *(np.asarray(t[b].double()) for t in (position, right, down, border)),
            *-prior[..., :2].sum(axis=-1, dtype=np.float64),
        )
        for b, prior in enumerate(priors)
    ]


def _balanced(logits: Tensor, rounds: int = 8) -> Tensor:
    """Sinkhorn in log space: log-probabilities whose rows and columns both sum to one."""
    for _ in range(rounds):
        logits = logits.log_softmax(dim=2).log_softmax(dim=1)
    return logits.log_softmax(dim=2)
