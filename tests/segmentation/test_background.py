from __future__ import annotations

import numpy as np
import pytest

from puzzleflow.core.rng import child_rng
from puzzleflow.segmentation import segment
from puzzleflow.segmentation.background import even_light, fit_ground

SHAPE = (180, 240)


def uneven(colour: tuple[int, int, int], noise: float = 2.0) -> np.ndarray:
    """A ground with light from the lower left, (H, W, 3) float."""
    y, x = np.meshgrid(np.linspace(-1, 1, SHAPE[0]), np.linspace(-1, 1, SHAPE[1]), indexing="ij")
    light = (1 + 0.12 * y - 0.1 * x) * (1 - 0.05 * (x**2 + y**2))
    ideal = np.array(colour) * light[..., None]
    return ideal + child_rng(1, "noise").normal(0, noise, ideal.shape)


def as_photo(levels: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(levels), 0, 255).astype(np.uint8)


@pytest.mark.parametrize("colour", [(200, 200, 200), (40, 110, 70), (28, 27, 30), (190, 60, 150)])
def test_uneven_light_is_followed_under_fragments_too(colour: tuple[int, int, int]) -> None:
    truth = uneven(colour, noise=0)
    levels = uneven(colour)
    levels[40:140, 60:180] = (250, 240, 20)  # a third of the picture
    found = fit_ground(as_photo(levels)).colours(*SHAPE)
    assert np.abs(found - truth).max() < 4


def test_fragments_in_the_margin_do_not_bend_the_ground() -> None:
    truth = uneven((180, 170, 160), noise=0)
    levels = uneven((180, 170, 160))
    levels[:60, :100] = (20, 30, 60)
    levels[150:, 150:] = (250, 20, 20)
    assert np.abs(fit_ground(as_photo(levels)).colours(*SHAPE) - truth).max() < 6


def test_overexposed_ground_is_still_one_ground() -> None:
    levels = uneven((246, 246, 240))  # clipped over much of the picture
    levels[60:120, 90:150] = (90, 60, 50)
    photo = as_photo(levels)
    assert (photo == 255).mean() > 0.1
    (fragment,) = segment(photo).fragments
    assert fragment.bbox == (60, 90, 60, 60)


def test_a_window_is_part_of_the_whole() -> None:
    ground = fit_ground(as_photo(uneven((120, 140, 90))))
    whole = ground.colours(*SHAPE)
    window = ground.window(*SHAPE, (30, 50, 40, 60))
    np.testing.assert_allclose(window, whole[30:70, 50:110], atol=1e-3)


def test_light_is_evened() -> None:
    photo = as_photo(uneven((160, 150, 140), noise=1))
    ground = fit_ground(photo)
    evened = photo.copy()
    even_light(evened, ground, SHAPE, (0, 0))
    assert photo.reshape(-1, 3).std(axis=0).max() > 10
    assert evened.reshape(-1, 3).std(axis=0).max() < 2.5


def test_a_dark_ground_says_nothing_about_the_light() -> None:
    photo = as_photo(uneven((26, 26, 28)))
    evened = photo.copy()
    even_light(evened, fit_ground(photo), SHAPE, (0, 0))
    np.testing.assert_array_equal(evened, photo)
