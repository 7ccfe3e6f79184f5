"""Put broken pictures back together.

The names below are the public ones; each is imported when it is first used,
so ``import puzzleflow`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from puzzleflow.core.errors import PuzzleFlowError
    from puzzleflow.core.grid import Grid
    from puzzleflow.core.puzzle import Layout, Puzzle, Solution

_WHERE = {
    "Grid": "puzzleflow.core.grid",
    "Layout": "puzzleflow.core.puzzle",
    "Puzzle": "puzzleflow.core.puzzle",
    "PuzzleFlowError": "puzzleflow.core.errors",
    "Solution": "puzzleflow.core.puzzle",
}

__all__ = ["Grid", "Layout", "Puzzle", "PuzzleFlowError", "Solution"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("puzzleflow")
    try:
        module = _WHERE[name]
    except KeyError:
        raise AttributeError(f"module 'puzzleflow' has no attribute {name!r}") from None
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
