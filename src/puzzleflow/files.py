"""Files: none half-written is ever seen under its final name, and only regular ones are read."""

from __future__ import annotations

import csv
import errno
import io
import json
import math
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from puzzleflow.core.ceiling import check_bytes, check_time, reading
from puzzleflow.core.errors import FormatError, InputError, OutputError, PuzzleFlowError


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


_STARTED_S = time.time()
_LIST_BYTES, _DICT_BYTES = 96, 256  # of a small one in memory, with its place in the one around
_NEW_FILE_MODE = 0o666 & ~_umask()  # asked once: setting the umask is not thread-safe


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Let every OSError of the block become an OutputError that names ``path``."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """A temporary path that takes the place of ``path`` when the block succeeds.

    The temporary file lies beside the final one (links are followed), carries the
    number of this process and ends in ``.part``, so give ``np.save`` and the like
    an open file, not the path: they would append a suffix. A device such as
    /dev/stdout is written to, never replaced. Every OSError becomes an OutputError
    that names ``path``.
    """
    path = Path(path)
    target = Path(os.path.realpath(path))
    replaceable = path.parent != Path("/dev") and (target.is_file() or not target.exists())
    with writing(path):
        if target.is_dir():
            raise IsADirectoryError(None, "a folder is in the way")
        if replaceable:
            target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(
            prefix=f".{target.name[:40]}.{os.getpid()}.",
            suffix=".part",
            dir=target.parent if replaceable else None,
        )
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            with temporary.open("rb") as stream:
                os.fsync(stream.fileno())
                if not replaceable:
                    with _open_device(path) as device:
                        shutil.copyfileobj(stream, device)
            if replaceable:
                temporary.chmod(_NEW_FILE_MODE)
                temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


def _open_device(path: Path) -> BinaryIO:
    """A device or a pipe, opened for writing; a pipe that nobody reads from is not waited for."""
    waiting = getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | waiting)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise OSError(errno.ENXIO, "nobody reads from this pipe") from error
        raise
    if waiting:
        os.set_blocking(handle, True)
    return os.fdopen(handle, "wb")


@contextmanager
def atomic_folder(path: str | Path) -> Iterator[Path]:
    """A temporary folder that becomes ``path``, which is not there yet, when the block succeeds.

    It is named as the files of :func:`atomic_path` are, and errors are told as there.
    """
    path = Path(path)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        prefix = f".{path.name[:40]}.{os.getpid()}."
        temporary = Path(tempfile.mkdtemp(prefix=prefix, suffix=".part", dir=path.parent))
        try:
            inside = temporary / "whole"  # with the rights of a new folder, which mkdtemp's has not
            inside.mkdir()
            yield inside
            inside.rename(path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def remove_stale_parts(folder: Path) -> None:
    """Remove what :func:`atomic_path` and its like left below ``folder`` when they were killed."""
    for part in folder.rglob(".*.part"):
        owner = part.name.split(".")[-3]
        with suppress(OSError):
            if owner.isdecimal() and not _is_alive(int(owner), part.stat().st_mtime):
                shutil.rmtree(part) if part.is_dir() else part.unlink()


def _is_alive(process: int, then_s: float) -> bool:
    """Whether the process that wrote at a time is still there."""
    if process == os.getpid():
        return then_s >= _STARTED_S  # containers give the same number again and again
    if os.name != "posix":
        return True  # asking would end it
    try:
        os.kill(process, 0)
    except (OSError, OverflowError) as error:
        return isinstance(error, PermissionError)
    return True


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write ``content`` whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)


def plain_text(name: str) -> str:
    """A file name as text that every file takes: bytes that are no UTF-8 become U+FFFD."""
    return name.encode(errors="surrogateescape").decode(errors="replace")


def write_text(path: str | Path, content: str) -> None:
    r"""Write ``content`` as UTF-8, whole or not at all.

    The bytes of a file name that is no UTF-8 become ``\udcXX``, which JSON reads back.
    """
    write_bytes(path, content.encode(errors="backslashreplace"))


def write_json(path: str | Path, content: Any) -> None:
    """Write JSON that every reader accepts."""
    write_text(path, json_text(content))


def json_text(content: Any) -> str:
    """JSON with a line end: NumPy becomes plain, NaN becomes null."""
    return json.dumps(_plain(content), indent=2, ensure_ascii=False) + "\n"


class WatchedReader(io.BufferedReader):
    """A stream that asks before every read whether the file has taken too long already."""

    def read(self, size: int | None = -1, /) -> bytes:
        check_time()
        return super().read(size)


def open_regular(path: str | Path) -> BinaryIO:
    """The file, opened for reading; a pipe or a device, which may never end, is refused."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "Is a directory", str(path))
        if not stat.S_ISREG(mode):
            raise InputError(f"{path}: no regular file")
        return WatchedReader(io.FileIO(handle))
    except BaseException:
        os.close(handle)
        raise


def read_regular(path: str | Path, *, times: int = 1) -> bytes:
    """The whole of a regular file, which takes ``times`` its size; an OSError stays one."""
    with open_regular(path) as stream:
        check_bytes(times * os.fstat(stream.fileno()).st_size, f"{path}: its content")
        return stream.read()


@contextmanager
def foreign(path: Path, expected: str) -> Iterator[None]:
    """Turn what a library raises on a missing, damaged or foreign file into our errors.

    Libraries raise almost anything on damaged files; only what the operating system says, with
    a number, says something of the file's name. EINVAL does not: damage sent a library to a place
    that no file has.
    """
    try:
        yield
    except PuzzleFlowError:
        raise
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
    except Exception as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise InputError(f"{path}: {error.strerror or error}") from error
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise FormatError(f"{path}: expected {expected} ({reason})") from error


def read_table(path: str | Path) -> list[list[str]]:
    """The rows of a CSV file in UTF-8, fields of any length; errors name the file."""
    try:
        with reading(path):
            text = read_regular(path, times=8).decode("utf-8-sig")
            csv.field_size_limit(max(csv.field_size_limit(), len(text)))
            rows = []
            for row in csv.reader(io.StringIO(text, newline="")):
                check_time()
                rows.append(row)
            return rows
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"{path}: expected a CSV table ({error})") from error


def format_table(rows: Iterable[Iterable[object]]) -> str:
    """CSV with LF after each row, every field of which reads back as it was, line ends included."""
    lines = []
    for row in rows:
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\r\n").writerow(row)  # quotes both CR and LF
        lines.append(text.getvalue().removesuffix("\r\n") + "\n")
    return "".join(lines)


def read_json(path: str | Path) -> Any:
    """Parsed JSON, or an error that names the file."""
    try:
        content = read_regular(path, times=8)
        inner = _LIST_BYTES * content.count(b"[") + _DICT_BYTES * content.count(b"{")
        check_bytes(8 * len(content) + inner, f"{path}: its content")
        return json.loads(content.decode("utf-8-sig"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:  # JSONDecodeError, UnicodeDecodeError
        raise FormatError(f"{path}: expected JSON ({error})") from error
    except RecursionError as error:
        raise FormatError(f"{path}: expected JSON, nested too deeply") from error


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
