"""A progress bar with rate and remaining time for training loops."""

from __future__ import annotations

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


@contextmanager
def training_progress(first: int, last: int) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Yields a callback for one log row per step; validations are printed above the bar.

    Without a terminal one line is printed every 50 steps instead.
    """
    console = Console(stderr=True)
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

        def show(row: dict[str, Any]) -> None:
            bar.update(task, completed=row["step"], note=f"loss {row['loss']:.3f}")
            if "val" in row:
                bar.console.print(f"step {row['step']}: {row['val']}")
            elif not console.is_terminal and row["step"] % 50 == 0:
                print(f"step {row['step']} loss {row['loss']:.3f}", flush=True)

        yield show
