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

    def grids(self, num_pieces: int) -> list[Grid]:
        """Every grid that ``num_pieces`` pieces may fill, by number of cells."""
        fewest = max(1, num_pieces - self.foreign)
        return [
            grid
            for cells in range(fewest, num_pieces + self.missing + 1)
            for grid in Grid.factorisations(cells)
        ]


CLOSED = Conditions()
