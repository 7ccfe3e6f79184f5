"""``puzzleflow demo``: break a bundled picture, put it back together, draw both."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the pictures.")] = Path(
        "demo"
    ),
    grid: Annotated[str, typer.Option(help="ROWSxCOLS.")] = "3x3",
    sample: Annotated[
        str, typer.Option(help="Bundled picture, by name or Met object number; `list` lists them.")
    ] = "harvesters",
    solver: Annotated[str | None, typer.Option(help="Solver; the default one if left out.")] = None,
    erosion: Annotated[
        str, typer.Option(help="vae (the paper's fragments), linear, fixed:PX, none, …")
    ] = "vae",
    piece_px: Annotated[int, typer.Option(min=8, max=512, help="Size of a piece.")] = 128,
    seed: Annotated[int, typer.Option(min=0, help="Seed of shapes, shuffle and solver.")] = 0,
) -> None:
    """Cut a bundled picture into eroded pieces, solve the puzzle and draw the result.

    Writes puzzle.png (the pieces as they came), solved.png (as the solver laid them) and
    figure.png (both, and the truth), and prints PA, AA and SRA.
    """
    from puzzleflow.samples import find_sample, list_samples, load_sample

    if sample == "list":
        for record in list_samples():
            print(f"{record.object_id:>7}  {record.name:<26}{record.title} ({record.date})")
        return
    chosen = find_sample(sample)

    import numpy as np

    from puzzleflow.core.canvas import board, lay
    from puzzleflow.core.grid import Grid
    from puzzleflow.core.metrics import score
    from puzzleflow.evaluation.figures import puzzle_figure
    from puzzleflow.generation.builder import cut_puzzle
    from puzzleflow.pictures import write_picture
    from puzzleflow.solvers.registry import DEFAULT_SOLVER, load_solver

    cells = Grid.parse(grid)
    method = load_solver(solver or DEFAULT_SOLVER)
    picture = load_sample(chosen.name)
    puzzle = cut_puzzle(picture, cells, erosion, seed, piece_px=piece_px, puzzle_id=chosen.name)
    assert puzzle.truth is not None
    solution = method.prepare(puzzle.without_truth()).solve(seed=seed)
    scores = score(solution.position_of, puzzle.truth, cells)

    shuffled = np.arange(cells.num_pieces)  # every piece where it came in
    write_picture(out / "puzzle.png", board(lay(puzzle.pieces, shuffled, cells)))
    write_picture(out / "solved.png", board(lay(puzzle.pieces, solution.position_of, cells)))
    write_picture(out / "figure.png", puzzle_figure(puzzle, solution.position_of))
    print(f"{chosen.title}, {chosen.artist or 'unknown artist'}, {chosen.date} ({chosen.rights})")
    print(f"{cells} pieces, erosion {erosion}, solver {solution.solver}: {solution.seconds:.2f} s")
    print(
        f"PA {100 * scores.perfect_accuracy:.1f} %   AA {100 * scores.absolute_accuracy:.1f} %   "
        f"SRA {100 * scores.relation_accuracy:.1f} %"
    )
    print(f"{out / 'puzzle.png'}, {out / 'solved.png'}, {out / 'figure.png'}")
