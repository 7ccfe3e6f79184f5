"""Looking at every picture once: can it be read, what is it, what does it resemble?"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from PIL import Image

from puzzleflow.core.errors import InputError, PuzzleFlowError
from puzzleflow.files import read_json, write_json
from puzzleflow.generation.duplicates import Signature, signature
from puzzleflow.parallel import bounded_map
from puzzleflow.pictures import read_picture

_BLOCK = 64
_ENOUGH_PX = 128  # of a JPEG, to know what it shows
_MAX_FILE_BYTES = 1 << 30


@dataclass(frozen=True)
class Surveyed:
    """One picture; ``problem`` says why it cannot be used, "" if it can.

    picture        path below the picture folder, with forward slashes
    height, width  as stored, not turned upright
    """

    picture: str
    problem: str = ""
    sha256: str = ""
    height: int = 0
    width: int = 0
    bits: str = ""
    miniature: str = ""

    @property
    def signature(self) -> Signature:
        return Signature(self.bits, self.miniature)


def survey_picture(folder: Path, picture: str) -> Surveyed:
    """Read one picture whole; whatever is wrong with it becomes its ``problem``."""
    path = folder / picture
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise InputError(f"more than {_MAX_FILE_BYTES:,} bytes")
        content = path.read_bytes()
        pixels = read_picture(content, enough_px=_ENOUGH_PX)  # (h, w, 3)
        with Image.open(io.BytesIO(content)) as image:
            width, height = image.size
    except (OSError, PuzzleFlowError, MemoryError) as error:
        return Surveyed(picture, problem=_reason(error))
    seen = signature(pixels)
    return Surveyed(
        picture,
        sha256=hashlib.sha256(content).hexdigest(),
        height=height,
        width=width,
        bits=seen.bits,
        miniature=seen.miniature,
    )


def _reason(error: BaseException) -> str:
    """One line without addresses of objects, which differ from run to run."""
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    reason = re.sub(r"<[^<>]* at 0x[0-9a-f]+>", "it", reason)
    return " ".join(reason.split()).removeprefix("picture: ")


def survey_pictures(
    folder: Path,
    pictures: Sequence[str],
    journal: Path,
    *,
    num_workers: int = 1,
    limit: int | None = None,
    on_progress: Callable[[int], None] = lambda done: None,
) -> list[Surveyed]:
    """Survey ``pictures`` in order until ``limit`` of them are usable, or all of them.

    Finished blocks go to the folder ``journal``, so that a killed survey goes on
    where it was. The caller makes sure that a journal belongs to these pictures.
    """
    found: list[Surveyed] = []
    usable, start = 0, 0
    while start < len(pictures) and (limit is None or usable < limit):
        stop = len(pictures) if limit is None else min(len(pictures), start + limit - usable)
        for block in _survey_range(folder, pictures, start, stop, journal, num_workers):
            found.extend(block)
            usable += sum(not picture.problem for picture in block)
            on_progress(len(found))
        start = stop
    return found


def _survey_range(
    folder: Path, pictures: Sequence[str], start: int, stop: int, journal: Path, num_workers: int
) -> Iterator[list[Surveyed]]:
    starts = range(start, stop, _BLOCK)
    blocks = [tuple(pictures[first : min(first + _BLOCK, stop)]) for first in starts]
    names = [
        journal / f"{first:07d}-{len(b)}.json" for first, b in zip(starts, blocks, strict=True)
    ]
    missing = [block for block, name in zip(blocks, names, strict=True) if not name.exists()]
    fresh = bounded_map(partial(_survey_block, folder), missing, num_workers=num_workers)
    for name in names:
        if name.exists():
            yield [Surveyed(**record) for record in read_json(name)]
        else:
            block = next(fresh)
            write_json(name, [asdict(picture) for picture in block])
            yield block


def _survey_block(folder: Path, pictures: tuple[str, ...]) -> list[Surveyed]:
    return [survey_picture(folder, picture) for picture in pictures]
