"""Dataclasses out of parsed JSON, every field of the type that it claims."""

from __future__ import annotations

import dataclasses
import math
import reprlib
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from puzzleflow.core.errors import FormatError

Record = TypeVar("Record")
_WORDS = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    tuple: "a list",
}
_INT_LIMIT = 1 << 63  # beyond, NumPy has no name for a number


def from_json(kind: type[Record], value: Any) -> Record:
    """The dataclass ``kind`` of a JSON object: no field missing, unknown or of another type.

    Fields are int, float, str, bool, tuple[X, ...], dataclasses, or one of them or None.
    """
    made: Record = _dataclass(kind, value, kind.__name__)
    return made


def _dataclass(kind: Any, value: Any, name: str) -> Any:
    if not isinstance(value, dict):
        raise FormatError(f"{name}: expected an object, found {reprlib.repr(value)}")
    types, required = _fields(kind)
    for problem, keys in (("unknown", value.keys() - types), ("missing", required - value.keys())):
        if keys:
            raise FormatError(f"{name}: {problem} {', '.join(sorted(map(reprlib.repr, keys)))}")
    return kind(**{key: _value(types[key], item, key) for key, item in value.items()})


@lru_cache
def _fields(kind: Any) -> tuple[dict[str, Any], frozenset[str]]:
    """Types of all fields, and the names of those without a default."""
    required = [f.name for f in dataclasses.fields(kind) if f.default is dataclasses.MISSING]
    return get_type_hints(kind), frozenset(required)


def _value(kind: Any, value: Any, name: str) -> Any:
    found = type(value)
    if found is kind:  # first, as most values are plain
        if not _is_broken(value):
            return value
    elif kind is float:
        if found is int and not _is_broken(value):
            return float(value)
    elif get_origin(kind) is UnionType:  # X | None
        (option,) = (option for option in get_args(kind) if option is not NoneType)
        return None if value is None else _value(option, value, name)
    elif get_origin(kind) is tuple:  # tuple[X, ...]
        kind, (inner, _) = tuple, get_args(kind)
        if found is list:
            return tuple(_value(inner, item, name) for item in value)
    elif dataclasses.is_dataclass(kind):
        return _dataclass(kind, value, name)
    raise FormatError(f"{name}: expected {_WORDS[kind]}, found {reprlib.repr(value)}")


def _is_broken(value: str | float) -> bool:
    """Whether it is infinite, too large, or has half a surrogate pair, which no file takes."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return True
        return False
    return abs(value) >= _INT_LIMIT if isinstance(value, int) else not math.isfinite(value)
