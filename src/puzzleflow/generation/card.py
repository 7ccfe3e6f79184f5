"""The card of a data set: README.md, statistics and a contact sheet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.canvas import panels, tile
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.types import ByteArray, IntArray
from puzzleflow.files import write_text
from puzzleflow.generation.erosion import erosion_label
from puzzleflow.generation.plan import Request
from puzzleflow.generation.recipe import Recipe, Renderer
from puzzleflow.pictures import resize, write_picture

SHEET = "contact_sheet.png"
_SHOWN = 12
_SHOWN_PX = 192


def set_statistics(
    out: Path,
    recipes: Mapping[str, Recipe],
    areas: Mapping[str, IntArray],
    notes: dict[str, Any],
    differing: list[str],
) -> dict[str, Any]:
    """What is in the data set ``out``; JSON values.

    areas      (M, N) material pixels of every piece, by split
    notes      what the survey found
    differing  pictures whose puzzles came out otherwise than their recipe says
    """
    piece_px = next(iter(recipes.values())).piece_px
    shares = np.concatenate([split.ravel() for split in areas.values()]) / piece_px**2
    truths = [row.position_of for recipe in recipes.values() for row in recipe.rows]
    fixed = np.array(truths) == np.arange(len(truths[0]))  # (M, N)
    splits: dict[str, dict[str, Any]] = {
        split: {
            "num_puzzles": len(recipe.rows),
            "num_pictures": len({row.picture for row in recipe.rows}),
            "material_share": round(float(areas[split].mean()) / piece_px**2, 4),
            "bytes": _bytes_below(out / split),
        }
        for split, recipe in recipes.items()
    }
    recipe_bytes = _bytes_below(out / "recipe") or sum(s["bytes"] for s in splits.values())
    raw_bytes = len(truths) * len(truths[0]) * piece_px**2 * 4
    return {
        "num_puzzles": len(truths),
        "splits": splits,
        "pictures": {key: value for key, value in notes.items() if key != "unreadable"},
        "unreadable": notes.get("unreadable", []),
        "material_share": {
            "mean": round(float(shares.mean()), 4),
            "sd": round(float(shares.std()), 4),
            "min": round(float(shares.min()), 4),
            "max": round(float(shares.max()), 4),
        },
        "mean_pieces_at_their_own_index": round(float(fixed.sum(axis=1).mean()), 4),
        "raw_bytes": raw_bytes,
        "recipe_bytes": recipe_bytes,
        "differing_from_recipe": differing,
    }


def write_card(
    out: Path,
    request: Request,
    statistics: dict[str, Any],
    recipes: Mapping[str, Recipe],
    renderer: Renderer,
) -> None:
    """README.md and the contact sheet of ``out``."""
    write_picture(out / SHEET, _sheet(recipes, renderer))
    write_text(out / "README.md", _readme(request, statistics))


def _sheet(recipes: Mapping[str, Recipe], renderer: Renderer) -> ByteArray:
    """The first puzzles, shuffled and laid out, side by side."""
    rows = [row for recipe in recipes.values() for row in recipe.rows][:_SHOWN]
    pictures = []
    for row in rows:
        truth = np.array(row.position_of, dtype=np.int64)
        shown = panels(Puzzle(renderer.pieces(row), renderer.grid, truth=truth), None)
        for name in ("shuffled", "truth"):
            height, width = shown[name].shape[:2]
            scale = min(1.0, _SHOWN_PX / max(height, width))
            pictures.append(
                resize(shown[name], max(1, round(height * scale)), max(1, round(width * scale)))
            )
    return tile(pictures, columns=6, margin_px=8)


def _readme(request: Request, statistics: dict[str, Any]) -> str:
    grid, px = request.grid, request.piece_px
    share = statistics["material_share"]
    pictures = statistics["pictures"]
    lines = [
        f"# {request.name}",
        "",
        f"{statistics['num_puzzles']:,} puzzles of {grid.num_pieces} pieces ({grid}, {px} x {px} "
        f"pixels each) from {pictures['num_pictures']:,} pictures, made by "
        "`puzzleflow`. Each piece is the part of the picture that lies in its cell, as far as the "
        f"erosion model `{erosion_label(request.erosion)}` leaves material.",
        "",
        f"![The first puzzles: shuffled and laid out]({SHEET})",
        "",
        "| split | puzzles | pictures | material | bytes |",
        "|---|---|---|---|---|",
    ]
    for split, facts in statistics["splits"].items():
        lines.append(
            f"| {split} | {facts['num_puzzles']:,} | {facts['num_pictures']:,} "
            f"| {facts['material_share']:.1%} | {facts['bytes']:,} |"
        )
    lines += [
        "",
        "## How it was made",
        "",
        f"- seed {request.seed}; splits {request.splits}; no picture is in two splits"
        + _duplicates(pictures),
        "- pictures: centred crop to the shape of the grid, antialiased bilinear resize",
        "- pieces: RGBA, alpha 0 or 255, RGB zero where alpha is zero; shuffled",
        f"- material per piece: {share['mean']:.1%} ± {share['sd']:.1%} of its cell "
        f"({share['min']:.1%} to {share['max']:.1%})",
        *_problems(statistics),
        "",
        "## Files",
        "",
        *_files(request, statistics),
        "- `statistics.json`: the figures of this page and the exact request",
        "",
        "The rights of the pictures are those of their sources; this card does not know them.",
    ]
    return "\n".join(lines) + "\n"


def _duplicates(pictures: dict[str, Any]) -> str:
    groups = pictures.get("near_duplicate_groups")
    if groups is None:
        return ""
    count = pictures["pictures_in_near_duplicate_groups"]
    return f", and near-duplicates stay together ({count:,} pictures in {groups:,} groups)"


def _problems(statistics: dict[str, Any]) -> list[str]:
    lines = []
    if statistics["unreadable"]:
        names = ", ".join(f"`{entry['picture']}`" for entry in statistics["unreadable"][:10])
        count = len(statistics["unreadable"])
        more = f" and {count - 10} more" if count > 10 else ""
        lines.append(f"- left out because they cannot be read: {names}{more}")
    if statistics["differing_from_recipe"]:
        count = len(statistics["differing_from_recipe"])
        lines.append(f"- **{count:,} puzzles differ from what their recipe was made with**")
    return lines


def _files(request: Request, statistics: dict[str, Any]) -> list[str]:
    recipe = (
        "`recipe.json` and `puzzles.csv`: what every puzzle is made of (picture, checksum of its "
        "file, seed of its masks, permutation, checksum of its pieces)"
    )
    if request.recipe_only:
        return [
            f"- `<split>/` {recipe}. The pictures themselves are needed to render the puzzles; "
            f"`puzzleflow materialise` turns this into HDF5 ({statistics['raw_bytes']:,} bytes "
            "uncompressed)"
        ]
    files = [
        "- `<split>/puzzles.h5` (`puzzles`, uint8, puzzle x piece x height x width x RGBA, one "
        f"puzzle a chunk, compression {request.compression})",
        "- `<split>/labels_indices.h5` (`labels`, piece → position, row-major), "
        "`<split>/labels_coordinates.h5` (`labels`, row and column), `<split>/metadata.json`",
    ]
    if request.reference:
        files.append("- `<split>/reference.h5` (`reference`, the complete pictures)")
    return [*files, f"- `recipe/<split>/` {recipe}; {statistics['recipe_bytes']:,} bytes in all"]


def _bytes_below(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
