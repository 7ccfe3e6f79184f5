"""NumPy files from strangers: never unpickled, never larger than they claim.

``.npy`` files are mapped, not read; members of an ``.npz`` are read only after
their header has been held against the size that the archive declares.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from puzzleflow.core.errors import FormatError, InputError, PuzzleFlowError
from puzzleflow.files import atomic_path

NPY_MAGIC = b"\x93NUMPY"
ZIP_MAGIC = b"PK\x03\x04"
MAX_MEMBER_BYTES = 1 << 30


def first_bytes(path: Path, count: int = 8) -> bytes:
    """The beginning of a file, or nothing where there is no readable file."""
    try:
        with path.open("rb") as stream:
            return stream.read(count)
    except OSError:
        return b""


@contextmanager
def _reading(path: Path, expected: str) -> Iterator[None]:
    try:
        yield
    except PuzzleFlowError:
        raise
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except Exception as error:  # NumPy and zipfile raise almost anything on damaged files
        reason = " ".join(str(error).split())[:200]
        raise FormatError(f"{path}: expected {expected} ({reason})") from error


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
    with _reading(path, "an .npy file"):
        with path.open("rb") as stream:
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
    """Every array of an ``.npz`` archive, each at most 1 GiB."""
    path = Path(path)
    arrays: dict[str, NDArray[Any]] = {}
    with _reading(path, "an .npz archive"), zipfile.ZipFile(path) as archive:
        members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
        if len(members) > 1000:
            raise FormatError(f"{path}: {len(members)} arrays are too many")
        if sum(info.file_size for info in members) > MAX_MEMBER_BYTES:
            raise FormatError(f"{path}: unpacks to more than {MAX_MEMBER_BYTES:,} bytes")
        for info in members:
            with archive.open(info) as stream:
                arrays[info.filename[: -len(".npy")]] = _member(stream, info.file_size, path)
    return arrays


def _member(stream: IO[bytes], file_size: int, path: Path) -> NDArray[Any]:
    content = stream.read(file_size)
    buffer = io.BytesIO(content)
    shape, fortran, dtype = _header(buffer, path)
    num_values = math.prod(shape)
    if len(content) - buffer.tell() != num_values * dtype.itemsize:
        raise FormatError(f"{path}: an array of shape {shape} and {dtype} is cut short")
    if num_values * dtype.itemsize == 0:
        return np.zeros(shape, dtype)
    array = np.frombuffer(content, dtype, offset=buffer.tell()).copy()
    return array.reshape(shape, order="F" if fortran else "C")


def write_npz(path: str | Path, arrays: Mapping[str, Any]) -> None:
    """Compressed ``.npz``, atomically; the same arrays give the same bytes."""
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, **arrays)


def write_npy(path: str | Path, array: NDArray[Any]) -> None:
    """``.npy``, atomically."""
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        npy.write_array(stream, array, allow_pickle=False)
