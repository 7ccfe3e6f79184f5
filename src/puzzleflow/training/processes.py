"""What processes that train together have to tell each other."""

from __future__ import annotations

import torch
from lightning_fabric import Fabric
from torch import Tensor


def agreed(fabric: Fabric, wish: bool) -> bool:
    """Whether any process wishes so: all end at the same step, whatever their clocks say."""
    if fabric.world_size == 1:
        return wish
    mine = torch.tensor([float(wish)], device=fabric.device)
    return any(wishes > 0 for wishes in fabric.all_reduce(mine, reduce_op="sum"))


def of_all(fabric: Fabric, terms: dict[str, Tensor], weight: float) -> dict[str, float]:
    """The losses of the whole batch, of which this process has so large a share."""
    if fabric.world_size > 1:
        mine = torch.stack([term.float() for term in terms.values()]) * weight
        terms = dict(zip(terms, fabric.all_reduce(mine, reduce_op="mean"), strict=True))
    return {name: float(term) for name, term in terms.items()}
