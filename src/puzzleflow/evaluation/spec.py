"""Which solver, with which options, or which group of them: what ``--solvers`` is made of."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from puzzleflow.core.errors import InputError, NoWeights, check_known
from puzzleflow.options import options_of
from puzzleflow.registry import parse_call
from puzzleflow.solvers.base import Solver
from puzzleflow.solvers.registry import SOLVERS, list_solvers, load_solver

MADE_WITH = {"code", "weights"}  # the keys of digests: results made otherwise are made again
MAX_STEM = 120
TABLE_1 = (
    "greedy", "genetic", "jigsawgan", "diffassemble", "jpdvt", "puzlm", "fcvit", "flow",
)  # fmt: skip
JPWLEG = (
    "jpdvt", "greedy", "deepzzle", "tabu", "genetic", "flow", "sd2rl", "fcvit", "pdn-ga", "puzlm",
)  # fmt: skip
NEWER = ("rg-lns", "relational")  # what came after those tables
LEARNED = (
    "deepzzle", "diffassemble", "fcvit", "flow", "flow-seams", "jigsawgan", "jpdvt", "pdn-ga",
    "puzlm", "sd2rl",
)  # fmt: skip
GROUPS = {
    "@table1": (*TABLE_1, *NEWER),
    "@jpwleg": (*JPWLEG, *NEWER),
    "@learned": (*LEARNED, *NEWER),
    "@all": ("random", *TABLE_1, *JPWLEG),
}


@dataclass(frozen=True)
class SolverSpec:
    """A solver, registered or in a file of its own, and the options to build it with.

    Written ``name`` or ``name:key=value+key=value``, where the name may be
    ``path/to/file.py:Class``; the text is also the label
    under which results are stored and shown. Picklable, so that workers build
    the solver themselves.
    """

    name: str
    options: tuple[tuple[str, Any], ...] = field(default=())

    @classmethod
    def of(cls, name: str, /, **options: Any) -> SolverSpec:
        return cls(name, tuple(sorted(options.items())))

    @classmethod
    def parse(cls, text: str) -> SolverSpec:
        name, options = parse_call(text, "solver")
        return cls.of(name, **options)

    @property
    def label(self) -> str:
        if not self.options:
            return self.name
        return f"{self.name}:" + "+".join(f"{key}={_text(value)}" for key, value in self.options)

    @property
    def file_stem(self) -> str:
        """The label as a safe file name, cut and numbered where it is long."""
        stem = re.sub(r"[^A-Za-z0-9._=+-]", "_", self.label)
        number = blake2b(self.label.encode(), digest_size=6).hexdigest()
        return stem if len(stem) <= MAX_STEM else f"{number}{stem[-MAX_STEM + len(number) :]}"

    def on(self, device: str | None) -> SolverSpec:
        """The same solver with its network on ``device``; unchanged if it has none."""
        if device is None or "device" not in options_of(SOLVERS.load(self.name)):
            return self
        return SolverSpec.of(self.name, **dict(self.options) | {"device": device})

    def load(self) -> Solver:
        return load_solver(self.name, **dict(self.options))

    def digests(self, solver: object = None) -> dict[str, str]:
        """What the answers depend on besides label and seed: ``code`` and ``weights``.

        The code is the module of the solver's class, the weights its attribute
        ``weights``, a file or folder, and every file that an option names.
        solver  what the text stands for, by default the solver of puzzles on grids
        """
        solver = solver or self.load()
        module = getattr(sys.modules.get(type(solver).__module__), "__file__", None)
        texts = [value for _, value in self.options if isinstance(value, str)]
        weights = {Path(text) for text in texts if Path(text).is_file()}
        if getattr(solver, "weights", None):
            weights.add(Path(solver.weights))  # type: ignore[attr-defined]
        return {
            "code": _digest({Path(module)} if module else set()),
            "weights": _digest(weights),
        }


def parse_solvers(
    text: str, left_out: Callable[[NoWeights], None] | None = None
) -> list[SolverSpec]:
    """Comma-separated solvers and groups, for example ``@table1,greedy:compatibility=border``.

    left_out  is told members of groups whose weights are not there; without it they are errors
    """
    specs: list[SolverSpec] = []
    for part in (part.strip() for part in text.split(",") if part.strip()):
        if part.startswith("@"):
            found = (SolverSpec(name) for name in group_members(part))
            specs += [spec for spec in found if spec not in specs and _is_there(spec, left_out)]
        else:
            specs.append(SolverSpec.parse(part))
    if not specs:
        raise InputError("no solver given")
    stems = [spec.file_stem for spec in specs]
    if len(set(stems)) < len(stems):
        raise InputError(f"a solver is given twice in {text!r}")
    return specs


def _is_there(spec: SolverSpec, left_out: Callable[[NoWeights], None] | None) -> bool:
    try:
        spec.load()
    except NoWeights as error:
        if left_out is None:
            raise
        left_out(error)
        return False
    return True


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _digest(paths: set[Path]) -> str:
    """Of the bytes of files and of the files in folders; empty without any."""
    inside = [sorted(path.rglob("*")) if path.is_dir() else [path] for path in sorted(paths)]
    files = [path for found in inside for path in found if path.is_file()]
    digest = blake2b(digest_size=12)
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest() if files else ""


def group_members(name: str) -> list[str]:
    """The solvers of a group, each once, tables in the paper's order.

    A row ``NAME+`` of ``@all`` follows its ``NAME``; solvers of no table come last.
    """
    check_known("group of solvers", name, GROUPS)
    members = list(dict.fromkeys(GROUPS[name]))
    if name == "@all":
        known = list_solvers()
        members = [row for n in members for row in (n, f"{n}+") if row in known]
        members += [n for n in known if n not in (*members, *NEWER)] + list(NEWER)
    return members
