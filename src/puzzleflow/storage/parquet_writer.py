"""Writing puzzles as Parquet tables: the same puzzles give the same bytes, a killed run goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from typing import Any

from puzzleflow.core.errors import InputError
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.files import atomic_path
from puzzleflow.pictures import to_image
from puzzleflow.storage.parquet import KEY
from puzzleflow.storage.source import PuzzleSource

PER_FILE = 1000  # puzzles; a file of GAP-5 has some 600 MB
PER_GROUP = 16  # puzzles that are read together
VERSION = 1
_WHOLE = {"dtype": "int64", "_type": "Value"}
FEATURES = {
    "puzzle_id": {"dtype": "string", "_type": "Value"},
    "pieces": [{"_type": "Image"}],
    "position_of": [_WHOLE],
    "turns": [_WHOLE],
    "rows": _WHOLE,
    "cols": _WHOLE,
}


def write_parquet(
    folder: Path,
    source: PuzzleSource,
    split: str,
    *,
    per_file: int = PER_FILE,
    report: Callable[[str, int, int], None] = lambda stage, done, total: None,
) -> list[Path]:
    """``SPLIT-00000-of-00003.parquet`` …; files that hold the same already are kept."""
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise InputError("writing Parquet needs pip install 'puzzleflow[hub]'") from error
    count = -(-len(source) // per_file)
    paths = []
    for number in range(count):
        path = folder / f"{split}-{number:05d}-of-{count:05d}.parquet"
        rows = range(number * per_file, min((number + 1) * per_file, len(source)))
        schema = _schema(arrow, source, rows)
        paths.append(path)
        if path.exists() and parquet.read_schema(path).metadata == schema.metadata:
            report(split, rows.stop, len(source))
            continue
        with atomic_path(path) as temporary, parquet.ParquetWriter(temporary, schema) as writer:
            for first in range(rows.start, rows.stop, PER_GROUP):
                group = range(first, min(first + PER_GROUP, rows.stop))
                table = arrow.Table.from_pylist([_row(source[i]) for i in group], schema=schema)
                writer.write_table(table, row_group_size=PER_GROUP)
                report(split, group.stop, len(source))
    return paths


def _row(puzzle: Puzzle) -> dict[str, Any]:
    grid, truth, turns = puzzle.known_grid, puzzle.truth, puzzle.true_turns
    if grid is None:
        raise InputError(f"{puzzle.puzzle_id}: a table tells the grid of every puzzle")
    return {
        "puzzle_id": puzzle.puzzle_id,
        "pieces": [
            {"bytes": _png(piece), "path": f"{i}.png"} for i, piece in enumerate(puzzle.pieces)
        ],
        "position_of": None if truth is None else truth.tolist(),
        "turns": None if turns is None else turns.tolist(),
        "rows": grid.rows,
        "cols": grid.cols,
    }


def _png(piece: Any) -> bytes:
    stream = BytesIO()
    to_image(piece).save(stream, "PNG", compress_level=6)
    return stream.getvalue()


def _schema(arrow: Any, source: PuzzleSource, rows: range) -> Any:
    whole = arrow.list_(arrow.int64())
    picture = arrow.struct([("bytes", arrow.binary()), ("path", arrow.string())])
    told = {
        "version": VERSION,
        "conditions": None if source.conditions.is_closed else asdict(source.conditions),
        "rows": [rows.start, rows.stop],
        "source": _digest(source),
    }
    return arrow.schema(
        [
            ("puzzle_id", arrow.string()),
            ("pieces", arrow.list_(picture)),
            ("position_of", whole),
            ("turns", whole),
            ("rows", arrow.int64()),
            ("cols", arrow.int64()),
        ],
        metadata={
            b"huggingface": json.dumps({"info": {"features": FEATURES}}).encode(),
            KEY: json.dumps(told).encode(),
        },
    )  # fmt: skip


def _digest(source: PuzzleSource) -> str:
    """What tells one source from another without reading all of its pixels."""
    truths, turns = source.truths(), source.turns()
    digest = blake2b(digest_size=12)
    for array in (truths, turns, source[0].pieces, source[-1].pieces):
        digest.update(b"" if array is None else array.tobytes())
    facts = [len(source), str(source.grid), sum(path.stat().st_size for path in source.files())]
    digest.update(json.dumps(facts).encode())
    return digest.hexdigest()
