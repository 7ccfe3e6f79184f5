"""``puzzleflow solve``: lay the pieces of one puzzle, or of a whole data set."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from puzzleflow.cli._options import Centre, Cluster, Protocol, sent

if TYPE_CHECKING:
    from puzzleflow.cli._open_folder import Asked
    from puzzleflow.core.grid import Grid
    from puzzleflow.core.puzzle import Puzzle
    from puzzleflow.evaluation.results import Results
    from puzzleflow.evaluation.solved_set import SolvedSet
    from puzzleflow.evaluation.spec import SolverSpec
    from puzzleflow.storage.source import PuzzleSource

LONG = 2  # so many times as long as wide: longer grids than any network was trained on


def solve(
    path: Annotated[Path, typer.Argument(help="Puzzles of any kind that `inspect` knows.")],
    solver: Annotated[
        str | None,
        typer.Option(help="NAME or FILE.py:CLASS, with options NAME:KEY=VALUE+KEY=VALUE."),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", callback=sent, help="Folder of the results.")
    ] = Path("solved"),
    index: Annotated[int | None, typer.Option(min=0, help="Solve this puzzle only.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many.")] = None,
    split: Annotated[str | None, typer.Option(help="train, val or test.")] = None,
    grid: Annotated[
        str | None, typer.Option(help="ROWSxCOLS, or auto to look for it, where no file says it.")
    ] = None,
    centre: Centre = Protocol.GIVEN,
    turned: Annotated[
        bool, typer.Option("--turned", help="Pieces of a folder may lie turned by quarters.")
    ] = False,
    allow_missing: Annotated[
        int | None, typer.Option(min=0, help="So many pieces of a folder may be missing.")
    ] = None,
    allow_foreign: Annotated[
        int, typer.Option(min=0, help="So many pieces of a folder may belong elsewhere.")
    ] = 0,
    seed: Annotated[int, typer.Option(help="Root of every puzzle's own seed.")] = 0,
    pin: Annotated[
        list[str] | None,
        typer.Option(help="PIECE=ROW,COL: name or number of a piece fixed there, from 0."),
    ] = None,
    alternatives: Annotated[int, typer.Option(min=0, help="List so many whole layouts.")] = 0,
    pictures: Annotated[
        bool, typer.Option("--pictures", help="Also write the files of every puzzle of a set.")
    ] = False,
    trace: Annotated[
        bool, typer.Option("--trace", help="Also write how it came about, as an animation.")
    ] = False,
    gif: Annotated[bool, typer.Option("--gif", help="With --trace: GIF instead of WebP.")] = False,
    piece_px: Annotated[
        int | None,
        typer.Option(
            min=1, help="Side of the pieces of one shuffled picture; guessed if not given."
        ),
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="Of the solver's network: cpu, cuda, mps or auto.")
    ] = None,
    threads: Annotated[
        int, typer.Option(min=0, help="Threads of PyTorch in a process (0: one in each worker).")
    ] = 0,
    workers: Annotated[int, typer.Option(help="Processes; -1 takes every core.")] = -1,
    cluster: Cluster = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Forget the solutions already in --out.")
    ] = False,
) -> None:
    """Lay the pieces of a data set, or of one puzzle.

    A data set gives predictions.npz (for `evaluate`) and solutions.jsonl with layout,
    confidence, alternatives and energy of every puzzle; stopped at any moment, the same
    command goes on where it was. A folder of pieces, a puzzle chosen with --index, and every
    puzzle with --pictures give NAME.layout.json, NAME.png, NAME.confidence.png (blue = sure,
    orange = unsure) and NAME.confidence.json; with --trace NAME.trace.webp: the steps that the
    solver tells, or its pieces laid one by one, the surest first.

    A picture of shuffled square pieces is a puzzle, too; a folder of folders of pieces is
    several, solved one by one.

    Without --grid the grid of a folder is looked for; where the number of pieces makes no
    grid less than twice as long as wide, up to two may be missing. The answer tells the
    likeliest grids.
    """
    from puzzleflow.cli._open_folder import Asked, open_puzzle
    from puzzleflow.core.errors import InputError
    from puzzleflow.core.grid import Grid
    from puzzleflow.evaluation.solved_set import SolvedSet
    from puzzleflow.evaluation.spec import SolverSpec
    from puzzleflow.formats.open import open_puzzles
    from puzzleflow.lock import locked
    from puzzleflow.solvers.registry import DEFAULT_SOLVER
    from puzzleflow.storage.shuffled import grid_of

    asked_spec = SolverSpec.parse(solver or DEFAULT_SOLVER)
    spec = asked_spec.on(device)
    if device is not None and spec == asked_spec:
        raise InputError(f"solver {spec.name!r} has no network to put on a device")
    shape = Grid.parse(grid) if grid not in (None, "auto") else None
    if piece_px is not None:
        if shape is not None or not path.is_file():
            raise InputError("--piece-px speaks of one shuffled picture, without --grid")
        shape = grid_of(path, piece_px)
    animation = None if not trace else ".gif" if gif else ".webp"
    free = centre is Protocol.FREE
    with open_puzzles(path, split=split, grid=shape, centre_free=free) as source:
        asked = Asked(shape, grid == "auto", turned, allow_missing, allow_foreign)
        puzzle = open_puzzle(source, index or 0, asked)
        alone = source.kind in ("folder", "shuffled") and len(source) == 1
        if puzzle is None and index is None and not alone:
            if pin:
                raise InputError("--pin speaks of one puzzle: choose it with --index")
            wanted = SolvedSet(
                source, spec, out, seed, limit, alternatives,
                pictures or trace, animation, threads or 1,
            )  # fmt: skip
            _warn_unlike(source.grid, spec)
            _solve_set(wanted, workers, fresh=fresh)
            return
        if (index or 0) >= len(source):
            raise InputError(f"{path} holds {len(source)} puzzles: no puzzle {index}")
        if threads:
            import torch

            torch.set_num_threads(threads)
        numbers = range(len(source))[:limit] if index is None else [index]
        if pin and len(numbers) > 1:
            raise InputError("--pin speaks of one puzzle: choose it with --index")
        with locked(out):
            for number in numbers:
                _solve_one(
                    source, number, asked, spec, out, pin or (),
                    seed=seed, alternatives=alternatives, animation=animation,
                )  # fmt: skip


def _solve_one(
    source: PuzzleSource,
    number: int,
    asked: Asked,
    spec: SolverSpec,
    out: Path,
    pin: Sequence[str],
    *,
    seed: int,
    alternatives: int,
    animation: str | None,
) -> None:
    """One puzzle of a source with files of its own; the grid of a bare folder is looked for."""
    from functools import partial

    from puzzleflow.cli._open_folder import (
        describe_answer,
        describe_confidence,
        describe_rift,
        open_puzzle,
        untried,
    )
    from puzzleflow.core.errors import CannotSolve, InputError
    from puzzleflow.evaluation.solved_puzzle import solve_puzzle

    opened = open_puzzle(source, number, asked)
    puzzle = source[number] if opened is None else opened
    if puzzle.num_pieces == 1 and opened is not None:
        raise InputError(
            f"{source.path}: one picture is no puzzle; expected one picture a piece, a shuffled "
            "picture given as a file, or what `segment` makes of a photograph"
        )
    pinned = {} if opened is not None else source.pins(number)
    pinned = {**pinned, **parse_pins(pin, puzzle)}
    answer = partial(solve_puzzle, seed=seed, alternatives=alternatives, animation=animation)
    try:
        solution, results = answer(out, number, puzzle, spec, pinned)
    except CannotSolve:
        if asked.is_open or puzzle.known_grid is not None:
            raise
        # a solver of closed puzzles: on a square, as ever
        solution, results = answer(out, number, source[number], spec, pinned)
    print(f"1 solved by {spec.label} in {solution.seconds:.2f} s, written to {out}")
    if solution.grid is not None:
        print(describe_answer(solution, puzzle.names))
    if solution.confidence is not None:
        if _is_trained(spec):
            print(describe_confidence(solution, puzzle.names))
        if puzzle.known_grid is None and (rift := describe_rift(solution)):
            print(rift)
        _warn_unlike(solution.grid or puzzle.known_grid, spec)
    if opened is not None and (further := untried(solution, asked)):
        print(further)
    if results is not None:
        _print_scores(results)


def _warn_unlike(grid: Grid | None, spec: SolverSpec) -> None:
    """Say where the confidence of a trained solver has not been measured."""
    if _is_trained(spec) and grid is not None and max(grid.shape) >= LONG * min(grid.shape):
        print(
            f"warning: {spec.name} was trained on grids less than twice as long as wide, not on "
            f"{grid}: its confidence may be too high",
            file=sys.stderr,
        )


def _is_trained(spec: SolverSpec) -> bool:
    """Whether a solver's confidence was fitted; that of others ranks pieces, no more."""
    from puzzleflow.options import options_of
    from puzzleflow.solvers.registry import SOLVERS

    return "weights" in options_of(SOLVERS.load(spec.name))


def _solve_set(wanted: SolvedSet, workers: int, *, fresh: bool) -> None:
    from time import perf_counter

    from puzzleflow.cli._talk import stage_progress
    from puzzleflow.evaluation.solved_set import PREDICTIONS

    if changed := wanted.outdated():
        print(f"solved again: {' and '.join(sorted(changed))} of {wanted.spec.label} changed")
    started = perf_counter()
    with stage_progress() as report:
        solved = wanted.run(num_workers=workers, fresh=fresh, on_progress=report)
    seconds = perf_counter() - started
    written = [wanted.path, wanted.out / PREDICTIONS]
    written = [path for path in written if path.exists()]
    print(f"{len(solved)} solved by {wanted.spec.label} in {seconds:.2f} s")
    print(f"written to {' and '.join(map(str, written))}")
    results = wanted.results(solved)
    if results is not None:
        _print_scores(results)


def _print_scores(results: Results) -> None:
    from puzzleflow.evaluation.tables import open_name

    print("  ".join(f"{metric} {results.shares[metric].mean():.1%}" for metric in results.shares))
    added = results.open_estimates()
    if added:
        print("  ".join(f"{open_name(name)} {told.value:.1f} %" for name, told in added.items()))


def parse_pins(texts: Sequence[str], puzzle: Puzzle) -> dict[int, int]:
    """``PIECE=ROW,COL`` → piece → position; PIECE is a name or a number."""
    from puzzleflow.core.errors import InputError

    pins: dict[int, int] = {}
    for text in texts:
        match = re.fullmatch(r"(.+)=\s*(\d+)\s*,\s*(\d+)\s*", text)
        if match is None:
            raise InputError(f"--pin {text!r}: write PIECE=ROW,COL, for example 3=0,2")
        if puzzle.known_grid is None:
            raise InputError(f"--pin {text!r}: names a cell, and the grid is not known: --grid")
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
