"""Everything that PuzzleFlow raises on purpose.

PuzzleFlowError
├── InputError              what the user gave cannot be used (exit status 2)
│   ├── FormatError         a file is damaged, foreign or of the wrong shape
│   ├── NotAPermutation     positions collide, are missing or out of range
│   ├── NotAGrid            a number of pieces or a text that is no grid
│   ├── UnknownName         no solver, preset, erosion or metric of that name
│   └── NoWeights           a solver that must be trained first, or told its weights
├── CannotSolve             a solver does not handle this kind of puzzle
└── OutputError             a result cannot be written (no space, no right, in the way)
"""

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Self


class PuzzleFlowError(Exception):
    """Base of every error that PuzzleFlow raises on purpose."""


class InputError(PuzzleFlowError):
    """What the user gave cannot be used."""


class FormatError(InputError):
    """A file is damaged, foreign, or not of the expected shape."""


class NotAPermutation(InputError):
    """Positions collide, are missing, or lie outside the grid."""


class NotAGrid(InputError):
    """A number of pieces, or a text, that describes no grid."""


class UnknownName(InputError):
    """No registered thing has this name."""

    def __init__(self, kind: str, name: str, known: Iterable[object]) -> None:
        self._parts = (kind, name, [str(k) for k in known])
        choices = ", ".join(sorted(self._parts[2]))
        super().__init__(f"unknown {kind} {name!r}; known: {choices}")

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, list[str]]]:
        return type(self), self._parts  # so that it survives the way back from a worker


def check_known(kind: str, name: str, known: Collection[object]) -> str:
    """``name`` itself, or an :class:`UnknownName` that lists the known names."""
    if name not in known:
        raise UnknownName(kind, name, known)
    return name


class NoWeights(InputError):
    """A solver whose weights are not there; the message says how to train it."""


class CannotSolve(PuzzleFlowError):
    """A solver does not handle this kind of puzzle."""


class OutputError(PuzzleFlowError):
    """A result cannot be written."""


@contextmanager
def naming(what: object) -> Iterator[None]:
    """Let errors of what was given begin with ``what``, mostly a file; once is enough."""
    try:
        yield
    except (InputError, CannotSolve) as error:
        if not re.search(rf"(?:^|\s){re.escape(str(what))}[:,/\\]", str(error)):
            error.args = (f"{what}: {error}",)
        raise
