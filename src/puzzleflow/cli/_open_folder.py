"""What ``solve`` makes of a folder of pieces that no file describes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from puzzleflow.core.grid import Grid
    from puzzleflow.core.puzzle import Puzzle, Solution
    from puzzleflow.storage.source import PuzzleSource

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


def describe_answer(solution: Solution) -> str:
    """``8 pieces: 3x3 with one missing (87 %), 2x4 (13 %)``, and the pieces left aside."""
    shares = solution.grid_prob or ((solution.grid, 1.0),)
    shown = [share for share in shares if share[1] >= 0.005] or shares[:1]
    grids = ", ".join(
        f"{grid}{_difference(grid.num_pieces - solution.num_pieces)} ({100 * share:.0f} %)"
        for grid, share in shown[:4]
        if grid is not None
    )
    aside = int((solution.position_of < 0).sum())
    told = f"; {_word(aside)} left aside" if aside else ""
    return f"{solution.num_pieces} pieces: {grids}{told}"


def _difference(spare: int) -> str:
    if spare > 0:
        return f" with {_word(spare)} missing"
    return f" with {_word(-spare)} too many" if spare < 0 else ""


def _word(count: int) -> str:
    return _WORDS[count] if count < len(_WORDS) else str(count)
