"""What training processes tell each other, and interruptions: the step is finished and saved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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


def leave_group() -> None:
    """End the group of processes, if there is one: left to the interpreter it sometimes aborts."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


@contextmanager
def interruptions() -> Iterator[list[int]]:
    """A list that grows with the first Ctrl-C or SIGTERM; the second raises at once."""
    asked: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def handle(number: int, _: Any) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
