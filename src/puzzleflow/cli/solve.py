"""``puzzleflow solve``: lay the pieces of one puzzle, or of a whole data set."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from puzzleflow.core.puzzle import Puzzle, Solution
    from puzzleflow.core.types import ByteArray

MAX_FRAMES = 60  # of an animation


def register(app: typer.Typer) -> None:
    """Add the ``solve`` command."""
    app.command("solve")(solve)


def solve(
    path: Annotated[Path, typer.Argument(help="Puzzles of any kind that `inspect` knows.")],
    solver: Annotated[str | None, typer.Option(help="Name, or NAME:KEY=VALUE+KEY=VALUE.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the results.")] = Path(
        "solved"
    ),
    index: Annotated[int | None, typer.Option(min=0, help="Solve this puzzle only.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many.")] = None,
    split: Annotated[str | None, typer.Option(help="train, val or test.")] = None,
    grid: Annotated[str | None, typer.Option(help="ROWSxCOLS, where no file says it.")] = None,
    seed: Annotated[int, typer.Option(help="Root of every puzzle's own seed.")] = 0,
    pin: Annotated[
        list[str] | None,
        typer.Option(help="PIECE=ROW,COL: name or number of a piece fixed there, from 0."),
    ] = None,
    alternatives: Annotated[int, typer.Option(min=0, help="List so many whole layouts.")] = 0,
    trace: Annotated[bool, typer.Option("--trace", help="Also write how it came about.")] = False,
) -> None:
    """Lay the pieces and write layout, picture and confidence of every puzzle.

    For each puzzle NAME: NAME.layout.json, NAME.png, NAME.confidence.png
    (blue = sure, orange = unsure) and NAME.confidence.json; with --trace
    NAME.trace.webp where the solver tells its steps.
    """
    from dataclasses import replace

    import numpy as np

    from puzzleflow.cli._progress import stage_progress
    from puzzleflow.core.errors import InputError
    from puzzleflow.core.grid import Grid
    from puzzleflow.core.metrics import score
    from puzzleflow.core.rng import child_seed
    from puzzleflow.evaluation.spec import SolverSpec
    from puzzleflow.formats.open import open_puzzles
    from puzzleflow.solvers.registry import DEFAULT_SOLVER
    from puzzleflow.solvers.sight import for_solver

    method = SolverSpec.parse(solver or DEFAULT_SOLVER).load()
    with open_puzzles(path, split=split, grid=Grid.parse(grid) if grid else None) as source:
        chosen = range(len(source))[:limit] if index is None else range(index, index + 1)
        if not chosen or chosen[-1] >= len(source):
            raise InputError(f"{path} holds {len(source)} puzzles: no puzzle {index or 0}")
        if pin and len(chosen) > 1:
            raise InputError("--pin speaks of one puzzle: choose it with --index")
        correct: list[tuple[int, int, float]] = []
        seconds: list[float] = []
        with stage_progress() as report:
            for number in chosen:
                puzzle = source[number]
                pinned = {**source.pins(number), **parse_pins(pin or (), puzzle)}
                seen = replace(puzzle, pieces=for_solver(puzzle.pieces), truth=None)
                solution = method.prepare(seen).solve(
                    seed=child_seed(seed, number), pinned=pinned, num_alternatives=alternatives
                )
                stem = file_stem(puzzle.puzzle_id, number)
                write_solution(out, stem, puzzle, solution, frozenset(pinned), trace=trace)
                seconds.append(solution.seconds)
                if puzzle.truth is not None:
                    scores = score(solution.position_of, puzzle.truth, puzzle.grid)
                    in_place = int(np.count_nonzero(solution.position_of == puzzle.truth))
                    correct.append((in_place, puzzle.num_pieces, scores.relation_accuracy))
                report("solve", len(seconds), len(chosen))
    print(f"{len(seconds)} solved by {method.name} in {sum(seconds):.2f} s, written to {out}")
    if correct:
        perfect = np.mean([right == total for right, total, _ in correct])
        absolute = np.mean([right / total for right, total, _ in correct])
        relations = np.mean([kept for *_, kept in correct])
        print(f"PA {perfect:.1%}  AA {absolute:.1%}  SRA {relations:.1%}")


def parse_pins(texts: Sequence[str], puzzle: Puzzle) -> dict[int, int]:
    """``PIECE=ROW,COL`` → piece → position; PIECE is a name or a number."""
    from puzzleflow.core.errors import InputError

    pins: dict[int, int] = {}
    for text in texts:
        match = re.fullmatch(r"(.+)=\s*(\d+)\s*,\s*(\d+)\s*", text)
        if match is None:
            raise InputError(f"--pin {text!r}: write PIECE=ROW,COL, for example 3=0,2")
        row, col = int(match[2]), int(match[3])
        if row >= puzzle.grid.rows or col >= puzzle.grid.cols:
            raise InputError(f"--pin {text!r}: no such cell in a {puzzle.grid} grid, rows from 0")
        piece = _piece(match[1].strip(), puzzle)
        if piece is None:
            raise InputError(f"--pin {text!r}: no piece {match[1]!r} in this puzzle")
        if piece in pins:
            raise InputError(f"--pin {text!r}: this piece is pinned twice")
        pins[piece] = puzzle.grid.position(row, col)
    return pins


def _piece(text: str, puzzle: Puzzle) -> int | None:
    names = puzzle.names or ()
    for known in (names, tuple(Path(name).stem for name in names)):
        if known.count(text) == 1:
            return known.index(text)
    if text.isascii() and text.isdigit() and int(text) < puzzle.num_pieces:
        return int(text)
    return None


def file_stem(puzzle_id: str, number: int) -> str:
    """A safe file name that no other puzzle of the source has."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "_", puzzle_id).strip("._")[-80:]
    return f"{number:05d}_{safe}" if safe else f"{number:05d}"


def write_solution(
    out: Path,
    stem: str,
    puzzle: Puzzle,
    solution: Solution,
    pinned: frozenset[int],
    *,
    trace: bool,
) -> None:
    """Write the files of one solved puzzle."""
    from puzzleflow.core.canvas import composite, lay
    from puzzleflow.files import write_json
    from puzzleflow.pictures import write_animation, write_picture
    from puzzleflow.storage.layout import SavedLayout, write_layout

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
    write_layout(out / f"{stem}.layout.json", SavedLayout.of(puzzle, solution, pinned))


def confidence_picture(puzzle: Puzzle, solution: Solution) -> ByteArray:
    """The layout with every piece outlined from orange (unsure) to blue (sure)."""
    import numpy as np

    from puzzleflow.core.canvas import RIGHT, WRONG, board, lay, outline

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
