"""The workbench file: a zip with pieces, photograph and history that restores everything.

::

    workbench.json        :mod:`puzzleflow.web.saved`
    pieces/NAME.png       upright; with layout.json a folder that ``puzzleflow`` reads
    pieces/layout.json    the arrangement, once there is one
    photo.png, labels.png the photograph and the fragment of every pixel (R + 256 G) of it,
                          or of a reduced copy

Nothing is unpacked to disk; sizes are checked before and while reading.
"""

from __future__ import annotations

import io
import zipfile

import numpy as np
from pydantic import ValidationError

from puzzleflow.core.errors import FormatError, InputError, naming
from puzzleflow.core.types import ByteArray
from puzzleflow.pictures import read_picture
from puzzleflow.web.exports import layout_json, png
from puzzleflow.web.kept import keep
from puzzleflow.web.limits import Limits, TooMuch
from puzzleflow.web.photo import Photo
from puzzleflow.web.saved import SavedWorkbench, load_sheet
from puzzleflow.web.stocks_file import load_stock, save_stock
from puzzleflow.web.workbench import Workbench

MAX_JSON_BYTES = 64 << 20
JSON = "workbench.json"


def pack(workbench: Workbench) -> bytes:
    """The workbench as a zip; what was undone before the board stays behind."""
    stock = workbench.stock
    turns = stock.turns
    saved = save_stock(workbench, stock)
    saved.quarter_turns = turns.tolist()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        text = saved.model_dump_json(by_alias=True)
        archive.writestr(JSON, text, zipfile.ZIP_DEFLATED)
        for piece, turn in zip(stock.pieces, turns, strict=True):
            archive.writestr(f"pieces/{piece.name}", png(piece.turned(int(turn))))
        if stock.history.steps:
            archive.writestr("pieces/layout.json", layout_json(workbench), zipfile.ZIP_DEFLATED)
        if stock.photo is not None:
            archive.writestr("photo.png", png(stock.photo.whole.load(), quick=True))
            labels = stock.photo.labels.load()
            packed = np.zeros((*labels.shape, 3), np.uint8)
            packed[..., 0], packed[..., 1] = labels & 255, labels >> 8
            archive.writestr("labels.png", png(packed, quick=True))
    return stream.getvalue()


def unpack(content: bytes, workbench: Workbench) -> None:
    """Fill an empty workbench from a file; raises InputError for anything unexpected."""
    limits = workbench.limits
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
            if len(names) > limits.max_pieces + 8 or len(set(names)) < len(names):
                raise TooMuch("the workbench file holds too many files")
            reader = _Reader(archive, limits)
            saved = SavedWorkbench.model_validate_json(reader.read(JSON, MAX_JSON_BYTES))
            _restore(saved, reader, workbench)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise FormatError(f"damaged workbench file: {place}: {first['msg']}") from error
    except InputError:
        raise
    except Exception as error:  # zipfile raises many things on damaged files
        raise FormatError(f"not a workbench file, or a damaged one ({error})") from error


class _Reader:
    """Reads members, counting pixels and bytes."""

    def __init__(self, archive: zipfile.ZipFile, limits: Limits) -> None:
        self.archive = archive
        self.limits = limits
        self.left_px = limits.max_total_pixels

    def read(self, name: str, bound: int) -> bytes:
        try:
            info = self.archive.getinfo(name)
        except KeyError:
            raise FormatError(f"not a workbench file: {name[:80]} is missing in it") from None
        if info.file_size > bound:
            raise TooMuch(f"{name[:80]} inside the file is too large")
        with self.archive.open(info) as member:
            content = member.read(bound + 1)
        if len(content) > bound:
            raise TooMuch(f"{name[:80]} inside the file is too large")
        return content

    def picture(self, name: str, mode: str, max_pixels: int) -> ByteArray:
        content = self.read(name, self.limits.max_request_bytes)
        with naming(name[:80]):
            return read_picture(content, mode, max_pixels=max_pixels)

    def piece(self, name: str) -> ByteArray:
        upright = self.picture(f"pieces/{name}", "RGBA", max(self.left_px, 0))
        self.left_px -= upright.shape[0] * upright.shape[1]
        return upright


def _restore(saved: SavedWorkbench, reader: _Reader, workbench: Workbench) -> None:
    if len(saved.pieces) > workbench.limits.max_pieces:
        raise TooMuch(f"at most {workbench.limits.max_pieces} pieces are possible")
    if not saved.pieces and saved.photo is None:
        raise FormatError("damaged workbench file: pieces: none")
    turns = saved.quarter_turns or [0] * len(saved.pieces)
    if len(turns) != len(saved.pieces):
        raise FormatError("not every piece says how it was turned")
    kept = [
        keep(workbench.folder, np.rot90(reader.piece(name), -turn))
        for name, turn in zip(saved.pieces, turns, strict=True)
    ]
    photo = None
    if saved.photo is not None:
        photo = _photo(saved, reader, workbench)
        if len(photo.members) != len(saved.pieces):
            raise FormatError("photograph and pieces do not belong together")
    workbench.sheet, workbench.origin = load_sheet(saved), saved.origin[:40]
    workbench.stocks.add(load_stock(saved, kept, photo))


def _photo(saved: SavedWorkbench, reader: _Reader, workbench: Workbench) -> Photo:
    assert saved.photo is not None
    limit = workbench.limits.max_pixels
    taken = Photo.taken(workbench.folder, reader.picture("photo.png", "RGBA", limit))
    packed = reader.picture("labels.png", "RGB", limit)
    labels = packed[..., 0].astype(np.int32) + 256 * packed[..., 1].astype(np.int32)
    if labels.shape != taken.work.shape[:2]:
        if labels.shape != taken.whole.shape[:2]:
            raise FormatError("photograph and labels differ in size")
        rows, cols = (
            (np.arange(small) * large // small)
            for small, large in zip(taken.work.shape[:2], labels.shape, strict=True)
        )
        labels = labels[rows][:, cols]  # files of version 1 have them at full size
    return Photo(
        taken.whole,
        taken.work,
        keep(workbench.folder, labels),
        saved.photo.threshold,
        saved.photo.automatic,
        tuple(saved.photo.warnings),
        tuple(saved.photo.aside),
    )
