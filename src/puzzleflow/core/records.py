"""Dataclasses out of parsed JSON, every field of the type that it claims."""

from __future__ import annotations

import dataclasses
import math
import reprlib
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, Self, TypeVar, get_args, get_origin, get_type_hints

from puzzleflow.core.errors import FormatError

Record = TypeVar("Record")
_WORDS = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    tuple: "a list",
    dict: "an object",
}
RARELY = {"rarely": True}  # metadata of a field that is mostly None, and then not written
_INT_LIMIT = 1 << 63  # beyond, NumPy has no name for a number


def from_json(kind: type[Record], value: Any) -> Record:
    """The dataclass ``kind`` of a JSON object: no field missing, unknown or of another type.

    Fields are int, float, str, bool, tuple[X, ...], dict[str, X], dataclasses, or one of them
    or None.
    """
    made: Record = _dataclass(kind, value, kind.__name__)
    return made


class Saved:
    """Of dataclasses that are saved as JSON beside the weights of what they describe."""

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)  # type: ignore[call-overload,no-any-return]

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """From JSON, of which a stranger may have written every value."""
        return from_json(cls, values)


def to_json(value: Any) -> Any:
    """A dataclass as a JSON object; fields with metadata :data:`RARELY` only if they are told."""
    if isinstance(value, tuple):
        return [to_json(item) for item in value]
    if not dataclasses.is_dataclass(value):
        return value
    told = ((f, getattr(value, f.name)) for f in dataclasses.fields(value))
    return {f.name: to_json(v) for f, v in told if v is not None or "rarely" not in f.metadata}


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
        if found in (list, tuple):
            return tuple(_value(inner, item, name) for item in value)
    elif get_origin(kind) is dict:  # dict[str, X]
        kind, (_, inner) = dict, get_args(kind)
        if found is dict:
            return {key: _value(inner, item, f"{name}.{key[:40]}") for key, item in value.items()}
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
