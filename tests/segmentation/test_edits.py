from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from puzzleflow.core.errors import InputError
from puzzleflow.segmentation import Segmentation, delete, merge, segment, split

Drawn = Callable[..., tuple[np.ndarray, np.ndarray]]


@pytest.fixture
def three(discs: Drawn) -> Segmentation:
    found = segment(discs([(100, 50, 35), (100, 150, 35), (100, 250, 35)])[0])
    assert len(found.fragments) == 3
    return found


def consistent(segmentation: Segmentation) -> None:
    """Labels, boxes and areas tell the same."""
    assert segmentation.labels.max() == len(segmentation.fragments)
    for number, fragment in enumerate(segmentation.fragments, start=1):
        rows, cols = np.nonzero(segmentation.labels == number)
        box = (rows.min(), cols.min(), np.ptp(rows) + 1, np.ptp(cols) + 1)
        assert fragment.bbox == box
        assert fragment.area_px == len(rows)


def test_merge(three: Segmentation) -> None:
    merged = merge(three, [1, 3])
    consistent(merged)
    assert len(merged.fragments) == 2
    areas = {fragment.area_px for fragment in merged.fragments}
    assert three.fragments[0].area_px + three.fragments[2].area_px in areas
    assert three.labels.max() == 3  # the old one is untouched


def test_split_undoes_a_merge_of_neighbours(discs: Drawn) -> None:
    found = segment(discs([(100, 60, 45), (100, 148, 45)])[0])  # they touch
    assert len(found.fragments) == 1  # nothing tells how long a fragment usually is
    parted = split(found, 1)
    consistent(parted)
    assert len(parted.fragments) == 2
    small, large = sorted(fragment.area_px for fragment in parted.fragments)
    assert large < 1.1 * small
    whole = merge(parted, [1, 2])
    np.testing.assert_array_equal(whole.labels > 0, found.labels > 0)


def test_what_has_no_waist_cannot_be_split(three: Segmentation) -> None:
    with pytest.raises(InputError, match="fragment 2 has no waist"):
        split(three, 2)


def test_delete(three: Segmentation) -> None:
    left = delete(three, 2)
    consistent(left)
    assert [fragment.bbox for fragment in left.fragments] == [
        three.fragments[0].bbox,
        three.fragments[2].bbox,
    ]
    assert not delete(delete(left, 1), 1).fragments


@pytest.mark.parametrize("number", [0, 4, -1])
def test_numbers_are_checked(three: Segmentation, number: int) -> None:
    for edit in (split, delete, lambda seg, n: merge(seg, [1, n])):
        with pytest.raises(InputError, match=f"no fragment {number}: there are 1 to 3"):
            edit(three, number)


def test_merging_takes_two(three: Segmentation) -> None:
    with pytest.raises(InputError, match="at least two"):
        merge(three, [2, 2])
