"""How far a training is: a bar with remaining time, or plain lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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

PLAIN_STEPS, PLAIN_S = 50, 30.0  # a line after so many steps or seconds, without a terminal
DRAWING_S = 5.0


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
