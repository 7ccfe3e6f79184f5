"""Arrays on disk: memory holds only what is being looked at, and no file stays open."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puzzleflow.core.errors import FormatError, OutputError
from puzzleflow.core.types import ByteArray
from puzzleflow.web.limits import NotFound


@dataclass(frozen=True)
class Kept:
    """An array in a file of its own, never changed."""

    path: Path
    shape: tuple[int, ...]

    @property
    def num_bytes(self) -> int:
        """On disk, but for a header."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def load(self) -> NDArray[Any]:
        """The whole array."""
        return self._read(None)

    def window(self, rows: slice, cols: slice) -> ByteArray:
        """A copy of a part of it; the rest is not read."""
        mapped = self._read("r")
        part: ByteArray = np.array(mapped[rows, cols])
        mapped._mmap.close()  # type: ignore[attr-defined]  # lets go of the file at once
        return part

    def _read(self, mode: Any) -> NDArray[Any]:
        try:
            array: NDArray[Any] = np.load(self.path, mmap_mode=mode, allow_pickle=False)
        except OSError as error:
            raise NotFound("its files are gone: it was closed, or somebody removed them") from error
        except ValueError as error:
            raise FormatError(f"{self.path.name}: damaged ({error})") from error
        if array.shape != self.shape:
            raise FormatError(f"{self.path.name}: {array.shape} instead of {self.shape}")
        return array


def keep(folder: Path, array: NDArray[Any]) -> Kept:
    """Write an array into ``folder``, which is made again if somebody removed it."""
    path = folder / f"{secrets.token_hex(6)}.npy"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as stream:
            np.save(stream, np.ascontiguousarray(array))
    except OSError as error:
        path.unlink(missing_ok=True)
        raise OutputError(f"no room for the pictures: {error.strerror or error}") from error
    return Kept(path, array.shape)


def kept_before(folder: Path, name: str) -> Kept:
    """An array that an earlier program kept; its shape is read from the file's head."""
    if Path(name).name != name or not name.endswith(".npy"):
        raise FormatError(f"{name[:80]!r} is no name of an array")
    path = folder / name
    try:
        with path.open("rb") as stream:
            version = np.lib.format.read_magic(stream)
            if version != (1, 0):
                raise FormatError(f"{name}: no array of ours")
            shape, _, _ = np.lib.format.read_array_header_1_0(stream)
    except (OSError, ValueError) as error:
        raise FormatError(f"{name}: missing or damaged") from error
    return Kept(path, shape)
