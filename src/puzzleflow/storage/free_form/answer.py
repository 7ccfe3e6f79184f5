"""Assemblies as files: ``assembly.json``, which names fragments and not their numbers.

{"format": "puzzleflow-assembly", "version": 1, "set": …, "solver": …,
 "convention": …, "fragments": [names],
 "components": [{"name": [x, y, angle], …}, …],
 "unplaced": [names], "confidence": {"name": 0.9, …},
 "candidates": [{"first": name, "second": name, "pose": [x, y, angle], "score": …}, …]}
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.assembly import Assembly, Candidate
from puzzleflow.core.errors import FormatError, naming
from puzzleflow.core.fragments import FragmentSet
from puzzleflow.core.pose import Pose
from puzzleflow.files import read_json, write_json
from puzzleflow.storage.free_form.own import CONVENTION
from puzzleflow.storage.free_form.text import numbers

FORMAT, VERSION = "puzzleflow-assembly", 1


def write_assembly(
    path: str | Path, assembly: Assembly, fragments: FragmentSet, *, solver: str | None = None
) -> None:
    """Write an answer for ``fragments``."""
    names = fragments.names
    write_json(
        path,
        {
            "format": FORMAT,
            "version": VERSION,
            "set": fragments.name,
            "solver": solver,
            "convention": CONVENTION,
            "fragments": names,
            "components": [
                {names[f]: [pose.x, pose.y, pose.angle] for f, pose in component.items()}
                for component in assembly.components
            ],
            "unplaced": [names[f] for f in assembly.unplaced],
            "confidence": {
                name: float(value)
                for name, value in zip(names, assembly.confidence, strict=True)
                if np.isfinite(value)
            },
            "candidates": [
                {
                    "first": names[each.first],
                    "second": names[each.second],
                    "pose": [each.pose.x, each.pose.y, each.pose.angle],
                    "score": each.score,
                }
                for each in assembly.candidates
            ],
        },
    )


def read_assembly(path: str | Path, fragments: FragmentSet) -> Assembly:
    """An answer for ``fragments``; its names must be theirs."""
    path = Path(path)
    content = read_json(path)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FormatError(f"{path}: expected the format {FORMAT!r}")
    if content.get("version") != VERSION:
        raise FormatError(f"{path}: version {content.get('version')}, this reads {VERSION}")
    index = {name: number for number, name in enumerate(fragments.names)}

    def fragment(name: Any) -> int:
        if not isinstance(name, str) or name not in index:
            raise FormatError(f"{path}: no fragment {str(name)[:60]!r} in {fragments.name!r}")
        return index[name]

    def pose(values: Any) -> Pose:
        return Pose(*map(float, numbers(values, 3, f"{path}: pose")))

    components = content.get("components", [])
    confidence, listed = content.get("confidence", {}), content.get("candidates", [])
    if not isinstance(components, list) or not all(isinstance(c, dict) for c in components):
        raise FormatError(f"{path}: expected a list 'components' of objects")
    if not isinstance(confidence, dict) or not isinstance(listed, list):
        raise FormatError(f"{path}: expected an object 'confidence' and a list 'candidates'")
    values = np.full(len(fragments), np.nan)
    for name, value in confidence.items():
        values[fragment(name)] = numbers([value], 1, f"{path}: confidence")[0]
    candidates = []
    for each in listed:
        if not isinstance(each, dict):
            raise FormatError(f"{path}: expected objects in 'candidates'")
        score = float(numbers([each.get("score")], 1, f"{path}: score")[0])
        pair = fragment(each.get("first")), fragment(each.get("second"))
        candidates.append(Candidate(*pair, pose(each.get("pose")), score))
    with naming(path):
        return Assembly(
            len(fragments),
            tuple({fragment(n): pose(p) for n, p in component.items()} for component in components),
            values,
            tuple(candidates),
        )
