"""What the rivals share: a network that is trained by its loss and lays pieces, and its solver.

A rival is a :class:`Rival`: ``forward`` encodes a puzzle once, ``loss`` says what it is trained
to do, ``layout`` how it answers. :class:`RivalSolver` makes a solver of it,
``training/rivals.py`` a network of ``puzzleflow train``.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from puzzleflow.core.cancelling import check_cancelled
from puzzleflow.core.errors import CannotSolve, InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Layout, Puzzle, Solution
from puzzleflow.core.records import Saved
from puzzleflow.core.types import BoolArray, FloatArray, IntArray
from puzzleflow.models.checkpoint import load_network, solver_weights
from puzzleflow.models.pixels import to_tensor
from puzzleflow.solvers.base import Question, TimedSession, nearest_allowed
from puzzleflow.solvers.classical import Found

MAX_SIZE = 8192  # of anything in a configuration
NEVER = 1e9  # the cost of a placement that is not allowed


@dataclass(frozen=True)
class RivalConfig(Saved):
    """Sizes that most rivals have; the defaults are the small preset, equal for all of them.

    piece_px        side of a piece as the network sees it
    widths, blocks  of the convolutional trunk; no widths: patches of 16 px as they are
    dim, layers, heads  of the method's own layers
    grids           that it has outputs for, where it has one for every position
    mended          the row NAME+: what harms the published adaptation is put right
    """

    piece_px: int = 32
    widths: tuple[int, ...] = (32, 64, 128)
    blocks: tuple[int, ...] = (0, 1, 2)
    dim: int = 128
    layers: int = 4
    heads: int = 4
    grids: tuple[str, ...] = ("3x3", "5x5")
    mended: bool = False

    def __post_init__(self) -> None:
        """Refuse sizes that no trained network has."""
        for name, value in vars(self).items():
            for size in value if isinstance(value, tuple) else (value,):
                if isinstance(size, int | float) and not 0 <= size <= MAX_SIZE:
                    raise InputError(f"{name}: expected sizes up to {MAX_SIZE}, not {size}")
        if self.piece_px < 16 or self.piece_px % 16:
            raise InputError(f"piece_px: expected a multiple of 16, not {self.piece_px}")
        for grid in self.grids:
            Grid.parse(grid)

    @property
    def channels(self) -> int:
        """Colour alone, as published, or colour and alpha where that is mended."""
        return 4 if self.mended else 3


class Rival(nn.Module, ABC):
    """A published method as a network.

    presets      name → configuration: "small", and "paper" with the published sizes
    rate         peak learning rate of its training
    fixed_grids  it has outputs for the grids of its configuration and for no other
    """

    presets: ClassVar[Mapping[str, Any]]
    rate: ClassVar[float] = 1e-3
    fixed_grids: ClassVar[bool] = False

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config

    def forward(self, pixels: Tensor, grid: Grid) -> Tensor:
        """(B, N, 4, px, px) premultiplied in [0, 1] → what is computed once, (B, …).

        Unless a method says otherwise, (B, N, dim) of its ``pieces``.
        """
        return self.pieces(self.seen(pixels))  # type: ignore[no-any-return,operator]

    @abstractmethod
    def loss(self, pixels: Tensor, position_of: Tensor, grid: Grid) -> dict[str, Tensor]:
        """Named losses of puzzles whose truth (B, N) is known; "loss" is minimised."""

    @abstractmethod
    def layout(self, encoded: Tensor, grid: Grid, allowed: BoolArray, seed: int) -> Found:
        """One puzzle out of what ``forward`` gave; placements outside ``allowed`` are mended."""

    @property
    def trunk(self) -> nn.Module | None:
        """Its convolutions, which may start from those of another network."""
        parts = [getattr(part, "trunk", None) for part in self.children()]
        return next((trunk for trunk in parts if isinstance(trunk, nn.Module)), None)

    def check(self, grid: Grid) -> None:
        """Raise :class:`CannotSolve`, naming the grid, where the method cannot lay it."""
        if self.fixed_grids and str(grid) not in self.config.grids:
            known = " and ".join(self.config.grids)
            raise CannotSolve(f"these weights lay {known}, not {grid}: one output a position")

    def grid_of(self, puzzle: Puzzle) -> Grid:
        """The grid of a puzzle of a world that the method knows; else :class:`CannotSolve`."""
        return puzzle.closed_grid

    def seen(self, pixels: Tensor) -> Tensor:
        """(…, 4, h, w) → (…, C, h, w): what the method looks at."""
        return pixels[..., : self.config.channels, :, :]


class RivalSolver:
    """A rival with its weights, as a solver.

    weights  what ``puzzleflow train NAME`` wrote, by default the bundled file
    """

    name: ClassVar[str]
    rival: ClassVar[type[Rival]]

    def __init_subclass__(cls, name: str, rival: type[Rival] | None = None) -> None:
        cls.name, cls.rival = name, rival or cls.rival

    def __init__(self, weights: str | Path | None = None) -> None:
        bundled = f"rivals/{self.name}.safetensors"
        self.weights = Path(weights) if weights else solver_weights(self.name, bundled)
        self.network, _ = load_network(self.weights, self._built, self.name)

    def _built(self, sizes: dict[str, Any]) -> Rival:
        return self.rival(type(self.rival.presets["small"]).from_dict(sizes))

    def prepare(self, puzzle: Puzzle) -> RivalSession:
        started, grid = time.perf_counter(), self.network.grid_of(puzzle)
        self.network.check(grid)
        with torch.inference_mode():
            pixels = to_tensor(puzzle.pieces, self.network.config.piece_px)[None]
            encoded = self.network(pixels, grid)[0]
        seconds = time.perf_counter() - started
        return RivalSession(self.name, self.network, encoded, grid, puzzle, seconds)


@dataclass(frozen=True, eq=False)
class RivalSession(TimedSession):
    """One puzzle, encoded once."""

    name: str
    network: Rival
    encoded: Tensor
    grid: Grid
    puzzle: Puzzle
    prepare_s: float

    def answer(self, asked: Question) -> Solution:
        """Ask the network's own search; what it leaves unallowed is mended by few moves."""
        check_cancelled()
        allowed = asked.allowed(self.puzzle.num_pieces, self.grid.num_pieces)
        with torch.inference_mode():
            found = self.network.layout(self.encoded, self.grid, allowed, asked.seed)
        position_of = nearest_allowed(found.position_of, allowed)
        prob = found.position_prob
        grid = None if self.puzzle.is_closed else self.grid
        turns = found.turns if self.puzzle.conditions.turned else None
        return Solution(
            position_of,
            solver=self.name,
            confidence=None if prob is None else prob[np.arange(len(prob)), position_of],
            position_prob=prob,
            trace=found.trace,
            alternatives=(Layout(position_of, grid=grid, turns=turns),)
            if asked.num_alternatives
            else (),
            grid=grid,
            turns=turns,
        )


def assigned(scores: FloatArray, allowed: BoolArray, *, greedy: bool = False) -> Found:
    """The layout of the highest sum of (N, P) log-probabilities, by the Hungarian method.

    ``greedy``: the surest placement first, then the surest of the rest, as several originals do.
    """
    from scipy.optimize import linear_sum_assignment

    if not np.isfinite(scores).all():
        raise CannotSolve("its network gives numbers that are not finite")
    scores = np.where(allowed, scores, -NEVER)
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    prob = shifted / shifted.sum(axis=1, keepdims=True)
    if not greedy:
        position_of = linear_sum_assignment(-scores)[1].astype(np.int64)
        return Found(position_of, position_prob=prob)
    left, position_of = scores.copy(), np.zeros(len(scores), dtype=np.int64)
    for _ in range(len(scores)):
        piece, position = np.unravel_index(left.argmax(), left.shape)
        position_of[piece] = position
        left[piece, :] = left[:, position] = -np.inf
    return Found(position_of, position_prob=prob)


def any_layout(allowed: BoolArray, rng: np.random.Generator) -> IntArray:
    """A random permutation within ``allowed``."""
    from scipy.optimize import linear_sum_assignment

    costs = rng.random(allowed.shape) + np.where(allowed, 0.0, NEVER)
    return linear_sum_assignment(costs)[1].astype(np.int64)  # type: ignore[no-any-return]


def pinned_pieces(allowed: BoolArray) -> tuple[IntArray, IntArray]:
    """Pieces that may lie at one position alone, and these positions."""
    pieces = np.flatnonzero(allowed.sum(axis=1) == 1)
    return pieces, allowed[pieces].argmax(axis=1)


def any_pairs(piece_at: Tensor) -> Tensor:
    """(M, 2) two different cells of every layout (M, P), at random."""
    return torch.rand(piece_at.shape, device=piece_at.device).argsort(dim=1)[:, :2]


def swapped(piece_at: Tensor, pairs: Tensor) -> Tensor:
    """Layouts (M, P) with the cells of ``pairs`` (M, 2) exchanged."""
    return piece_at.scatter(1, pairs, piece_at.gather(1, pairs.flip(1)))


def shuffled_as(pixels: Tensor, position_of: Tensor, wanted: Tensor) -> Tensor:
    """The pieces (B, N, …) in the order in which their truth is ``wanted`` (B, N)."""
    piece_at = position_of.argsort(dim=1)
    order = piece_at.gather(1, wanted)  # (B, N)
    return pixels[torch.arange(len(pixels), device=pixels.device)[:, None], order]


def pasted(pieces: Tensor, grid: Grid) -> Tensor:
    """(B, N, C, h, w) → (B, C, rows·h, cols·w): piece k lies in cell k."""
    rows = pieces.reshape(len(pieces), *grid.shape, *pieces.shape[2:])  # (B, R, K, C, h, w)
    return rows.permute(0, 3, 1, 4, 2, 5).flatten(4, 5).flatten(2, 3)


def cells(grid: Grid) -> Tensor:
    """(P, 2) row and column of every position."""
    number = torch.arange(grid.num_pieces)
    return torch.stack([number // grid.cols, number % grid.cols], dim=1).float()
