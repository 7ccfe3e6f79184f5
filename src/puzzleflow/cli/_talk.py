"""How much a command tells besides its results: ``-q``, nothing, or ``-v``; progress bars."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

QUIET, PLAIN, VERBOSE = -1, 0, 1
_WORDS = {"-q": QUIET, "--quiet": QUIET, "-v": VERBOSE, "--verbose": VERBOSE}
_level = PLAIN
STDOUT = Path("-")


def take_level(words: list[str]) -> list[str]:
    """The words without ``-q`` and ``-v``, which may stand anywhere; the last one counts."""
    global _level
    told = [_WORDS[word] for word in words if word in _WORDS]
    _level = told[-1] if told else PLAIN
    return [word for word in words if word not in _WORDS]


def is_quiet() -> bool:
    """Whether progress and notes are to be left out."""
    return _level == QUIET


def note(line: str) -> None:
    """A line on stderr that is no result, no warning and no error; ``-q`` leaves it out."""
    if not is_quiet():
        print(line, file=sys.stderr, flush=True)


def put_json(path: Path, content: object) -> None:
    """Write JSON to a file, or to the standard output for ``-``."""
    from puzzleflow.files import json_text, write_json

    if path == STDOUT:
        print(json_text(content), end="")
    else:
        write_json(path, content)


def tell_cost(began: float) -> None:
    """With ``-v``: how long the command took, and the most memory that it held."""
    if _level == VERBOSE:
        print(f"puzzleflow: {time.monotonic() - began:.1f} s{_memory()}", file=sys.stderr)


def _memory() -> str:
    if os.name != "posix":
        return ""
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return f", {peak / 1e6:.0f} MB at most"


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
