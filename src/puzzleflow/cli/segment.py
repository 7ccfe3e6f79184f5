"""``puzzleflow segment``: one photograph of many fragments → one PNG for each."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def segment(
    photo: Annotated[Path, typer.Argument(help="Photograph of fragments on a plain ground.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the fragments.")],
    threshold: Annotated[
        float | None,
        typer.Option(help="Levels by which material differs from the ground; estimated."),
    ] = None,
    min_area: Annotated[
        int | None, typer.Option(min=1, help="Smaller regions, in pixels, are dust.")
    ] = None,
    grid: Annotated[
        str | None, typer.Option(help="ROWSxCOLS of the picture, to check the number found.")
    ] = None,
) -> None:
    """Cut a photograph of fragments into one transparent PNG for each fragment.

    Writes fragment_01.png … in reading order, all at the photograph's scale; preview.png
    with numbered outlines; segments.json with their places. The other commands read the
    folder OUT as a puzzle.
    """
    from puzzleflow.core.errors import InputError, naming
    from puzzleflow.core.grid import Grid
    from puzzleflow.files import write_json
    from puzzleflow.pictures import read_picture, write_picture
    from puzzleflow.segmentation import draw_preview
    from puzzleflow.segmentation import segment as find
    from puzzleflow.storage.folder import FRAGMENTS, SEGMENTS

    expected = Grid.parse(grid).num_pieces if grid else None
    folder = out / FRAGMENTS
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"{folder}: not empty; choose another --out")
    with naming(photo):
        found = find(read_picture(photo, "RGBA"), threshold=threshold, min_area_px=min_area)
    count = len(found.fragments)
    digits = max(2, len(str(count)))
    names = [f"fragment_{number:0{digits}d}.png" for number in range(1, count + 1)]
    for name, fragment in zip(names, found.fragments, strict=True):
        write_picture(folder / name, fragment.pixels)
    write_picture(out / "preview.png", draw_preview(found))
    sides = ("top", "left", "height", "width")
    fragments = [
        {
            "name": name,
            "bbox": dict(zip(sides, fragment.bbox, strict=True)),
            "area_px": fragment.area_px,
            "cut_off": fragment.cut_off,
        }
        for name, fragment in zip(names, found.fragments, strict=True)
    ]
    told = {"photo": photo.name, "threshold": found.threshold, "fragments": fragments}
    write_json(out / SEGMENTS, told | {"warnings": found.warnings})
    for warning in found.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if expected is not None and expected != count:
        print(f"warning: {count} fragments found, {expected} expected", file=sys.stderr)
    what = "fragment" if count == 1 else "fragments"
    print(f"{count} {what} (threshold {found.threshold:.1f}): {folder}, {out / 'preview.png'}")
