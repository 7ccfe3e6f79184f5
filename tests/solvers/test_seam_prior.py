import numpy as np
import pytest

from puzzleflow.models.relational import PRIOR_FEATURES
from puzzleflow.solvers.seam_prior import FLOOR, seam_prior


def test_a_smooth_picture_is_recognised() -> None:
    ramp = np.linspace(20, 230, 48).astype(np.uint8)
    strip = np.repeat(ramp[None, :, None], 16, axis=0)
    pieces = np.full((3, 16, 16, 4), 255, np.uint8)
    for k in range(3):
        pieces[k, ..., :3] = strip[:, 16 * k : 16 * k + 16]
    prior = seam_prior(pieces)
    assert prior.shape == (2, 3, 3, PRIOR_FEATURES)
    assert prior.dtype == np.float32
    assert prior[0, 0, :, 0].argsort()[-2:].tolist() == [1, 0]  # itself (0) and its neighbour
    assert prior[0, 0, 1, 0] > -0.1
    assert prior[0, 0, 2, 0] < -1
    assert prior[0, 0, 1, 2] < prior[0, 0, 2, 2]


@pytest.mark.parametrize("num_pieces", [1, 2])
def test_few_and_equal_pieces_give_finite_numbers(num_pieces: int) -> None:
    prior = seam_prior(np.full((num_pieces, 8, 8, 4), 255, np.uint8))
    assert np.isfinite(prior).all()
    assert (prior >= FLOOR).all()
