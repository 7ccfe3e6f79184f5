"""What ``inspect`` tells of free-form fragments."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage

from puzzleflow.core.errors import FormatError, PuzzleFlowError
from puzzleflow.core.fragments import FragmentSet
from puzzleflow.files import read_json
from puzzleflow.storage.free_form.answer import FORMAT as ASSEMBLY
from puzzleflow.storage.free_form.source import FragmentSource

WILD_SCALES = 300.0  # areas that differ by more are hardly one set at one scale
PART = 0.1  # of the largest part: a second one of that size is no crumb


def assembly_facts(path: Path) -> dict[str, Any] | None:
    """Facts about the file of an assembly; None if it is something else."""
    content = read_json(path)
    if not isinstance(content, dict) or content.get("format") != ASSEMBLY:
        return None
    components, fragments = content.get("components"), content.get("fragments")
    if not isinstance(components, list) or not isinstance(fragments, list):
        raise FormatError(f"{path}: expected lists 'fragments' and 'components'")
    sizes = sorted((len(each) for each in components if isinstance(each, dict)), reverse=True)
    return {
        "kind": "assembly",
        "set": content.get("set"),
        "solver": content.get("solver"),
        "fragments": len(fragments),
        "components": sizes,
        "unplaced": len(fragments) - sum(sizes),
    }


def audit_sets(
    source: FragmentSource, chosen: list[int], report: Callable[[str, int, int], None]
) -> tuple[dict[str, Any], list[str], bool]:
    """Counts, faults, and whether every set that was looked at knows its truth."""
    faults: list[str] = []
    sets: list[tuple[int, int, int]] = []
    sizes: list[tuple[int, int]] = []
    neighbours = 0
    whole = True
    for done, index in enumerate(chosen, start=1):
        report("sets", done, len(chosen))
        try:
            fragments = source.fragments(index)
        except PuzzleFlowError as error:
            faults.append(str(error))
            continue
        faults += _faults(fragments)
        sets.append((len(fragments), int(fragments.placed.sum()), len(fragments.foreign)))
        sizes += [f.pixels.shape[:2] for f in fragments.fragments]
        neighbours += int(fragments.true_neighbours.sum()) // 2
        whole &= fragments.has_truth
    if not sets:
        raise FormatError(faults[0])
    count, placed, foreign = map(sum, zip(*sets, strict=True))
    if placed + foreign < count:
        faults.append(f"{count - placed - foreign} of {count} fragments have no known pose")
    heights, widths = zip(*sizes, strict=True)
    audit = {
        "checked": len(chosen),
        "fragments": count,
        "placed": placed,
        "foreign": foreign,
        "neighbours": neighbours,
        "smallest_px": [min(heights), min(widths)],
        "largest_px": [max(heights), max(widths)],
    }
    return audit, faults, whole


def _faults(fragments: FragmentSet) -> list[str]:
    """What makes a set doubtful though it can be read."""
    found = []
    areas = fragments.areas
    if areas.max() > WILD_SCALES * areas.min():
        low, high = int(areas.argmin()), int(areas.argmax())
        names = fragments.names
        found.append(
            f"{fragments.name}: {names[high]} has {areas[high] / areas[low]:.0f} times "
            f"the material of {names[low]}; are they at one scale?"
        )
    for fragment in fragments.fragments:
        parts, count = ndimage.label(fragment.mask)
        sizes = np.sort(np.bincount(parts.ravel())[1:])
        if count > 1 and sizes[-2] > PART * sizes[-1]:
            found.append(
                f"{fragments.name}: {fragment.name} holds separate parts; several fragments in one?"
            )
    same = [
        (first.name, second.name)
        for first, second in combinations(fragments.fragments, 2)
        if first.pixels.shape == second.pixels.shape and np.array_equal(first.pixels, second.pixels)
    ]
    found += [f"{fragments.name}: {first} and {second} are the same" for first, second in same]
    return found
