"""Which pictures are cut: drawn with a seed, looked at once, sorted by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from puzzleflow.core.errors import InputError
from puzzleflow.core.rng import child_rng
from puzzleflow.files import write_bytes
from puzzleflow.generation.kinds import kind_of as known_kind
from puzzleflow.generation.plan import pictures_digest
from puzzleflow.generation.survey import Surveyed, survey_pictures
from puzzleflow.journal import Journal
from puzzleflow.pictures import list_pictures
from puzzleflow.samples import list_samples, sample_file


@dataclass(frozen=True, eq=False)
class PictureSet:
    """Readable pictures below ``folder`` in the order in which they were drawn.

    kind_of     picture → kind, as far as it is known
    num_unread  pictures that were drawn and could not be read
    """

    folder: Path
    pictures: tuple[Surveyed, ...]
    kind_of: Mapping[str, str]
    num_unread: int = 0

    @property
    def kinds(self) -> dict[str, tuple[Surveyed, ...]]:
        """Pictures by kind, the most frequent kind first."""
        found: dict[str, list[Surveyed]] = {}
        for picture in self.pictures:
            if kind := self.kind_of.get(picture.picture):
                found.setdefault(kind, []).append(picture)
        ordered = sorted(found, key=lambda kind: (-len(found[kind]), kind))
        return {kind: tuple(found[kind]) for kind in ordered}


def draw_pictures(
    folder: Path, journal: Path, kinds: Mapping[str, str] | None, *, count: int, seed: int
) -> PictureSet:
    """``count`` pictures below ``folder`` drawn at random, and so many of each kind.

    kinds    file → kind as ``read_kinds`` gives it; None takes the uppermost
             subfolder of a picture for its kind
    journal  folder in which a survey that was stopped finds what it had seen
    """
    names = [path.relative_to(folder).as_posix() for path in list_pictures(folder)]
    if not names:
        raise InputError(f"{folder}: no pictures in it")
    kind_of = {name: kind for name in names if (kind := known_kind(name, kinds))}
    if kinds is not None and not kind_of:
        raise InputError(f"{folder}: none of its {len(names)} pictures has a kind in the table")
    taken: Counter[str] = Counter()
    wanted = []
    for place, index in enumerate(child_rng(seed, "limits").permutation(len(names))):
        kind = kind_of.get(names[index], "")
        taken[kind] += 1
        if place < count or (kind and taken[kind] <= count):
            wanted.append(names[index])
    surveyed = _survey(folder, wanted, journal)
    usable = tuple(picture for picture in surveyed if not picture.problem)
    if not usable:
        raise InputError(f"{folder}: none of {len(surveyed)} pictures can be read")
    return PictureSet(folder, usable, kind_of, len(surveyed) - len(usable))


def sample_pictures(folder: Path) -> PictureSet:
    """The bundled pictures, written to ``folder`` so that recipes can point at them."""
    names = [f"{sample.name}.webp" for sample in list_samples()]
    for name in names:
        write_bytes(folder / name, sample_file(name.removesuffix(".webp")))
    return PictureSet(folder, tuple(_survey(folder, names, folder / ".survey")), {})


def _survey(folder: Path, names: list[str], journals: Path) -> list[Surveyed]:
    """Look at these pictures, or remember what was seen of the same files."""
    digest = pictures_digest(folder, names)
    path = journals / f"{digest[:16]}.jsonl"
    with Journal(path, "survey", {"pictures": digest}, Surveyed) as journal:
        return survey_pictures(folder, names, journal)
