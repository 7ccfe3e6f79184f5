from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
from PIL import Image

from puzzleflow.generation import survey
from puzzleflow.generation.survey import Signature, near_duplicate_groups, signature
from puzzleflow.pictures import read_picture, resize

SmoothPicture = Callable[..., np.ndarray]


def _jpeg(pixels: np.ndarray, quality: int) -> np.ndarray:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, format="JPEG", quality=quality)
    return read_picture(stream.getvalue())


def test_copies_are_found_and_others_are_not(smooth_picture: SmoothPicture) -> None:
    originals = [smooth_picture(seed, 200, 160) for seed in range(30)]
    brighter = np.clip(originals[3].astype(int) + 20, 0, 255).astype(np.uint8)
    copies = [_jpeg(originals[1], 30), resize(originals[2], 90, 70), brighter]
    groups = near_duplicate_groups([signature(p) for p in originals + copies])
    assert groups[:30].tolist() == list(range(30))
    assert groups[30:].tolist() == [1, 2, 3]


def test_groups_do_not_depend_on_blocks_and_join_chains(
    smooth_picture: SmoothPicture, monkeypatch: object
) -> None:
    seen = [signature(smooth_picture(seed // 2)) for seed in range(40)]
    whole = near_duplicate_groups(seen)
    assert whole.tolist() == [index - index % 2 for index in range(40)]
    monkeypatch.setattr(survey, "_BLOCK", 7)  # type: ignore[attr-defined]
    assert near_duplicate_groups(seen).tolist() == whole.tolist()


def _bits(*flipped: int) -> Signature:
    bits = np.zeros(128, bool)
    bits[list(flipped)] = True
    grey = np.zeros(256, np.uint8)
    grey[: len(flipped)] = 255  # differs from one signature to the next
    return Signature(np.packbits(bits).tobytes().hex(), grey.tobytes().hex())


def test_ten_bits_are_near_and_chains_hold_together() -> None:
    zero, ten, twenty = _bits(), _bits(*range(60, 70)), _bits(*range(60, 80))
    far = _bits(*range(0, 40))
    assert near_duplicate_groups([zero, far, ten, twenty]).tolist() == [0, 1, 0, 0]
    assert near_duplicate_groups([zero, far, twenty]).tolist() == [0, 1, 2]


def test_twenty_bits_are_near_only_if_miniatures_agree() -> None:
    ramp = bytes(range(256)).hex()
    one = Signature("00" * 16, ramp)
    twenty = Signature("ff" * 2 + "f0" + "00" * 13, ramp)
    assert near_duplicate_groups([one, twenty]).tolist() == [0, 0]
    mirrored = Signature(twenty.bits, bytes(range(255, -1, -1)).hex())
    assert near_duplicate_groups([one, mirrored]).tolist() == [0, 1]


def test_none_and_one() -> None:
    assert near_duplicate_groups([]).tolist() == []
    assert near_duplicate_groups([_bits()]).tolist() == [0]
