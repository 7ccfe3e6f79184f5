"""HDF5 files of unknown origin: one checked dataset at a time, errors that name the file."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from puzzleflow.core.ceiling import check_bytes
from puzzleflow.core.errors import FormatError
from puzzleflow.files import foreign, open_regular

SIGNATURE = b"\x89HDF\r\n\x1a\n"
BYTES_PER_CHUNK = 4096  # that HDF5 takes for every chunk of a selection, however small
CACHE_BYTES = 512 << 20  # what h5py's own chunks of 14,000 GAP-3 puzzles need
_BUILT_IN_FILTERS = {1: "deflate", 2: "shuffle", 3: "fletcher32", 4: "szip", 5: "nbit", 6: "scale"}


def reading(path: Path) -> AbstractContextManager[None]:
    """While h5py reads a file of unknown origin."""
    return foreign(path, "a readable HDF5 file")


def open_file(path: Path) -> h5py.File:
    """The file, opened for reading; no lock is taken, so read-only media work."""
    with reading(path):
        open_regular(path).close()
        return h5py.File(path, "r", locking=False)


def only_dataset(file: h5py.File, path: Path, key: str) -> str:
    """``key`` if the file has it, else the name of the single dataset in it."""
    with reading(path):
        names = list(file)
        if key in names:
            return key
        if len(names) == 1:
            return str(names[0])
        held = ", ".join(sorted(names)[:10]) or "nothing"
    raise FormatError(f"{path}: expected a dataset {key!r}, found {held}")


def open_dataset(file: h5py.File, path: Path, key: str) -> h5py.Dataset:
    """The dataset with a chunk cache that lets neighbouring puzzles share chunks.

    Links to other files, external and virtual storage are refused: a data file
    never makes us read another one.
    """
    with reading(path):
        if not isinstance(file.get(key, getlink=True), h5py.HardLink):
            raise FormatError(f"{path}: {key!r} is a link, expected a dataset")
        dataset = file[key]
        if not isinstance(dataset, h5py.Dataset):
            raise FormatError(f"{path}: {key!r} is no dataset")
        if dataset.shape is None or dataset.external or dataset.is_virtual:
            raise FormatError(f"{path}: {key!r} does not hold its values itself")
        _check_filters(dataset, path)
        chunks = dataset.chunks
        if chunks is None:
            return dataset
        chunk_bytes = math.prod(chunks) * dataset.dtype.itemsize
        check_bytes(2 * chunk_bytes, f"{path}: a chunk of {chunk_bytes:,} bytes")
        per_slab = _chunks_across(dataset.shape[1:], chunks[1:])
        check_bytes(per_slab * BYTES_PER_CHUNK, f"{path}: one of {dataset.shape}, in tiny chunks,")
        access = h5py.h5p.create(h5py.h5p.DATASET_ACCESS)
        needed = min(CACHE_BYTES, max(1 << 20, per_slab * chunk_bytes))
        access.set_chunk_cache(max(521, min(per_slab * 10, 1 << 20) | 1), needed, 0.75)
        dataset.id.close()  # an open handle would keep its small cache
        return h5py.Dataset(h5py.h5d.open(file.id, key.encode(), access))


def read_whole(dataset: h5py.Dataset, path: Path) -> NDArray[Any]:
    """Every value of a dataset, if they and the bookkeeping of their chunks fit in memory."""
    with reading(path):
        num_chunks = _chunks_across(dataset.shape, dataset.chunks) if dataset.chunks else 1
        needed = math.prod(dataset.shape) * max(1, dataset.dtype.itemsize)
        check_bytes(
            needed + num_chunks * BYTES_PER_CHUNK,
            f"{path}: {dataset.dtype} of shape {dataset.shape} in {num_chunks:,} parts",
        )
        return np.asarray(dataset[()])


def _chunks_across(shape: tuple[int, ...], chunks: tuple[int, ...]) -> int:
    """How many chunks cover ``shape``."""
    return math.prod(-(-size // chunk) for size, chunk in zip(shape, chunks, strict=True))


def _check_filters(dataset: h5py.Dataset, path: Path) -> None:
    for number, name in _filters(dataset):
        if not h5py.h5z.filter_avail(number):
            raise FormatError(
                f"{path}: compressed with {name or 'a filter'} (number {number}), "
                "which this h5py cannot read"
            )


def _filters(dataset: h5py.Dataset) -> list[tuple[int, str]]:
    created = dataset.id.get_create_plist()
    filters = [created.get_filter(index) for index in range(created.get_nfilters())]
    return [(entry[0], entry[3].decode(errors="replace")) for entry in filters]


def storage_facts(dataset: h5py.Dataset) -> dict[str, Any]:
    """How a dataset lies on disk: JSON values for ``inspect``."""
    facts: dict[str, Any] = {
        "shape": list(dataset.shape),
        "dtype": str(dataset.dtype),
        "chunks": None if dataset.chunks is None else list(dataset.chunks),
        "filters": [_BUILT_IN_FILTERS.get(number, name) for number, name in _filters(dataset)],
        "compression_level": dataset.compression_opts if dataset.compression == "gzip" else None,
        "stored_bytes": dataset.id.get_storage_size(),
        "raw_bytes": math.prod(dataset.shape) * dataset.dtype.itemsize,
    }
    if dataset.chunks is not None:
        facts["chunks_written"] = dataset.id.get_num_chunks()
        facts["chunks_expected"] = _chunks_across(dataset.shape, dataset.chunks)
        per_slab = _chunks_across(dataset.shape[1:], dataset.chunks[1:])
        facts["bytes_per_random_read"] = (
            per_slab * math.prod(dataset.chunks) * dataset.dtype.itemsize
        )
    return facts
