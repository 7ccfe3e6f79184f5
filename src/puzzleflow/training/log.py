"""What a run tells: log.jsonl always, TensorBoard events where that is installed, a bar or lines.

Further loggers are those of Fabric: W&B, CSV, MLflow or one's own, by name.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from puzzleflow.files import writing
from puzzleflow.registry import Registry, parse_call

LOGGERS = Registry(
    what="logger",
    group="puzzleflow.loggers",
    files=True,
    builtin={
        "csv": "lightning_fabric.loggers:CSVLogger",
        "wandb": "wandb.integration.lightning.fabric:WandbLogger",
    },
)
LOG = "log.jsonl"
PLAIN_STEPS, PLAIN_S = 50, 30.0  # a line after so many steps or seconds, without a terminal
DRAWING_S = 5.0


class RunLog:
    """Rows of figures, from ``step`` on."""

    def __init__(self, folder: Path, step: int, loggers: Sequence[Any] = ()) -> None:
        self.path = folder / LOG
        self.loggers = loggers
        self._events: Any = None
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            return
        # what a stopped run wrote from this step on is hidden
        self._events = SummaryWriter(str(folder / "events"), purge_step=step)

    def write(self, row: dict[str, Any]) -> None:
        """One row, which says its step."""
        with writing(self.path), self.path.open("a") as log:
            log.write(json.dumps(row) + "\n")
        figures = dict(_flat(row))
        for name, value in figures.items() if self._events else ():
            self._events.add_scalar(name, value, row["step"])
        for logger in self.loggers:
            logger.log_metrics(figures, step=row["step"])

    def close(self) -> None:
        """Let go of the files."""
        if self._events:
            self._events.close()
        for logger in self.loggers:
            logger.finalize("success")


def load_loggers(texts: Sequence[str]) -> list[Any]:
    """``name:option=value+...`` → loggers, for example ``csv:root_dir=logs``."""
    calls = [parse_call(text, "logger") for text in texts]
    return [LOGGERS.build(name, **options) for name, options in calls]


def validations(folder: Path) -> list[dict[str, Any]]:
    """The rows with a validation, each step once, in order; a damaged line is passed over."""
    found = {}
    for line in (folder / LOG).read_bytes().split(b"\n") if (folder / LOG).exists() else ():
        with suppress(ValueError, RecursionError):
            row = json.loads(line)
            told = row if isinstance(row, dict) else {}
            parts = [told.get(name) for name in ("val", "train")]
            if isinstance(told.get("step"), int) and all(isinstance(p, dict) for p in parts):
                found[told["step"]] = told
    return [found[step] for step in sorted(found)]


def _flat(row: dict[str, Any], prefix: str = "") -> list[tuple[str, float]]:
    flat: list[tuple[str, float]] = []
    for name, value in row.items():
        if isinstance(value, dict):
            flat += _flat(value, f"{prefix}{name}/")
        elif isinstance(value, int | float):
            flat.append((prefix + name, float(value)))
    return flat


def drawing_progress(quiet: bool = False) -> Callable[[str, int, int], None]:
    """A callback (what, done, total) that prints a line on stderr every few seconds."""
    shown = time.monotonic()

    def show(what: str, done: int, total: int) -> None:
        nonlocal shown
        if quiet:
            return
        if done == total or time.monotonic() - shown >= DRAWING_S:
            shown = time.monotonic()
            print(f"{what}: {done} of {total}", file=sys.stderr, flush=True)

    return show


@contextmanager
def training_progress(
    first: int, last: int, quiet: bool = False
) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Yields a callback for one log row per step; validations are printed above the bar.

    Without a terminal a line is printed now and then instead.
    """
    console = Console(stderr=True, quiet=quiet)
    with Progress(
        TextColumn("step"),
        MofNCompleteColumn(),
        BarColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task("training", total=last, completed=first, note="")
        shown = time.monotonic()

        def show(row: dict[str, Any]) -> None:
            nonlocal shown
            bar.update(task, completed=row["step"], note=f"loss {row['loss']:.3f}")
            due = row["step"] % PLAIN_STEPS == 0 or time.monotonic() - shown >= PLAIN_S
            if "val" in row:
                bar.console.print(f"step {row['step']}: {row['val']}")
            elif not console.is_terminal and due:
                shown = time.monotonic()
                console.print(f"step {row['step']} of {last}: loss {row['loss']:.3f}")

        yield show
