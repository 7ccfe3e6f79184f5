"""Puzzles as Parquet tables, which ``datasets.load_dataset`` opens too.

A row is a puzzle: ``puzzle_id``, ``pieces`` (PNGs with alpha), ``position_of`` (piece →
position, row-major; null without truth), ``turns`` (null where pieces lie upright), ``rows`` and
``cols``. What may be amiss stands in the metadata of the file. A folder holds
``SPLIT-00000-of-00003.parquet`` and so on, itself or in ``data/``. The same
puzzles give the same bytes when written, and a killed run goes on.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from puzzleflow.core.assignment import as_permutation, as_placement, as_turns
from puzzleflow.core.ceiling import check_bytes, check_puzzle
from puzzleflow.core.conditions import CLOSED, Conditions
from puzzleflow.core.errors import FormatError, InputError, naming
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.records import from_json
from puzzleflow.core.types import IntArray
from puzzleflow.files import atomic_path, foreign, open_regular
from puzzleflow.pictures import encoded, read_picture
from puzzleflow.storage.arrays import first_bytes
from puzzleflow.storage.source import SPLITS, PuzzleSource, chosen_split, split_named

MAGIC = b"PAR1"
KEY = b"puzzleflow"  # of the metadata
SMALL = ("puzzle_id", "position_of", "turns", "rows", "cols")  # columns that are read whole
_COPIES = 4  # of the bytes of a row group while it is read
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


class _Table(NamedTuple):
    """One file: its puzzles without their pieces, and where its row groups begin."""

    path: Path
    rows: list[dict[str, Any]]
    starts: list[int]
    conditions: str


class ParquetSource(PuzzleSource):
    """Puzzles of a Parquet file, or of all files of a split in a folder."""

    kind = "parquet"
    looks_like = "Parquet tables of puzzles (SPLIT-00000-of-00001.parquet)"

    def __init__(
        self, path: str | Path, *, split: str | None = None, grid: Grid | None = None
    ) -> None:
        super().__init__(path, split=split, grid=grid)
        self._tables = [_read_table(file) for file in self._find_files()]
        told = {table.conditions for table in self._tables}
        if len(told) > 1:
            raise FormatError(f"{self.path}: its files tell different conditions")
        with naming(self._tables[0].path):
            text = told.pop()
            self._conditions = from_json(Conditions, json.loads(text)) if text else CLOSED
        self._rows = [row for table in self._tables for row in table.rows]
        if not self._rows:
            raise InputError(f"{self.path}: holds no puzzles")
        self._grids = [self._grid_of(index) for index in range(len(self._rows))]
        self._firsts = [0, *accumulate(len(table.rows) for table in self._tables)]
        self._group: tuple[Path, int, list[Any]] | None = None  # the row group read last

    @classmethod
    def recognise(cls, path: Path) -> bool:
        if path.is_dir():
            return bool(_files_below(path))
        return first_bytes(path, 4) == MAGIC

    @classmethod
    def splits(cls, path: Path) -> list[str]:
        return [split for split in _files_below(path) if split] if path.is_dir() else []

    def _find_files(self) -> list[Path]:
        if not self.path.is_dir():
            return [self.path]
        found = _files_below(self.path)
        if not found:
            raise InputError(f"{self.path}: no Parquet tables in it")
        split = chosen_split(self.path, found, self.split)
        self.split = split or None
        return found[split]

    def _grid_of(self, index: int) -> Grid:
        row = self._rows[index]
        with naming(self._file_of(index)):
            return self._asked_grid or Grid(row["rows"], row["cols"])

    def _file_of(self, index: int) -> Path:
        for table in self._tables:
            if index < len(table.rows):
                return table.path
            index -= len(table.rows)
        raise IndexError(index)

    @property
    def conditions(self) -> Conditions:
        return self._conditions

    @property
    def grid(self) -> Grid | None:
        return self._grids[0] if len(set(self._grids)) == 1 else None

    @property
    def has_truth(self) -> bool:
        return all(row["position_of"] is not None for row in self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def puzzle_id(self, index: int) -> str:
        return str(self._rows[index]["puzzle_id"])

    def truths(self) -> IntArray | None:
        if self.grid is None or not self.has_truth:
            return None
        return self._stacked([self._truth(index) for index in range(len(self))])

    def turns(self) -> IntArray | None:
        if not self._conditions.turned or any(row["turns"] is None for row in self._rows):
            return None
        return self._stacked([self._turns(index) for index in range(len(self))])

    def _stacked(self, rows: list[IntArray | None]) -> IntArray:
        known = [row for row in rows if row is not None]
        if len({len(row) for row in known}) > 1:
            raise FormatError(f"{self.path}: its puzzles differ in their number of pieces")
        return np.stack(known)

    def _truth(self, index: int) -> IntArray | None:
        told = self._rows[index]["position_of"]
        if told is None:
            return None
        with naming(f"{self._file_of(index)}: puzzle {index}"):
            if self._conditions.is_complete:
                return as_permutation(told, self._grids[index].num_pieces)
            return as_placement(told, len(told), self._grids[index].num_pieces)

    def _turns(self, index: int) -> IntArray | None:
        told = self._rows[index]["turns"]
        with naming(f"{self._file_of(index)}: puzzle {index}"):
            return None if told is None else as_turns(told, len(told))

    def read(self, index: int) -> Puzzle:
        number = bisect_right(self._firsts, index) - 1
        table, row = self._tables[number], index - self._firsts[number]
        with naming(f"{table.path}: puzzle {index}"):
            cells = [read_picture(png, "RGBA") for png in self._pngs(table, row)]
            sizes = {cell.shape for cell in cells}
            if len(sizes) != 1:
                raise FormatError(f"expected pieces of one size, found {len(sizes)}")
            check_puzzle(len(cells), *cells[0].shape[:2])
            return Puzzle(
                np.stack(cells),
                self._grids[index],
                self._truth(index),
                puzzle_id=self.puzzle_id(index),
                conditions=self._conditions,
                true_turns=self._turns(index) if self._conditions.turned else None,
            )

    def _pngs(self, table: _Table, row: int) -> list[bytes]:
        group = bisect_right(table.starts, row) - 1
        if self._group is None or self._group[:2] != (table.path, group):
            with _opened(table.path) as file:
                column = _read_group(file, group, ["pieces"], table.path)
                self._group = (table.path, group, column.column("pieces").to_pylist())
        pieces = self._group[2][row - table.starts[group]]
        found = [piece["bytes"] for piece in pieces or [] if piece and piece.get("bytes")]
        if not found or len(found) != len(pieces):
            raise FormatError("expected pieces, each with the bytes of a picture")
        return found

    def describe(self) -> dict[str, Any]:
        return {"tables": len(self._tables)}

    def files(self) -> list[Path]:
        return [table.path for table in self._tables]

    def close(self) -> None:
        self._group = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_group": None}


def _files_below(folder: Path) -> dict[str, list[Path]]:
    """Parquet files by split, in the order train, val, test; "" for files that name none."""
    found: dict[str, list[Path]] = {}
    for path in sorted([*folder.glob("*.parquet"), *folder.glob("data/*.parquet")]):
        word = re.split(r"[-_.]", path.name)[0]
        found.setdefault(split_named(word) or "", []).append(path)
    return {split: found[split] for split in (*SPLITS, "") if split in found}


def _read_table(path: Path) -> _Table:
    with _opened(path) as file:
        columns = set(file.schema_arrow.names)
        if missing := {"pieces", *SMALL} - columns:
            raise FormatError(
                f"{path}: a Parquet table, but not one of puzzles: it has no column "
                f"{', '.join(sorted(missing))}"
            )
        rows: list[dict[str, Any]] = []
        starts = []
        for group in range(file.num_row_groups):
            starts.append(len(rows))
            rows += _read_group(file, group, SMALL, path).to_pylist()
        if len(set(starts)) < len(starts):
            raise FormatError(f"{path}: a row group without rows")
        told = (file.schema_arrow.metadata or {}).get(KEY, b"{}")
        conditions = json.loads(told).get("conditions")
    return _Table(path, rows, starts, json.dumps(conditions) if conditions else "")


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """The file, opened; what the library raises on damaged ones as one of our errors."""
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise InputError(f"{path}: Parquet needs pip install 'puzzleflow[hub]'") from error
    with (
        foreign(path, "a readable Parquet table"),
        open_regular(path) as stream,
        parquet.ParquetFile(stream) as file,
    ):
        yield file


def _read_group(file: Any, group: int, columns: Sequence[str], path: Path) -> Any:
    """Some columns of a row group, unless it claims to be larger than the ceiling.

    Its size is that of all its columns: asked for one column's, the library ends the process
    where the footer is damaged.
    """
    size = file.metadata.row_group(group).total_byte_size
    check_bytes(_COPIES * max(0, size), f"{path}: row group {group}")
    return file.read_row_group(group, columns=list(columns), use_threads=False)


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
            {"bytes": encoded(piece, "PNG", compress_level=6), "path": f"{i}.png"}
            for i, piece in enumerate(puzzle.pieces)
        ],
        "position_of": None if truth is None else truth.tolist(),
        "turns": None if turns is None else turns.tolist(),
        "rows": grid.rows,
        "cols": grid.cols,
    }


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
