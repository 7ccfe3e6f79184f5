from __future__ import annotations

import errno
import io
import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from puzzleflow.core.errors import FormatError, InputError, OutputError
from puzzleflow.pictures import (
    list_pictures,
    natural_key,
    read_picture,
    resize,
    square_crop,
    write_animation,
    write_picture,
)

pixel_arrays = st.tuples(st.integers(1, 6), st.integers(1, 6), st.sampled_from([3, 4])).flatmap(
    lambda shape: arrays(np.uint8, shape)
)


def png(width, height, body=b""):
    """The bytes of a PNG that claims this size."""

    def chunk(kind, content):
        check = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
    )


@given(pixels=pixel_arrays)
def test_png_keeps_every_pixel(tmp_path_factory, pixels):
    path = tmp_path_factory.getbasetemp() / "pixels.png"
    write_picture(path, pixels)
    assert np.array_equal(read_picture(path, {3: "RGB", 4: "RGBA"}[pixels.shape[2]]), pixels)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_picture_or_our_error(content):
    with pytest.raises(FormatError, match="picture"):
        read_picture(content)


@given(st.data())
def test_damaged_pictures_are_a_picture_or_our_error(data):
    stream = io.BytesIO()
    kind = data.draw(st.sampled_from(["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF"]))
    Image.new("RGB", (9, 7), (200, 10, 30)).save(stream, kind)
    content = bytearray(stream.getvalue())
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(1, len(content)))]
    try:
        pixels = read_picture(bytes(content), max_pixels=100_000)
    except FormatError:
        return
    assert pixels.dtype == np.uint8
    assert pixels.ndim == 3


def test_a_bomb_is_refused_before_it_is_decoded():
    with pytest.raises(FormatError, match=r"20000x20000 pixels|too many pixels"):
        read_picture(png(20_000, 20_000))
    with pytest.raises(FormatError, match=r"too many pixels|not a readable"):
        read_picture(png(2**31 - 1, 2**31 - 1))


def test_the_limit_can_be_set(tmp_path):
    write_picture(tmp_path / "a.png", np.zeros((10, 10, 3), np.uint8))
    with pytest.raises(FormatError, match=r"a\.png: 10x10 pixels, more than the 99 allowed"):
        read_picture(tmp_path / "a.png", max_pixels=99)


def test_no_memory_left(tmp_path, monkeypatch):
    write_picture(tmp_path / "a.png", np.zeros((2, 2, 3), np.uint8))

    def fail(*_args):
        raise MemoryError

    monkeypatch.setattr(Image.Image, "convert", fail)
    with pytest.raises(FormatError, match=r"a\.png: too large for the memory"):
        read_picture(tmp_path / "a.png")


def test_missing_unreadable_and_foreign_files(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"gone\.png: no such file"):
        read_picture(tmp_path / "gone.png")
    with pytest.raises(InputError, match="found a folder"):
        read_picture(tmp_path)
    (tmp_path / "text.png").write_text("no picture")
    with pytest.raises(FormatError, match=r"text\.png: not a readable picture"):
        read_picture(tmp_path / "text.png")

    def refuse(*_args, **_kwargs):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Image, "open", refuse)
    with pytest.raises(InputError, match="Permission denied"):
        read_picture(tmp_path / "text.png")


def test_modes(tmp_path):
    rgba = np.array([[[10, 20, 30, 0], [40, 50, 60, 255]]], np.uint8)
    write_picture(tmp_path / "a.png", rgba)
    assert np.array_equal(read_picture(tmp_path / "a.png", "RGBA"), rgba)
    assert np.array_equal(read_picture(tmp_path / "a.png"), rgba[..., :3])
    assert read_picture(tmp_path / "a.png", "L").shape == (1, 2)


def test_sixteen_bits_are_brought_down_not_cut(tmp_path):
    grey = np.array([[0, 256, 32768, 65535]], np.uint16)
    Image.fromarray(grey).save(tmp_path / "deep.png")
    assert read_picture(tmp_path / "deep.png", "L").tolist() == [[0, 1, 128, 255]]


def test_exif_turns_the_picture_upright(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned a quarter clockwise
    Image.new("RGB", (4, 2)).save(tmp_path / "turned.jpg", exif=exif)
    assert read_picture(tmp_path / "turned.jpg").shape == (4, 2, 3)


def test_no_space_left(tmp_path, monkeypatch):
    def no_space(*_args, **_kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Image.Image, "save", no_space)
    with pytest.raises(OutputError, match=r"cannot write .*a\.png: No space left"):
        write_picture(tmp_path / "a.png", np.zeros((2, 2, 3), np.uint8))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a.xyz", "a.psd"])
def test_formats_that_cannot_be_written(tmp_path, name):
    with pytest.raises(InputError, match="cannot be written"):
        write_picture(tmp_path / name, np.zeros((2, 2, 3), np.uint8))


def test_what_a_format_cannot_hold(tmp_path):
    with pytest.raises(OutputError):
        write_picture(tmp_path / "a.jpg", np.zeros((2, 2, 4), np.uint8))
    with pytest.raises(OutputError):
        write_picture(tmp_path / "a.webp", np.zeros((1, 20_000, 3), np.uint8))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".png", ".apng", ".webp", ".gif"])
def test_animations_have_all_their_frames(tmp_path, suffix):
    frames = [np.full((4, 5, 3), value, np.uint8) for value in (0, 120, 250)]
    write_animation(tmp_path / f"a{suffix}", frames, frame_s=0.2)
    with Image.open(tmp_path / f"a{suffix}") as image:
        assert image.n_frames == 3


def test_animations_refuse_other_suffixes_and_no_frames(tmp_path):
    with pytest.raises(InputError, match="an animation ends in"):
        write_animation(tmp_path / "a.jpg", [np.zeros((2, 2, 3), np.uint8)])
    with pytest.raises(InputError, match="at least one frame"):
        write_animation(tmp_path / "a.gif", [])


@given(st.integers(1, 9), st.integers(1, 9))
def test_the_square_is_the_largest_and_centred(height, width):
    pixels = np.arange(height * width).reshape(height, width).astype(np.uint8)
    cropped = square_crop(pixels)
    assert cropped.shape == (min(height, width),) * 2
    top, left = (height - len(cropped)) // 2, (width - len(cropped)) // 2
    assert cropped[0, 0] == pixels[top, left]


def test_resizing_keeps_flat_colours():
    flat = np.full((8, 6, 3), (10, 200, 30), np.uint8)
    assert np.array_equal(resize(flat, 3, 5), np.full((3, 5, 3), (10, 200, 30), np.uint8))
    assert resize(flat, 8, 6) is flat


def test_resizing_does_not_bleed_colours_from_under_transparency():
    rgba = np.zeros((4, 4, 4), np.uint8)
    rgba[:, :2] = (200, 100, 50, 255)  # right half transparent black
    small = resize(rgba, 2, 2)
    assert np.abs(small[:, 0, :3].astype(int) - (200, 100, 50)).max() <= 1


def test_pictures_are_listed_in_order_without_hidden_ones(tmp_path):
    for name in ("b.PNG", "a.jpg", "sub/c.webp", ".hidden.png", ".cache/d.png", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = [path.relative_to(tmp_path).as_posix() for path in list_pictures(tmp_path)]
    assert found == ["a.jpg", "b.PNG", "sub/c.webp"]
    with pytest.raises(InputError, match="no such folder"):
        list_pictures(tmp_path / "gone")


def test_a_subfolder_that_cannot_be_read_is_named_unless_hidden(tmp_path, monkeypatch):
    for name in ("a.jpg", ".cache/b.png", "sub/c.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    closed = {tmp_path / ".cache"}
    real = os.scandir

    def scandir(path):
        if Path(path) in closed:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert len(list_pictures(tmp_path)) == 2
    closed.add(tmp_path / "sub")
    with pytest.raises(InputError, match=r"cannot read .*/sub: Permission denied"):
        list_pictures(tmp_path)


def test_large_jpegs_may_be_decoded_smaller(tmp_path):
    ramp = np.linspace(0, 255, 640).astype(np.uint8)
    pixels = np.broadcast_to(ramp[None, :, None], (480, 640, 3))
    write_picture(tmp_path / "a.jpg", pixels)
    write_picture(tmp_path / "a.png", pixels)
    assert read_picture(tmp_path / "a.jpg", enough_px=100).shape == (120, 160, 3)
    assert read_picture(tmp_path / "a.jpg", enough_px=300).shape == (480, 640, 3)
    assert read_picture(tmp_path / "a.png", enough_px=100).shape == (480, 640, 3)
    small = read_picture(tmp_path / "a.jpg", enough_px=100)
    assert np.abs(small[60, :, 0] - np.linspace(0, 255, 160)).max() < 4


def test_a_torn_jpeg_is_noticed_when_decoded_smaller(tmp_path):
    noise = np.random.default_rng(0).integers(0, 256, (480, 640, 3)).astype(np.uint8)
    write_picture(tmp_path / "a.jpg", noise)
    content = (tmp_path / "a.jpg").read_bytes()
    with pytest.raises(FormatError, match="not a readable picture"):
        read_picture(content[: len(content) * 2 // 3], enough_px=64)


def test_names_sort_as_people_count():
    names = ["b10.png", "B9.png", "a2.png", "b1.png", "B1.png"]
    assert sorted(names, key=natural_key) == ["a2.png", "B1.png", "b1.png", "B9.png", "b10.png"]


def test_only_the_known_formats_are_decoded():
    stream = io.BytesIO()
    Image.new("RGB", (9, 7)).save(stream, "PPM")
    with pytest.raises(FormatError, match="expected one of PNG, JPEG"):
        read_picture(stream.getvalue())


def test_a_folder_that_may_not_be_read_is_said(tmp_path, monkeypatch):
    write_picture(tmp_path / "a" / "1.png", np.zeros((2, 2, 3), np.uint8))
    forbidden = tmp_path / "forbidden"
    forbidden.mkdir()
    look = os.scandir

    def refuse(path):
        if Path(path) == forbidden:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return look(path)

    monkeypatch.setattr(os, "scandir", refuse)  # root may read everything
    with pytest.raises(InputError, match=r"cannot read .*forbidden: Permission denied"):
        list_pictures(tmp_path)
