"""Corrections by hand: merge, split, delete, paint; each returns a new segmentation.

``number`` is what stands on the fragment in the preview: its place in
``fragments`` plus one. Numbers are given anew, in reading order, after each.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from puzzleflow.core.errors import InputError
from puzzleflow.core.types import BoolArray
from puzzleflow.segmentation.find import arrange, part
from puzzleflow.segmentation.fragments import Fragment, Labels, Segmentation, cut_fragment


def merge(segmentation: Segmentation, numbers: Iterable[int]) -> Segmentation:
    """Several regions that are one fragment; what lies between them stays ground."""
    chosen = sorted({_checked(segmentation, number) for number in numbers})
    if len(chosen) < 2:
        raise InputError("merging takes at least two fragments")
    labels = segmentation.labels.copy()
    labels[np.isin(labels, chosen[1:])] = chosen[0]
    fragments = {n: f for n, f in _numbered(segmentation).items() if n not in chosen}
    fragments[chosen[0]] = _cut(segmentation, labels, chosen[0])
    return _again(segmentation, labels, fragments)


def split(segmentation: Segmentation, number: int) -> Segmentation:
    """One region that is two fragments, cut at its narrowest waist."""
    _checked(segmentation, number)
    fragments = _numbered(segmentation)
    top, left, height, width = fragments[number].bbox
    window = np.s_[top : top + height, left : left + width]
    parting = part(segmentation.labels[window] == number)
    if parting is None:
        raise InputError(f"fragment {number} has no waist at which it could be split")
    labels = segmentation.labels.copy()
    other = len(segmentation.fragments) + 1
    labels[window][parting.labels == 2] = other
    for each in (number, other):
        fragments[each] = _cut(segmentation, labels, each)
    return _again(segmentation, labels, fragments)


def delete(segmentation: Segmentation, number: int) -> Segmentation:
    """Without one region: a ruler, a label, a finger."""
    _checked(segmentation, number)
    labels = np.where(segmentation.labels == number, np.int32(0), segmentation.labels)
    fragments = {n: f for n, f in _numbered(segmentation).items() if n != number}
    return _again(segmentation, labels, fragments)


def paint(
    segmentation: Segmentation, area: BoolArray, number: int | None, *, add: bool
) -> Segmentation:
    """Mend an outline: what a brush or lasso covered becomes material, or ground.

    area    (H, W) what was covered
    number  the fragment that is mended; without one, ``add`` makes a new fragment and
            taking away concerns every fragment
    """
    labels = segmentation.labels.copy()
    fragments = _numbered(segmentation)
    if number is not None:
        _checked(segmentation, number)
    if add:
        number = len(fragments) + 1 if number is None else number
        area = area & (labels == 0)
        labels[area] = number
        touched = {number}
    else:
        area = area & ((labels > 0) if number is None else (labels == number))
        touched = {int(n) for n in np.unique(labels[area])}
        labels[area] = 0
    if not area.any():
        raise InputError("nothing changes there: draw over the outline that is to be mended")
    for each in touched:
        if (labels == each).any():
            fragments[each] = _cut(segmentation, labels, each)
        else:
            del fragments[each]
    return _again(segmentation, labels, fragments)


def _checked(segmentation: Segmentation, number: int) -> int:
    if not 1 <= number <= len(segmentation.fragments):
        raise InputError(f"no fragment {number}: there are 1 to {len(segmentation.fragments)}")
    return number


def _numbered(segmentation: Segmentation) -> dict[int, Fragment]:
    return dict(enumerate(segmentation.fragments, start=1))


def _cut(segmentation: Segmentation, labels: Labels, number: int) -> Fragment:
    return cut_fragment(segmentation.photo, labels, number, segmentation.background)


def _again(
    segmentation: Segmentation, labels: Labels, fragments: dict[int, Fragment]
) -> Segmentation:
    return arrange(
        segmentation.photo, labels, fragments, segmentation.background, segmentation.threshold
    )
