from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skimage.draw import polygon2mask

from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.generation.outline_model import (
    BANDS,
    COARSE,
    ENVELOPE,
    OutlineModel,
    coarse_harmonics,
    coarse_vector,
    from_harmonics,
    load_outline_model,
    save_outline_model,
    to_harmonics,
)
from puzzleflow.generation.outlines import POINTS, curve_of, fill_frame, fill_polygon, mask_of
from puzzleflow.generation.thinning import Ratio, Thinning, terms
from puzzleflow.models.checkpoint import bundled_weights
from puzzleflow.training.outline_fit import fit_ratio


def test_polygon_agrees_with_scikit_image() -> None:
    rng = np.random.default_rng(0)
    angles = np.sort(rng.random(40)) * 2 * np.pi
    radii = 20 + 30 * rng.random(40)
    rows, cols = 60.3 + radii * np.sin(angles), 61.7 + radii * np.cos(angles)
    expected = polygon2mask((128, 128), np.stack([rows, cols], axis=1))
    assert np.array_equal(fill_polygon(rows, cols, 128), expected)


def test_polygon_by_hand() -> None:
    rows = np.array([0.5, 0.5, 2.5, 2.5])
    cols = np.array([0.5, 3.5, 3.5, 0.5])
    expected = np.zeros((5, 5), dtype=bool)
    expected[1:3, 1:4] = True
    assert np.array_equal(fill_polygon(rows, cols, 5), expected)


def test_polygon_beyond_the_frame_is_cut() -> None:
    rows, cols = np.array([-9.0, -9, 9, 9]), np.array([-9.0, 9, 9, -9])
    assert fill_polygon(rows, cols, 4).all()


def blob(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    angles = np.linspace(0, 2 * np.pi, 300, endpoint=False)
    radius = 40 + sum(
        rng.normal() * 12 / k**1.5 * np.cos(k * angles + rng.random() * 6) for k in range(1, 12)
    )
    rows, cols = radius * np.sin(angles), radius * np.cos(angles)
    rows = (rows - rows.min()) / np.ptp(rows) * 128 - 0.5
    cols = (cols - cols.min()) / np.ptp(cols) * 128 - 0.5
    return fill_frame(fill_polygon(rows, cols, 128))


@given(st.integers(0, 50))
def test_a_mask_survives_the_way_through_its_curve(seed: int) -> None:
    mask = blob(seed)
    again = mask_of(curve_of(mask))
    assert (mask & again).sum() / (mask | again).sum() > 0.985


def test_curve_starts_right_of_the_centroid_and_is_periodic() -> None:
    curve = curve_of(blob(1))
    assert curve.shape == (2, POINTS)
    assert abs(curve[1, 0]) < 0.1
    assert np.abs(np.diff(curve, axis=1, append=curve[:, :1])).max() < 0.3


def test_a_ring_piece_that_misses_its_centroid_is_refused() -> None:
    rows, cols = np.mgrid[:128, :128] - 63.5
    crescent = (np.hypot(rows, cols) < 63) & (np.hypot(rows, cols) > 55) & (cols < 20)
    with pytest.raises(InputError, match="centroid"):
        curve_of(crescent)


def test_fill_frame_stretches_what_misses_the_border() -> None:
    mask = np.zeros((128, 128), dtype=bool)
    mask[1:, :127] = True
    assert fill_frame(mask).all()
    assert not fill_frame(np.zeros((8, 8), dtype=bool)).any()


def test_harmonics_and_coarse_numbers_are_invertible() -> None:
    curve = curve_of(blob(2))
    harmonics = to_harmonics(curve)
    assert from_harmonics(harmonics) == pytest.approx(curve)
    low = coarse_harmonics(coarse_vector(harmonics))
    assert low[:, : COARSE + 1] == pytest.approx(harmonics[:, : COARSE + 1])
    assert not low[:, COARSE + 1 :].any()


def plain_model(roughness: float) -> OutlineModel:
    size = 2 * (2 * COARSE + 1) + len(BANDS)
    mean = np.zeros((1, size))
    mean[:, -len(BANDS) :] = roughness
    num_harmonics = BANDS[-1][1] - BANDS[0][0] + 1
    return OutlineModel(
        weights=np.ones(1),
        means=mean,
        factors=np.zeros((1, size, size)),
        fields=np.repeat(1e-3 * np.eye(2, dtype=complex)[None], num_harmonics, axis=0),
        gains=np.ones(len(BANDS)),
        envelopes=np.zeros((ENVELOPE, len(BANDS), len(BANDS))),
    )


def test_bands_follow_one_another() -> None:
    assert BANDS[0][0] == COARSE + 1
    assert all(before[1] + 1 == after[0] for before, after in pairwise(BANDS))
    assert BANDS[-1][1] < POINTS // 2


def test_a_model_without_roughness_draws_discs() -> None:
    mask = mask_of(plain_model(-30).draw(np.random.default_rng(0)))
    assert mask.mean() == pytest.approx(np.pi / 4, abs=0.01)


def test_roughness_grows_with_its_logarithm() -> None:
    smooth, rough = (plain_model(value).draw(np.random.default_rng(0)) for value in (-1.0, 0.0))
    assert rough == pytest.approx(np.e * smooth)


def test_weights_keep_the_model_and_foreign_files_are_refused(tmp_path: object) -> None:
    path = f"{tmp_path}/model.safetensors"
    model = plain_model(-1)
    size = Ratio(np.zeros(2), np.ones(2), np.arange(6.0), 1.5)
    thinning = Thinning(size, Ratio(np.zeros(4), np.ones(4), np.arange(15.0), 2.5))
    save_outline_model(path, model, thinning, {"note": "test"})
    again, thinning_again = load_outline_model(path)
    assert (thinning_again.size.level, thinning_again.edge.level) == (1.5, 2.5)
    assert np.array_equal(thinning_again.edge.weights, thinning.edge.weights)
    rng = np.random.default_rng
    assert again.draw(rng(3)) == pytest.approx(model.draw(rng(3)), abs=1e-6)
    with pytest.raises(FormatError, match="fragment_vae_decoder"):
        load_outline_model(bundled_weights("fragment_vae.safetensors"))


def test_terms_by_hand() -> None:
    assert terms(np.array([2.0, 3.0])).tolist() == [1, 2, 3, 4, 6, 9]
    assert terms(np.array([9.0])).tolist() == [1, 4, 16]  # far values are cut


def test_thinning_brings_drawn_features_to_the_real_ones() -> None:
    rng = np.random.default_rng(0)
    real = rng.normal([0.5, 0, 0, 0], [0.8, 1, 1, 1], (2000, 4))
    drawn = rng.normal(0, 1, (6000, 4))
    thinning = fit_ratio(real, drawn)
    kept = drawn[[rng.random() < thinning.chance(row) for row in drawn]]
    assert len(kept) > 1000
    assert kept.mean(axis=0) == pytest.approx(real.mean(axis=0), abs=0.12)
    assert kept[:, 0].std() == pytest.approx(0.8, abs=0.1)


def test_thinning_keeps_everything_when_nothing_differs() -> None:
    rng = np.random.default_rng(1)
    thinning = fit_ratio(rng.normal(size=(3000, 4)), rng.normal(size=(3000, 4)))
    chances = [thinning.chance(row) for row in rng.normal(size=(200, 4))]
    assert np.mean(chances) > 0.75
