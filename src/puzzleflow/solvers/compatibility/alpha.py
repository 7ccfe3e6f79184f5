"""Alpha-aware compatibility: the prediction of ``border``, carried across the void.

For every row or column of a side the nearest opaque pixel and its inward
gradient are taken from the real outline. The two sides of a seam are then g
pixels apart (void on one side + void on the other + 1). With g

- the weight of the line falls as 1 / (1 + void / 10 px): near outlines decide;
- the gradient is continued by ``g ** -0.25`` pixels: the further, the less a
  local slope says;
- differences are measured against ``g ** 0.08``: wider gaps allow larger ones.

Lines without material are ignored. Where there is no void, g = 1 and every
factor is exactly 1, so square pieces cost exactly what ``border`` says.

The constants were chosen by recall of the true neighbour on 80 3x3 puzzles cut
from training pictures with real outlines (see ``docs/benchmarks.md``).
Averaging several pixels inward, or gradients over several pixels, was tried
and is worse: both move away from the seam.
"""

from __future__ import annotations

from puzzleflow.core.grid import Direction
from puzzleflow.core.types import ByteArray
from puzzleflow.solvers.compatibility.border import predicted_costs
from puzzleflow.solvers.compatibility.costs import SeamCosts
from puzzleflow.solvers.compatibility.sides import common_box, outline_side

HALF_WEIGHT_PX = 10.0
STEP_DECAY = 0.25
GROWTH = 0.08


def alpha_costs(pieces: ByteArray) -> SeamCosts:
    """Prediction errors of all pairs between their real outlines."""
    boxed = common_box(pieces)
    right, down = (
        predicted_costs(
            outline_side(boxed, direction),
            outline_side(boxed, direction.opposite),
            half_weight_px=HALF_WEIGHT_PX,
            step_decay=STEP_DECAY,
            growth=GROWTH,
        )
        for direction in (Direction.RIGHT, Direction.DOWN)
    )
    return SeamCosts(right, down)
