"""Looking at every picture once: can it be read, what does it show, what does it resemble?"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

import numpy as np
from PIL import Image
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from puzzleflow.core.errors import FormatError, InputError, PuzzleFlowError, check_known
from puzzleflow.core.types import ByteArray, IntArray
from puzzleflow.files import read_regular, read_table
from puzzleflow.journal import Journal
from puzzleflow.parallel import bounded_map
from puzzleflow.pictures import read_picture, to_image

MAX_BITS = 10
MAX_BITS_ALIKE = 20
MIN_CORRELATION = 0.965
_BLOCK = 1024
LEAST_PX = 8  # a smaller picture shows nothing
_AT_ONCE = 64
_ENOUGH_PX = 128  # of a JPEG, to know what it shows
FOREIGN_KINDS = ("any", "same", "other")  # of strangers, compared with the picture they come to


@dataclass(frozen=True)
class Signature:
    """128-bit hash as 32 hex digits, and 256 grey values as 512 hex digits.

    The hash tells the difference of neighbours (does it get brighter to the right, to the
    bottom, on a 9 × 9 miniature), the grey values are a 16 × 16 miniature. Two pictures count as
    near-duplicates if their hashes differ in at most 10 bits, or in at most 20 while their
    miniatures correlate by 0.965 or more: chosen by eye on pairs of museum pictures, where
    recoloured reproductions of one painting meet both and different paintings meet neither.
    Rather too many than too few are kept together.
    """

    bits: str
    miniature: str


def signature(picture: ByteArray) -> Signature:
    """What (H, W, 3) uint8 looks like from afar."""
    grey = to_image(picture).convert("L")
    small = np.asarray(grey.resize((9, 9), resample=4), np.int16)  # 4: the mean over boxes
    rightward = small[:-1, 1:] > small[:-1, :-1]  # (8, 8)
    downward = small[1:, :-1] > small[:-1, :-1]  # (8, 8)
    bits = np.packbits(np.concatenate([rightward.ravel(), downward.ravel()]))
    miniature = np.asarray(grey.resize((16, 16), resample=4), np.uint8)
    return Signature(bits.tobytes().hex(), miniature.tobytes().hex())


def near_duplicate_groups(signatures: list[Signature]) -> IntArray:
    """(M,) the group of every picture: the smallest index among its near-duplicates."""
    count = len(signatures)
    groups = np.arange(count)
    if count < 2:
        return groups
    bits = np.frombuffer(bytes.fromhex("".join(s.bits for s in signatures)), np.uint64)
    bits = bits.reshape(count, 2)
    first, second = np.ascontiguousarray(bits[:, 0]), np.ascontiguousarray(bits[:, 1])
    miniatures = _normalised(signatures)  # (M, 256)
    for start in range(0, count, _BLOCK):
        rows = slice(start, min(start + _BLOCK, count))
        close = np.bitwise_count(first[rows, None] ^ first[None, start:])  # (b, M - start)
        left, right = np.nonzero(close <= MAX_BITS_ALIKE)
        later = right > left
        left, right = left[later] + start, right[later] + start  # (P,)
        distance = np.bitwise_count(first[left] ^ first[right]).astype(np.int64)
        distance += np.bitwise_count(second[left] ^ second[right])
        near = distance <= MAX_BITS_ALIKE
        left, right, distance = left[near], right[near], distance[near]
        alike = np.einsum("pi,pi->p", miniatures[left], miniatures[right])
        same = (distance <= MAX_BITS) | (alike >= MIN_CORRELATION)
        groups = _joined(groups, left[same], right[same])
    return groups


def _normalised(signatures: list[Signature]) -> np.typing.NDArray[np.float32]:
    grey = np.frombuffer(bytes.fromhex("".join(s.miniature for s in signatures)), np.uint8)
    centred = grey.reshape(len(signatures), 256).astype(np.float32)  # (M, 256)
    centred -= centred.mean(axis=1, keepdims=True)
    centred /= np.linalg.norm(centred, axis=1, keepdims=True) + 1e-6
    return centred


def _joined(groups: IntArray, left: IntArray, right: IntArray) -> IntArray:
    """Groups, each called by its smallest index, after joining the pairs (left, right)."""
    ends = np.concatenate([groups, left]), np.concatenate([np.arange(len(groups)), right])
    graph = coo_array((np.ones(len(ends[0])), ends), shape=(len(groups), len(groups)))
    labels = connected_components(graph, directed=False)[1]  # (M,)
    return np.asarray(np.unique(labels, return_index=True)[1][labels])


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
        blocks = [missing[first : first + _AT_ONCE] for first in range(0, len(missing), _AT_ONCE)]
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


def check_foreign_kind(name: str) -> str:
    """``name`` itself, or an error that lists the known names."""
    return check_known("kind of strangers", name, FOREIGN_KINDS)


def is_stranger(own: str, other: str, foreign_kind: str) -> bool:
    """Whether a picture of kind ``other`` may be a stranger to one of kind ``own``."""
    return foreign_kind == "any" or (own == other) == (foreign_kind == "same")


def picture_table(folder: Path) -> Path | None:
    """The ``images.csv`` in ``folder`` or beside it."""
    tables = (folder / "images.csv", folder.parent / "images.csv")
    return next((table for table in tables if table.is_file()), None)


def kinds_of(folder: Path, pictures: Iterable[str]) -> dict[str, str]:
    """Picture → kind, from the table at ``folder``, else by the uppermost subfolder.

    Raises :class:`InputError` for a picture whose kind nobody tells.
    """
    table = picture_table(folder)
    kinds = None if table is None else read_kinds(table)
    found = {}
    for picture in pictures:
        if not (kind := kind_of(picture, kinds)):
            where = "lies in no subfolder, and there is no images.csv" if table is None else table
            raise InputError(f"{folder / picture}: of unknown kind ({where})")
        found[picture] = kind
    return found


def kind_of(name: str, kinds: Mapping[str, str] | None) -> str | None:
    """The kind of a picture below a folder, by a table or, without one, by its subfolder."""
    path = PurePosixPath(name)
    if kinds is None:
        return path.parts[0] if len(path.parts) > 1 else None
    return kinds.get(name) or kinds.get(path.name)


def read_kinds(path: Path, merged: Sequence[str] = ()) -> dict[str, str]:
    """File → kind from a CSV table with the columns ``file`` and ``kind``.

    merged  ``NEW=OLD,OLD``: several kinds under one name
    """
    heading, *lines = read_table(path) or [[]]
    if not {"file", "kind"} <= set(heading):
        raise FormatError(f"{path}: expected the columns file and kind")
    rows = [dict(zip(heading, line, strict=False)) for line in lines]
    kinds = {row.get("file", ""): row.get("kind", "").strip() for row in rows}
    new_name = {}
    for text in merged:
        new, _, old = text.partition("=")
        names = [name.strip() for name in old.split(",") if name.strip()]
        if not new.strip() or not names:
            raise InputError(f"{text!r}: expected NEW=OLD,OLD, for example objects=lamps,ambers")
        new_name.update(dict.fromkeys(names, new.strip()))
    if unknown := sorted(set(new_name) - set(kinds.values())):
        raise InputError(f"{path}: has no kind {', '.join(unknown)} to merge")
    return {file: new_name.get(kind, kind) for file, kind in kinds.items() if kind}
