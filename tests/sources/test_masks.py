from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from puzzleflow.core.errors import InputError
from puzzleflow.pictures import write_picture
from puzzleflow.sources.masks import crop_to_box, read_masks, resize_mask


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
    assert found.resized == ["large.png"]
    assert found.thresholded == ["grey.png"]
    assert any("grey.png" in note and "thresholded" in note for note in found.notes())


def test_damaged_and_black_masks_are_named_skipped_and_counted(tmp_path: Path) -> None:
    put(tmp_path / "good.png", full())
    put(tmp_path / "black.png", np.zeros((128, 128)))
    (tmp_path / "torn.png").write_bytes(b"\x89PNG\r\n\x1a\n broken")
    found = read_masks(tmp_path)
    assert found.names == ["good.png"]
    assert found.empty == ["black.png"]
    assert found.damaged == ["torn.png"]
    assert "1 mask not readable: skipped (torn.png)" in found.notes()


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
    put(tmp_path / "black.png", np.zeros((128, 128)))
    with pytest.raises(InputError, match="1 all black, 0 not readable"):
        read_masks(tmp_path)


def test_stretch_fills_the_frame(tmp_path: Path) -> None:
    small = np.zeros((128, 128))
    small[40:72, 50:114] = 255
    put(tmp_path / "small.png", small)
    assert read_masks(tmp_path).masks[0].sum() == 32 * 64
    found = read_masks(tmp_path, stretch=True)
    assert found.masks[0].all()
    assert found.stretched == ["small.png"]


def test_transparency_says_where_material_is(tmp_path: Path) -> None:
    picture = np.zeros((128, 128, 4), dtype=np.uint8)
    picture[..., 3] = full()
    put(tmp_path / "rgba.png", picture)
    assert np.array_equal(read_masks(tmp_path).masks[0], full() > 0)


def test_crop_and_resize() -> None:
    mask = np.zeros((9, 9), dtype=bool)
    mask[2:4, 3:8] = True
    assert crop_to_box(mask).shape == (2, 5)
    assert resize_mask(crop_to_box(mask), 16).all()
