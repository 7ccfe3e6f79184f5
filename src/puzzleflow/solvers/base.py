"""What a solver is: ``prepare`` encodes a puzzle once, ``solve`` asks it many times.

A solver is any class whose constructor takes only keyword options and whose
objects satisfy :class:`Solver`; nothing has to be inherited. It is made known
in ``registry.py`` or through the entry-point group ``puzzleflow.solvers``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Protocol, runtime_checkable

import numpy as np

from puzzleflow.core.assignment import as_permutation, as_placement, check_pins
from puzzleflow.core.errors import CannotSolve, InputError
from puzzleflow.core.puzzle import Puzzle, Solution
from puzzleflow.core.types import BoolArray, ByteArray, IntArray
from puzzleflow.pictures import reduced

LARGEST_PX = 192  # no solver looks closer than this


@runtime_checkable
class Session(Protocol):
    """One puzzle, prepared; may be asked any number of times."""

    def solve(
        self,
        *,
        seed: int,
        pinned: Mapping[int, int] | None = None,
        forbidden: Sequence[tuple[int, int]] = (),
        num_alternatives: int = 0,
    ) -> Solution:
        """Lay the pieces; the same arguments always give the same layout.

        seed              every random choice follows from it
        pinned            piece → position, fixed by hand: always honoured
        forbidden         (piece, position) placements ruled out by hand: never used
        num_alternatives  how many whole layouts to list in ``Solution.alternatives``,
                          best first (the answer itself is the first); a solver that
                          knows of fewer lists fewer
        Raises :class:`CannotSolve` where no layout honours the pins.
        """
        ...


@dataclass(frozen=True)
class Question:
    """What a session is asked; see :meth:`Session.solve`."""

    seed: int
    pinned: dict[int, int]
    forbidden: Sequence[tuple[int, int]]
    num_alternatives: int

    def allowed(self, num_pieces: int, num_cells: int | None = None) -> BoolArray:
        """(N, P) the placements that it leaves; see :func:`allowed_placements`."""
        return allowed_placements(num_pieces, self.pinned, self.forbidden, num_cells)


class TimedSession(ABC):
    """A session that answers questions; ``seconds`` of an answer include those of preparing."""

    prepare_s: float = 0.0

    def solve(
        self,
        *,
        seed: int,
        pinned: Mapping[int, int] | None = None,
        forbidden: Sequence[tuple[int, int]] = (),
        num_alternatives: int = 0,
    ) -> Solution:
        """Lay the pieces; see :meth:`Session.solve`."""
        started = perf_counter()
        found = self.answer(Question(seed, dict(pinned or {}), forbidden, num_alternatives))
        return replace(found, seconds=self.prepare_s + perf_counter() - started)

    @abstractmethod
    def answer(self, asked: Question) -> Solution:
        """The solution, but for the time that it took."""


@runtime_checkable
class Solver(Protocol):
    """A method of solving puzzles, with its options already chosen.

    A solver that was trained also has ``weights``, the path of the file or folder that it
    loaded: stored results are made again when its content changes. One that has
    ``prepare_many(puzzles)`` is given several puzzles of one grid and piece size at once.
    """

    @property
    def name(self) -> str:
        """The name it is registered under; also ``Solution.solver``."""
        ...

    def prepare(self, puzzle: Puzzle) -> Session:
        """The costly part, once for each puzzle: encode, compare, embed.

        Must not read ``puzzle.truth``. Raises :class:`CannotSolve` for a kind
        of puzzle that the method does not handle.
        """
        ...


def allowed_placements(
    num_pieces: int,
    pinned: Mapping[int, int] | None = None,
    forbidden: Sequence[tuple[int, int]] = (),
    num_cells: int | None = None,
) -> BoolArray:
    """(N, P) True where piece (row) may lie at position (column); P is N if not told.

    Raises :class:`InputError` for pins out of range or in conflict, and
    :class:`CannotSolve` if no layout of all pieces is left.
    """
    num_cells = num_pieces if num_cells is None else num_cells
    pins = check_pins(dict(pinned or {}), num_pieces, num_cells)
    allowed = np.ones((num_pieces, num_cells), dtype=bool)
    for piece, position in pins.items():
        allowed[piece, :] = False
        allowed[:, position] = False
    for piece, position in pins.items():
        allowed[piece, position] = True
    for piece, position in forbidden:
        if not (0 <= piece < num_pieces and 0 <= position < num_cells):
            raise InputError(
                f"forbidden placement {piece}→{position} lies outside 0..{num_cells - 1}"
            )
        allowed[piece, position] = False
    if len(forbidden):
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_bipartite_matching

        if (maximum_bipartite_matching(csr_array(allowed), perm_type="column") < 0).any():
            raise CannotSolve("no layout honours the pinned and forbidden placements together")
    return allowed


def nearest_allowed(position_of: IntArray, allowed: BoolArray) -> IntArray:
    """The layout within ``allowed`` (N, P) that moves the fewest pieces of ``position_of``.

    For methods that know nothing of pins: solve freely, then call this.
    """
    num_pieces, num_cells = allowed.shape
    if num_pieces == num_cells:
        position_of = as_permutation(position_of, num_pieces)
    else:
        position_of = as_placement(position_of, num_pieces, num_cells)
    pieces = np.arange(num_pieces)
    if allowed[pieces, position_of].all():
        return position_of
    from scipy.optimize import linear_sum_assignment

    moved = np.ones((num_pieces, num_cells))
    moved[pieces, position_of] = 0.0
    moved[~allowed] = num_pieces + 1.0
    _, nearest = linear_sum_assignment(moved)
    if not allowed[pieces, nearest].all():
        raise CannotSolve("no layout honours the pinned and forbidden placements together")
    return nearest.astype(np.int64)  # type: ignore[no-any-return]


def seen(puzzle: Puzzle) -> Puzzle:
    """What a solver is shown of ``puzzle``: pieces as it sees them, and no truth."""
    return replace(puzzle.without_truth(), pieces=for_solver(puzzle.pieces))


def for_solver(pieces: ByteArray) -> ByteArray:
    """(N, h, w, 4) small enough to be compared quickly; alpha is 0 or 255, no colour below it."""
    small = np.stack([reduced(piece, LARGEST_PX) for piece in pieces])
    inside = small[..., 3] > 127
    small.view(np.uint32)[~inside] = 0  # whole pixels, four bytes at once
    small[..., 3] = np.where(inside, 255, 0)
    return small
