"""Which solver, with which options: what ``--solvers`` is made of."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from puzzleflow.core.errors import InputError
from puzzleflow.solvers.base import Solver
from puzzleflow.solvers.registry import load_solver


@dataclass(frozen=True)
class SolverSpec:
    """A registered solver and the options to build it with.

    Written ``name`` or ``name:key=value+key=value``; the text is also the label
    under which results are stored and shown. Picklable, so that workers build
    the solver themselves.
    """

    name: str
    options: tuple[tuple[str, Any], ...] = field(default=())

    @classmethod
    def parse(cls, text: str) -> SolverSpec:
        name, _, rest = text.strip().partition(":")
        if not name:
            raise InputError(f"{text!r} names no solver; write NAME or NAME:KEY=VALUE+KEY=VALUE")
        options = []
        for part in rest.split("+") if rest else []:
            key, equals, value = part.partition("=")
            if not equals or not key.isidentifier():
                raise InputError(f"solver {text!r}: {part!r} is no KEY=VALUE")
            options.append((key, _value(value)))
        if len({key for key, _ in options}) < len(options):
            raise InputError(f"solver {text!r} gives an option twice")
        return cls(name, tuple(sorted(options)))

    @property
    def label(self) -> str:
        if not self.options:
            return self.name
        return f"{self.name}:" + "+".join(f"{key}={_text(value)}" for key, value in self.options)

    @property
    def file_stem(self) -> str:
        """The label as a safe file name."""
        return re.sub(r"[^A-Za-z0-9._=+-]", "_", self.label.replace(":", "@"))

    def load(self) -> Solver:
        return load_solver(self.name, **dict(self.options))


def parse_solvers(text: str) -> list[SolverSpec]:
    """Comma-separated solvers, for example ``random,greedy:compatibility=border``."""
    specs = [SolverSpec.parse(part) for part in text.split(",") if part.strip()]
    if not specs:
        raise InputError("no solver given")
    stems = [spec.file_stem for spec in specs]
    if len(set(stems)) < len(stems):
        raise InputError(f"a solver is given twice in {text!r}")
    return specs


def _value(text: str) -> Any:
    """Numbers, true, false and null as such; everything else is text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return text if isinstance(value, list | dict) else value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
