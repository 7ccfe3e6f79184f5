"""Pictures that come with the package: paintings of the Met's Open Access collection (CC0).

``runs/make_samples.py`` made this folder; ``records.json`` holds the Met's records.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from puzzleflow.core.errors import UnknownName
from puzzleflow.core.types import ByteArray
from puzzleflow.pictures import read_picture

__all__ = ["Sample", "find_sample", "list_samples", "load_sample", "sample_file"]


@dataclass(frozen=True)
class Sample:
    """What the Met says about one bundled picture."""

    name: str
    object_id: int
    title: str
    artist: str
    date: str
    department: str
    medium: str
    culture: str
    rights: str
    object_url: str


@cache
def _samples() -> tuple[Sample, ...]:
    text = (files(__name__) / "records.json").read_text(encoding="utf-8")
    return tuple(Sample(**record) for record in json.loads(text))


def list_samples() -> list[Sample]:
    """Every bundled picture, by object id."""
    return list(_samples())


def find_sample(name_or_id: str | int) -> Sample:
    """The record of a bundled picture by its name ("irises") or Met object id."""
    for sample in _samples():
        if str(name_or_id) in (sample.name, str(sample.object_id)):
            return sample
    raise UnknownName("sample", str(name_or_id), [sample.name for sample in _samples()])


def load_sample(name_or_id: str | int) -> ByteArray:
    """(H, W, 3) uint8 pixels of a bundled picture, at most 640 px on the long side."""
    return read_picture(sample_file(name_or_id))


def sample_file(name_or_id: str | int) -> bytes:
    """The WebP file of a bundled picture."""
    return (files(__name__) / f"{find_sample(name_or_id).name}.webp").read_bytes()
