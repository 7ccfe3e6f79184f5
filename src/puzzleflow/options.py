"""Options of things by name: what a class or function takes, checked in one place.

An option is a parameter with a type: bool, int, float, str, Path, or one of them or None.
``Annotated[int, Within(1)]`` bounds it. Text, as it comes from a command line, becomes
what the type asks for; what cannot is an :class:`InputError` that names the option.
"""

from __future__ import annotations

import inspect
import math
import types
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin

from puzzleflow.core.errors import InputError

_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
_WORDS |= {Path: "a path", type(None): "null"}
_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class Within:
    """The least and the greatest value that an option may have."""

    least: float | None = None
    most: float | None = None

    def __contains__(self, value: float) -> bool:
        return (self.least is None or value >= self.least) and (
            self.most is None or value <= self.most
        )

    def __str__(self) -> str:
        if self.most is None:
            return f" from {self.least:g}" if self.least is not None else ""
        return (
            f" of at most {self.most:g}"
            if self.least is None
            else (f" from {self.least:g} to {self.most:g}")
        )


@dataclass(frozen=True)
class Option:
    """One parameter of a factory; without known types anything is taken."""

    name: str
    kinds: tuple[type, ...]
    within: Within
    default: Any  # ``inspect.Parameter.empty`` where a value must be given
    help: str = ""  # a note of text in ``Annotated``

    @property
    def expected(self) -> str:
        """For example "a whole number from 1"."""
        kinds = [kind for kind in self.kinds if kind is not type(None)]
        kinds = [kind for kind in kinds if not (kind is Path and str in kinds)]
        return " or ".join(_WORDS[kind] for kind in kinds) + str(self.within)

    def checked(self, value: Any, what: str) -> Any:
        """``value`` as one of the types, text read as such; errors begin with ``what``."""
        if not self.kinds or (value is None and type(None) in self.kinds):
            return value
        for kind in self.kinds:
            with suppress(ValueError, KeyError):
                found = _as(kind, value)
                if isinstance(found, str | Path) or found in self.within:
                    return found
        shown = value if isinstance(value, str) else repr(value)
        raise InputError(f"{what}: {self.name}={shown}: expected {self.expected}")


def options_of(factory: Callable[..., Any]) -> dict[str, Option]:
    """The options of a class or function by name, in their order."""
    return {p.name: _option(p) for p in _parameters(factory).parameters.values() if _is_named(p)}


def checked_call(what: str, factory: Callable[..., Any], /, *given: Any, **options: Any) -> Any:
    """``factory(*given, **options)`` with every value checked; errors begin with ``what``."""
    known = options_of(factory)
    try:
        bound = _parameters(factory).bind(*given, **options)
    except TypeError as error:
        raise InputError(f"{what}: {error}; its options: {', '.join(known) or 'none'}") from error
    for name in bound.arguments.keys() & known.keys():
        bound.arguments[name] = known[name].checked(bound.arguments[name], what)
    return factory(*bound.args, **bound.kwargs)


def _parameters(factory: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(factory, eval_str=True)
    except NameError:  # types that are there for checkers alone
        return inspect.signature(factory)


def _is_named(parameter: inspect.Parameter) -> bool:
    return parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)


def _option(parameter: inspect.Parameter) -> Option:
    kind, notes = parameter.annotation, []
    if get_origin(kind) is Annotated:
        kind, *notes = get_args(kind)
    within = next((note for note in notes if isinstance(note, Within)), Within())
    told = next((note for note in notes if isinstance(note, str)), "")
    kinds = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
    known = kinds if all(isinstance(k, type) and k in _WORDS for k in kinds) else ()
    return Option(parameter.name, known, within, parameter.default, told)


def _as(kind: type, value: Any) -> Any:
    """``value`` as ``kind``; raises ValueError or KeyError."""
    if kind in (str, Path) and isinstance(value, str | Path):
        return value
    if kind is bool:
        return _FLAGS[str(value).lower()]
    if isinstance(value, bool):
        raise ValueError
    if kind is int and isinstance(value, str | Integral):
        return int(value)
    if kind is float and isinstance(value, str | Real) and math.isfinite(float(value)):
        return float(value)
    raise ValueError
