import numpy as np

from puzzleflow.training.wear import SMALL_PX, laid_on_ground, object_mask, worn


def photograph(rng: np.random.Generator) -> np.ndarray:
    """A red disc on graded grey."""
    y, x = np.mgrid[:224, :224]
    pixels = np.repeat((120 + y / 5 + x / 8)[..., None], 3, axis=2) + rng.normal(
        0, 1, (224, 224, 3)
    )
    pixels[(y - 100) ** 2 + (x - 120) ** 2 < 60**2] = (200, 30, 30)
    return pixels.clip(0, 255).astype(np.uint8)


def test_the_object_is_what_differs_from_a_graded_ground() -> None:
    mask = object_mask(photograph(np.random.default_rng(0)))
    assert mask is not None
    y, x = np.mgrid[:SMALL_PX, :SMALL_PX] * (224 / SMALL_PX)
    disc = (y - 100) ** 2 + (x - 120) ** 2 < 60**2
    assert (mask & disc).sum() / (mask | disc).sum() > 0.9


def test_a_picture_without_plain_ground_has_no_object() -> None:
    noise = np.random.default_rng(1).integers(0, 256, (224, 224, 3), dtype=np.uint8)
    assert object_mask(noise) is None
    assert object_mask(np.full((224, 224, 3), 90, np.uint8)) is None


def test_an_object_is_laid_whole_on_other_ground() -> None:
    rng = np.random.default_rng(2)
    pixels = photograph(rng)
    mask = object_mask(pixels)
    assert mask is not None
    for seed in range(5):
        laid = laid_on_ground(pixels, mask, 128, np.random.default_rng(seed))
        assert laid.shape == (128, 128, 3)
        red = (laid[..., 0] > 150) & (laid[..., 1] < 80)
        assert 0.12 < red.mean() < 0.82
        again = laid_on_ground(pixels, mask, 128, np.random.default_rng(seed))
        assert (laid == again).all()


def test_wear_changes_a_picture_a_little() -> None:
    pixels = photograph(np.random.default_rng(3))
    for seed in range(4):
        changed = worn(pixels, np.random.default_rng(seed)).astype(int)
        assert changed.shape == pixels.shape
        assert 0 < np.abs(changed - pixels).mean() < 12
