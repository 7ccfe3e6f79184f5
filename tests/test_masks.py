from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from puzzleflow.core.errors import FormatError, InputError, OutputError
from puzzleflow.masks import (
    bounding_box,
    crop_to_box,
    each_mask,
    read_masks,
    resize_mask,
    write_masks,
)
from puzzleflow.pictures import write_picture


def put(path: Path, pixels: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_picture(path, pixels.astype(np.uint8))


def full() -> np.ndarray:
    mask = np.full((128, 128), 255, dtype=np.uint8)
    mask[:30, :30] = 0
    return mask


def test_masks_come_in_the_order_of_their_paths(tmp_path: Path) -> None:
    put(tmp_path / "b" / "1.png", full())
    put(tmp_path / "a" / "2.png", full()[::-1])
    found = read_masks(tmp_path)
    assert found.names == ["a/2.png", "b/1.png"]
    assert np.array_equal(found.masks[1], full() > 0)
    assert found.notes() == []


def test_other_sizes_and_greys_are_brought_in_line_and_said(tmp_path: Path) -> None:
    put(tmp_path / "large.png", np.kron(full(), np.ones((2, 2))))
    put(tmp_path / "grey.png", np.where(full() > 0, 200, 40))
    found = read_masks(tmp_path)
    assert np.array_equal(found.masks[0], full() > 0)
    assert np.array_equal(found.masks[1], full() > 0)
    assert found.notes() == [
        "1 mask not 128x128: resized (large.png)",
        "1 mask grey: thresholded at 128 (grey.png)",
    ]


def test_what_is_brighter_than_127_is_material(tmp_path: Path) -> None:
    put(tmp_path / "ramp.png", np.arange(256).reshape(16, 16))
    ((name, mask, is_grey),) = each_mask(tmp_path)
    assert (name, is_grey) == ("ramp.png", True)
    assert np.array_equal(mask.ravel(), np.arange(256) >= 128)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"\x89PNG\r\n\x1a\n broken", "not a readable picture"), (None, "the mask is empty")],
)
def test_damaged_and_black_masks_are_named(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    put(tmp_path / "good.png", full())
    put(tmp_path / "bad.png", np.zeros((128, 128)))
    if content:
        (tmp_path / "bad.png").write_bytes(content)
    with pytest.raises(FormatError, match=rf"bad\.png: {message}"):
        read_masks(tmp_path)


def test_long_lists_are_shortened(tmp_path: Path) -> None:
    for number in range(5):
        put(tmp_path / f"{number}.png", np.full((64, 64), 255))
    (note,) = read_masks(tmp_path).notes()
    assert note.endswith("(0.png, 1.png, 2.png and 2 more)")
    assert note.startswith("5 masks ")


def test_folders_without_masks_are_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        read_masks(tmp_path / "absent")
    with pytest.raises(InputError, match="no mask pictures"):
        read_masks(tmp_path)


def test_stretch_fills_the_frame(tmp_path: Path) -> None:
    small = np.zeros((128, 128))
    small[40:72, 50:114] = 255
    put(tmp_path / "small.png", small)
    assert read_masks(tmp_path).masks[0].sum() == 32 * 64
    found = read_masks(tmp_path, stretch=True)
    assert found.masks[0].all()
    assert found.notes() == [
        "1 mask not filling its frame: bounding box stretched to 128x128 (small.png)"
    ]


def test_transparency_says_where_material_is(tmp_path: Path) -> None:
    picture = np.zeros((128, 128, 4), dtype=np.uint8)
    picture[..., 3] = full()
    put(tmp_path / "rgba.png", picture)
    assert np.array_equal(read_masks(tmp_path).masks[0], full() > 0)


def test_crop_and_resize() -> None:
    mask = np.zeros((9, 9), dtype=bool)
    mask[2:4, 3:8] = True
    assert crop_to_box(mask).shape == (2, 5)
    assert resize_mask(crop_to_box(mask), 16, 12).all()


@given(st.integers(0, 9), st.integers(0, 9))
def test_bounding_box_of_one_pixel(row: int, col: int) -> None:
    mask = np.zeros((10, 10), dtype=bool)
    mask[row, col] = True
    assert bounding_box(mask) == (row, row + 1, col, col + 1)


def test_bounding_box_of_nothing() -> None:
    assert bounding_box(np.zeros((3, 3), dtype=bool)) == (0, 0, 0, 0)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32), sizes=st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, seed: int, sizes: list[int]
) -> None:
    rng = np.random.default_rng(seed)
    chunks = [rng.random((size, 128, 128)) < rng.uniform(0.1, 1) for size in sizes]
    folder = tmp_path_factory.mktemp("masks")
    for name in ("pictures", "packed.npz"):
        write_masks(folder / name, chunks)
        found = read_masks(folder / name)
        assert np.array_equal(found.masks, np.concatenate(chunks))
        assert found.names == [f"{index:06d}.png" for index in range(sum(sizes))]
        assert found.notes() == []


def test_files_of_packed_bits_are_read(tmp_path: Path) -> None:
    masks = np.random.default_rng(0).random((3, 128, 128)) < 0.5
    np.savez(tmp_path / "bank.npz", masks=np.packbits(masks.reshape(3, -1), axis=1))
    assert np.array_equal(read_masks(tmp_path / "bank.npz").masks, masks)


def test_packed_masks_are_stretched_like_pictures(tmp_path: Path) -> None:
    masks = np.zeros((1, 128, 128), bool)
    masks[0, 40:72, 50:114] = True
    write_masks(tmp_path / "bank.npz", [masks])
    assert read_masks(tmp_path / "bank.npz", stretch=True).masks.all()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"shapes": np.ones((2, 128, 128), bool)}, "expected an .npz with the array 'masks'"),
        ({"masks": np.ones((2, 64, 64), bool)}, r"bool of shape \(2, 64, 64\), expected"),
        ({"masks": np.ones((2, 128, 128))}, "float64 of shape"),
        ({"masks": np.ones((2, 2047), np.uint8)}, "uint8 of shape"),
        ({"masks": np.ones((0, 128, 128), bool)}, "N at least 1"),
        ({"masks": np.array(True)}, "bool of shape"),
        ({"masks": np.array([{}], dtype=object)}, "expected an .npz"),
        ({"masks": np.eye(2, dtype=bool)[:, :1, None].repeat(128, 1).repeat(128, 2)}, "mask 1 is"),
    ],
)
def test_foreign_arrays_are_refused(
    tmp_path: Path, arrays: dict[str, np.ndarray], message: str
) -> None:
    np.savez(tmp_path / "bank.npz", **arrays)
    with pytest.raises(FormatError, match=rf"bank\.npz: .*{message}"):
        read_masks(tmp_path / "bank.npz")


@settings(max_examples=60)
@given(data=st.data())
def test_damaged_packed_files_end_in_an_error_that_names_them(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("masks") / "bank.npz"
    masks = np.random.default_rng(0).random((2, 128, 128)) < 0.5
    write_masks(path, [masks])
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    said = "bank.npz"
    try:
        found = read_masks(path)
    except FormatError as error:
        said = str(error)
    else:
        assert np.array_equal(found.masks, masks), "zip files are protected by checksums"
    assert "bank.npz" in said


def test_a_directory_of_a_packed_file_that_points_before_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "bank.npz"
    write_masks(path, [np.ones((1, 128, 128), bool)])
    content = bytearray(path.read_bytes())
    end = content.rindex(b"PK\x05\x06")
    content[end + 16 : end + 20] = (1 << 24).to_bytes(4, "little")  # where it says to begin
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"bank\.npz"):
        read_masks(path)


def test_packed_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.npz: no such file"):
        read_masks(tmp_path / "absent.npz")
    np.save(tmp_path / "plain.npy", np.ones((2, 128, 128), bool))
    (tmp_path / "plain.npy").rename(tmp_path / "plain.npz")
    with pytest.raises(FormatError, match=r"plain\.npz: expected an \.npz"):
        read_masks(tmp_path / "plain.npz")


def test_pictures_are_not_mixed_with_other_files(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    for path in (tmp_path, tmp_path / "note.txt"):
        with pytest.raises(OutputError, match=r"new or empty|File exists"):
            write_masks(path, [np.ones((1, 128, 128), bool)])
