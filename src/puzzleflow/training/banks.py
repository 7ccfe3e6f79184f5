"""Pictures and masks held ready for cutting fresh puzzles."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from puzzleflow.core.errors import InputError
from puzzleflow.core.rng import child_rng, child_seed
from puzzleflow.core.types import BoolArray, ByteArray
from puzzleflow.files import atomic_path
from puzzleflow.generation.fragments import fragment_generator, list_fragment_generators
from puzzleflow.generation.survey import picture_table
from puzzleflow.masks import as_grey, each_mask, read_masks, write_masks
from puzzleflow.pictures import list_pictures, read_picture, resize, square_crop

NUM_GENERATED = 12_000  # masks drawn from a generator, too many to be learnt by heart
GENERATED_SEED = 10_000_000  # far from the seeds of any data set
DRAWN_AT_ONCE = 100  # masks between two reports

Report = Callable[[str, int, int], None]  # stage, done, total
SPLITS = {"train": 0.85, "val": 0.075, "test": 0.075}
LEAST_MASKS = 20  # below this an 80/10/10 split leaves nothing to choose by


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

    Where an ``images.csv`` beside or above the folder tells that pictures show
    one object, they stay together.
    """
    folder = Path(folder)
    originals = _originals(folder)
    return [
        path
        for path in list_pictures(folder)
        if picture_split(originals.get(path.name, path.name), seed) == split
    ]


def _originals(folder: Path) -> dict[str, str]:
    """File → the key of its split; pictures of one object share the key."""
    table = picture_table(folder)
    if table is None:
        return {}
    with table.open(newline="", encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if row.get("file")]
        return {row["file"]: _split_key(row) for row in rows}


def _split_key(row: dict[str, str]) -> str:
    """The column ``object`` where it says anything, else kind and number of a view, else the file.

    ``…_thumbs_12_HASH.jpg`` and ``…_banners_12_HASH.jpg`` are two views of number 12.
    """
    view = re.search(r"_(?:thumbs|banners)_(\d+)_[0-9a-f]{8}\.\w+$", row.get("original") or "")
    seen = f"{row.get('kind', '').removesuffix('s')} {view[1]}" if view else row["file"]
    return row.get("object") or seen


class PictureBank:
    """Square pictures decoded once into a memory-mapped cache: (M, S, S, 3) uint8.

    The cache is an ``.npy`` file with a checksum behind its last byte. It is written, not
    mapped, so that a full disk is an error like any other, and made anew where it is damaged.
    """

    def __init__(self, paths: Sequence[Path], cache: str | Path, size_px: int = 448) -> None:
        if not paths:
            raise InputError("no pictures to cut puzzles from")
        names = "\n".join(f"{p.resolve()}:{p.stat().st_size}" for p in paths)
        key = hashlib.blake2b(f"{size_px}\n{names}".encode(), digest_size=8).hexdigest()
        self.path = _without_pipe(Path(cache) / f"pictures-{key}-{size_px}.npy")
        self._shape = (len(paths), size_px, size_px, 3)
        if not self._is_whole():
            self._build(paths, size_px)
        self._pictures: ByteArray | None = None

    def _is_whole(self) -> bool:
        """Whether the file holds what was written into it, byte for byte."""
        header, digest = self._header(), _digest()
        with suppress(OSError), self.path.open("rb") as stream:
            if stream.read(len(header)) != header:
                return False
            for _ in range(len(self)):
                digest.update(stream.read(self._shape[1] * self._shape[2] * 3))
            return stream.read(digest.digest_size + 1) == digest.digest()
        return False

    def _build(self, paths: Sequence[Path], size_px: int) -> None:
        digest = _digest()
        with atomic_path(self.path) as temporary, temporary.open("wb") as stream:
            stream.write(self._header())
            for path in paths:
                picture = resize(square_crop(read_picture(path)), size_px, size_px).tobytes()
                digest.update(picture)
                stream.write(picture)
            stream.write(digest.digest())

    def _header(self) -> bytes:
        header = io.BytesIO()
        content = {"descr": "|u1", "fortran_order": False, "shape": self._shape}
        np.lib.format.write_array_header_1_0(header, content)
        return header.getvalue()

    def __len__(self) -> int:
        return self._shape[0]

    def __getitem__(self, index: int) -> ByteArray:
        if self._pictures is None:
            self._pictures = np.memmap(
                self.path, np.uint8, "r", offset=len(self._header()), shape=self._shape
            )
        picture: ByteArray = self._pictures[index]
        return picture

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_pictures": None}  # workers map the file themselves


def _without_pipe(path: Path) -> Path:
    """The path of a cache; a pipe there, which would be waited for, goes like other damage."""
    if path.is_fifo():
        path.unlink()
    return path


def _digest() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=16)


class MaskBank:
    """Masks of several sources, drawn with given shares, flipped and turned at random."""

    def __init__(self, sources: Sequence[tuple[float, BoolArray]]) -> None:
        """``sources``: (share, masks (K, 128, 128) bool) pairs."""
        if not sources:
            raise InputError("no masks to cut puzzles with")
        shares = np.array([share for share, _ in sources], dtype=float)
        self._shares = shares / shares.sum()
        self._masks = [as_grey(masks) for _, masks in sources]
        self._scaled: dict[int, list[ByteArray]] = {}

    def draw(self, num_masks: int, size_px: int, rng: np.random.Generator) -> ByteArray:
        """(n, px, px) alpha 0..255, soft where an edge crosses a pixel."""
        if size_px not in self._scaled:
            self._scaled[size_px] = [_shrunk(masks, size_px) for masks in self._masks]
        masks = self._scaled[size_px][rng.choice(len(self._masks), p=self._shares)]
        chosen = masks[rng.integers(len(masks), size=num_masks)]
        turns, flips = rng.integers(4, size=num_masks), rng.integers(2, size=num_masks)
        ways = zip(chosen, turns, flips, strict=True)
        return np.stack([np.rot90(m[:, ::-1] if flip else m, turn) for m, turn, flip in ways])

    @classmethod
    def read(
        cls, sources: dict[str, float], cache: Path, report: Report = lambda *_: None
    ) -> MaskBank:
        """From {source: share}; sources as in :func:`draw_or_read`."""
        return cls([(share, draw_or_read(name, cache, report)) for name, share in sources.items()])


def check_masks(source: str) -> None:
    """Raise unless :func:`draw_or_read` would find something."""
    if source not in list_fragment_generators():
        if not Path(source).exists():
            known = ", ".join(list_fragment_generators())
            raise InputError(f"{source}: no masks there, and no generator of this name ({known})")
        next(each_mask(source))


def draw_or_read(source: str, cache: Path, report: Report = lambda *_: None) -> BoolArray:
    """(K, 128, 128) masks of a generator, by its name, or of a folder or packed ``.npz``.

    What a generator draws is kept in ``cache``, in a packed file, which has checksums, named
    after the generator and after the first masks that its weights draw. A damaged one is drawn
    anew; ``report`` is told how far it is.
    """
    if source not in list_fragment_generators():
        return read_masks(source).masks
    generator = fragment_generator(source)
    seeds = range(GENERATED_SEED, GENERATED_SEED + NUM_GENERATED)
    first = generator.masks(seeds[:DRAWN_AT_ONCE])
    key = hashlib.blake2b(np.packbits(first).tobytes(), digest_size=8).hexdigest()
    path = _without_pipe(cache / f"masks-{source}-{key}-{NUM_GENERATED}-{GENERATED_SEED}.npz")

    def drawn() -> Iterator[BoolArray]:
        yield first
        for done in range(DRAWN_AT_ONCE, NUM_GENERATED, DRAWN_AT_ONCE):
            report(f"masks of {source!r}", done, NUM_GENERATED)
            yield generator.masks(seeds[done : done + DRAWN_AT_ONCE])
        report(f"masks of {source!r}", NUM_GENERATED, NUM_GENERATED)

    with suppress(InputError):
        kept = read_masks(path).masks
        if len(kept) == NUM_GENERATED and np.array_equal(kept[: len(first)], first):
            return kept
    write_masks(path, drawn())
    return read_masks(path).masks


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


@dataclass(frozen=True)
class MaskSplit:
    """Indices into one list of masks, each part in rising order."""

    train: list[int]
    validation: list[int]
    test: list[int]


def split_masks(names: Sequence[str], seed: int = 0) -> MaskSplit:
    """80/10/10, drawn within each subfolder so that every source is in each part.

    A mask's part depends on the names in its own folder and the seed alone.
    """
    if len(names) < LEAST_MASKS:
        raise InputError(
            f"an 80/10/10 split needs at least {LEAST_MASKS} masks, there are {len(names)}"
        )
    folders: dict[str, list[int]] = defaultdict(list)
    for index, name in enumerate(names):
        folders[name.rpartition("/")[0]].append(index)
    split = MaskSplit([], [], [])
    for indices in folders.values():
        drawn = sorted(indices, key=lambda index: child_seed(seed, "split", names[index]))
        tenth = round(len(drawn) / 10)
        split.validation.extend(drawn[:tenth])
        split.test.extend(drawn[tenth : 2 * tenth])
        split.train.extend(drawn[2 * tenth :])
    for part in (split.train, split.validation, split.test):
        part.sort()
    if not split.validation:
        raise InputError(f"{len(names)} masks in {len(folders)} folders are too few for a split")
    return split
