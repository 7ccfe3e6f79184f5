"""One line of the journal of a benchmark: what one solver did with one puzzle."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Record:
    """What one solver did with one puzzle.

    position_of  the layout, or None where the solver refused (``refusal`` says why)
    seconds      prepare and solve, wall clock, without loading the solver
    memory_mb    memory the puzzle needed above what the worker held, None if not measured
    worker_mb    peak resident memory of the worker meanwhile, or None
    confidence   per piece that it lies right, or None where the solver does not say
    seams        per seam of the layout that it is one, right seams and then down seams, each
                 row by row (the order of ``Grid.neighbours``), or None
    """

    index: int
    puzzle_id: str
    position_of: tuple[int, ...] | None
    seconds: float
    memory_mb: float | None = None
    worker_mb: float | None = None
    refusal: str = ""
    confidence: tuple[float, ...] | None = None
    seams: tuple[float, ...] | None = None
