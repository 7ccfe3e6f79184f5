"""Photographs too large for memory are read reduced; HEIC where its library is there."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from puzzleflow.core.errors import FormatError
from puzzleflow.pictures import MAX_PIXELS, has_heic, read_picture
from puzzleflow.samples import load_sample


def encoded(kind: str, pixels: np.ndarray, **options: object) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, kind, **options)
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_a_large_picture_is_reduced_while_it_is_read(kind: str) -> None:
    picture = load_sample("irises")
    height, width = picture.shape[:2]
    content = encoded(kind, picture)
    assert read_picture(content, keep_pixels=height * width).shape == picture.shape
    half = read_picture(content, keep_pixels=height * width - 1)
    assert half.shape == (-(-height // 2), -(-width // 2), 3)
    assert abs(float(half.mean()) - float(picture.mean())) < 2
    quarter = read_picture(content, None, keep_pixels=height * width // 10)
    assert abs(quarter.shape[0] - height / 4) <= 1
    assert quarter.shape[2] == 3


def test_a_reduced_picture_is_turned_upright_and_keeps_alpha() -> None:
    picture = load_sample("irises")[:80, :120]
    exif = Image.Exif()
    exif[274] = 6  # turned by a quarter
    content = encoded("JPEG", picture, exif=exif)
    assert read_picture(content, keep_pixels=5000).shape == (60, 40, 3)
    alpha = np.dstack([picture, np.full(picture.shape[:2], 255, np.uint8)])
    alpha[:40, :, 3] = 0
    half = read_picture(encoded("PNG", alpha), None, keep_pixels=5000)
    assert half.shape == (40, 60, 4)
    assert half[:18, :, 3].max() == 0


def test_no_library_speaks_of_attacks(monkeypatch: pytest.MonkeyPatch) -> None:
    content = encoded("PNG", np.zeros((64, 64, 3), np.uint8))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(FormatError) as refused:
        read_picture(content)
    assert "DOS" not in str(refused.value)
    assert "too many pixels" in str(refused.value)


@pytest.mark.skipif(not has_heic(), reason="pillow-heif is not installed")
def test_heic_is_read(tmp_path: Path) -> None:
    import pillow_heif

    picture = load_sample("irises")[:96, :128]
    heif = pillow_heif.from_pillow(Image.fromarray(picture))
    heif.save(tmp_path / "photo.heic", quality=90)
    read = read_picture(tmp_path / "photo.heic")
    assert read.shape == picture.shape
    assert np.abs(read.astype(int) - picture).mean() < 8


def test_the_library_does_not_refuse_what_we_allow() -> None:
    assert Image.MAX_IMAGE_PIXELS is not None
    assert Image.MAX_IMAGE_PIXELS >= MAX_PIXELS
