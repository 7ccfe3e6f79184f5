"""Put broken pictures back together.

The names below are the public ones; each is imported when it is first used,
so ``import puzzleflow`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from puzzleflow.core.assembly import Assembly, Candidate
    from puzzleflow.core.assembly_metrics import score_assembly
    from puzzleflow.core.cancelling import check_cancelled
    from puzzleflow.core.conditions import Conditions
    from puzzleflow.core.errors import CannotSolve, FormatError, InputError, PuzzleFlowError
    from puzzleflow.core.fragments import Fragment, FragmentSet
    from puzzleflow.core.grid import Grid
    from puzzleflow.core.metrics import Failure, Scores, official_result, score
    from puzzleflow.core.pose import Pose
    from puzzleflow.core.puzzle import Layout, Puzzle, Solution
    from puzzleflow.evaluation.figures import contact_sheet, puzzle_figure
    from puzzleflow.formats.open import open_fragments, open_puzzles, open_source
    from puzzleflow.generation.builder import build_puzzle, cut_puzzle
    from puzzleflow.generation.erosion import erosion_model, list_erosions
    from puzzleflow.generation.fragments import draw_masks
    from puzzleflow.models.checkpoint import load_weights, restore
    from puzzleflow.models.pixels import to_tensor
    from puzzleflow.models.pretrained import Pretrained
    from puzzleflow.pictures import read_picture, write_picture
    from puzzleflow.samples import load_sample
    from puzzleflow.search.energy import Energy
    from puzzleflow.solvers.base import Session, Solver, allowed_placements, nearest_allowed
    from puzzleflow.solvers.energy_session import EnergySession
    from puzzleflow.solvers.free_form.base import Snap, Together
    from puzzleflow.solvers.free_form.registry import load_free_form_solver
    from puzzleflow.solvers.registry import list_solvers, load_solver
    from puzzleflow.storage.folder import write_folder
    from puzzleflow.storage.free_form.answer import read_assembly, write_assembly
    from puzzleflow.storage.free_form.own import write_fragments
    from puzzleflow.storage.layout import read_layout, write_layout
    from puzzleflow.storage.predictions import read_predictions, write_predictions
    from puzzleflow.storage.source import PuzzleSource
    from puzzleflow.training.loop import LoopSettings
    from puzzleflow.training.stream import Batch, StreamConfig
    from puzzleflow.training.trainable import Trainable

_WHERE = {
    "Assembly": "puzzleflow.core.assembly",
    "Batch": "puzzleflow.training.stream",
    "Candidate": "puzzleflow.core.assembly",
    "CannotSolve": "puzzleflow.core.errors",
    "Conditions": "puzzleflow.core.conditions",
    "Energy": "puzzleflow.search.energy",
    "EnergySession": "puzzleflow.solvers.energy_session",
    "Failure": "puzzleflow.core.metrics",
    "FormatError": "puzzleflow.core.errors",
    "Fragment": "puzzleflow.core.fragments",
    "FragmentSet": "puzzleflow.core.fragments",
    "Grid": "puzzleflow.core.grid",
    "InputError": "puzzleflow.core.errors",
    "Layout": "puzzleflow.core.puzzle",
    "LoopSettings": "puzzleflow.training.loop",
    "Pose": "puzzleflow.core.pose",
    "Pretrained": "puzzleflow.models.pretrained",
    "Puzzle": "puzzleflow.core.puzzle",
    "PuzzleFlowError": "puzzleflow.core.errors",
    "PuzzleSource": "puzzleflow.storage.source",
    "Scores": "puzzleflow.core.metrics",
    "Session": "puzzleflow.solvers.base",
    "Snap": "puzzleflow.solvers.free_form.base",
    "Solution": "puzzleflow.core.puzzle",
    "Solver": "puzzleflow.solvers.base",
    "StreamConfig": "puzzleflow.training.stream",
    "Together": "puzzleflow.solvers.free_form.base",
    "Trainable": "puzzleflow.training.trainable",
    "allowed_placements": "puzzleflow.solvers.base",
    "build_puzzle": "puzzleflow.generation.builder",
    "check_cancelled": "puzzleflow.core.cancelling",
    "contact_sheet": "puzzleflow.evaluation.figures",
    "cut_puzzle": "puzzleflow.generation.builder",
    "draw_masks": "puzzleflow.generation.fragments",
    "erosion_model": "puzzleflow.generation.erosion",
    "list_erosions": "puzzleflow.generation.erosion",
    "list_solvers": "puzzleflow.solvers.registry",
    "load_free_form_solver": "puzzleflow.solvers.free_form.registry",
    "load_sample": "puzzleflow.samples",
    "load_solver": "puzzleflow.solvers.registry",
    "load_weights": "puzzleflow.models.checkpoint",
    "nearest_allowed": "puzzleflow.solvers.base",
    "official_result": "puzzleflow.core.metrics",
    "open_fragments": "puzzleflow.formats.open",
    "open_puzzles": "puzzleflow.formats.open",
    "open_source": "puzzleflow.formats.open",
    "puzzle_figure": "puzzleflow.evaluation.figures",
    "read_assembly": "puzzleflow.storage.free_form.answer",
    "read_layout": "puzzleflow.storage.layout",
    "read_picture": "puzzleflow.pictures",
    "read_predictions": "puzzleflow.storage.predictions",
    "restore": "puzzleflow.models.checkpoint",
    "score": "puzzleflow.core.metrics",
    "score_assembly": "puzzleflow.core.assembly_metrics",
    "to_tensor": "puzzleflow.models.pixels",
    "write_assembly": "puzzleflow.storage.free_form.answer",
    "write_folder": "puzzleflow.storage.folder",
    "write_fragments": "puzzleflow.storage.free_form.own",
    "write_layout": "puzzleflow.storage.layout",
    "write_picture": "puzzleflow.pictures",
    "write_predictions": "puzzleflow.storage.predictions",
}

__all__ = [
    "Assembly",
    "Batch",
    "Candidate",
    "CannotSolve",
    "Conditions",
    "Energy",
    "EnergySession",
    "Failure",
    "FormatError",
    "Fragment",
    "FragmentSet",
    "Grid",
    "InputError",
    "Layout",
    "LoopSettings",
    "Pose",
    "Pretrained",
    "Puzzle",
    "PuzzleFlowError",
    "PuzzleSource",
    "Scores",
    "Session",
    "Snap",
    "Solution",
    "Solver",
    "StreamConfig",
    "Together",
    "Trainable",
    "allowed_placements",
    "build_puzzle",
    "check_cancelled",
    "contact_sheet",
    "cut_puzzle",
    "draw_masks",
    "erosion_model",
    "list_erosions",
    "list_solvers",
    "load_free_form_solver",
    "load_sample",
    "load_solver",
    "load_weights",
    "nearest_allowed",
    "official_result",
    "open_fragments",
    "open_puzzles",
    "open_source",
    "puzzle_figure",
    "read_assembly",
    "read_layout",
    "read_picture",
    "read_predictions",
    "restore",
    "score",
    "score_assembly",
    "to_tensor",
    "write_assembly",
    "write_folder",
    "write_fragments",
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
