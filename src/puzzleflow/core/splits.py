"""The splits of a data set, and how files spell them."""

from __future__ import annotations

SPLITS = {
    "train": ("train",),
    "val": ("val", "valid", "validation"),
    "test": ("test",),
}


def split_named(name: str) -> str | None:
    """The split that a name stands for, whichever its spelling; None if it names none."""
    return next((split for split, names in SPLITS.items() if name.lower() in names), None)
