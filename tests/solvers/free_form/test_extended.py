import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from puzzleflow.core.fragments import Fragment
from puzzleflow.solvers.free_form.extended import extended, reduced
from puzzleflow.solvers.free_form.palette import Palette


def blob(height: int, width: int, seed: int = 0) -> Fragment:
    rng = np.random.default_rng(seed)
    pixels = np.zeros((height, width, 4), dtype=np.uint8)
    pixels[..., :3] = rng.integers(0, 256, (height, width, 3))
    rows, cols = np.indices((height, width))
    inside = ((rows + 0.5) / height - 0.5) ** 2 + ((cols + 0.5) / width - 0.5) ** 2 <= 0.25
    pixels[..., 3] = np.where(inside, 255, 0)
    return Fragment(pixels, f"blob {seed}")


def halves() -> Fragment:
    """Left half red, right half blue."""
    pixels = np.zeros((20, 20, 4), dtype=np.uint8)
    pixels[:, :10] = [200, 0, 0, 255]
    pixels[:, 10:] = [0, 0, 200, 255]
    return Fragment(pixels, "halves")


def test_extension_has_the_colour_of_the_nearest_material() -> None:
    fragment = halves()
    palette = Palette.of([fragment])
    shown = extended(fragment, 0.0, 3.0, palette)
    red, blue = (
        palette.normalised(np.array([[c]], dtype=np.float32) / 255)[0, 0]
        for c in ([200, 0, 0], [0, 0, 200])
    )
    middle = shown.shape[0] // 2
    left = np.flatnonzero(shown.material[middle])[0]
    assert shown.extension[middle, left - 3 : left].all()
    assert not shown.extension[middle, left - 4]
    np.testing.assert_allclose(shown.colours[middle, left - 2], red, atol=1e-4)
    right = np.flatnonzero(shown.material[middle])[-1]
    np.testing.assert_allclose(shown.colours[middle, right + 2], blue, atol=1e-4)


@settings(max_examples=20, deadline=None)
@given(st.floats(-180, 180), st.integers(8, 40), st.integers(8, 40), st.floats(1, 6))
def test_turning_keeps_the_area_and_never_leaves_the_picture(
    angle: float, height: int, width: int, reach: float
) -> None:
    fragment = blob(height, width)
    shown = extended(fragment, angle, reach, Palette.of([fragment]))
    assert not (shown.material & shown.extension).any()
    assert abs(int(shown.material.sum()) - fragment.area_px) <= 0.12 * fragment.area_px + 4
    seen = shown.material | shown.extension
    assert not seen[[0, -1]].any()
    assert not seen[:, [0, -1]].any()
    assert not shown.colours[~seen].any()


@settings(max_examples=20, deadline=None)
@given(st.floats(0.05, 1.0), st.integers(8, 60), st.integers(8, 60))
def test_reducing_keeps_the_centre_and_some_material(scale: float, height: int, width: int) -> None:
    fragment = blob(height, width)
    small = reduced(fragment, scale)
    assert small.area_px >= 1
    np.testing.assert_allclose(small.centroid / scale, fragment.centroid, atol=1.0 / scale)
