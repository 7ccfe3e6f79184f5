from __future__ import annotations

import numpy as np
import pytest

from puzzleflow.core.errors import FormatError
from puzzleflow.samples import load_sample
from puzzleflow.segmentation.cut_outs import cut_outs

NAMES = ["a.png", "b.png"]


def on_canvas(height: int, width: int, top: int, left: int, tall: int, wide: int) -> np.ndarray:
    canvas = np.zeros((height, width, 4), np.uint8)
    canvas[top : top + tall, left : left + wide] = (90, 80, 70, 255)
    return canvas


def shapes(pictures: list[np.ndarray]) -> list[tuple[int, int]]:
    return [picture.shape[:2] for picture in cut_outs(pictures, NAMES)]


def test_cells_that_are_mostly_filled_stay_as_they_are() -> None:
    cells = [on_canvas(40, 40, 4, 9, 30, 22), on_canvas(40, 40, 0, 2, 25, 30)]
    assert all(map(np.array_equal, cut_outs(cells, NAMES), cells))


def test_a_canvas_that_is_mostly_empty_means_nothing() -> None:
    assert shapes([on_canvas(80, 60, 4, 9, 30, 22), on_canvas(80, 60, 40, 2, 25, 40)]) == [
        (30, 22),
        (25, 40),
    ]


def test_pictures_of_differing_sizes_lose_their_margins() -> None:
    pictures = [on_canvas(40, 40, 4, 9, 30, 22), on_canvas(42, 40, 0, 2, 25, 30)]
    assert shapes(pictures) == [(30, 22), (25, 30)]


def opaque(pixels: np.ndarray) -> np.ndarray:
    return np.dstack([pixels, np.full(pixels.shape[:2], 255, np.uint8)])


def test_a_fragment_is_lifted_off_a_plain_ground_only_if_all_lie_on_one() -> None:
    painting = load_sample("irises")
    photos = []
    for seed in range(2):
        photo = np.full((120, 130, 3), 40, np.uint8)
        photo[20:90, 30 + seed : 100] = painting[200:270, 300 + seed : 370]
        photos.append(opaque(photo))
    assert np.abs(np.subtract(shapes(photos), [(70, 70), (70, 69)])).max() <= 2
    mixed = [photos[0], opaque(painting[:120, :130])]
    assert all(map(np.array_equal, cut_outs(mixed, NAMES), mixed))


def test_a_transparent_picture_is_named() -> None:
    with pytest.raises(FormatError, match=r"b\.png: the picture is transparent all over"):
        cut_outs([on_canvas(9, 9, 0, 0, 9, 9), np.zeros((9, 9, 4), np.uint8)], NAMES)
