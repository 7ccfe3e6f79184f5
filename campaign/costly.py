"""Small files that claim much: refused, or read within the ceilings of memory and time."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import costly_files as made
from format_samples import read_source

from campaign.forked import call
from campaign.outcome import Budget, Outcome
from puzzleflow.formats.audit import inspect_path
from puzzleflow.masks import read_masks
from puzzleflow.models.checkpoint import load_weights
from puzzleflow.pictures import read_picture
from puzzleflow.storage.layout import read_layout
from puzzleflow.storage.predictions import read_predictions
from puzzleflow.storage.solutions import read_solutions

CASES = {
    "labels in tiny chunks": (made.labels_in_tiny_chunks, read_source),
    "GAP pieces of 4,096 px": (made.gap_of_huge_pieces, read_source),
    "GAP in tiny chunks": (made.gap_in_tiny_chunks, read_source),
    "recipe of 8,192 px": (made.recipe_of_huge_pieces, read_source),
    "inspecting a recipe of 8,192 px": (made.recipe_of_huge_pieces, inspect_path),
    "1 GiB of zeros as predictions": (
        lambda folder: made.zeros(folder, "predictions", 1 << 30),
        read_predictions,
    ),
    "1 GiB of zeros as masks": (lambda folder: made.zeros(folder, "masks", 1 << 30), read_masks),
    "169 megapixels of one bit": (made.one_bit_picture, read_picture),
    "a JPEG of 4,000 scans": (made.picture_of_many_scans, read_picture),
    "a recipe of 700,000 rows": (made.recipe_of_many_rows, read_source),
    "900,000 solutions": (made.solutions_of_many_lines, read_solutions),
    "60,000 arrays": (made.archive_of_many_members, read_predictions),
    "150,000 tensors": (made.weights_of_many_tensors, load_weights),
    "100 MB of brackets": (made.nested_json, read_layout),
}
QUICK = 6  # cases of a shortened campaign


def run(budget: Budget, place: Path) -> Outcome:
    """Each file is made in one child and read in another."""
    outcome = Outcome("small files that claim much")
    names = list(CASES)[:QUICK] if budget.quick else list(CASES)
    most_s = most_mib = 0.0
    for name in names:
        build, read = CASES[name]
        folder = place / name.replace(" ", "-")
        folder.mkdir(parents=True)
        made_at = Path(call(partial(_build, build, folder)).text)
        ended = call(partial(_read, read, made_at))
        outcome.case(name, ended.failure, kind=ended.status)
        most_s = max(most_s, ended.cpu_s)
        most_mib = max(most_mib, ended.growth / (1 << 20))
    outcome.notes.append(f"at most {most_s:.1f} s of work and {most_mib:.0f} MiB")
    return outcome


def _build(build: object, folder: Path) -> str:
    return str(build(folder))  # type: ignore[operator]


def _read(read: object, path: Path) -> str:
    read(path)  # type: ignore[operator]
    return ""
