"""Many broken pictures on disk: ``OUT/set_00000/fragments.json`` …, in our own format.

Every set depends on the request, its number and its pictures alone, and takes its
name when it is whole: a killed run goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from puzzleflow.core.errors import InputError, naming
from puzzleflow.core.rng import child_rng, child_seed
from puzzleflow.core.types import BoolArray, ByteArray
from puzzleflow.files import read_json, write_json
from puzzleflow.generation.free_form import FreeForm, break_picture
from puzzleflow.lock import LOCK, locked
from puzzleflow.masks import read_masks
from puzzleflow.parallel import bounded_map
from puzzleflow.pictures import fitted, list_pictures, read_picture
from puzzleflow.storage.free_form.own import DATA, write_fragments

REQUEST = "request.json"
MIN_SIDE_PX, MAX_SIDE_PX = 64, 8000


@dataclass(frozen=True)
class FreeFormRequest:
    """What a collection of sets is made of.

    sets     how many; pictures are used in a random order, again and again
    how      they are broken
    side_px  longer side of a picture before it breaks
    outlines folder or packed file of real silhouettes that fragments take; None: they crumble
    """

    sets: int
    how: FreeForm = field(default_factory=FreeForm)
    side_px: int = 800
    seed: int = 0
    outlines: str | None = None

    def __post_init__(self) -> None:
        if self.sets < 1:
            raise InputError(f"{self.sets} sets: expected at least one")
        if not MIN_SIDE_PX <= self.side_px <= MAX_SIDE_PX:
            raise InputError(f"a side of {self.side_px} pixels: {MIN_SIDE_PX} to {MAX_SIDE_PX}")


def generate_free_form(
    images: str | Path,
    out: str | Path,
    request: FreeFormRequest,
    *,
    num_workers: int = 1,
    on_progress: Callable[[str, int, int], None] = lambda stage, done, total: None,
) -> list[Path]:
    """Write the sets that are not there yet; returns the folders of all."""
    out = Path(out)
    pictures = list_pictures(images)
    if not pictures:
        raise InputError(f"{images}: no pictures in it")
    if request.how.foreign and len(pictures) < 2:
        raise InputError(f"{images}: foreign fragments need a second picture")
    told = {
        "sets": request.sets,
        "side_px": request.side_px,
        "seed": request.seed,
        "how": request.how.facts(),
        "pictures": [str(path.relative_to(images)) for path in pictures],
    }
    if request.outlines is not None:
        told["outlines"] = len(_silhouettes(request.outlines))
    order = child_rng(request.seed, "pictures").permutation(len(pictures)).tolist()
    jobs = []
    for number in range(request.sets):
        own, other = (pictures[order[(number + step) % len(order)]] for step in (0, 1))
        jobs.append(_Job(out / f"set_{number:05d}", number, own, other, request))
    with locked(out):
        _claim(out, told)
        missing = [job for job in jobs if not (job.folder / DATA).exists()]
        done = len(jobs) - len(missing)
        on_progress("sets", done, len(jobs))
        for _ in bounded_map(_make, missing, num_workers=num_workers):
            done += 1
            on_progress("sets", done, len(jobs))
    return [job.folder for job in jobs]


def _claim(out: Path, told: dict[str, Any]) -> None:
    """Write down what is asked; a folder that holds something else is refused."""
    told["how"]["fragments"] = list(told["how"]["fragments"])
    if (out / REQUEST).exists():
        if read_json(out / REQUEST) != told:
            raise InputError(f"{out}: holds sets of another request; choose another folder")
    elif any(path.name != LOCK for path in out.iterdir()):
        raise InputError(f"{out}: not empty and no collection of sets")
    else:
        write_json(out / REQUEST, told)


@dataclass(frozen=True)
class _Job:
    folder: Path
    number: int
    own: Path
    other: Path
    request: FreeFormRequest


def _make(job: _Job) -> None:
    request = job.request
    seed = child_seed(request.seed, "set", job.number)
    with naming(job.own):
        broken = break_picture(
            _sized(job.own, request.side_px),
            request.how,
            seed,
            other=_sized(job.other, request.side_px) if request.how.foreign else None,
            outlines=() if request.outlines is None else _silhouettes(request.outlines),
            name=job.folder.name,
        )
    facts = {"picture": job.own.name, "seed": seed, "how": request.how.facts()}
    write_fragments(job.folder, broken, facts=facts)


@lru_cache(maxsize=1)
def _silhouettes(path: str) -> tuple[BoolArray, ...]:
    """(128, 128) each, read once in each process."""
    found = tuple(read_masks(path).masks)
    if not found:
        raise InputError(f"{path}: no outlines in it")
    return found


def _sized(path: Path, side_px: int) -> ByteArray:
    """A picture whose longer side has ``side_px``."""
    return fitted(read_picture(path, enough_px=side_px), side_px)
