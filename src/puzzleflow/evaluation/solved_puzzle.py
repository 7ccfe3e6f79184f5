"""The files of one solved puzzle: layout, picture, and what the solver says of both."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.canvas import RIGHT, WRONG, board, composite, lay, outline
from puzzleflow.core.metrics import Scores, score
from puzzleflow.core.puzzle import Puzzle, Solution
from puzzleflow.core.rng import child_seed
from puzzleflow.core.types import ByteArray
from puzzleflow.evaluation.spec import SolverSpec
from puzzleflow.evaluation.worker import checked
from puzzleflow.files import write_json
from puzzleflow.pictures import write_animation, write_picture
from puzzleflow.solvers.sight import seen
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
    trace: bool = False,
) -> tuple[Solution, Scores | None]:
    """Solve puzzle ``number`` of a source and write its files; scores where the truth is known."""
    session = spec.load().prepare(seen(puzzle))
    answer = session.solve(
        seed=child_seed(seed, number), pinned=pinned, num_alternatives=alternatives
    )
    solution = checked(answer, puzzle)
    write_solution(out, number, puzzle, solution, frozenset(pinned), trace=trace)
    if puzzle.truth is None:
        return solution, None
    return solution, score(solution.position_of, puzzle.truth, puzzle.grid)


def write_solution(
    out: Path,
    number: int,
    puzzle: Puzzle,
    solution: Solution,
    pinned: frozenset[int],
    *,
    trace: bool,
) -> None:
    """Write the files of puzzle ``number`` into the folder ``out``."""
    stem = file_stem(puzzle.puzzle_id, number)
    laid = lay(puzzle.pieces, solution.position_of, puzzle.grid)
    write_picture(out / f"{stem}.png", laid)
    if solution.confidence is not None:
        write_picture(out / f"{stem}.confidence.png", confidence_picture(puzzle, solution))
    write_json(out / f"{stem}.confidence.json", confidence_record(solution))
    if trace and solution.trace is not None and len(solution.trace) > 1:
        every = -(-len(solution.trace) // MAX_FRAMES)
        steps = [*solution.trace[:-1:every], solution.trace[-1]]
        frames = [composite(lay(puzzle.pieces, step, puzzle.grid)) for step in steps]
        write_animation(out / f"{stem}.trace.webp", frames)
    layout = SavedLayout.of(puzzle, solution, pinned)
    write_layout(layout_path(out, puzzle.puzzle_id, number), layout)


def confidence_picture(puzzle: Puzzle, solution: Solution) -> ByteArray:
    """The layout with every piece outlined from orange (unsure) to blue (sure)."""
    assert solution.confidence is not None
    sure = np.clip(solution.confidence, 0.0, 1.0)[:, None]  # (N, 1)
    mixed = np.rint(sure * np.array(RIGHT) + (1 - sure) * np.array(WRONG)).astype(int)  # (N, 3)
    width_px = max(2, round(min(puzzle.piece_px) / 24))
    colours = [(int(red), int(green), int(blue)) for red, green, blue in mixed]
    outlined = outline(puzzle.pieces, colours, [width_px] * puzzle.num_pieces)
    return board(lay(outlined, solution.position_of, puzzle.grid))


def confidence_record(solution: Solution) -> dict[str, Any]:
    """What the solver says of its own answer, as JSON; null where it says nothing."""
    seams = solution.seam_confidence
    return {
        "solver": solution.solver,
        "energy": solution.energy,
        "pieces": None if solution.confidence is None else solution.confidence.tolist(),
        "right_seams": None if seams is None else seams[0].tolist(),
        "down_seams": None if seams is None else seams[1].tolist(),
        "alternatives": [
            {
                "position_of": layout.position_of.tolist(),
                "energy": layout.energy,
                "probability": layout.probability,
            }
            for layout in solution.alternatives
        ],
    }
