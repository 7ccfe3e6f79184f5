"""NumPy files of unknown origin: never unpickled, never larger than they claim.

``.npy`` files are mapped, not read; members of an ``.npz`` are read only after
their header has been held against the size that the archive declares.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from puzzleflow.core.ceiling import check_bytes, reading
from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.files import atomic_path, foreign, open_regular

NPY_MAGIC = b"\x93NUMPY"
ZIP_MAGIC = b"PK\x03\x04"
_PART_BYTES = 1 << 20


def first_bytes(path: Path, count: int = 8) -> bytes:
    """The beginning of a file, or nothing where there is no readable regular file."""
    try:
        with open_regular(path) as stream:
            return stream.read(count)
    except (OSError, InputError):
        return b""


def _header(stream: IO[bytes], path: Path) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(stream)
    if version == (1, 0):
        shape, fortran, dtype = npy.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, fortran, dtype = npy.read_array_header_2_0(stream)
    else:
        raise FormatError(f"{path}: .npy version {version[0]}.{version[1]} is not supported")
    if dtype.hasobject:
        raise FormatError(f"{path}: holds pickled Python objects, which are never loaded")
    if dtype.itemsize == 0 and dtype.kind not in "US":
        raise FormatError(f"{path}: holds values of no size ({dtype})")
    if any(size < 0 for size in shape):
        raise FormatError(f"{path}: negative shape {shape}")
    return shape, fortran, dtype


def map_npy(path: str | Path) -> NDArray[Any]:
    """Read-only memory map of an ``.npy`` file; pages come from disk when touched."""
    path = Path(path)
    with foreign(path, "an .npy file"), reading(path):
        with open_regular(path) as stream:
            shape, fortran, dtype = _header(stream, path)
            offset = stream.tell()
        num_bytes = math.prod(shape) * dtype.itemsize
        present = path.stat().st_size - offset
        if present < num_bytes:
            raise FormatError(
                f"{path}: shape {shape} of {dtype} needs {num_bytes:,} bytes, {present:,} are there"
            )
        if num_bytes == 0:
            return np.zeros(shape, dtype)
        order = "F" if fortran else "C"
        return np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape, order=order)  # type: ignore[call-overload,no-any-return]


def read_npz(path: str | Path) -> dict[str, NDArray[Any]]:
    """Every array of an ``.npz`` archive."""
    path = Path(path)
    arrays: dict[str, NDArray[Any]] = {}
    with (
        foreign(path, "an .npz archive"),
        reading(path),
        open_regular(path) as file,
        zipfile.ZipFile(file) as archive,
    ):
        members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
        if len(members) > 1000:
            raise FormatError(f"{path}: {len(members)} arrays are too many")
        check_bytes(sum(info.file_size for info in members), f"{path}: what it unpacks to")
        for info in members:
            with archive.open(info) as stream:
                arrays[info.filename[: -len(".npy")]] = _member(stream, info.file_size, path)
    return arrays


def _member(stream: IO[bytes], file_size: int, path: Path) -> NDArray[Any]:
    shape, fortran, dtype = _header(stream, path)
    num_bytes = math.prod(shape) * dtype.itemsize
    if file_size - stream.tell() != num_bytes:
        raise FormatError(f"{path}: an array of shape {shape} and {dtype} is cut short")
    content = np.empty(num_bytes, np.uint8)  # filled in place: it is never there twice
    filled = 0
    while filled < num_bytes and (part := stream.read(min(_PART_BYTES, num_bytes - filled))):
        content[filled : filled + len(part)] = np.frombuffer(part, np.uint8)
        filled += len(part)
    if filled < num_bytes or stream.read(1):  # to the end: that is where its checksum is checked
        raise FormatError(f"{path}: an array of shape {shape} and {dtype} is cut short")
    if num_bytes == 0:
        return np.zeros(shape, dtype)
    return content.view(dtype).reshape(shape, order="F" if fortran else "C")


def write_npz(path: str | Path, arrays: Mapping[str, Any]) -> None:
    """Compressed ``.npz``, atomically; the same arrays give the same bytes."""
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, **arrays)


def write_npy(path: str | Path, array: NDArray[Any]) -> None:
    """``.npy``, atomically."""
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        npy.write_array(stream, array, allow_pickle=False)
