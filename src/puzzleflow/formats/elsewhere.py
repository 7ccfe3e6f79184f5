"""Which files of a data set that lies elsewhere are fetched: those of the wanted splits."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path, PurePosixPath

from puzzleflow.addresses import address_of, located
from puzzleflow.core.errors import InputError
from puzzleflow.core.splits import SPLITS, split_named

_TABLES = (
    ".npy",
    ".parquet",
    ".csv",
    ".json",
    ".h5",
)  # files whose own name may begin with a split


def fetched(path: str | Path, splits: Collection[str] | None) -> Path:
    """The same path, or where the files of an address lie now.

    splits  those that are wanted; empty for the only one there may be, None for all
    """
    address = address_of(path)
    if address is None:
        return Path(path)

    def choose(names: list[str]) -> list[str]:
        found = {name: split_of(name) for name in names}
        held = [split for split in SPLITS if split in found.values()]
        sets = _sets(names)
        if sets:
            raise InputError(
                f"{address}: its data sets lie deeper; choose one of "
                + ", ".join(f"{address.rstrip('/')}/{name}" for name in sets)
            )
        if splits is None:
            return names
        if not splits and len(held) > 1:
            raise InputError(f"{address} holds the splits {', '.join(held)}: choose one of them")
        for split in splits:
            if held and split not in held:
                raise InputError(f"{address} has no split {split!r}; it holds {', '.join(held)}")
        return [name for name in names if found[name] in (None, *(splits or held))]

    return located(address, choose)


def split_of(name: str) -> str | None:
    """The split that a file belongs to, by a folder on its way or its own first word."""
    path = PurePosixPath(name)
    own = path.stem.replace("-", "_").split("_")[0] if path.suffix in _TABLES else ""
    return next((split for part in (*path.parts[:-1], own) if (split := split_named(part))), None)


def _sets(names: list[str]) -> list[str]:
    """Folders that each have splits of their own, where no split lies beside them."""
    parts = [PurePosixPath(name).parts for name in names]
    if any(split_named(part[0]) for part in parts if len(part) > 1):
        return []
    return sorted(
        {part[0] for part in parts if len(part) > 2 and split_named(part[1])} - {"recipe"}
    )
