"""What every registered erosion model promises, plugins included."""

from pathlib import Path

import numpy as np
import pytest

from puzzleflow.generation.erosion import (
    ErosionModel,
    erosion_label,
    erosion_model,
    fingerprint,
    list_erosions,
)
from puzzleflow.masks import write_masks

SEEDS = [5, 2**63 - 1, 17, 5]
SIZES = [(128, 128), (64, 64), (48, 40), (33, 90)]


@pytest.fixture(scope="module")
def outlines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outlines") / "masks"
    masks = np.zeros((3, 128, 128), bool)
    for index, mask in enumerate(masks):
        mask[8 * index :, 10:100] = True
    write_masks(folder, [masks])
    return folder


@pytest.fixture(params=[name + shrink for name in list_erosions() for shrink in ("", ":shrink=4")])
def model(request: pytest.FixtureRequest, outlines: Path) -> ErosionModel:
    """A model by its plain name, or with an argument where it needs one."""
    base, mark, percent = request.param.partition(":")
    argument = {"fixed": ":7", "outlines": f":{outlines}"}.get(base, "")
    return erosion_model(base + argument + mark + percent)


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_masks_have_the_asked_shape_and_material(
    model: ErosionModel, height: int, width: int
) -> None:
    masks = model.masks(SEEDS, height, width)
    assert masks.shape == (len(SEEDS), height, width)
    assert masks.dtype == bool
    assert masks.any(axis=(1, 2)).all()
    assert model.masks([], height, width).shape == (0, height, width)


def test_a_mask_depends_on_its_seed_alone(model: ErosionModel) -> None:
    together = model.masks(SEEDS, 48, 40)
    for index, seed in enumerate(SEEDS):
        assert np.array_equal(model.masks([seed], 48, 40)[0], together[index])
    model.masks(range(30), 48, 40)
    assert np.array_equal(model.masks(SEEDS[::-1], 48, 40)[::-1], together)


def test_what_is_returned_belongs_to_the_caller(model: ErosionModel) -> None:
    before = model.masks(SEEDS, 32, 32).copy()
    model.masks(SEEDS, 32, 32)[:] = False
    assert np.array_equal(model.masks(SEEDS, 32, 32), before)


def test_the_stored_name_makes_the_same_model_again(model: ErosionModel) -> None:
    again = erosion_model(model.name)
    assert again.name == model.name
    assert fingerprint(again) == fingerprint(model)
    assert np.array_equal(again.masks(SEEDS, 48, 40), model.masks(SEEDS, 48, 40))
    assert "/" not in erosion_label(model.name)
