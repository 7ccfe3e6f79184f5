"""A progress bar for work that reports (stage, done, total)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from puzzleflow.cli._talk import is_quiet


@contextmanager
def stage_progress() -> Iterator[Callable[[str, int, int], None]]:
    """One bar per stage on stderr: count, rate, time gone and time left."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    tasks: dict[str, TaskID] = {}
    first: dict[str, int] = {}
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description:>8}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]:>10}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=is_quiet() or not console.is_terminal,
    ) as progress:

        def report(stage: str, done: int, total: int) -> None:
            if stage not in tasks:  # what an earlier run did says nothing about the rate
                tasks[stage] = progress.add_task(stage, total=total, completed=done, rate="")
                first[stage] = done
            task = progress.tasks[tasks[stage]]
            elapsed = task.elapsed or 0.0
            rate = f"{(done - first[stage]) / elapsed:.1f}/s" if elapsed > 0.5 else ""
            progress.update(tasks[stage], completed=done, total=total, rate=rate)

        yield report
