"""Put broken pictures back together.

The names below are the public ones; each is imported when it is first used,
so ``import puzzleflow`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from puzzleflow.core.errors import PuzzleFlowError
    from puzzleflow.core.failures import Failure
    from puzzleflow.core.grid import Grid
    from puzzleflow.core.metrics import Scores, official_result, score
    from puzzleflow.core.puzzle import Layout, Puzzle, Solution
    from puzzleflow.evaluation.figures import contact_sheet, puzzle_figure
    from puzzleflow.formats.open import open_puzzles, open_source
    from puzzleflow.generation.builder import build_puzzle, cut_puzzle
    from puzzleflow.generation.erosion import erosion_model, list_erosions
    from puzzleflow.generation.fragments import draw_masks
    from puzzleflow.pictures import read_picture, write_picture
    from puzzleflow.samples import load_sample
    from puzzleflow.solvers.registry import list_solvers, load_solver
    from puzzleflow.storage.folder import write_folder
    from puzzleflow.storage.layout import read_layout, write_layout
    from puzzleflow.storage.predictions import read_predictions, write_predictions
    from puzzleflow.storage.source import PuzzleSource

_WHERE = {
    "Failure": "puzzleflow.core.failures",
    "Grid": "puzzleflow.core.grid",
    "Layout": "puzzleflow.core.puzzle",
    "Puzzle": "puzzleflow.core.puzzle",
    "PuzzleFlowError": "puzzleflow.core.errors",
    "PuzzleSource": "puzzleflow.storage.source",
    "Scores": "puzzleflow.core.metrics",
    "Solution": "puzzleflow.core.puzzle",
    "build_puzzle": "puzzleflow.generation.builder",
    "contact_sheet": "puzzleflow.evaluation.figures",
    "cut_puzzle": "puzzleflow.generation.builder",
    "draw_masks": "puzzleflow.generation.fragments",
    "erosion_model": "puzzleflow.generation.erosion",
    "list_erosions": "puzzleflow.generation.erosion",
    "list_solvers": "puzzleflow.solvers.registry",
    "load_sample": "puzzleflow.samples",
    "load_solver": "puzzleflow.solvers.registry",
    "official_result": "puzzleflow.core.metrics",
    "open_puzzles": "puzzleflow.formats.open",
    "open_source": "puzzleflow.formats.open",
    "puzzle_figure": "puzzleflow.evaluation.figures",
    "read_layout": "puzzleflow.storage.layout",
    "read_picture": "puzzleflow.pictures",
    "read_predictions": "puzzleflow.storage.predictions",
    "score": "puzzleflow.core.metrics",
    "write_folder": "puzzleflow.storage.folder",
    "write_layout": "puzzleflow.storage.layout",
    "write_picture": "puzzleflow.pictures",
    "write_predictions": "puzzleflow.storage.predictions",
}

__all__ = [
    "Failure",
    "Grid",
    "Layout",
    "Puzzle",
    "PuzzleFlowError",
    "PuzzleSource",
    "Scores",
    "Solution",
    "build_puzzle",
    "contact_sheet",
    "cut_puzzle",
    "draw_masks",
    "erosion_model",
    "list_erosions",
    "list_solvers",
    "load_sample",
    "load_solver",
    "official_result",
    "open_puzzles",
    "open_source",
    "puzzle_figure",
    "read_layout",
    "read_picture",
    "read_predictions",
    "score",
    "write_folder",
    "write_layout",
    "write_picture",
    "write_predictions",
]


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
