"""What may be amiss with a puzzle: pieces missing, foreign or turned, the grid not told."""

from __future__ import annotations

from dataclasses import dataclass

from puzzleflow.core.errors import InputError, NotAGrid
from puzzleflow.core.grid import Grid


@dataclass(frozen=True)
class Conditions:
    """The world that a puzzle comes from; by default the closed one.

    missing  at most so many cells have no piece
    foreign  at most so many pieces belong to no cell
    turned   pieces may lie turned by quarter turns
    hidden   the grid, though it may be known to a data set, is not told to a solver
    """

    missing: int = 0
    foreign: int = 0
    turned: bool = False
    hidden: bool = False

    def __post_init__(self) -> None:
        for name in ("missing", "foreign"):
            if getattr(self, name) < 0:
                raise InputError(f"{getattr(self, name)} pieces {name}; expected 0 or more")

    @property
    def is_complete(self) -> bool:
        """Every piece is there, and no other."""
        return not self.missing and not self.foreign

    @property
    def is_closed(self) -> bool:
        """Nothing is amiss."""
        return self == CLOSED

    def __str__(self) -> str:
        """In words: "2 missing, 1 foreign, turned, grid hidden"."""
        told = [f"{n} {what}" for n, what in ((self.missing, "missing"), (self.foreign, "foreign"))]
        told = [text for text in told if not text.startswith("0 ")]
        told += ["turned"] * self.turned + ["grid hidden"] * self.hidden
        return ", ".join(told) or "closed"

    def check(self, num_pieces: int, grid: Grid) -> None:
        """Refuse a number of pieces that these conditions do not explain on ``grid``."""
        cells = grid.num_pieces
        if num_pieces < cells - self.missing or num_pieces > cells + self.foreign:
            allowed = (
                ""
                if self.is_complete
                else (f", even with {self.missing} missing and {self.foreign} foreign")
            )
            raise NotAGrid(f"{num_pieces} pieces do not fill a {grid} grid{allowed}")

    def num_pieces(self, grid: Grid) -> int:
        """How many pieces there are on ``grid`` if these conditions are used in full."""
        return grid.num_pieces - self.missing + self.foreign

    def grids(self, num_pieces: int) -> list[Grid]:
        """Every grid that ``num_pieces`` pieces may fill, by number of cells."""
        fewest = max(1, num_pieces - self.foreign)
        return [
            grid
            for cells in range(fewest, num_pieces + self.missing + 1)
            for grid in Grid.factorisations(cells)
        ]


CLOSED = Conditions()


LONG = 2  # a grid so many times as long as wide fits no number of pieces well
MOST_MISSING = 2  # where nobody says how many pieces may be missing


def fits_well(num_pieces: int) -> bool:
    """Whether so many pieces make a grid that is less than twice as long as wide."""
    best = Grid.factorisations(num_pieces)[0]
    return num_pieces <= 3 or max(best.shape) < LONG * min(best.shape)
