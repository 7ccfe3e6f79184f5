"""``puzzleflow render``: draw a puzzle, its layouts, or a sheet of many puzzles."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from puzzleflow.core.fragments import FragmentSet
    from puzzleflow.core.puzzle import Layout
    from puzzleflow.core.types import IntArray
    from puzzleflow.storage.source import PuzzleSource


def render(
    path: Annotated[Path, typer.Argument(help="Puzzles of any kind that `inspect` knows.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Picture to write.")] = Path(
        "puzzle.png"
    ),
    index: Annotated[int, typer.Option(help="Which puzzle, or the first one of a sheet.")] = 0,
    layout: Annotated[
        Path | None,
        typer.Option(help="Layout JSON, or assembly JSON of fragments, to draw as the solution."),
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option(help="Predictions or solutions, as for `evaluate`, to draw.")
    ] = None,
    sheet: Annotated[bool, typer.Option("--sheet", help="Many puzzles on one page.")] = False,
    count: Annotated[int, typer.Option(min=1, help="Puzzles on a sheet, at most.")] = 24,
    columns: Annotated[int, typer.Option(min=1, help="Puzzles in a row of a sheet.")] = 6,
    tile_px: Annotated[int, typer.Option(min=16, help="Size of a puzzle on a sheet.")] = 192,
    split: Annotated[str | None, typer.Option(help="train, val or test.")] = None,
    grid: Annotated[str | None, typer.Option(help="ROWSxCOLS, where no file says it.")] = None,
    captions: Annotated[bool, typer.Option(help="Write what is what below it.")] = True,
) -> None:
    """Draw a puzzle: shuffled, solved (right pieces blue, wrong ones orange) and true.

    Free-form fragments: side by side and at their true poses, or as an assembly lays
    them; with OUT.svg, one group a fragment.
    """
    from puzzleflow.core.errors import InputError
    from puzzleflow.core.grid import Grid
    from puzzleflow.evaluation.figures import contact_sheet, fragment_figure, puzzle_figure
    from puzzleflow.formats.open import is_free_form, on_grid, open_source
    from puzzleflow.pictures import picture_format, write_picture
    from puzzleflow.storage.free_form.source import FragmentSource

    if layout and (predictions or sheet):
        raise InputError("--layout draws one puzzle: without --predictions and --sheet")
    if not (out.suffix.lower() == ".svg" and not sheet and is_free_form(path)):
        picture_format(out)  # a wrong suffix is told before the work
    source = open_source(path, split=split, grid=Grid.parse(grid) if grid else None)
    if not 0 <= index < len(source):
        raise InputError(f"{path} holds {len(source)} puzzles: no puzzle {index}")
    chosen = range(index, min(index + (count if sheet else 1), len(source)))
    page = partial(contact_sheet, columns=columns, tile_px=tile_px, captions=captions)
    if isinstance(source, FragmentSource):
        if predictions:
            raise InputError(f"{path}: fragments that lie on no grid have no predictions to draw")
        if layout or out.suffix.lower() == ".svg":
            _draw_assembly(source.fragments(index), layout, out)
            return
        sets = map(source.fragments, chosen)
        picture = page(sets) if sheet else fragment_figure(next(sets), captions=captions)
    else:
        solutions = _solutions(on_grid(source), chosen, layout, predictions)
        puzzles = map(on_grid(source).read, chosen)
        if sheet:
            picture = page(puzzles, solutions)
        else:
            picture = puzzle_figure(next(puzzles), solutions[0], captions=captions)
    write_picture(out, picture)
    print(f"{out}: {picture.shape[1]}x{picture.shape[0]} pixels")


def _draw_assembly(fragments: FragmentSet, answer: Path | None, out: Path) -> None:
    """Draw an answer, or the truth, as a picture or as SVG."""
    from puzzleflow.core.arrangement import arrange
    from puzzleflow.core.plane import draw
    from puzzleflow.pictures import write_picture
    from puzzleflow.storage.free_form.answer import read_assembly
    from puzzleflow.storage.free_form.svg import write_svg

    poses = fragments.poses
    if answer is not None:
        poses = arrange(fragments.fragments, read_assembly(answer, fragments))
    if out.suffix.lower() == ".svg":
        write_svg(out, fragments.fragments, poses)
    else:
        write_picture(out, draw(fragments.fragments, poses))
    print(f"{out}: {sum(pose is not None for pose in poses)} of {len(fragments)} fragments")


def _solutions(
    source: PuzzleSource, chosen: range, layout: Path | None, predictions: Path | None
) -> Sequence[IntArray | Layout | None]:
    """The layout to draw for each of the chosen puzzles, None where there is none."""
    if layout is not None:
        from puzzleflow.core.errors import naming
        from puzzleflow.evaluation.predicted import matched
        from puzzleflow.storage.layout import read_layout

        saved = read_layout(layout, partial=True)
        with naming(layout):
            return [matched(saved, source[index]).whole for index in chosen]
    if predictions is not None:
        from puzzleflow.core.errors import naming
        from puzzleflow.evaluation.predicted import check_fits, read_answers

        if not source.conditions.is_closed:
            from puzzleflow.core.puzzle import Layout
            from puzzleflow.evaluation.predicted import read_open_answers

            found = read_open_answers(predictions, source)
            return [
                Layout(one.position_of, grid=one.grid, turns=one.turns)
                for one in (found[index] for index in chosen)
            ]
        answers = read_answers(predictions, source)
        with naming(predictions):
            check_fits(answers, source)
        return [answers.position_of[index] for index in chosen]
    return [None] * len(chosen)
