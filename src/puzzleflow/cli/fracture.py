"""``puzzleflow fracture``: break pictures into free-form fragments."""

from __future__ import annotations

from pathlib import Path

import typer


def fracture(
    images: Path = typer.Option(..., help="Folder of pictures, searched with its subfolders."),
    out: Path = typer.Option(..., help="New folder for the sets."),
    sets: int = typer.Option(10, min=1, help="How many pictures to break."),
    fragments: str = typer.Option("4-12", metavar="N|LOW-HIGH", help="Fragments of a picture."),
    gap: str = typer.Option(
        "repair",
        help="Median gap between neighbours over √area: none, mild (0.03), repair (0.07), "
        "heavy (0.14) or a number.",
    ),
    rounding: float = typer.Option(0.02, help="Rounding of corners over √area."),
    chips: float = typer.Option(0.5, help="Mean number of chips that broke off a fragment."),
    pattern: str = typer.Option("any", help="cuts, voronoi or any."),
    rotation: str = typer.Option("free", help="free, small (up to 10 degrees) or none."),
    missing: float = typer.Option(0.0, help="Share of the fragments that is lost."),
    foreign: float = typer.Option(0.0, help="Share of fragments from another picture."),
    outlines: Path | None = typer.Option(
        None, help="Masks of real fragments, a folder or .npz: fragments take their outlines."
    ),
    light: float = typer.Option(0.1, help="Largest change of a fragment's brightness."),
    photographed: bool = typer.Option(
        False,
        "--photographed",
        help="Edges as photographs show them: stained, soft, badly cut out.",
    ),
    side_px: int = typer.Option(800, help="Longer side of a picture before it breaks."),
    seed: int = typer.Option(0, help="The same seed and pictures give the same files."),
    workers: int = typer.Option(-1, help="Processes; -1 takes every core."),
) -> None:
    """Break pictures into fragments of any shape and angle, and keep the truth.

    Writes one folder a set: a PNG a fragment, and fragments.json with poses and
    neighbours. Killed at any moment, the same command goes on where it was.
    """
    from puzzleflow.cli._talk import stage_progress
    from puzzleflow.generation.fracture import Weathering
    from puzzleflow.generation.free_form import FreeForm
    from puzzleflow.generation.free_form_sets import FreeFormRequest, generate_free_form

    how = FreeForm(
        _counts(fragments),
        pattern,
        Weathering(_gap(gap), rounding=rounding, chips=chips),
        light=light,
        rotation=rotation,
        missing=missing,
        foreign=foreign,
        photographed=photographed,
    )
    request = FreeFormRequest(sets, how, side_px, seed, str(outlines) if outlines else None)
    with stage_progress() as on_progress:
        folders = generate_free_form(
            images, out, request, num_workers=workers, on_progress=on_progress
        )
    typer.echo(f"{out}: {len(folders)} sets of fragments")


def _counts(text: str) -> tuple[int, int]:
    from puzzleflow.core.errors import InputError

    low, _, high = text.partition("-")
    try:
        return int(low), int(high or low)
    except ValueError:
        raise InputError(f"--fragments {text}: expected a number, or two like 4-12") from None


def _gap(text: str) -> float:
    from puzzleflow.core.errors import UnknownName
    from puzzleflow.generation.fracture import GAPS

    if text in GAPS:
        return GAPS[text]
    try:
        return float(text)
    except ValueError:
        raise UnknownName("gap", text, GAPS) from None
