"""Writing GAP folders: the same puzzles give the same bytes.

One puzzle is one HDF5 chunk, and the bytes of that chunk are made by
:class:`GapCodec` alone, in any process. The files are written in one pass;
``puzzles.h5`` takes its name last, so a folder is never recognised before it
is whole.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from puzzleflow.core.errors import InputError, OutputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.types import ByteArray, IntArray
from puzzleflow.files import atomic_path, write_json

PUZZLES = "puzzles.h5"
INDICES = "labels_indices.h5"
COORDINATES = "labels_coordinates.h5"
METADATA = "metadata.json"
REFERENCE = "reference.h5"
_PARTS = struct.Struct("<QQ")  # bytes of the pieces, bytes of the reference


@dataclass(frozen=True)
class GapCodec:
    """Puzzle ↔ payload; picklable, so that workers can compress.

    level      gzip level 0..9, or None for uncompressed chunks
    labels     every puzzle brings its truth
    reference  every puzzle brings its unbroken picture (rows*H, cols*W, 3)
    """

    grid: Grid
    piece_px: tuple[int, int]
    level: int | None = 4
    labels: bool = True
    reference: bool = False

    @property
    def pieces_shape(self) -> tuple[int, ...]:
        return (self.grid.num_pieces, *self.piece_px, 4)

    @property
    def reference_shape(self) -> tuple[int, ...]:
        return self.grid.rows * self.piece_px[0], self.grid.cols * self.piece_px[1], 3

    def encode(self, puzzle: Puzzle, reference: ByteArray | None = None) -> bytes:
        """The truth and the finished HDF5 chunks of one puzzle."""
        if puzzle.grid != self.grid or puzzle.pieces.shape != self.pieces_shape:
            raise InputError(
                f"puzzle {puzzle.puzzle_id!r}: {puzzle.grid} pieces of shape "
                f"{puzzle.pieces.shape} among {self.grid} pieces of shape {self.pieces_shape}"
            )
        if (puzzle.truth is None) == self.labels:
            raise InputError(f"puzzle {puzzle.puzzle_id!r}: either all puzzles have truth or none")
        if (reference is not None) != self.reference:
            raise InputError(f"puzzle {puzzle.puzzle_id!r}: reference for all puzzles or for none")
        if reference is not None and reference.shape != self.reference_shape:
            raise InputError(f"reference of shape {reference.shape}, not {self.reference_shape}")
        truth = b"" if puzzle.truth is None else puzzle.truth.astype("<i8").tobytes()
        pieces = self._chunk(puzzle.pieces)
        picture = b"" if reference is None else self._chunk(reference)
        return b"".join([_PARTS.pack(len(pieces), len(picture)), pieces, picture, truth])

    def _chunk(self, array: ByteArray) -> bytes:
        raw = np.ascontiguousarray(array).tobytes()
        return raw if self.level is None else zlib.compress(raw, self.level)

    def split(self, payload: bytes) -> tuple[bytes, bytes, IntArray | None]:
        """Chunk of the pieces, chunk of the reference, truth (N,)."""
        num_pieces_bytes, num_reference_bytes = _PARTS.unpack_from(payload)
        first = _PARTS.size + num_pieces_bytes
        second = first + num_reference_bytes
        truth = None
        if self.labels:  # a copy: a view would keep the whole payload in memory
            truth = np.frombuffer(payload, "<i8", offset=second).astype(np.int64)
        return payload[_PARTS.size : first], payload[first:second], truth


def write_gap_split(
    folder: str | Path,
    puzzles: Iterable[Puzzle],
    num_puzzles: int,
    grid: Grid,
    piece_px: int | tuple[int, int],
    *,
    compression: str | None = "gzip",
    compression_level: int = 4,
    labels: bool = True,
    references: Iterable[ByteArray] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Write exactly ``num_puzzles`` puzzles in one pass, holding one at a time."""
    codec = GapCodec(
        grid,
        _pair(piece_px),
        _level(compression, compression_level),
        labels,
        references is not None,
    )
    if references is None:
        payloads: Iterator[bytes] = (codec.encode(puzzle) for puzzle in puzzles)
    else:
        payloads = (codec.encode(p, r) for p, r in zip(puzzles, references, strict=True))
    write_gap_files(Path(folder), payloads, num_puzzles, codec, metadata or {})


def write_gap_files(
    folder: Path,
    payloads: Iterator[bytes],
    num_puzzles: int,
    codec: GapCodec,
    metadata: Mapping[str, Any],
) -> None:
    """Write what ``codec.encode`` made of ``num_puzzles`` puzzles, holding one at a time."""
    if (folder / PUZZLES).exists():  # old labels beside new puzzles would lie
        raise OutputError(f"{folder / PUZZLES} is in the way; choose another folder")
    if num_puzzles < 1:
        raise InputError(f"{folder}: no puzzles to write")
    truths: list[IntArray] = []
    with ExitStack() as names:  # left in reverse: puzzles.h5 takes its name last
        puzzles_file = names.enter_context(_new_hdf5(folder / PUZZLES))
        puzzles = _chunked(puzzles_file, "puzzles", num_puzzles, codec.pieces_shape, codec.level)
        references = None
        if codec.reference:
            reference_file = names.enter_context(_new_hdf5(folder / REFERENCE))
            shape = codec.reference_shape
            references = _chunked(reference_file, "reference", num_puzzles, shape, codec.level)
        count = 0
        for count, payload in enumerate(payloads, start=1):
            if count > num_puzzles:
                break
            pieces, reference, truth = codec.split(payload)
            puzzles.id.write_direct_chunk((count - 1, 0, 0, 0, 0), pieces)
            if references is not None:
                references.id.write_direct_chunk((count - 1, 0, 0, 0), reference)
            if truth is not None:
                truths.append(truth)
        if count != num_puzzles:
            raise InputError(f"{folder}: {num_puzzles} puzzles were promised, not {count}")
        if codec.labels:
            indices = np.stack(truths)  # (M, N)
            cells = np.stack(np.divmod(indices, codec.grid.cols), axis=-1)  # (M, N, 2)
            for name, values in ((INDICES, indices), (COORDINATES, cells)):
                file = names.enter_context(_new_hdf5(folder / name))
                file.create_dataset("labels", data=values, dtype="<i8", track_times=False)
        write_json(folder / METADATA, _metadata(num_puzzles, codec) | dict(metadata))


@contextmanager
def _new_hdf5(path: Path) -> Iterator[h5py.File]:
    """A new HDF5 file that takes its name when the block succeeds."""
    with atomic_path(path) as temporary:
        try:
            with h5py.File(temporary, "w", libver="earliest") as file:
                yield file
        except RuntimeError as error:  # how h5py reports a failed flush
            raise OutputError(f"cannot write {path}: {error}") from error


def _chunked(
    file: h5py.File, key: str, num_puzzles: int, shape: tuple[int, ...], level: int | None
) -> h5py.Dataset:
    return file.create_dataset(
        key,
        (num_puzzles, *shape),
        np.uint8,
        chunks=(1, *shape),
        compression=None if level is None else "gzip",
        compression_opts=level,
        track_times=False,
    )


def _metadata(num_puzzles: int, codec: GapCodec) -> dict[str, Any]:
    grid = codec.grid
    return {
        "format": "GAP",
        "num_puzzles": num_puzzles,
        "num_pieces": grid.num_pieces,
        "grid": {"rows": grid.rows, "cols": grid.cols},
        "grid_size": grid.rows if grid.rows == grid.cols else None,
        "piece_size": list(codec.piece_px),
        "labels": "piece -> position, row-major" if codec.labels else None,
        "compression": None if codec.level is None else "gzip",
        "compression_level": codec.level,
    }


def _pair(piece_px: int | tuple[int, int]) -> tuple[int, int]:
    height, width = (piece_px, piece_px) if isinstance(piece_px, int) else piece_px
    return int(height), int(width)


def _level(compression: str | None, level: int) -> int | None:
    if compression not in ("gzip", None):
        raise InputError(f"compression {compression!r}: choose gzip or none")
    if not 0 <= level <= 9:
        raise InputError(f"gzip level {level}: choose 0 to 9")
    return level if compression == "gzip" else None
