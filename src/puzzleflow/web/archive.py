"""The workbench file: a zip with pieces, photograph and history that restores everything.

::

    workbench.json        :mod:`puzzleflow.web.saved`
    pieces/NAME.png       upright; with layout.json a folder that ``puzzleflow`` reads
    pieces/layout.json    the arrangement, once there is one
    photo.png, labels.png the photograph and the fragment of every pixel (R + 256 G)

Nothing is unpacked to disk; sizes are checked before and while reading.
"""

from __future__ import annotations

import io
import zipfile

import numpy as np
from pydantic import ValidationError

from puzzleflow.core.errors import FormatError, InputError, naming
from puzzleflow.core.grid import Grid
from puzzleflow.core.types import ByteArray
from puzzleflow.pictures import read_picture
from puzzleflow.web.errors import TooMuch
from puzzleflow.web.exports import layout_json, png
from puzzleflow.web.limits import Limits
from puzzleflow.web.photo import Photo
from puzzleflow.web.pieces import Piece, plain_names
from puzzleflow.web.saved import SavedPhoto, SavedWorkbench, load_history, save_history
from puzzleflow.web.workbench import Workbench

MAX_JSON_BYTES = 64 << 20
JSON = "workbench.json"


def pack(workbench: Workbench) -> bytes:
    """The workbench as a zip."""
    steps, answers = save_history(workbench.history)
    photo = workbench.photo
    saved = SavedWorkbench(
        title=workbench.title,
        origin=workbench.origin,
        pieces=[piece.name for piece in workbench.pieces],
        quarter_turns=[piece.quarter_turns for piece in workbench.pieces],
        grid=None if workbench.grid is None else workbench.grid.shape,
        truth=None if workbench.truth is None else workbench.truth.tolist(),
        truth_grid=None if workbench.truth_grid is None else workbench.truth_grid.shape,
        photo=None
        if photo is None
        else SavedPhoto(threshold=photo.threshold, automatic=photo.automatic),
        steps=steps,
        at=workbench.history.at,
        answers=answers,
    )
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        text = saved.model_dump_json(by_alias=True)
        archive.writestr(JSON, text, zipfile.ZIP_DEFLATED)
        for piece in workbench.pieces:
            archive.writestr(f"pieces/{piece.name}", png(piece.upright))
        if workbench.history.steps:
            archive.writestr("pieces/layout.json", layout_json(workbench), zipfile.ZIP_DEFLATED)
        if photo is not None:
            archive.writestr("photo.png", png(photo.pixels, quick=True))
            archive.writestr("labels.png", png(_packed_labels(photo), quick=True))
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
        content = self.read(name, self.limits.max_file_bytes)
        with naming(name[:80]):
            return read_picture(content, mode, max_pixels=max_pixels)

    def piece(self, name: str, quarter_turns: int) -> Piece:
        upright = self.picture(f"pieces/{name}", "RGBA", max(self.left_px, 0))
        self.left_px -= upright.shape[0] * upright.shape[1]
        return Piece(name, np.rot90(upright, -quarter_turns), quarter_turns)


def _restore(saved: SavedWorkbench, reader: _Reader, workbench: Workbench) -> None:
    if len(saved.pieces) > workbench.limits.max_pieces:
        raise TooMuch(f"at most {workbench.limits.max_pieces} pieces are possible")
    if plain_names(saved.pieces) != saved.pieces:
        raise FormatError("the names of the pieces are no distinct plain file names")
    turns = saved.quarter_turns or [0] * len(saved.pieces)
    if len(turns) != len(saved.pieces):
        raise FormatError("not every piece says how it was turned")
    pieces = [reader.piece(*each) for each in zip(saved.pieces, turns, strict=True)]
    grid = None if saved.grid is None else Grid(*saved.grid)
    truth = None if saved.truth is None else np.array(saved.truth, dtype=np.int64)
    if truth is not None and sorted(truth.tolist()) != list(range(len(pieces))):
        raise FormatError("the true arrangement is no arrangement of these pieces")
    workbench.title, workbench.origin = saved.title[:120], saved.origin[:40]
    workbench.set_pieces(pieces, grid, truth)
    workbench.truth_grid = None if saved.truth_grid is None else Grid(*saved.truth_grid)
    workbench.history = load_history(saved)
    if saved.photo is not None:
        limit = workbench.limits.max_pixels
        pixels = reader.picture("photo.png", "RGBA", limit)
        packed = reader.picture("labels.png", "RGB", limit)
        labels = packed[..., 0].astype(np.int32) + 256 * packed[..., 1].astype(np.int32)
        if labels.max() != len(pieces):
            raise FormatError("photograph and pieces do not belong together")
        workbench.photo = Photo.restored(
            workbench.folder, pixels, labels, saved.photo.threshold, saved.photo.automatic
        )


def _packed_labels(photo: Photo) -> ByteArray:
    """(H, W, 3) uint8: low byte, high byte, nothing."""
    labels = photo.segmentation.labels
    packed = np.zeros((*labels.shape, 3), np.uint8)
    packed[..., 0] = labels & 255
    packed[..., 1] = labels >> 8
    return packed
