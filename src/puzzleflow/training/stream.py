"""Endless fresh puzzles: new crop, flip, colour, masks, grid and permutation every time.

Batch number b is a function of (seed, b) alone, so a stream can be entered
anywhere: training resumes exactly, and workers share the work without overlap.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from scipy.ndimage import distance_transform_edt
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from puzzleflow.core.canvas import cells_of
from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import BoolArray, ByteArray, IntArray
from puzzleflow.generation.survey import check_foreign_kind
from puzzleflow.models.relational import World
from puzzleflow.parallel import end_with_parent
from puzzleflow.solvers.seam_prior import seam_prior
from puzzleflow.training.banks import MaskBank, PictureBank
from puzzleflow.training.wear import laid_on_ground, object_mask, recoloured, worn

Cut = tuple[ByteArray, IntArray]  # pieces (N, 4, px, px) and the positions where they belong


@dataclass(frozen=True)
class Batch:
    """B puzzles of one grid: pieces (B, N, 4, px, px) uint8 premultiplied, truth (B, N).

    Where ``num_turns`` is 4, every piece comes in all four turns, one after the other:
    the puzzle is there four times, and the truth tells positions in each turned picture.
    """

    pieces: Tensor
    position_of: Tensor
    grid: Grid
    prior: Tensor | None = None  # (B, 2, N, N, F) where a network wants the seam prior
    number: int = 0  # its place in the stream
    closed: bool = True  # every piece is there, and no other; else truth may hold -1
    hidden: bool = False  # the grid is not told
    num_turns: int = 1  # 4: pieces in all four turns

    def __len__(self) -> int:
        return len(self.pieces)

    def pixels(self) -> Tensor:
        """(B, N, 4, px, px) float in [0, 1]."""
        return self.pieces.float().div_(255)

    def pin_memory(self) -> Batch:
        """The same in pinned memory; a loader asks for it."""
        tensors = {name: v for name, v in vars(self).items() if isinstance(v, Tensor)}
        pinned: dict[str, Any] = {name: tensor.pin_memory() for name, tensor in tensors.items()}
        return replace(self, **pinned)

    @property
    def world(self) -> World:
        """What a network is told before it looks."""
        return World(None if self.hidden else self.grid, self.closed)


@dataclass(frozen=True)
class StreamConfig:
    """What is drawn, and how often."""

    piece_px: int = 64
    pieces_per_batch: int = 144
    grids: dict[str, float] = field(
        default_factory=lambda: {"2x2": 0.05, "3x3": 0.55, "4x4": 0.2, "5x5": 0.2}
    )
    smallest_crop: float = 0.6  # side of the crop as a share of the picture
    square_share: float = 0.08  # puzzles of square pieces with a fixed gap
    widest_gap: float = 0.12  # of those, as a share of the piece
    with_prior: bool = False  # compute the seam prior of every puzzle
    cut_larger: int = 1  # pieces are cut so many times larger, and the prior is computed from that
    plain_share: float = 0.2  # puzzles cut exactly as data sets are: centre crop, no changes
    wide_share: float = 0.0  # puzzles whose outlines are moved inward
    deepest: float = 0.16  # of those, as a share of the piece
    worn_share: float = 0.0  # pictures blurred a little or compressed
    object_share: float = 0.0  # pictures of one object laid on plain ground
    open_share: float = 0.0  # batches with pieces missing or foreign
    most_missing: float = 0.35
    most_foreign: float = 0.3
    hidden_share: float = 0.0  # batches whose grid is not told
    turned_share: float = 0.0  # batches with pieces in all four turns, if they fit; grid not told
    foreign_kind: str = "any"  # of strangers: any, or the same kind of picture, or another

    def __post_init__(self) -> None:
        if self.cut_larger < 1:
            raise InputError(f"cut_larger: expected a number from 1 up, not {self.cut_larger}")


class NumberedBatches(IterableDataset[Batch]):
    """Endless batches, each a function of its number; workers take turns."""

    first_batch = 0  # where iteration begins

    def batch(self, number: int) -> Batch:
        """Batch ``number``, always the same."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Batch]:
        worker = get_worker_info()
        offset, step = (worker.id, worker.num_workers) if worker else (0, 1)
        number = self.first_batch + offset
        while True:
            yield self.batch(number)
            number += step


class PuzzleStream(NumberedBatches):
    """An endless iterable of :class:`Batch`, from ``first_batch`` on."""

    def __init__(
        self,
        pictures: PictureBank,
        masks: MaskBank,
        config: StreamConfig,
        *,
        seed: int,
        first_batch: int = 0,
        kinds: Sequence[str] = (),
    ) -> None:
        """``kinds``: of the pictures, where strangers are chosen by them."""
        self.pictures = pictures
        self.masks = masks
        self.config = config
        self.seed = seed
        self.first_batch = first_batch
        check_foreign_kind(config.foreign_kind)
        self.kinds = np.array(kinds)  # (M,) or empty
        self.grids = [Grid.parse(text) for text in config.grids]
        shares = np.array(list(config.grids.values()), dtype=float)
        self._shares = shares / shares.sum()

    def batch(self, number: int) -> Batch:
        """Batch ``number`` of this stream, always the same."""
        rng = child_rng(self.seed, "batch", number)
        grid = self.grids[rng.choice(len(self.grids), p=self._shares)]
        small = 4 * grid.num_pieces <= self.config.pieces_per_batch
        num_turns = 4 if small and rng.random() < self.config.turned_share else 1
        size = max(1, self.config.pieces_per_batch // (num_turns * grid.num_pieces))
        missing, foreign = self._condition(grid, rng)
        puzzles = [self._opened(missing, foreign, grid, rng) for _ in range(size)]
        hidden = bool(rng.random() < self.config.hidden_share)
        if num_turns > 1:
            puzzles, hidden = [in_all_turns(puzzle, grid) for puzzle in puzzles], True
        return replace(
            self._collated(puzzles, grid, number),
            closed=not (missing or foreign),
            hidden=hidden,
            num_turns=num_turns,
        )

    def _condition(self, grid: Grid, rng: np.random.Generator) -> tuple[int, int]:
        """How many pieces of every puzzle of a batch are missing, and how many are foreign."""
        if rng.random() >= self.config.open_share:
            return 0, 0
        missing, foreign = (
            rng.binomial(grid.num_pieces, rng.uniform(0, most)) if rng.random() < 0.7 else 0
            for most in (self.config.most_missing, self.config.most_foreign)
        )
        return min(missing, grid.num_pieces - 1), foreign

    def _opened(self, missing: int, foreign: int, grid: Grid, rng: np.random.Generator) -> Cut:
        """A puzzle with its first pieces gone and pieces of another picture come in."""
        picture = int(rng.integers(len(self.pictures)))
        pieces, position_of = self._puzzle(grid, rng, picture)
        pieces, position_of = pieces[missing:], position_of[missing:]
        if foreign:
            others, _ = self._puzzle(grid, rng, self._stranger(picture, rng))
            pieces = np.concatenate([pieces, others[:foreign]])
            position_of = np.concatenate([position_of, np.full(foreign, -1)])
            order = rng.permutation(len(pieces))
            pieces, position_of = pieces[order], position_of[order]
        return pieces, position_of

    def _stranger(self, picture: int, rng: np.random.Generator) -> int:
        """A picture whose pieces are foreign in a puzzle of ``picture``."""
        if self.config.foreign_kind == "any":
            return int(rng.integers(len(self.pictures)))
        among = (self.kinds == self.kinds[picture]) == (self.config.foreign_kind == "same")
        among[picture] = False
        if not among.any():
            raise InputError(
                f"no picture of {self.config.foreign_kind} kind is with one of "
                f"{self.kinds[picture]!r}: foreign_kind=any takes all"
            )
        return int(rng.choice(np.flatnonzero(among)))

    def validation(self, grid: Grid, num_puzzles: int, batch_size: int = 16) -> Iterator[Batch]:
        """Fixed puzzles, one a picture in order, cut as data sets are."""
        for first in range(0, num_puzzles, batch_size):
            puzzles = []
            for index in range(first, min(first + batch_size, num_puzzles)):
                rng = child_rng(self.seed, "validation", str(grid), index)
                picture = index % len(self.pictures)
                puzzles.append(self._puzzle(grid, rng, picture, as_it_is=True))
            yield self._collated(puzzles, grid)

    def _puzzle(
        self, grid: Grid, rng: np.random.Generator, picture: int, *, as_it_is: bool = False
    ) -> Cut:
        """Pieces (N, 4, px, px) of a picture and their positions; any crop, unless ``as_it_is``."""
        px = self._cut_px
        canvas = self._canvas(grid, picture, None if as_it_is else rng)
        square = not as_it_is and rng.random() < self.config.square_share
        cells = cells_of(canvas, grid).transpose(0, 3, 1, 2)  # (N, 3, px, px) by position
        alpha = (
            self._square_alpha(grid.num_pieces, rng)
            if square
            else self.masks.draw(grid.num_pieces, px, rng)
        )  # (N, px, px)
        if not as_it_is and not square and rng.random() < self.config.wide_share:
            alpha = _moved_inward(alpha, rng.uniform(0, self.config.deepest * px), rng)
        colour = cells * (alpha[:, None].astype(np.uint16) + 1) >> 8
        by_position = np.concatenate([colour.astype(np.uint8), alpha[:, None]], axis=1)
        position_of = rng.permutation(grid.num_pieces)
        return by_position[position_of], position_of

    def _canvas(self, grid: Grid, picture: int, rng: np.random.Generator | None) -> ByteArray:
        """(R·px, C·px, 3): the centred crop without ``rng``, else any crop, flip and tone."""
        pixels = self.pictures[picture]
        share, stretch, down, along = 1.0, 1.0, 0.5, 0.5
        changed = rng is not None and rng.random() >= self.config.plain_share
        if rng is not None and rng.random() < self.config.object_share and self._objects:
            picture, mask = self._objects[rng.integers(len(self._objects))]
            pixels = laid_on_ground(self.pictures[picture], mask, len(pixels), rng)
            changed = False
        height, width = pixels.shape[:2]
        if rng is not None and changed:
            share = rng.uniform(self.config.smallest_crop, 1.0)
            stretch = np.exp(rng.uniform(-0.15, 0.15))
            down, along = rng.random(2)
        unit = share * min(height / grid.rows, width / (grid.cols * stretch))
        crop_h, crop_w = unit * grid.rows, unit * grid.cols * stretch
        top, left = down * (height - crop_h), along * (width - crop_w)
        px = self._cut_px
        if changed and rng is not None and rng.random() < self.config.worn_share:
            pixels = worn(pixels, rng)
        image = Image.fromarray(pixels).resize(
            (grid.cols * px, grid.rows * px),
            Image.Resampling.BILINEAR,
            box=(left, top, left + crop_w, top + crop_h),
        )
        canvas: ByteArray = np.asarray(image)
        if rng is None or not changed:
            return canvas
        if rng.random() < 0.5:
            canvas = canvas[:, ::-1]
        return recoloured(canvas, rng)

    @cached_property
    def _objects(self) -> list[tuple[int, BoolArray]]:
        """Pictures of one object on plain ground, with the object's mask."""
        masks = ((index, object_mask(self.pictures[index])) for index in range(len(self.pictures)))
        return [(index, mask) for index, mask in masks if mask is not None]

    def _collated(self, puzzles: list[Cut], grid: Grid, number: int = 0) -> Batch:
        pieces, truths = zip(*puzzles, strict=True)
        prior = None
        if self.config.with_prior:
            prior = torch.from_numpy(np.stack([seam_prior(straight(p)) for p in pieces]))
        shown, true = (torch.from_numpy(np.stack(arrays)) for arrays in (pieces, truths))
        if self.config.cut_larger > 1:
            px = self.config.piece_px
            pixels = F.avg_pool2d(shown.flatten(0, 1).float(), self.config.cut_larger)
            shown = pixels.round_().to(torch.uint8).view(*shown.shape[:3], px, px)
        return Batch(shown, true, grid, prior, number)

    @property
    def _cut_px(self) -> int:
        return self.config.piece_px * self.config.cut_larger

    def _square_alpha(self, num_pieces: int, rng: np.random.Generator) -> ByteArray:
        """Square pieces with one gap all round, as in JPwLEG."""
        px = self._cut_px
        gap = int(rng.integers(0, 1 + round(self.config.widest_gap * px)))
        alpha = np.zeros((num_pieces, px, px), np.uint8)
        alpha[:, gap : px - gap, gap : px - gap] = 255
        return alpha


def in_all_turns(puzzle: Cut, grid: Grid) -> Cut:
    """(N, 4, px, px) pieces and positions → (4 N, …): every piece turned 0 to 3 times.

    Turned against the clock, the whole picture is one on ``grid.turned(turn)``.
    """
    pieces, position_of = puzzle
    turned = np.stack([np.rot90(pieces, turn, (2, 3)) for turn in range(4)], axis=1)
    moved = [grid.turned_position(position_of, turn) for turn in range(4)]
    at = np.where(position_of[:, None] < 0, -1, np.stack(moved, axis=1))  # (N, 4)
    return turned.reshape(-1, *pieces.shape[1:]), at.ravel()


def _moved_inward(alpha: ByteArray, depth: float, rng: np.random.Generator) -> ByteArray:
    """(N, px, px) outlines about ``depth`` pixels further in, as long as a quarter is left."""
    moved = np.empty_like(alpha)
    for index, mask in enumerate(alpha):
        inside = distance_transform_edt(np.pad(mask > 127, 1))[1:-1, 1:-1]
        edge = min(depth * rng.uniform(0.7, 1.3), np.quantile(inside, 0.75))
        moved[index] = np.clip((inside - edge) * 255, 0, 255)
    return moved


def straight(pieces: ByteArray) -> ByteArray:
    """(N, 4, px, px) premultiplied with soft alpha → (N, px, px, 4) with binary alpha."""
    alpha = pieces[:, 3:].astype(np.float32)
    solid = alpha > 127
    colour = np.where(solid, pieces[:, :3] * (255 / np.maximum(alpha, 1)), 0)
    straight = np.concatenate([colour.clip(0, 255), solid * 255.0], axis=1).round()
    return straight.astype(np.uint8).transpose(0, 2, 3, 1)


def stream_loader(
    stream: NumberedBatches, num_workers: int = 0, *, prefetch: int = 4, pinned: bool = False
) -> DataLoader[Batch]:
    """A loader that yields the stream's batches in order; its workers live as long as it does.

    prefetch  batches that each worker has ready
    pinned    batches are put into pinned memory, from where a GPU takes them at once
    """
    return DataLoader(
        stream,
        batch_size=None,
        num_workers=num_workers,
        prefetch_factor=prefetch if num_workers else None,
        persistent_workers=num_workers > 0,
        pin_memory=pinned,
        worker_init_fn=_quiet_worker if num_workers else None,
        generator=torch.Generator(),  # a loader must not draw from the training's own numbers
    )


def _quiet_worker(_: int) -> None:
    """One thread; what interrupts the training ends it first, then it ends its workers."""
    torch.set_num_threads(1)
    end_with_parent()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
