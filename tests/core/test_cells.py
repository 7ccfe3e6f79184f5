from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.core.canvas import crop_to_material, equal_cells
from puzzleflow.core.errors import FormatError, InputError

sizes = st.tuples(st.integers(1, 9), st.integers(1, 9))


def noise(seed: int, height: int, width: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 4), dtype=np.uint8)


def test_differing_pieces_are_centred_on_a_common_square():
    small, tall = np.full((2, 4, 4), 255, np.uint8), np.full((10, 6, 4), 200, np.uint8)
    cells = equal_cells([small, tall, np.rot90(tall)])
    assert cells.shape == (3, 10, 10, 4)
    assert (cells[0, 4:6, 3:7] == 255).all()
    assert int((cells[0, ..., 3] > 0).sum()) == 8
    assert (cells[2, 2:8, 0:10, 3] == 200).all()


@given(sizes, st.integers(1, 4))
def test_equal_pieces_keep_every_byte(size, count):
    pieces = [noise(seed, *size) for seed in range(count)]
    assert np.array_equal(equal_cells(pieces), np.stack(pieces))


@given(st.lists(sizes, min_size=1, max_size=5))
def test_nothing_is_lost_and_nothing_added(shapes):
    pieces = [noise(seed, *shape) for seed, shape in enumerate(shapes)]
    cells = equal_cells(pieces)
    sums = [int(piece.sum()) for piece in pieces]
    assert cells.sum(axis=(1, 2, 3), dtype=np.int64).tolist() == sums
    assert max(cells.shape[1:3]) == max(max(shape) for shape in shapes)


def test_what_no_memory_holds_is_refused():
    tall = np.full((10, 6, 4), 200, np.uint8)
    with pytest.raises(InputError, match="more than the 100 pixels allowed"):
        equal_cells([tall, tall], 100)
    with pytest.raises(InputError, match="no pieces"):
        equal_cells([])


def test_cropping_leaves_the_material():
    piece = np.zeros((6, 8, 4), np.uint8)
    piece[1, 3], piece[4, 5] = (9, 8, 7, 255), (6, 5, 4, 1)
    assert np.array_equal(crop_to_material(piece), piece[1:5, 3:6])
    with pytest.raises(FormatError, match="without material"):
        crop_to_material(np.zeros((6, 8, 4), np.uint8))
