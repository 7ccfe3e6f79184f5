"""Sets like JPwLEG-3 and JPwLEG-5 from any pictures: square pieces of 96 px, one gap all round."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import overload

import numpy as np

from puzzleflow.core.canvas import cells_of
from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.rng import child_rng
from puzzleflow.files import read_json, write_json
from puzzleflow.generation.builder import make_canvas
from puzzleflow.pictures import read_picture
from puzzleflow.storage.jpwleg import write_jpwleg

PIECE_PX = 96
SETS = {"jpwleg-3": (Grid(3, 3), 48), "jpwleg-5": (Grid(5, 5), 12)}  # grid, gap in px
SIZES = {"train": 9_000, "val": 1_000, "test": 2_000}  # as published
RECORD = "made.json"

Report = Callable[[str, int, int], None]  # stage, done, total


@dataclass(frozen=True)
class SquarePuzzles(Sequence[Puzzle]):
    """One puzzle a picture, cut when asked for; the centre piece is not shuffled."""

    pictures: Sequence[Path]
    grid: Grid
    gap_px: int
    seed: int = 0

    def __len__(self) -> int:
        return len(self.pictures)

    @overload
    def __getitem__(self, index: int) -> Puzzle: ...
    @overload
    def __getitem__(self, index: slice) -> SquarePuzzles: ...
    def __getitem__(self, index: int | slice) -> Puzzle | SquarePuzzles:
        if isinstance(index, slice):
            return SquarePuzzles(self.pictures[index], self.grid, self.gap_px, self.seed)
        path, pitch = self.pictures[index], PIECE_PX + self.gap_px
        cells = cells_of(make_canvas(read_picture(path), self.grid, (pitch, pitch)), self.grid)
        first = self.gap_px // 2
        inner = cells[:, first : first + PIECE_PX, first : first + PIECE_PX]  # (N, px, px, 3)
        N = self.grid.num_pieces
        truth = np.arange(N)
        others = np.delete(truth, N // 2)
        truth[others] = child_rng(self.seed, "jpwleg", str(self.grid), path.name).permutation(
            others
        )
        pieces = np.full((N, PIECE_PX, PIECE_PX, 4), 255, np.uint8)
        pieces[..., :3] = inner[truth]
        return Puzzle(pieces, self.grid, truth=truth, puzzle_id=path.name)


def write_sets(
    pictures: Mapping[str, Sequence[Path]],
    folder: Path,
    *,
    sizes: Mapping[str, int] = SIZES,
    seed: int = 0,
    report: Report = lambda *_: None,
) -> dict[str, Path]:
    """Both sets below ``folder``, split by split; name → folder.

    pictures  by split; each gives one puzzle to each set, at most as many as ``sizes`` says
    A split that lies there whole is left alone; other pictures or another seed are an error.
    """
    folders = {}
    for name, (grid, gap_px) in SETS.items():
        folders[name] = folder / name
        for split, paths in pictures.items():
            chosen = list(paths)[: sizes.get(split, 0)]
            if not chosen:
                continue
            record = folders[name] / f"{split}.{RECORD}"
            made = {"puzzles": len(chosen), "seed": seed, "pictures": _digest(chosen)}
            if record.exists():
                if read_json(record) != made:
                    raise InputError(
                        f"{record}: holds puzzles of other pictures or seeds; choose another folder"
                    )
                continue

            def tell(done: int, stage: str = f"{name} {split}", total: int = len(chosen)) -> None:
                report(stage, done, total)

            puzzles = SquarePuzzles(chosen, grid, gap_px, seed)
            write_jpwleg(folders[name], puzzles, split=split, gap_px=gap_px, report=tell)
            write_json(record, made)
    return folders


def _digest(paths: Sequence[Path]) -> str:
    names = "\n".join(f"{path.name}:{path.stat().st_size}" for path in paths)
    return blake2b(names.encode(), digest_size=8).hexdigest()
