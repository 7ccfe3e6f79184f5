"""Any source of puzzles as a map-style PyTorch data set."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.data import Dataset

from puzzleflow.models.pixels import to_tensor
from puzzleflow.storage.source import PuzzleSource

UNKNOWN = -1


class PuzzleItem(NamedTuple):
    """One puzzle, or a batch of them after the default collation.

    pieces       (N, 4, px, px) float in [0, 1], colour premultiplied by alpha
    position_of  (N,) int64 truth; -1 everywhere if it is not known
    """

    pieces: Tensor
    position_of: Tensor


class PuzzleDataset(Dataset[PuzzleItem]):
    """Puzzle ``index`` of a source as tensors; give it to any ``DataLoader``.

    Sources open their files again in every worker process. Puzzles of one batch
    need the same number of pieces, so sources of mixed grids go one at a time.

    size_px  side to which pieces are resized; None keeps theirs, which must be square
    """

    def __init__(self, source: PuzzleSource, *, size_px: int | None = None) -> None:
        self.source = source
        self.size_px = size_px

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index: int) -> PuzzleItem:
        puzzle = self.source[index]
        size_px = self.size_px or max(puzzle.piece_px)
        if puzzle.truth is None:
            position_of = torch.full((puzzle.num_pieces,), UNKNOWN)
        else:
            position_of = torch.from_numpy(puzzle.truth.copy())
        return PuzzleItem(to_tensor(puzzle.pieces, size_px), position_of)
