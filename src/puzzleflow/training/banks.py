"""Pictures and masks held ready for cutting fresh puzzles."""

from __future__ import annotations

import csv
import hashlib
import re
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import BoolArray, ByteArray
from puzzleflow.files import atomic_path
from puzzleflow.generation.fragments import fragment_generator, list_fragment_generators
from puzzleflow.pictures import list_pictures, read_picture, resize, square_crop

NUM_GENERATED = 12_000  # masks drawn from a generator, enough that none grows familiar
GENERATED_SEED = 10_000_000  # far from the seeds of any data set
DRAWN_AT_ONCE = 100  # masks between two reports

Report = Callable[[str, int, int], None]  # stage, done, total
SPLITS = {"train": 0.85, "val": 0.075, "test": 0.075}


def picture_split(key: str, seed: int = 0) -> str:
    """The split of a picture, from its name alone: adding pictures moves none."""
    draw = child_rng(seed, "split", key).random()
    for split, share in SPLITS.items():
        if draw < share:
            return split
        draw -= share
    return "test"


def split_pictures(folder: str | Path, split: str, seed: int = 0) -> list[Path]:
    """Picture files of ``folder`` that fall into ``split``.

    Where an ``images.csv`` beside or above the folder names the originals, two
    views of one lamp (names that differ only in the view) stay together.
    """
    folder = Path(folder)
    originals = _originals(folder)
    return [
        path
        for path in list_pictures(folder)
        if picture_split(originals.get(path.name, path.name), seed) == split
    ]


def _originals(folder: Path) -> dict[str, str]:
    """File → object key: two views of one object share the key."""
    for table in (folder / "images.csv", folder.parent / "images.csv"):
        if table.is_file():
            with table.open(newline="", encoding="utf-8") as stream:
                return {row["file"]: _object_key(row) for row in csv.DictReader(stream)}
    return {}


def _object_key(row: dict[str, str]) -> str:
    number = re.search(r"_(\d+)_[0-9a-f]{8}\.\w+$", row["original"])
    return f"lamp {number[1]}" if row["kind"] == "lamps" and number else row["file"]


class PictureBank:
    """Square pictures decoded once into a memory-mapped cache: (M, S, S, 3) uint8."""

    def __init__(self, paths: Sequence[Path], cache: str | Path, size_px: int = 448) -> None:
        if not paths:
            raise InputError("no pictures to cut puzzles from")
        names = "\n".join(f"{p.resolve()}:{p.stat().st_size}" for p in paths)
        key = hashlib.blake2b(f"{size_px}\n{names}".encode(), digest_size=8).hexdigest()
        self.path = Path(cache) / f"pictures-{key}-{size_px}.npy"
        if not self.path.exists():
            self._build(paths, size_px)
        self._pictures: ByteArray | None = None
        self._length = len(paths)

    def _build(self, paths: Sequence[Path], size_px: int) -> None:
        shape = (len(paths), size_px, size_px, 3)
        with atomic_path(self.path) as temporary:
            bank = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.uint8, shape=shape)
            for index, path in enumerate(paths):
                bank[index] = resize(square_crop(read_picture(path)), size_px, size_px)
            bank.flush()

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> ByteArray:
        if self._pictures is None:
            self._pictures = np.load(self.path, mmap_mode="r")
        picture: ByteArray = self._pictures[index]
        return picture

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_pictures": None}  # workers map the file themselves


class MaskBank:
    """Masks of several sources, drawn with given shares, flipped and turned at random."""

    def __init__(self, sources: Sequence[tuple[float, ByteArray | BoolArray]]) -> None:
        """``sources``: (share, masks (K, 128, 128) bool or 0/255) pairs."""
        if not sources:
            raise InputError("no masks to cut puzzles with")
        shares = np.array([share for share, _ in sources], dtype=float)
        self._shares = shares / shares.sum()
        self._masks = [_as_bytes(masks) for _, masks in sources]
        self._scaled: dict[int, list[ByteArray]] = {}

    def draw(self, num_masks: int, size_px: int, rng: np.random.Generator) -> ByteArray:
        """(n, px, px) alpha 0..255, soft where an edge crosses a pixel."""
        if size_px not in self._scaled:
            self._scaled[size_px] = [_shrunk(masks, size_px) for masks in self._masks]
        masks = self._scaled[size_px][rng.choice(len(self._masks), p=self._shares)]
        chosen = masks[rng.integers(len(masks), size=num_masks)]
        turns, flips = rng.integers(4, size=num_masks), rng.integers(2, size=num_masks)
        return np.stack(
            [
                np.rot90(mask[:, ::-1] if flip else mask, turn)
                for mask, turn, flip in zip(chosen, turns, flips, strict=True)
            ]
        )

    @classmethod
    def read(
        cls, sources: dict[str, float], cache: str | Path, report: Report = lambda *_: None
    ) -> MaskBank:
        """From {source: share}; sources as in :func:`read_masks`."""
        return cls([(share, read_masks(path, cache, report)) for path, share in sources.items()])


def check_masks(path: str) -> None:
    """Raise unless :func:`read_masks` would find something there."""
    if path in list_fragment_generators():
        return
    if not Path(path).exists():
        known = ", ".join(list_fragment_generators())
        raise InputError(f"{path}: no masks there, and no generator of this name ({known})")
    if Path(path).suffix != ".npz" and not list_pictures(path):
        raise InputError(f"{path}: no masks in this folder")


def read_masks(path: str | Path, cache: str | Path, report: Report = lambda *_: None) -> ByteArray:
    """(K, 128, 128) 0/255 from a folder of pictures, a packed ``.npz`` or a generator's name.

    What a generator draws is kept in ``cache``; ``report`` is told of the drawing.
    """
    if path in list_fragment_generators():
        return _as_bytes(_generated(str(path), Path(cache), report))
    path = Path(path)
    if path.suffix == ".npz":
        return _as_bytes(_packed(path))
    masks = [resize(read_picture(file, "L"), 128, 128) for file in list_pictures(path)]
    return _as_bytes(np.stack(masks) > 127)


def _packed(path: Path) -> BoolArray:
    try:
        with np.load(path, allow_pickle=False) as archive:
            bits: BoolArray = np.unpackbits(archive["masks"], axis=1).astype(bool)
        return bits.reshape(-1, 128, 128)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise FormatError(f"{path}: expected packed masks of 128x128 ({error})") from error


def _generated(name: str, cache: Path, report: Report) -> BoolArray:
    """Drawn once: the file is named after the generator and after what its weights draw."""
    generator = fragment_generator(name)
    seeds = range(GENERATED_SEED, GENERATED_SEED + NUM_GENERATED)
    chunks = [generator.masks(seeds[:DRAWN_AT_ONCE])]
    key = hashlib.blake2b(np.packbits(chunks[0]).tobytes(), digest_size=8).hexdigest()
    path = cache / f"masks-{name}-{key}-{NUM_GENERATED}-{GENERATED_SEED}.npz"
    if path.exists():
        return _packed(path)
    for first in range(DRAWN_AT_ONCE, NUM_GENERATED, DRAWN_AT_ONCE):
        report(f"masks of {name!r}", first, NUM_GENERATED)
        chunks.append(generator.masks(seeds[first : first + DRAWN_AT_ONCE]))
    report(f"masks of {name!r}", NUM_GENERATED, NUM_GENERATED)
    masks = np.concatenate(chunks)
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, masks=np.packbits(masks.reshape(len(masks), -1), axis=1))
    return masks


def _as_bytes(masks: ByteArray | BoolArray) -> ByteArray:
    return np.where(np.asarray(masks, dtype=bool), np.uint8(255), np.uint8(0))


def _shrunk(masks: ByteArray, size_px: int) -> ByteArray:
    """Area-averaged to ``size_px``."""
    side = masks.shape[1]
    if side == size_px:
        return masks
    if side % size_px:
        return np.stack([resize(mask, size_px, size_px) for mask in masks])
    step = side // size_px
    blocks = masks.reshape(len(masks), size_px, step, size_px, step)
    shrunk: ByteArray = blocks.mean(axis=(2, 4), dtype=np.float32).round().astype(np.uint8)
    return shrunk
