"""Things by name: import strings of this package, entry points of others.

Listing the names loads nothing; a thing is imported when it is first asked for.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from puzzleflow.core.errors import InputError, UnknownName


@dataclass(frozen=True)
class Registry:
    """Names of one kind of thing; a name stands for one thing only."""

    what: str  # "solver": how errors call one of them
    group: str  # "puzzleflow.solvers": the entry-point group for other packages
    builtin: dict[str, str]  # name → "package.module:attribute"

    def names(self) -> list[str]:
        """All names, sorted; imports nothing."""
        return sorted(self._known())

    def target(self, name: str) -> str:
        """The import string of ``name``."""
        known = self._known()
        if name not in known:
            raise UnknownName(self.what, name, known)
        return known[name]

    def load(self, name: str) -> Any:
        """The class or function behind ``name``."""
        target = self.target(name)
        module_name, _, attribute = target.partition(":")
        try:
            found: Any = import_module(module_name)
            for part in attribute.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError) as error:
            raise InputError(
                f"{self.what} {name!r} cannot be loaded from {target}: {error}"
            ) from error
        return found

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


@lru_cache
def _installed(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Entry points on the import ``path``, looked for once: that takes some 20 ms."""
    return tuple(entry_points(group=group))
