"""Things by name: import strings of this package, entry points of others, files of one's own.

Listing the names loads nothing; a thing is imported when it is first asked for.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from puzzleflow.core.errors import InputError, check_known
from puzzleflow.options import checked_call

FILE = re.compile(r"[^=]+\.py:[A-Za-z_]\w*")  # a name that is a file and what to take from it
OPTION = re.compile(r"\+(?=[A-Za-z_]\w*(?:=|\+|$))")  # a plus may also be part of a path


@dataclass(frozen=True)
class Registry:
    """Names of one kind of thing; a name stands for one thing only."""

    what: str  # "solver": how errors call one of them
    group: str  # "puzzleflow.solvers": the entry-point group for other packages
    builtin: dict[str, str]  # name → "package.module:attribute"
    files: bool = False  # whether FILE.py:ATTRIBUTE is a name, too; never for names from data

    def names(self) -> list[str]:
        """All names, sorted; imports nothing."""
        return sorted(self._known())

    def target(self, name: str) -> str:
        """The import string of ``name``; one of a file is its own."""
        if self.files and FILE.fullmatch(name):
            return name
        known = self._known()
        check_known(self.what, name, known)
        return known[name]

    def load(self, name: str) -> Any:
        """The class or function behind ``name``."""
        target = self.target(name)
        module, _, attribute = target.rpartition(":") if ":" in target else (target, "", "")
        try:
            found: Any = _run(Path(module)) if module.endswith(".py") else import_module(module)
            for part in attribute.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError, OSError, SyntaxError) as error:
            raise InputError(
                f"{self.what} {name!r} cannot be loaded from {target}: {error}"
            ) from error
        return found

    def build(self, name: str, /, *given: Any, **options: Any) -> Any:
        """What is behind ``name``, called with what is given once that is checked."""
        return checked_call(f"{self.what} {name!r}", self.load(name), *given, **options)

    def _known(self) -> dict[str, str]:
        known = dict(self.builtin)
        for entry in _installed(self.group, tuple(sys.path)):
            if entry.name in known:
                raise InputError(
                    f"two {self.what}s are called {entry.name!r}: {known[entry.name]} and "
                    f"{entry.value}{f' (package {entry.dist.name})' if entry.dist else ''}; "
                    "uninstall one of them or rename it"
                )
            known[entry.name] = entry.value
        return known


def parse_call(text: str, what: str) -> tuple[str, dict[str, Any]]:
    """``name:key=value+key=value`` → name and options; the name may be ``FILE.py:ATTRIBUTE``.

    Numbers, true, false and null are read as such; everything else is text.
    """
    file = re.match(f"{FILE.pattern}(?=:|$)", text.strip())
    name = file[0] if file else text.strip().partition(":")[0]
    rest = text.strip()[len(name) + 1 :]
    if not name:
        raise InputError(f"{text!r} names no {what}; write NAME or NAME:KEY=VALUE+KEY=VALUE")
    options: dict[str, Any] = {}
    for part in OPTION.split(rest) if rest else []:
        key, equals, value = part.partition("=")
        if not equals or not key.isidentifier():
            raise InputError(f"{what} {text!r}: {part!r} is no KEY=VALUE")
        if key in options:
            raise InputError(f"{what} {text!r} gives an option twice")
        options[key] = _value(value)
    return name, options


def _value(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return text if isinstance(value, list | dict) else value


@lru_cache
def _installed(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Entry points on the import ``path``, looked for once: that takes some 20 ms."""
    return tuple(entry_points(group=group))


def _run(file: Path) -> ModuleType:
    """The module that ``file`` makes now; a file that changed is run as it is."""
    name = f"{file.stem}_{blake2b(str(file.resolve()).encode(), digest_size=4).hexdigest()}"
    sys.modules[name] = module = ModuleType(name)
    module.__file__ = str(file)
    exec(compile(file.read_bytes(), file, "exec"), module.__dict__)
    return module
