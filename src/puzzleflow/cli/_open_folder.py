"""What ``solve`` makes of a folder of pieces that no file describes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from puzzleflow.core.grid import Grid
    from puzzleflow.core.puzzle import Puzzle, Solution
    from puzzleflow.core.types import IntArray
    from puzzleflow.storage.source import PuzzleSource

SURE = 0.9
UNLIKELY = 0.5  # a seam
NAMED = 4  # pieces that are named one by one
STRIP = 4  # a longer one is thought of only where there is no other
_WORDS = ("no", "one", "two", "three", "four", "five", "six")


@dataclass(frozen=True)
class Asked:
    """The options that speak of folders; ``grid`` None and not ``auto``: nothing was said."""

    grid: Grid | None
    auto: bool
    turned: bool
    missing: int | None
    foreign: int

    @property
    def is_open(self) -> bool:
        return bool(self.auto or self.turned or self.missing or self.foreign)


def open_puzzle(source: PuzzleSource, index: int, asked: Asked) -> Puzzle | None:
    """The puzzle of a folder that is not simply closed; None for every other source.

    A folder whose pieces fill the asked grid, or can only make one grid, is closed.
    """
    from puzzleflow.core.conditions import MOST_MISSING, Conditions, fits_well
    from puzzleflow.core.errors import InputError
    from puzzleflow.storage.folder import FolderSource

    if not isinstance(source, FolderSource) or len(source) <= index or source.has_layout(index):
        if asked.is_open:
            raise InputError(
                f"{source.path}: the files say what may be amiss with these pieces; --grid auto, "
                "--turned, --allow-missing and --allow-foreign are for folders of mere pieces"
            )
        return None
    num_pieces = source.num_pieces(index)
    missing = asked.missing
    if missing is None:
        unknown = asked.grid is None and not fits_well(num_pieces)
        missing = MOST_MISSING if unknown else 0
    conditions = Conditions(missing, asked.foreign, asked.turned)
    grid = asked.grid
    if grid is None and conditions.is_closed:
        likely = [g for g in conditions.grids(num_pieces) if max(g.shape) <= STRIP * min(g.shape)]
        grid = likely[0] if len(likely) == 1 else None
    if grid is not None and conditions.is_closed:
        return source.as_open(index, grid, conditions)
    hidden = Conditions(missing, asked.foreign, asked.turned, grid is None)
    return source.as_open(index, grid, hidden)


def describe_answer(solution: Solution, names: Sequence[str] | None = None) -> str:
    """``8 pieces: 3x3 with one missing (87 %), 2x4 (13 %)``, and the pieces left aside."""
    shares = solution.grid_prob or ((solution.grid, 1.0),)
    shown = [share for share in shares if share[1] >= 0.005] or shares[:1]
    grids = ", ".join(
        f"{grid}{_difference(grid.num_pieces - solution.num_pieces)} ({100 * share:.0f} %)"
        for grid, share in shown[:4]
        if grid is not None
    )
    aside = np.flatnonzero(solution.position_of < 0)
    told = f"; {_word(len(aside))} left aside ({_named(aside, names)})" if len(aside) else ""
    empty = int((solution.piece_at < 0).sum())
    if len(aside) and empty:
        told += f", {_word(empty)} cell{'s' * (empty > 1)} empty"
    return f"{solution.num_pieces} pieces: {grids}{told}"


def describe_confidence(solution: Solution, names: Sequence[str] | None = None) -> str:
    """What its own probabilities say of an answer, and which pieces to look at first."""
    sure = np.asarray(solution.confidence)
    doubtful = np.argsort(sure, kind="stable")[: int((sure < SURE).sum())]
    if not len(doubtful):
        least = min(int(100 * sure.min()), 99)  # no probability of ours is certainty
        return f"sure of every piece ({least} % or more)"
    said = (
        f"likely right: {sure.sum():.0f} of {len(sure)} pieces; look first at "
        f"{_named(doubtful, names, [f' ({100 * share:.0f} %)' for share in sure[doubtful]])}"
    )
    return said if sure.mean() >= 0.5 else f"{said}. Do not trust this layout"


def describe_rift(solution: Solution) -> str:
    """A line of the layout across which no seam is likely, though most others are; or nothing."""
    right, down = solution.seam_confidence or (np.empty((0, 0)), np.empty((0, 0)))
    seams = np.concatenate([right.ravel(), down.ravel()])
    if not np.isfinite(seams).any() or np.nanmedian(seams) < UNLIKELY:
        return ""
    for kind, lines in (("columns", right.T), ("rows", down)):
        for before, line in enumerate(lines, start=1):
            known = line[np.isfinite(line)]
            if len(known) >= 2 and known.max() < UNLIKELY:
                return (
                    f"nothing seems to belong together between {kind} {before} and {before + 1}: "
                    "if these are two pictures, solve their pieces apart"
                )
    return ""


def untried(solution: Solution, asked: Asked) -> str:
    """What else may be the matter where an answer is doubtful or the pieces fill no broad grid."""
    from puzzleflow.core.conditions import fits_well

    doubtful = solution.confidence is not None and np.mean(solution.confidence) < SURE
    ways = [
        way
        for way, was_asked in (
            ("--allow-foreign N if some are of another picture", asked.foreign),
            ("--allow-missing N if more are lost", asked.missing),
            ("--turned if some lie on their side", asked.turned),
        )
        if not was_asked
    ]
    if not ways or not (doubtful or (asked.grid is None and not fits_well(solution.num_pieces))):
        return ""
    return f"not tried: {', '.join(ways)}"


def _named(pieces: IntArray, names: Sequence[str] | None, told: Sequence[str] = ()) -> str:
    """The names of the first few pieces, or their numbers; with each what is told of it."""
    told = told or [""] * len(pieces)
    known = [str(p) if names is None else names[p] for p in pieces[:NAMED].tolist()]
    text = ", ".join(name + more for name, more in zip(known, told, strict=False))
    left = len(pieces) - NAMED
    return f"{text} and {left} more" if left > 0 else text


def _difference(spare: int) -> str:
    if spare > 0:
        return f" with {_word(spare)} missing"
    return f" with {_word(-spare)} too many" if spare < 0 else ""


def _word(count: int) -> str:
    return _WORDS[count] if count < len(_WORDS) else str(count)
