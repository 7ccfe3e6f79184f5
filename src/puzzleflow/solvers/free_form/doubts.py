"""What makes a set of fragments doubtful before any work is done, in words for a person."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from puzzleflow.core.fragments import Fragment, FragmentSet

SECOND_PART = 0.2  # of the largest part's area: more is a second fragment, not a crumb
WILD_SCALES = 100.0  # areas that differ by more are hardly at one scale
PLAIN = 4.0  # levels by which a fragment's colours must differ for them to say something


def doubts(fragments: FragmentSet) -> list[str]:
    """One line for each thing that may spoil the answer; empty where all is well."""
    found = []
    parts, areas = fragments.fragments, fragments.areas
    if len(parts) == 1:
        found.append(f"{parts[0].name} is alone: there is nothing to put together")
    for fragment in parts:
        count = _separate(fragment)
        if count > 1:
            found.append(
                f"{fragment.name} holds {count} separate pieces: they are moved as one; "
                "cut them apart if they are not"
            )
    low, high = int(areas.argmin()), int(areas.argmax())
    if areas[high] > WILD_SCALES * areas[low]:
        found.append(
            f"{parts[high].name} has {areas[high] / areas[low]:.0f} times the material of "
            f"{parts[low].name}: are all pictures at one scale?"
        )
    if all(_is_plain(fragment) for fragment in parts):
        found.append("all fragments are of one plain colour: only their outlines are compared")
    return found


def _separate(fragment: Fragment) -> int:
    """Large connected parts of the material."""
    labels, count = ndimage.label(fragment.mask, structure=np.ones((3, 3)))
    if count < 2:
        return int(count)
    sizes = np.bincount(labels.ravel())[1:]
    return int((sizes >= SECOND_PART * sizes.max()).sum())


def _is_plain(fragment: Fragment) -> bool:
    colours = fragment.pixels[fragment.mask][:, :3]
    return bool(colours.std(axis=0).max() < PLAIN)
