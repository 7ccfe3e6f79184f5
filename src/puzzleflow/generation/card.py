"""The card of a data set: README.md, statistics and a contact sheet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.canvas import panels, tile
from puzzleflow.core.types import ByteArray, IntArray
from puzzleflow.files import write_text
from puzzleflow.generation.erosion import erosion_label
from puzzleflow.generation.plan import Request
from puzzleflow.generation.recipe import Recipe, Renderer
from puzzleflow.pages import render
from puzzleflow.pictures import reduced, write_picture

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
    label = erosion_label(request.erosion)
    page = render("card.md", request=request, facts=statistics, erosion=label, sheet=SHEET)
    write_text(out / "README.md", page)


def _sheet(recipes: Mapping[str, Recipe], renderer: Renderer) -> ByteArray:
    """The first puzzles, shuffled and laid out, side by side."""
    rows = [row for recipe in recipes.values() for row in recipe.rows][:_SHOWN]
    pictures = []
    for row in rows:
        shown = panels(renderer.puzzle(row, renderer.pieces(row)), None)
        pictures += [reduced(shown[name], _SHOWN_PX) for name in ("shuffled", "truth")]
    return tile(pictures, columns=6, margin_px=8)


def _bytes_below(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
