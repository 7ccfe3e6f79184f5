"""TensorBoard, where it is installed; the JSONL log is always written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Board:
    """Scalars of a run; without the ``tensorboard`` package it does nothing."""

    def __init__(self, folder: Path, first_step: int) -> None:
        self.writer: Any = None
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            return
        folder.mkdir(parents=True, exist_ok=True)
        # what a stopped run wrote from first_step on is hidden
        self.writer = SummaryWriter(str(folder), purge_step=first_step)

    def add_scalars(self, row: Mapping[str, float]) -> None:
        """Every value of ``row`` at its own ``epoch``."""
        if self.writer is None:
            return
        for name, value in row.items():
            if name != "epoch":
                self.writer.add_scalar(name.replace("_", "/", 1), value, int(row["epoch"]))
        self.writer.flush()

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()
