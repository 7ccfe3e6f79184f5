"""Numbers and names from the text files and JSON of others."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.types import FloatArray
from puzzleflow.files import read_regular
from puzzleflow.storage.free_form.source import MAX_POSE


def read_lines(path: Path) -> list[list[str]]:
    """Words of every line that is not blank."""
    try:
        lines = read_regular(path).decode("utf-8-sig").splitlines()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: expected text ({error})") from error
    return [words for words in map(str.split, lines) if words]


def number(text: str | None, path: Path) -> float:
    """A finite number of sensible size."""
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not abs(value) <= MAX_POSE:
        raise FormatError(f"{path}: expected a number, got {str(text)[:40]!r}")
    return value


def whole(text: str, path: Path) -> int:
    """A whole number that is not negative."""
    value = number(text, path)
    if value < 0 or value != int(value):
        raise FormatError(f"{path}: expected the number of a fragment, got {text[:40]!r}")
    return int(value)


def numbers(values: Any, count: int, what: object) -> FloatArray:
    """(count,) finite numbers of a JSON list."""
    fine = isinstance(values, list) and len(values) == count
    if fine:
        fine = all(isinstance(v, int | float) and abs(v) <= MAX_POSE for v in values)
    if not fine:
        raise FormatError(f"{what}: expected {count} numbers, got {str(values)[:60]}")
    return np.array(values, dtype=np.float64)


def plain_name(value: Any, path: Path) -> str:
    """A file name that leads nowhere else."""
    if not isinstance(value, str) or not value or Path(value).name != value or "\0" in value:
        raise FormatError(f"{path}: expected a file name, got {str(value)[:60]!r}")
    return value
