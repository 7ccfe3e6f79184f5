from __future__ import annotations

import numpy as np
import pytest
from photographs import (
    Conditions,
    compose_photograph,
    draw_conditions,
    found_iou,
)

from puzzleflow.core.errors import InputError


def squares(count: int = 4, side: int = 24) -> np.ndarray:
    pieces = np.full((count, side, side, 4), 255, np.uint8)
    pieces[..., :3] = 60
    return pieces


PLAIN = Conditions(
    light=0, vignette=0, shadow=0, noise=0, blur_px=0, dust=0, jpeg_quality=0, gap_px=6
)


def test_without_disturbance_the_pieces_are_on_the_ground() -> None:
    taken = compose_photograph(squares(), PLAIN, seed=0)
    assert taken.pixels.dtype == np.uint8
    assert (taken.pixels[taken.piece_of > 0] == 60).all()
    assert (taken.pixels[taken.piece_of == 0] == PLAIN.ground).all()
    np.testing.assert_array_equal(np.bincount(taken.piece_of.ravel())[1:], [24 * 24] * 4)


def test_the_seed_decides() -> None:
    conditions = draw_conditions(7)
    assert conditions == draw_conditions(7)
    assert conditions != draw_conditions(8)
    first, again, other = (
        compose_photograph(squares(), conditions, seed=seed).pixels for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_shadow_darkens_the_ground_alone() -> None:
    taken = compose_photograph(squares(), Conditions(**{**PLAIN.__dict__, "shadow": 0.5}), seed=0)
    assert (taken.pixels[taken.piece_of > 0] == 60).all()
    ground = taken.pixels[taken.piece_of == 0].astype(int)
    assert ground.min() < 0.75 * min(PLAIN.ground)
    assert (ground <= PLAIN.ground).all()


def test_iou_of_what_was_found() -> None:
    truth = np.zeros((4, 8), np.int32)
    truth[:, :3], truth[:, 5:] = 1, 2
    found = np.zeros_like(truth)
    found[:, :4] = 1  # one column too many; the second is missed
    np.testing.assert_allclose(found_iou(truth, found), [0.75, 0.0])
    np.testing.assert_allclose(found_iou(truth, truth), [1, 1])
    np.testing.assert_allclose(found_iou(truth, np.zeros_like(truth)), [0, 0])


def test_pieces_are_checked() -> None:
    with pytest.raises(InputError, match="shape"):
        compose_photograph(np.zeros((3, 8, 8), np.uint8), PLAIN, seed=0)
