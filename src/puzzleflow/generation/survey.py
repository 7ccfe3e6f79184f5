"""Looking at every picture once: can it be read, what is it, what does it resemble?"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PIL import Image

from puzzleflow.core.errors import PuzzleFlowError
from puzzleflow.files import read_regular
from puzzleflow.generation.duplicates import Signature, signature
from puzzleflow.journal import Journal
from puzzleflow.parallel import bounded_map
from puzzleflow.pictures import read_picture

LEAST_PX = 8  # a smaller picture shows nothing
_BLOCK = 64
_ENOUGH_PX = 128  # of a JPEG, to know what it shows


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
        content = read_regular(path)
        pixels = read_picture(content, enough_px=_ENOUGH_PX)  # (h, w, 3)
        with Image.open(io.BytesIO(content)) as image:
            width, height = image.size
    except (OSError, PuzzleFlowError, MemoryError) as error:
        return Surveyed(picture, problem=_reason(error))
    if min(width, height) < LEAST_PX:
        size = f"{width}x{height} pixels; expected {LEAST_PX} or more a side"
        return Surveyed(picture, problem=size)
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
    return " ".join(reason.split())


def survey_pictures(
    folder: Path,
    pictures: Sequence[str],
    journal: Journal[Surveyed],
    *,
    num_workers: int = 1,
    limit: int | None = None,
    on_progress: Callable[[int], None] = lambda done: None,
) -> list[Surveyed]:
    """Survey ``pictures`` in order until ``limit`` of them are usable, or all of them.

    What is in the open journal is not looked at again. The journal's heading must say
    that it belongs to these pictures.
    """
    seen = {surveyed.picture: surveyed for surveyed in journal.entries}
    found: list[Surveyed] = []
    usable = 0
    while len(found) < len(pictures) and (limit is None or usable < limit):
        stop = len(pictures) if limit is None else len(found) + limit - usable
        wanted = pictures[len(found) : stop]
        missing = [picture for picture in wanted if picture not in seen]
        blocks = [missing[first : first + _BLOCK] for first in range(0, len(missing), _BLOCK)]
        for block in bounded_map(partial(_survey_block, folder), blocks, num_workers=num_workers):
            for surveyed in block:
                journal.append(surveyed)
                seen[surveyed.picture] = surveyed
            on_progress(len(seen))
        found += [seen[picture] for picture in wanted]
        usable = sum(not surveyed.problem for surveyed in found)
    return found


def _survey_block(folder: Path, pictures: Sequence[str]) -> list[Surveyed]:
    return [survey_picture(folder, picture) for picture in pictures]
