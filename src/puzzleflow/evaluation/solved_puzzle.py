"""The files of one solved puzzle: layout, picture, and what the solver says of both."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core import canvas
from puzzleflow.core.open_facts import OpenFacts
from puzzleflow.core.puzzle import Layout, Puzzle, Solution, turned_pieces
from puzzleflow.core.records import to_json
from puzzleflow.core.rng import child_seed
from puzzleflow.core.types import ByteArray, FloatArray, IntArray
from puzzleflow.evaluation.results import Record, Results, Truth, score_records
from puzzleflow.evaluation.spec import SolverSpec
from puzzleflow.evaluation.worker import checked
from puzzleflow.files import write_json
from puzzleflow.pictures import write_animation, write_picture
from puzzleflow.solvers.base import seen
from puzzleflow.storage.layout import SavedLayout, write_layout

MAX_FRAMES = 60  # of an animation


def file_stem(puzzle_id: str, number: int) -> str:
    """A safe file name that no other puzzle of the source has."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "_", puzzle_id).strip("._")[-80:]
    return f"{number:05d}_{safe}" if safe else f"{number:05d}"


def layout_path(out: Path, puzzle_id: str, number: int) -> Path:
    """The file that :func:`write_solution` writes last."""
    return out / f"{file_stem(puzzle_id, number)}.layout.json"


def solve_puzzle(
    out: Path,
    number: int,
    puzzle: Puzzle,
    spec: SolverSpec,
    pinned: Mapping[int, int],
    *,
    seed: int = 0,
    alternatives: int = 0,
    animation: str | None = None,
) -> tuple[Solution, Results | None]:
    """Solve puzzle ``number`` of a source and write its files; scores where the truth is known."""
    session = spec.load().prepare(seen(puzzle))
    answer = session.solve(
        seed=child_seed(seed, number), pinned=pinned, num_alternatives=alternatives
    )
    solution = checked(answer, puzzle)
    write_solution(out, number, puzzle, solution, frozenset(pinned), animation=animation)
    if puzzle.truth is None:
        return solution, None
    truth = Truth(puzzle.truth, puzzle.grid, puzzle.conditions, puzzle.true_turns)
    layout, told = tuple(solution.position_of.tolist()), OpenFacts.of(solution)
    record = Record(0, puzzle.puzzle_id, layout, solution.seconds, open=told)
    return solution, score_records(spec.label, [record], [truth])


def write_solution(
    out: Path,
    number: int,
    puzzle: Puzzle,
    solution: Solution,
    pinned: frozenset[int],
    *,
    animation: str | None = None,
) -> None:
    """Write the files of puzzle ``number`` into the folder ``out``.

    animation  the suffix of a file that shows how the layout came about, or None
    """
    stem = file_stem(puzzle.puzzle_id, number)
    write_picture(out / f"{stem}.png", canvas.lay_layout(puzzle.pieces, _layout(puzzle, solution)))
    if solution.confidence is not None:
        write_picture(out / f"{stem}.confidence.png", confidence_picture(puzzle, solution))
    write_json(out / f"{stem}.confidence.json", confidence_record(solution))
    if animation:
        write_animation(out / f"{stem}.trace{animation}", frames_of(puzzle, solution))
    layout = SavedLayout.of(puzzle, solution, pinned)
    write_layout(layout_path(out, puzzle.puzzle_id, number), layout)


def frames_of(puzzle: Puzzle, solution: Solution) -> list[ByteArray]:
    """The layout after every step that the solver tells, or pieces laid one by one.

    Without steps the surest piece comes first, or the first one where nothing is sure.
    """
    grid, pieces = solution.grid or puzzle.grid, puzzle.pieces
    steps: Sequence[IntArray] = () if solution.trace is None else tuple(solution.trace)
    if len(steps) < 2:
        order = np.arange(puzzle.num_pieces)
        if solution.confidence is not None:
            order = np.argsort(-solution.confidence, kind="stable")
        rank = np.argsort(order)  # (N,) when each piece is laid
        counts = range(puzzle.num_pieces + 1)
        steps = [np.where(rank < count, solution.position_of, canvas.UNPLACED) for count in counts]
    if solution.turns is not None:
        pieces = turned_pieces(pieces, solution.turns)
    every = -(-len(steps) // MAX_FRAMES)
    shown = [*steps[:-1:every], steps[-1]]
    return [canvas.composite(canvas.lay(pieces, step, grid)) for step in shown]


def confidence_picture(puzzle: Puzzle, solution: Solution) -> ByteArray:
    """The layout with every piece outlined from orange (unsure) to blue (sure)."""
    assert solution.confidence is not None
    sure = np.clip(solution.confidence, 0.0, 1.0)[:, None]  # (N, 1)
    blue, orange = np.array(canvas.RIGHT), np.array(canvas.WRONG)
    mixed = np.rint(sure * blue + (1 - sure) * orange).astype(int)  # (N, 3)
    width_px = max(2, round(min(puzzle.piece_px) / 24))
    colours = [(int(red), int(green), int(blue)) for red, green, blue in mixed]
    outlined = canvas.outline(puzzle.pieces, colours, [width_px] * puzzle.num_pieces)
    return canvas.board(canvas.lay_layout(outlined, _layout(puzzle, solution)))


def _layout(puzzle: Puzzle, solution: Solution) -> Layout:
    grid = solution.grid or puzzle.grid
    return Layout(solution.position_of, grid=grid, turns=solution.turns)


def confidence_record(solution: Solution) -> dict[str, Any]:
    """What the solver says of its own answer, as JSON; null where it says nothing."""
    seams = solution.seam_confidence
    told = OpenFacts.of(solution)
    return {
        "solver": solution.solver,
        "energy": solution.energy,
        "pieces": None if solution.confidence is None else solution.confidence.tolist(),
        "right_seams": None if seams is None else _finite(seams[0]),
        "down_seams": None if seams is None else _finite(seams[1]),
        "alternatives": [
            {
                "position_of": layout.position_of.tolist(),
                "energy": layout.energy,
                "probability": layout.probability,
                **({} if layout.grid is None else {"grid": str(layout.grid)}),
                **({} if layout.turns is None else {"turns": layout.turns.tolist()}),
            }
            for layout in solution.alternatives
        ],
        **({} if told is None else to_json(told)),
    }


def _finite(seams: FloatArray) -> list[list[float | None]]:
    """Rows of numbers; null beside an empty cell."""
    return [[None if np.isnan(value) else float(value) for value in row] for row in seams]
