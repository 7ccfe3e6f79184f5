"""Addresses of what lies elsewhere, hf://OWNER/NAME for example: fetched once, then a path.

A kind of address is a function ``fetch(address, choose, holds)`` that returns the local path
of what the address names. It is given the names of all files below the address through
``choose`` and fetches only those that come back, so that one split of a large data set, or one
file of weights, is all that travels. Others register theirs in the entry-point group
``puzzleflow.addresses``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from puzzleflow.registry import Registry

ADDRESSES = Registry(
    "kind of address",
    "puzzleflow.addresses",
    {"hf": "puzzleflow.hub:fetch"}
    | dict.fromkeys(("s3", "gs", "http", "https"), "puzzleflow.remote:fetch"),
)

Choose = Callable[[list[str]], list[str]]  # names below the address → those that are wanted
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/+(.*)")  # a Path has made one slash of two


def address_of(path: str | Path) -> str | None:
    """``hf://OWNER/NAME`` of a text or path that is an address; None of what lies on this disk."""
    found = _ADDRESS.fullmatch(path.as_posix() if isinstance(path, Path) else path)
    if found is None or Path(path).exists():
        return None
    return f"{found[1]}://{found[2]}"


def located(path: str | Path, choose: Choose = list, *, holds: str = "dataset") -> Path:
    """Where ``path`` lies on this disk: itself, or what was fetched from the address.

    choose  of the files below an address those that are needed; by default all
    holds   "dataset" or "model", where an address does not say it itself
    """
    address = address_of(path)
    if address is None:
        return Path(path)
    fetch = ADDRESSES.load(address.partition(":")[0])
    fetched: Path = fetch(address, choose, holds)
    return fetched
