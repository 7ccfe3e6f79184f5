"""Prediction files of the field, in both of their directions.

``.npz``  of predict.py: ``predictions`` (M, N) piece → position, with targets
``.npy``  of the baselines: (M, N) position → piece, the inverse

What a file is follows from its content, never from its name, and what its rows
mean from that unless the reader is told; inside PuzzleFlow everything is
piece → position.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from puzzleflow.core.assignment import as_permutations, invert_rows
from puzzleflow.core.errors import FormatError, InputError, NotAGrid, UnknownName, naming
from puzzleflow.core.grid import Grid
from puzzleflow.core.types import IntArray
from puzzleflow.files import write_json
from puzzleflow.storage.arrays import (
    NPY_MAGIC,
    ZIP_MAGIC,
    first_bytes,
    map_npy,
    read_npz,
    write_npy,
    write_npz,
)

INFO_FIELDS = ("dataset", "split", "checkpoint", "n_steps", "model_type")
PIECE_TO_POSITION, POSITION_TO_PIECE = DIRECTIONS = ("piece-to-position", "position-to-piece")
MAX_VALUES = 1 << 27


@dataclass(frozen=True, eq=False)
class Predictions:
    """M answers, and what their file says besides.

    position_of  (M, N) int64 piece → position, every row a permutation
    targets      (M, N) int64 the truth, or None
    grid         where the file tells it, or None
    info         dataset, split, checkpoint, n_steps, model_type as far as known
    """

    position_of: IntArray
    targets: IntArray | None = None
    grid: Grid | None = None
    info: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "position_of", _checked(self.position_of, "predictions"))
        if self.targets is not None:
            targets = _checked(self.targets, "targets")
            if targets.shape != self.position_of.shape:
                raise FormatError(
                    f"targets {targets.shape} do not fit predictions {self.position_of.shape}"
                )
            object.__setattr__(self, "targets", targets)
        if self.grid is not None and self.grid.num_pieces != self.num_pieces:
            raise NotAGrid(f"{self.num_pieces} pieces do not fill a {self.grid} grid")

    @property
    def num_pieces(self) -> int:
        return int(self.position_of.shape[1])

    def __len__(self) -> int:
        return len(self.position_of)

    def turned(self) -> Predictions:
        """The same rows read in the other direction."""
        return replace(self, position_of=invert_rows(self.position_of))


def _checked(rows: ArrayLike, what: str) -> IntArray:
    array = np.asarray(rows)
    if array.ndim != 2 or array.shape[1] < 1:
        raise FormatError(f"{what}: expected shape (puzzles, pieces), got {array.shape}")
    if array.size > MAX_VALUES:
        raise FormatError(f"{what}: {array.size:,} values are more than {MAX_VALUES:,}")
    with naming(what):
        return as_permutations(array, array.shape[1])


def read_predictions(path: str | Path, *, direction: str | None = None) -> Predictions:
    """Predictions of an official ``.npz`` or of a baseline's ``.npy``.

    direction  "piece-to-position" or "position-to-piece", for files that do not keep to
               what their kind stands for
    """
    path = Path(path)
    if direction not in (None, *DIRECTIONS):
        raise UnknownName("direction", direction, DIRECTIONS)
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    start = first_bytes(path)
    with naming(path):
        if start.startswith(ZIP_MAGIC):
            rows = _from_npz(path)
            return rows.turned() if direction == POSITION_TO_PIECE else rows
        if start.startswith(NPY_MAGIC):
            rows = Predictions(map_npy(path))
            return rows if direction == PIECE_TO_POSITION else rows.turned()
    raise FormatError(
        f"{path}: expected predictions, an .npz (piece → position) or an .npy (position → piece)"
    )


def _from_npz(path: Path) -> Predictions:
    arrays = read_npz(path)
    if "predictions" not in arrays:
        held = ", ".join(sorted(arrays)) or "nothing"
        raise FormatError(f"{path}: expected an array 'predictions', found {held[:200]}")
    return Predictions(
        arrays["predictions"],
        arrays.get("targets"),
        _grid(arrays.get("grid_size")),
        {name: _plain(arrays[name]) for name in INFO_FIELDS if name in arrays},
    )


def _grid(grid_size: NDArray[Any] | None) -> Grid | None:
    if grid_size is None:
        return None
    if not np.issubdtype(grid_size.dtype, np.integer) or grid_size.size not in (1, 2):
        raise FormatError(f"grid_size: expected one or two whole numbers, got {grid_size.dtype}")
    sizes = [int(size) for size in grid_size.ravel()]
    return Grid(sizes[0], sizes[-1])


def _plain(array: NDArray[Any]) -> Any:
    """A 0-d array as a Python value; anything longer as text."""
    value = array.item() if array.size == 1 else str(array)
    return value if isinstance(value, (int, float, str, bool)) else str(value)


def write_predictions(
    path: str | Path,
    position_of: ArrayLike,
    *,
    targets: ArrayLike | None = None,
    grid: Grid | None = None,
    info: Mapping[str, Any] | None = None,
) -> None:
    """Write piece → position rows in the direction that the suffix stands for.

    ``.npz`` also writes the ``.json`` that predict.py puts beside it.
    """
    path = Path(path)
    rows = Predictions(
        _checked(position_of, "predictions"),
        None if targets is None else _checked(targets, "targets"),
        grid,
        dict(info or {}),
    )
    if path.suffix == ".npy":
        write_npy(path, invert_rows(rows.position_of))
    elif path.suffix == ".npz":
        _write_npz(path, rows)
    else:
        raise InputError(f"{path}: predictions end in .npz or .npy")


def _write_npz(path: Path, rows: Predictions) -> None:
    grid = rows.grid or Grid.square(rows.num_pieces)
    grid_size = grid.rows if grid.rows == grid.cols else [grid.rows, grid.cols]
    told = {name: rows.info[name] for name in INFO_FIELDS if rows.info.get(name) is not None}
    arrays: dict[str, Any] = {"predictions": rows.position_of}
    if rows.targets is not None:
        arrays["targets"] = rows.targets
    write_npz(path, arrays | {"grid_size": np.array(grid_size)} | told)
    summary = {name: rows.info.get(name) for name in INFO_FIELDS}
    summary |= {"n_samples": len(rows), "n_pieces": rows.num_pieces, "grid_size": grid_size}
    if rows.targets is not None and len(rows):
        right = rows.position_of == rows.targets  # (M, N)
        summary["quick_metrics"] = {
            "position_accuracy": float(right.mean()),
            "exact_match_accuracy": float(right.all(axis=1).mean()),
        }
    write_json(path.with_suffix(".json"), summary)
