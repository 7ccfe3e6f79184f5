"""What a path holds and whether it is sound: the report behind ``puzzleflow inspect``.

Reports are plain dictionaries of JSON values. A *fault* is a sentence about
something a user should know before trusting the data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.addresses import address_of
from puzzleflow.core.canvas import lay
from puzzleflow.core.errors import InputError, NotAPermutation, PuzzleFlowError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle, turned_pieces
from puzzleflow.core.records import to_json
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.formats.open import (
    POSE_FILES,
    canonical_split,
    fetched,
    on_grid,
    open_all,
    open_source,
)
from puzzleflow.parallel import bounded_map
from puzzleflow.storage.arrays import NPY_MAGIC, ZIP_MAGIC, first_bytes, map_npy
from puzzleflow.storage.free_form.audit import assembly_facts, audit_sets
from puzzleflow.storage.free_form.source import FragmentSource
from puzzleflow.storage.layout import read_layout
from puzzleflow.storage.predictions import read_predictions
from puzzleflow.storage.source import PuzzleSource, Source

Report = Callable[[str, int, int], None]
MAX_LISTED = 20
_BLOCK = 64  # puzzles that a worker looks at in a go
_OPAQUE_STEP = np.uint32(1 << 24)  # one level of alpha in a pixel that is read as a number
SPOTS = 16
SAME_LEVELS = 8.0
MIN_COMMON = 24
_REACH = 2  # a spot is 5 x 5 pixels
_COMPARED = 256
_GREY = np.array([0.299, 0.587, 0.114], dtype=np.float32)


def inspect_path(
    path: str | Path,
    *,
    split: str | None = None,
    grid: Grid | None = None,
    limit: int | None = None,
    num_workers: int = 1,
    report: Report = lambda stage, done, total: None,
) -> dict[str, Any]:
    """Everything that ``inspect`` tells about ``path``.

    limit   puzzles to look at per split, spread evenly; None looks at all.
            Labels are always checked in full.
    report  is told (stage, done, total)
    """
    asked = address_of(path) or str(path)
    path = fetched(path, None if split is None else (canonical_split(split),))
    if path.name in POSE_FILES and path.is_file():
        path = path.parent
    single = _other_file(path)
    if single is not None:
        return {"path": asked, **single, "splits": {}, "repeats": [], "faults": []}
    if split is None:
        sources = open_all(path, grid=grid)
    else:
        sources = {split: open_source(path, split=split, grid=grid)}
    splits: dict[str, Any] = {}
    prints: dict[str, tuple[IntArray, FloatArray]] = {}
    for name, source in sources.items():
        with source:
            splits[name], prints[name] = _inspect_source(source, name, limit, report, num_workers)
    repeats = _repeats(prints)
    faults = [
        f"{name}: {fault}" if name else fault
        for name, facts in splits.items()
        for fault in facts["faults"]
    ]
    faults += [_repeat_fault(entry) for entry in repeats]
    kinds = sorted({facts["kind"] for facts in splits.values()})
    return {
        "path": asked,
        "kind": ", ".join(kinds),
        "splits": splits,
        "repeats": repeats,
        "faults": faults,
    }


def _other_file(path: Path) -> dict[str, Any] | None:
    """Facts about predictions or a layout; None if ``path`` is neither."""
    if not path.is_file():
        return None
    start = first_bytes(path)
    is_table = start.startswith(NPY_MAGIC) and map_npy(path).ndim == 2
    if start.startswith(ZIP_MAGIC) or is_table:
        answers = read_predictions(path)
        return {
            "kind": "predictions",
            "direction": "position -> piece" if is_table else "piece -> position",
            "puzzles": len(answers),
            "pieces": answers.num_pieces,
            "grid": None if answers.grid is None else str(answers.grid),
            "has_targets": answers.targets is not None,
            "info": answers.info,
        }
    if path.suffix == ".json":
        assembly = assembly_facts(path)
        if assembly is not None:
            return assembly
        layout = read_layout(path, partial=True)
        return {
            "kind": "layout",
            "grid": str(layout.grid),
            "pieces": len(layout.names),
            "placed": int((layout.position_of >= 0).sum()),
            **({} if layout.open is None else to_json(layout.open)),
            "pinned": len(layout.pinned),
            "solver": layout.solver,
        }
    return None


def _inspect_source(
    source: Source, name: str, limit: int | None, report: Report, num_workers: int
) -> tuple[dict[str, Any], tuple[IntArray, FloatArray]]:
    files = [(path, path.stat().st_size) for path in source.files() if path.is_file()]
    facts: dict[str, Any] = {
        "kind": source.kind,
        "puzzles": len(source),
        "grid": None,
        "has_truth": False,
        "bytes": sum(size for _, size in files),
        "num_files": len(files),
        "files": {path.name: size for path, size in files[:MAX_LISTED]},
        "facts": source.describe(),
    }
    chosen = np.arange(len(source), dtype=np.int64) if limit is None else _spread(source, limit)
    prints: tuple[IntArray, FloatArray] = (chosen[:0], np.empty((0, 0)))
    if isinstance(source, FragmentSource):
        audit, faults, facts["has_truth"] = audit_sets(source, chosen.tolist(), report)
    else:
        puzzles = on_grid(source)
        facts["grid"] = None if puzzles.grid is None else str(puzzles.grid)
        facts["has_truth"] = puzzles.has_truth
        if not puzzles.conditions.is_closed:
            facts["conditions"] = str(puzzles.conditions)
        audit, faults, prints = _audit_puzzles(puzzles, chosen, name, report, num_workers)
        faults += _label_faults(puzzles) + _storage_faults(facts["facts"])
    return facts | {"audit": audit, "faults": faults}, prints


def _spread(source: Source, limit: int) -> IntArray:
    """At most ``limit`` indices, evenly over the source."""
    count = min(limit, len(source))
    return np.unique(np.linspace(0, len(source) - 1, count).astype(np.int64))


@dataclass
class _Seen:
    """What some puzzles of a source showed."""

    counts: Counter[str] = field(default_factory=Counter)
    unreadable: list[tuple[int, PuzzleFlowError]] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)
    prints: list[FloatArray] = field(default_factory=list)
    material: list[float] = field(default_factory=list)
    sizes: set[tuple[int, int]] = field(default_factory=set)

    def add(self, other: _Seen) -> None:
        self.counts.update(other.counts)
        self.unreadable += other.unreadable
        self.seen += other.seen
        self.prints += other.prints
        self.material += other.material
        self.sizes |= other.sizes


def _look(source: PuzzleSource, indices: list[int]) -> _Seen:
    """Read and check some puzzles; runs in a worker."""
    found = _Seen()
    for index in indices:
        try:
            puzzle = source.read(index)
        except NotAPermutation:
            continue  # told by the check of all labels
        except PuzzleFlowError as error:
            found.unreadable.append((index, error))
            continue
        found.counts.update(_pixel_faults(puzzle))
        found.material.append(np.count_nonzero(puzzle.masks) / puzzle.masks.size)
        found.sizes.add(puzzle.piece_px)
        found.seen.append(index)
        if puzzle.truth is not None:
            found.prints.append(fingerprint(puzzle))
    return found


def _audit_puzzles(
    source: PuzzleSource, chosen: IntArray, name: str, report: Report, num_workers: int
) -> tuple[dict[str, Any], list[str], tuple[IntArray, FloatArray]]:
    found, done = _Seen(), 0
    blocks = [chosen[start : start + _BLOCK].tolist() for start in range(0, len(chosen), _BLOCK)]
    workers = num_workers if len(blocks) > 1 else 1
    for block, seen in zip(
        blocks, bounded_map(partial(_look, source), blocks, num_workers=workers), strict=True
    ):
        found.add(seen)
        done += len(block)
        report(name or "puzzles", done, len(chosen))
    if found.unreadable and not found.seen:
        raise found.unreadable[0][1]
    audit: dict[str, Any] = {
        "checked": len(chosen),
        "unreadable": len(found.unreadable),
        **{key: found.counts[key] for key in _FAULTS},
        "material": float(np.mean(found.material)) if found.seen else None,
        "piece_px": [list(size) for size in sorted(found.sizes)[:MAX_LISTED]],
    }
    faults = []
    if found.unreadable:
        index, reason = found.unreadable[0]
        count = len(found.unreadable)
        faults.append(f"{count} puzzles cannot be read, first puzzle {index}: {reason}")
    for key, text in _FAULTS.items():
        if found.counts[key]:
            faults.append(f"{text} in {found.counts[key]} of {len(found.seen)} puzzles")
    complete = len(found.prints) == len(found.seen)
    fingerprints = np.stack(found.prints) if found.prints and complete else np.empty((0, 0))
    seen_there = np.array(found.seen[: len(fingerprints)], dtype=np.int64)
    return audit, faults, (seen_there, fingerprints)


_FAULTS = {
    "alpha_not_binary": "alpha is not binary (0 or 255)",
    "colour_without_material": "colour is left where alpha is 0",
    "pieces_without_material": "a piece without material",
}


def _pixel_faults(puzzle: Puzzle) -> list[str]:
    """Which of ``_FAULTS`` a puzzle has."""
    pixels = np.ascontiguousarray(puzzle.pieces).view("<u4")[..., 0]  # (N, H, W) alpha on top
    bare = pixels < _OPAQUE_STEP
    faulty = {
        "alpha_not_binary": not (bare | (pixels >= 255 * _OPAQUE_STEP)).all(),
        "colour_without_material": (bare & (pixels > 0)).any(),
        "pieces_without_material": bare.all((1, 2)).any(),
    }
    return [key for key, is_so in faulty.items() if is_so]


def _label_faults(source: PuzzleSource) -> list[str]:
    """Are all labels permutations, and do they agree with each other?"""
    try:
        source.truths()
        source.turns()
        return source.contradictions()
    except InputError as error:
        return [str(error)]


def _storage_faults(facts: dict[str, Any]) -> list[str]:
    written, expected = facts.get("chunks_written"), facts.get("chunks_expected")
    if written is not None and written != expected:
        return [f"only {written:,} of {expected:,} chunks were ever written"]
    return []


def _repeats(prints: dict[str, tuple[IntArray, FloatArray]]) -> list[dict[str, Any]]:
    """Pictures that appear twice, within a split and between every two splits."""
    found = []
    names = [name for name, (_, prints_of) in prints.items() if len(prints_of)]
    for i, first in enumerate(names):
        for second in names[i:]:
            (mine, own), (theirs, other) = prints[first], prints[second]
            pairs = find_repeats(own, None if first == second else other)
            if len(pairs):
                listed = [[int(mine[a]), int(theirs[b])] for a, b in pairs[:MAX_LISTED]]
                found.append({"splits": [first, second], "count": len(pairs), "pairs": listed})
    return found


def _repeat_fault(entry: dict[str, Any]) -> str:
    first, second = entry["splits"]
    a, b = entry["pairs"][0]
    where = f"within {first or 'the set'}" if first == second else f"between {first} and {second}"
    return f"{entry['count']} pairs of puzzles {where} show the same picture, first {a} and {b}"


def fingerprint(puzzle: Puzzle) -> FloatArray:
    """(256,) brightness of 16 × 16 spots of the solved picture, NaN without material.

    Two puzzles show the same picture if the spots that both have differ by at most
    :data:`SAME_LEVELS` on average (root mean square, of 255). Between 1,500 museum pictures
    broken into 3x3 or 5x5 pieces no pair came below 16; the same picture broken twice stays
    near 0.
    """
    if puzzle.truth is None:
        raise ValueError("a fingerprint needs the truth")
    turns = puzzle.true_turns
    upright = puzzle.pieces if turns is None else turned_pieces(puzzle.pieces, turns)
    canvas = lay(upright, puzzle.truth, puzzle.grid)  # (H, W, 4)
    rows, cols = (_spots(size) for size in canvas.shape[:2])
    around = canvas[np.ix_(rows.ravel(), cols.ravel())]  # (16*5, 16*5, 4)
    width = 2 * _REACH + 1
    present = (around[..., 3] > 127).astype(np.float32)
    grey = (around[..., :3].astype(np.float32) @ _GREY) * present
    shape = (SPOTS, width, SPOTS, width)
    count = present.reshape(shape).sum((1, 3))  # (16, 16)
    total = grey.reshape(shape).sum((1, 3))  # (16, 16)
    enough = count * 2 >= width * width
    return np.where(enough, total / np.maximum(count, 1), np.float32(np.nan)).ravel()


def _spots(size: int) -> IntArray:
    """(16, 5) pixel indices of every spot along one side."""
    centres = ((np.arange(SPOTS) + 0.5) * size / SPOTS).astype(np.int64)
    reach = np.arange(-_REACH, _REACH + 1)
    return np.asarray(np.clip(centres[:, None] + reach, 0, size - 1))


def find_repeats(first: FloatArray, second: FloatArray | None = None) -> IntArray:
    """(R, 2) index pairs of (M, 256) fingerprints that show the same picture.

    Without ``second`` the pairs i < j within ``first``.
    """
    within = second is None
    other = first if second is None else second
    pairs: list[IntArray] = [np.empty((0, 2), dtype=np.int64)]
    there, values = _split(other)
    for start in range(0, len(first), _COMPARED):
        mine, own = _split(first[start : start + _COMPARED])  # (b, 256)
        common = mine @ there.T  # (b, M)
        squares = (own**2) @ there.T + mine @ (values**2).T - 2 * own @ values.T
        same = (common >= MIN_COMMON) & (squares <= SAME_LEVELS**2 * common)
        rows, cols = np.nonzero(same)
        found = np.stack([rows + start, cols], axis=1)  # (R, 2)
        pairs.append(found[found[:, 0] < found[:, 1]] if within else found)
    return np.concatenate(pairs)


def _split(fingerprints: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Presence (M, 256) and value with 0 where absent (M, 256)."""
    present = np.isfinite(fingerprints)
    return present.astype(np.float32), np.where(present, fingerprints, 0).astype(np.float32)
