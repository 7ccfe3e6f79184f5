"""Which extras of the package a command needs, asked before it begins any work."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution, requires

from puzzleflow.core.errors import InputError

NEEDS: dict[str, tuple[str, ...]] = {  # command → extras; two words come before one
    "ablate": ("train", "report"),
    "export": ("export",),
    "limits": ("report",),
    "serve": ("web",),
    "shapes fit": ("train",),
    "shapes train": ("train", "report"),
    "shapes validate": ("report",),
    "train": ("train",),
    "train held-out": (),
}
MODULES = {"sklearn": "scikit-learn", "PIL": "pillow"}  # where module and package differ


def check_extras(words: Sequence[str]) -> None:
    """Raise if the command that ``words`` begin with lacks packages of an extra."""
    needed = NEEDS.get(" ".join(words[:2]), NEEDS.get(" ".join(words[:1]), ()))
    lacking = {extra: missing for extra in needed if (missing := _missing(extra))}
    if lacking:
        packages = ", ".join(name for names in lacking.values() for name in names)
        raise InputError(f"{words[0]} needs {packages}: {_install(*lacking)}")


def lacking_module(error: ModuleNotFoundError) -> InputError | None:
    """What to install for a module that is not there; None if it is of no extra."""
    module = (error.name or "").partition(".")[0]
    name = MODULES.get(module, module.replace("_", "-"))
    extra = next((extra for extra, names in _extras().items() if name in names), None)
    return InputError(f"this needs {name}: {_install(extra)}") if extra else None


def _install(*extras: str) -> str:
    return f"pip install 'puzzleflow[{','.join(extras)}]'"


def _extras() -> dict[str, list[str]]:
    """The packages of every extra of this package."""
    found: dict[str, list[str]] = {}
    try:
        listed = requires("puzzleflow") or []
    except PackageNotFoundError:  # run from a folder of sources
        listed = []
    for line in listed:
        told = re.fullmatch(r"([\w.-]+)[^;]*;.*extra == ['\"]([\w-]+)['\"].*", line)
        if told and told[1] != "puzzleflow":
            found.setdefault(told[2], []).append(told[1])
    return found


def _missing(extra: str) -> list[str]:
    return [name for name in _extras().get(extra, ()) if not _is_installed(name)]


def _is_installed(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True
