"""What a second look at whole layouts adds to the energy, where the energy leaves doubt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Layout, turned_pieces
from puzzleflow.core.types import ByteArray, FloatArray
from puzzleflow.models.checkpoint import bundled_weights, load_network
from puzzleflow.models.lite0 import COARSEST
from puzzleflow.models.pixels import to_tensor
from puzzleflow.models.second_look import SecondLook, SecondLookConfig, drawn_layouts
from puzzleflow.search.energy import Energy
from puzzleflow.search.posterior import Posterior

WEIGHTS = "second_look.safetensors"
SURE = 0.9  # a layout all of whose pieces are so sure is not looked at again
NEAR = 3.5  # more energy than the best has: what costs more is not looked at
NUM_SHIFTS = 4  # of the best layout that are compared with it
PIECE_PX = 64  # of what is drawn: the picture is small
FEW = 9  # pieces; more are too small in one picture, and are looked at twice:
LARGER = 1.25  # as it is, and mirrored and so much larger


class Looking:
    """The pieces of one puzzle, ready to be drawn in any layout.

    weight  how much a look counts beside the energy
    """

    num_layouts = 4  # that are compared, beside shifts of the best

    def __init__(self, pieces: ByteArray, weight: float = 1.0) -> None:
        self.pieces = pieces
        self.weight = weight

    @torch.inference_mode()
    def costs(self, layouts: Sequence[Layout], grid: Grid) -> FloatArray:
        """(K,) what it costs to take each layout for the right one."""
        network = load_second_look()  # when first there is a doubt
        size_px = network.config.size_px
        scores = network(self._drawn(layouts, grid, size_px))
        if len(self.pieces) > FEW:
            larger_px = COARSEST * round(LARGER * size_px / COARSEST)
            mirrored = network(self._drawn(layouts, grid, larger_px).flip(3))
            scores = 0.5 * (scores + mirrored)
        cost: FloatArray = -self.weight * scores.double().numpy()
        return cost

    def _drawn(self, layouts: Sequence[Layout], grid: Grid, size_px: int) -> Tensor:
        """(K, 4, size_px, size_px) the layouts as pictures."""
        first = layouts[0]
        alike = all(layout.turns is None and layout.grid == first.grid for layout in layouts)
        if len(layouts) > 1 and not alike:
            return torch.cat([self._drawn([layout], grid, size_px) for layout in layouts])
        pieces = self.pieces if first.turns is None else turned_pieces(self.pieces, first.turns)
        positions = torch.from_numpy(np.stack([layout.position_of for layout in layouts]))
        shape = (first.grid or grid).shape
        return drawn_layouts(to_tensor(pieces, PIECE_PX), positions, shape, size_px)

    def is_sure(self, layout: Layout, belief: Posterior) -> bool:
        """Every piece is so sure that nothing has to be looked at again."""
        return bool(belief.confidence(layout.position_of).min() >= SURE)

    def again(
        self, energy: Energy, layouts: Sequence[Layout], belief: Posterior
    ) -> tuple[list[Layout], Posterior]:
        """The best layouts and shifts of the best, in their new order, and what is believed then.

        Only what is near the best by its energy is looked at. What these layouts hold of the
        posterior they share anew; the rest stays.
        """
        layouts = sorted(with_shifts(energy, layouts), key=lambda layout: layout.energy or 0.0)
        before = np.array([layout.energy or 0.0 for layout in layouts])  # ascending
        near = int((before <= before[0] + NEAR).sum())
        if near == 1:
            return layouts, belief
        costs = np.zeros(len(layouts))
        costs[:near] = self.costs(layouts[:near], energy.grid)
        costs[near:] = costs[0]  # for all we know they look like the best
        after = before + costs
        old, new = (np.exp(e.min() - e) for e in (before[:near], after[:near]))
        old, new = old / old.sum(), new / new.sum()
        best = float(belief.confidence(layouts[0].position_of).min())
        held = min(1.0, best / float(old[0]))  # by these layouts, of the posterior
        ranked = [
            replace(layouts[k], energy=float(after[k])) for k in np.argsort(after, kind="stable")
        ]
        positions = [layout.position_of for layout in layouts[:near]]
        return ranked, belief.shared_anew(positions, held * (new - old))


def with_shifts(energy: Energy, layouts: Sequence[Layout]) -> list[Layout]:
    """Layouts, and the likeliest of those that are the first one moved round the edges."""
    grid, first = energy.grid, layouts[0].position_of
    moved = [
        energy.layout(grid.shifted_position(first, *divmod(offset, grid.cols)))
        for offset in range(1, grid.num_pieces)
    ]
    known = {tuple(layout.position_of.tolist()) for layout in layouts}
    new = [layout for layout in moved if tuple(layout.position_of.tolist()) not in known]
    new = [layout for layout in new if np.isfinite(layout.energy or 0.0)]
    return [*layouts, *sorted(new, key=lambda layout: layout.energy or 0.0)[:NUM_SHIFTS]]


@lru_cache(maxsize=1)
def load_second_look() -> SecondLook:
    """The bundled network."""
    network, _ = load_network(
        bundled_weights(WEIGHTS),
        lambda sizes: SecondLook(SecondLookConfig.from_dict(sizes)),
        "second-look",
    )
    return network
