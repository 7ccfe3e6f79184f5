"""Photograph in, fragments out: the steps in their order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from puzzleflow.core.cancelling import check_cancelled
from puzzleflow.core.ceiling import check_bytes
from puzzleflow.core.errors import InputError
from puzzleflow.core.types import BoolArray, ByteArray, FloatArray
from puzzleflow.pictures import resize
from puzzleflow.segmentation.background import Ground, fit_ground, margin_spread
from puzzleflow.segmentation.foreground import find_foreground, gradient, grow, shrink
from puzzleflow.segmentation.fragments import (
    Fragment,
    Labels,
    Segmentation,
    cut_fragment,
    flood,
    nearest_label,
    reading_order,
)

WORK_PIXELS = 2_000_000  # larger photographs are understood at a reduced size
REFINE_PIXELS = 24_000_000  # a larger window keeps the outline of the reduced size
MAX_FRAGMENTS = 1000
PATTERN_LEVELS = 6.5  # margins that spread this much are not plain; noise makes up to 4
LEAST_PX = 16
WORK_BYTES = 18  # a pixel, beside the photograph itself
DUST_PART = 0.03  # of the largest region's area
LEAST_AREA_PX = 40
LONG = 1.45  # times the usual length: perhaps two
WAIST = 0.5  # of the smaller part's width, at most, to be cut there
SPLIT_PX = 400  # larger masks are parted at a reduced size
_LEVELS = 24
_NEIGHBOURS = np.ones((3, 3), bool)


def segment(
    photo: ByteArray, *, threshold: float | None = None, min_area_px: float | None = None
) -> Segmentation:
    """Find the fragments on the plain ground of a photograph.

    photo        (H, W, 3) uint8, or (H, W, 4) whose transparent pixels are the ground
    threshold    levels (0 to 441) by which material differs from the ground; estimated
                 from the noise unless given
    min_area_px  smaller regions are dust; a small part of the largest one unless given
    """
    _check(photo, threshold)
    if photo.shape[2] == 4 and photo[..., 3].min() < 128:
        mask = photo[..., 3] > 127
        labels = number_fragments(mask, min_area_px)
        return _cut(photo, labels, None, 127.0 if threshold is None else threshold)
    photo = photo[..., :3]
    height, width = photo.shape[:2]
    scale = max(1.0, (height * width / WORK_PIXELS) ** 0.5)
    small = resize(photo, max(1, round(height / scale)), max(1, round(width / scale)))
    ground = fit_ground(small)
    check_cancelled()
    found = find_foreground(small.astype(np.float32), ground.colours(*small.shape[:2]), threshold)
    least = None if min_area_px is None else min_area_px / scale**2
    labels = number_fragments(found.mask, least)
    if scale > 1:
        labels = _at_full_size(photo, labels, scale)
    return _cut(photo, labels, ground, found.threshold)


def check_photo(height: int, width: int) -> None:
    """Refuse photographs whose fragments cannot be found within the ceiling of memory."""
    check_bytes(height * width * WORK_BYTES, f"finding fragments in {width:,}x{height:,} pixels")


def _check(photo: ByteArray, threshold: float | None) -> None:
    if photo.dtype != np.uint8 or photo.ndim != 3 or photo.shape[2] not in (3, 4):
        raise InputError(f"a photograph is (H, W, 3 or 4) uint8, not {photo.shape} {photo.dtype}")
    if min(photo.shape[:2]) < LEAST_PX:
        raise InputError(
            f"the photograph has {photo.shape[1]}x{photo.shape[0]} pixels; "
            f"at least {LEAST_PX} a side are needed"
        )
    check_photo(*photo.shape[:2])
    if threshold is not None and not threshold > 0:
        raise InputError(f"the threshold must be above 0, not {threshold}")


def _at_full_size(photo: ByteArray, labels: Labels, scale: float) -> Labels:
    """Labels of the reduced size, drawn again along the edges of the full photograph."""
    height, width = photo.shape[:2]
    rows = np.minimum((np.arange(height) + 0.5) / scale, labels.shape[0] - 1).astype(np.intp)
    cols = np.minimum((np.arange(width) + 0.5) / scale, labels.shape[1] - 1).astype(np.intp)
    full: Labels = labels[rows][:, cols]  # (H, W)
    reach = int(np.ceil(scale)) + 1
    for number, box in enumerate(ndimage.find_objects(full), start=1):
        window = tuple(slice(max(0, side.start - 3 * reach), side.stop + 3 * reach) for side in box)
        view = full[window]
        check_cancelled()
        if view.size > REFINE_PIXELS:
            continue
        refined = refine_mask(photo[window].astype(np.float32), view == number, reach)
        refined &= (view == 0) | (view == number)
        view[view == number] = 0
        view[refined] = number
    return full


def refine_mask(photo: FloatArray, mask: BoolArray, reach_px: int) -> BoolArray:
    """The mask with its outline moved by at most ``reach_px`` to the steepest edge."""
    markers = np.zeros(mask.shape, np.int32)
    markers[~grow(mask, reach_px)] = 1
    markers[shrink(mask, reach_px)] = 2
    if not (markers == 2).any():
        return mask
    return np.asarray(flood(gradient(photo), markers) == 2)


def _cut(photo: ByteArray, labels: Labels, ground: Ground | None, threshold: float) -> Segmentation:
    boxes = {n: box for n, box in enumerate(ndimage.find_objects(labels), 1) if box is not None}
    if not boxes:
        raise InputError(
            "no fragments found: expected fragments on a plain ground that differs from them "
            "and shows at the margins; a lower threshold finds fainter ones"
        )
    if len(boxes) > MAX_FRAGMENTS:
        raise InputError(
            f"{len(boxes)} regions found, more than {MAX_FRAGMENTS}: the ground is not plain, "
            "or the threshold is too low"
        )
    cut = {}
    for number, box in boxes.items():
        check_cancelled()
        cut[number] = cut_fragment(photo, labels, number, ground, box)
    return arrange(photo, labels, cut, ground, threshold)


def arrange(
    photo: ByteArray,
    labels: Labels,
    fragments: dict[int, Fragment],
    ground: Ground | None,
    threshold: float,
) -> Segmentation:
    """Number fragments in reading order; ``fragments`` maps the numbers in ``labels``."""
    numbers = list(fragments)
    order = [numbers[i] for i in reading_order([fragments[n].bbox for n in numbers])]
    renumbered = np.zeros(int(labels.max(initial=0)) + 1, np.int32)
    renumbered[order] = np.arange(1, len(order) + 1)
    ordered = tuple(fragments[number] for number in order)
    return Segmentation(
        fragments=ordered,
        labels=renumbered[labels],
        background=ground,
        threshold=float(threshold),
        photo=photo,
        warnings=_warnings(photo, ordered, ground),
    )


def _warnings(
    photo: ByteArray, fragments: tuple[Fragment, ...], ground: Ground | None
) -> tuple[str, ...]:
    if ground is None:
        return ()
    told = []
    cut_off = [str(i) for i, fragment in enumerate(fragments, start=1) if fragment.cut_off]
    if cut_off:
        what = "fragment" if len(cut_off) == 1 else "fragments"
        told.append(f"{what} {', '.join(cut_off)} cut off by the margin of the photograph")
    if margin_spread(photo[..., :3], ground) > PATTERN_LEVELS:
        told.append(
            "the ground is not plain: what was found may be wrong; photograph on card or felt"
        )
    return tuple(told)


@dataclass(frozen=True, eq=False)
class Parting:
    """A mask in two: (H, W) labels 1 and 2, and the waist as a part of the smaller width."""

    labels: Labels
    waist: float


def number_fragments(mask: BoolArray, min_area_px: float | None = None) -> Labels:
    """(H, W) int32: 0 on the ground, 1 … N on what is large enough, in no special order.

    Fragments are irregular, so a narrow waist alone is no reason to cut. A region
    is cut when it is also much longer than the other fragments: two that touch.
    """
    labels = _regions(mask, min_area_px)
    boxes = ndimage.find_objects(labels)
    sides = [max(rows.stop - rows.start, cols.stop - cols.start) for rows, cols in boxes]
    usual = float(np.median(sides)) if len(sides) > 1 else np.inf
    waiting = [number for number, side in enumerate(sides, start=1) if side > LONG * usual]
    following = len(boxes) + 1
    while waiting:
        number = waiting.pop()
        box = _box(labels == number)
        region = labels[box] == number
        parting = part(region)
        if parting is None or parting.waist > WAIST or _smallest_side(parting) < usual / 2:
            continue
        labels[box][parting.labels == 2] = following
        waiting += [each for each in (number, following) if _side(labels == each) > LONG * usual]
        following += 1
    return labels


def part(mask: BoolArray) -> Parting | None:
    """Cut one region in two at its narrowest waist, or None where it has none."""
    height, width = mask.shape
    step = max(1, -(-max(height, width) // SPLIT_PX))
    small = np.pad(mask[::step, ::step], 1)
    depth = ndimage.distance_transform_edt(small)  # (h, w)
    best: tuple[float, float, Labels] | None = None
    for level in np.linspace(0, 0.95 * depth.max(), _LEVELS, endpoint=False):
        cores, count = ndimage.label(depth > level, structure=_NEIGHBOURS)
        if count < 2:
            continue
        sizes = np.bincount(cores.ravel())[1:]
        first, second = np.argsort(sizes)[::-1][:2] + 1
        radius = min(float(depth[cores == number].max()) for number in (first, second))
        if level > 0 and radius < 1.3 * level:  # a wrinkle of the outline, not a part
            continue
        rank = float(sizes[second - 1])
        if best is None or rank > best[0]:
            markers = (cores == first) + 2 * (cores == second).astype(np.int32)
            best = (rank, float(level / radius), markers.astype(np.int32))
    if best is None:
        return None
    flooded = flood(-depth, best[2], small)[1:-1, 1:-1]
    flooded = nearest_label(flooded)  # parts that no core reaches
    grown = np.kron(flooded, np.ones((step, step), np.int32))[:height, :width]
    return Parting(np.where(mask, grown, 0).astype(np.int32), best[1])


def _regions(mask: BoolArray, min_area_px: float | None) -> Labels:
    """Connected regions from 1 on, without dust."""
    labels, _ = ndimage.label(mask, structure=_NEIGHBOURS)
    sizes = np.bincount(labels.ravel())
    sizes[0] = 0
    least = min_area_px
    if least is None:
        least = max(LEAST_AREA_PX, DUST_PART * float(sizes.max(initial=0)))
    kept = sizes >= max(least, 1)
    renumbered = np.where(kept, np.cumsum(kept), 0).astype(np.int32)
    return np.asarray(renumbered[labels])


def _box(mask: BoolArray) -> tuple[slice, slice]:
    rows, cols = ndimage.find_objects(mask.astype(np.int32))[0]
    return rows, cols


def _side(mask: BoolArray) -> int:
    rows, cols = _box(mask)
    return int(max(rows.stop - rows.start, cols.stop - cols.start))


def _smallest_side(parting: Parting) -> int:
    return min(_side(parting.labels == number) for number in (1, 2))
