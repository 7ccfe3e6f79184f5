"""A museum's photograph: ruler, colour card, label; large photographs; outlines mended by hand."""

from __future__ import annotations

import numpy as np
import pytest
from museum_table import THINGS, photographed_table
from photographs import GROUNDS, Conditions, compose_photograph
from PIL import Image

from puzzleflow.core.cancelling import Cancelled, CancelToken, cancelled_by
from puzzleflow.core.errors import InputError
from puzzleflow.core.types import ByteArray
from puzzleflow.pictures import resize
from puzzleflow.samples import load_sample
from puzzleflow.segmentation import delete, paint, segment
from puzzleflow.segmentation.cut_outs import sharpened
from puzzleflow.segmentation.kinds import kind_of

GROUND = (190, 60, 150)


@pytest.mark.parametrize("kind", list(THINGS))
@pytest.mark.parametrize("angle", [0, 25])
def test_what_lies_beside_fragments_is_recognised(kind: str, angle: int) -> None:
    image = THINGS[kind]().rotate(angle, Image.Resampling.BICUBIC, expand=True)
    assert kind_of(np.asarray(image)) == kind


def test_a_museums_table_on_felt_and_on_wood() -> None:
    """Nine worn fragments with a ruler, a colour card and a label in one photograph."""
    felt = segment(photographed_table(seed=3).pixels)
    kinds = [kind_of(fragment.pixels) for fragment in felt.fragments]
    assert kinds == [None] * 9 + ["ruler", "colour card", "label"]
    assert felt.warnings == ()
    on_wood = photographed_table(GROUNDS["wood"], seed=3, grain=20.0).pixels
    try:
        told = "; ".join(segment(on_wood).warnings)
    except InputError as refused:
        told = str(refused)
    assert "ground is not plain" in told


@pytest.mark.parametrize("sample", ["irises", "harvesters"])
def test_pieces_of_paintings_are_none_of_these(sample: str) -> None:
    picture = load_sample(sample)
    for top, left in ((0, 0), (150, 200), (60, 320), (200, 40)):
        for height, width in ((150, 150), (140, 90), (40, 200)):
            piece = np.full((height, width, 4), 255, np.uint8)
            piece[..., :3] = picture[top : top + height, left : left + width]
            assert kind_of(piece) is None


def table(scale: int) -> tuple[ByteArray, ByteArray]:
    """A photograph with two round fragments at a scale, and the mask of the left one."""
    size = 120 * scale, 200 * scale
    y, x = np.mgrid[: size[0], : size[1]] / scale
    painting = resize(load_sample("irises"), *size)
    photo = np.full((*size, 3), GROUND, np.uint8)
    left = (y - 60) ** 2 + (x - 55) ** 2 < 38**2
    right = (y - 60) ** 2 + (x - 145) ** 2 < 38**2
    photo[left | right] = painting[left | right]
    return photo, left.astype(np.uint8)


def test_a_fragment_found_small_is_cut_sharply_from_the_large_photograph() -> None:
    photo, mask = table(8)
    small = segment(resize(photo, 240, 400))
    assert len(small.fragments) == 2
    found = sharpened(small, 1, lambda rows, cols: photo[rows, cols], photo.shape[:2])
    top, left, height, width = found.bbox
    alpha = np.zeros(mask.shape, bool)
    alpha[top : top + height, left : left + width] = found.pixels[..., 3] > 127
    overlap = (alpha & (mask > 0)).sum() / (alpha | (mask > 0)).sum()
    assert overlap > 0.985  # a pixel of the copy is four of the photograph's


def test_a_transparent_ground_is_kept_when_cut_sharply() -> None:
    photo, mask = table(4)
    rgba = np.dstack([photo, np.where(mask > 0, 255, 0).astype(np.uint8)])
    small = segment(resize(rgba, 120, 200))
    found = sharpened(small, 1, lambda rows, cols: rgba[rows, cols], rgba.shape[:2])
    assert found.area_px == mask.sum()


def test_paint_adds_takes_away_makes_new_and_removes() -> None:
    photo, _ = table(1)
    found = segment(photo)
    areas = [fragment.area_px for fragment in found.fragments]
    area = np.zeros(photo.shape[:2], bool)
    area[55:65, 90:110] = True  # between the two
    grown = paint(found, area, 1, add=True)
    assert grown.fragments[0].area_px > areas[0]
    assert grown.fragments[1].area_px == areas[1]  # never into another fragment
    area[:] = False
    area[2:12, 95:105] = True
    assert len(paint(found, area, None, add=True).fragments) == 3
    area[:] = False
    area[:, :100] = True
    assert [f.area_px for f in paint(found, area, None, add=False).fragments] == [areas[1]]
    with pytest.raises(InputError, match="nothing changes"):
        paint(found, np.zeros_like(area), 1, add=False)
    assert len(delete(found, 2).fragments) == 1


def test_looking_for_fragments_can_be_given_up() -> None:
    photo, _ = table(1)
    token = CancelToken()
    token.cancel()
    with cancelled_by(token), pytest.raises(Cancelled):
        segment(photo)


def test_patterned_grounds_are_said_to_be_no_ground() -> None:
    photo, _ = table(2)
    y, x = np.mgrid[: photo.shape[0], : photo.shape[1]]
    ground = (photo == GROUND).all(axis=-1)
    rng = np.random.default_rng(0)
    patterns = {
        "wood": 18 * np.sin(x / 9 + 3 * np.sin(y / 120)) + 8 * np.sin(x / 2.5),
        "cloth": 12 * np.sin(1.3 * x) * np.sin(1.3 * y) + rng.normal(0, 8, x.shape),
        "plain": rng.normal(0, 4, x.shape),
    }
    for name, pattern in patterns.items():
        shown = np.where(ground[..., None], photo + pattern[..., None], photo)
        told = segment(np.clip(shown, 0, 255).astype(np.uint8)).warnings
        assert any("not plain" in text for text in told) == (name != "plain"), name


def test_hard_light_on_plain_ground_is_still_plain() -> None:
    pieces = np.full((2, 90, 90, 4), 255, np.uint8)
    pieces[..., :3] = np.stack([load_sample("irises")[:90, left : left + 90] for left in (0, 200)])
    light = Conditions(ground=GROUNDS["sand"], light=0.3, vignette=0.25, noise=4.0, gap_px=24)
    photo = compose_photograph(pieces, light, seed=1).pixels
    assert not any("not plain" in text for text in segment(photo).warnings)
