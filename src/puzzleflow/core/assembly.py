"""Assemblies: what a solver of free-form fragments answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from puzzleflow.core.errors import InputError
from puzzleflow.core.pose import Pose
from puzzleflow.core.types import FloatArray


@dataclass(frozen=True)
class Candidate:
    """A guess of how two fragments lie to each other.

    pose   of ``second`` in the frame of ``first``: ``pose_of(second).relative_to(pose_of(first))``
    score  higher is better; comparable within one answer
    """

    first: int
    second: int
    pose: Pose
    score: float

    def swapped(self) -> Candidate:
        """The same guess as ``second`` sees it."""
        return Candidate(self.second, self.first, self.pose.inverse(), self.score)


@dataclass(frozen=True, eq=False)
class Assembly:
    """Components of fragments that were put together, and a rest that was not.

    num_fragments  N, of the set that was solved
    components     fragment → pose in the frame of its component; a component
                   knows nothing of where another lies. Fragments in none of
                   them are unplaced.
    confidence     (N,) probability that a fragment lies right within its
                   component, or, unplaced, that it belongs to none; NaN = unknown
    candidates     pairs, best first; may be empty
    """

    num_fragments: int
    components: tuple[Mapping[int, Pose], ...] = ()
    confidence: FloatArray = field(default_factory=lambda: np.empty(0))
    candidates: tuple[Candidate, ...] = ()

    def __post_init__(self) -> None:
        n = self.num_fragments
        if n < 1:
            raise InputError("an assembly is one of at least one fragment")
        components = tuple(
            MappingProxyType({int(f): component[f] for f in sorted(component)})
            for component in self.components
        )
        members = [fragment for component in components for fragment in component]
        if not all(components):
            raise InputError("a component without fragments")
        if len(set(members)) != len(members):
            raise InputError("a fragment lies in two components")
        if any(not 0 <= fragment < n for fragment in members):
            raise InputError(f"a component holds a fragment beyond the {n} there are")
        for candidate in self.candidates:
            pair = candidate.first, candidate.second
            if pair[0] == pair[1] or not all(0 <= fragment < n for fragment in pair):
                raise InputError(f"no pair of {n} fragments: {pair}")
        confidence = np.asarray(self.confidence, dtype=np.float64)
        confidence = confidence if confidence.size else np.full(n, np.nan)
        if confidence.shape != (n,) or ((confidence < 0) | (confidence > 1)).any():
            raise InputError(f"confidence: one probability for each of {n} fragments")
        object.__setattr__(self, "components", components)
        object.__setattr__(self, "confidence", confidence)
        object.__setattr__(self, "candidates", tuple(self.candidates))

    @property
    def unplaced(self) -> tuple[int, ...]:
        """Fragments that lie in no component."""
        placed = set().union(*self.components)
        return tuple(fragment for fragment in range(self.num_fragments) if fragment not in placed)

    def largest(self, areas: FloatArray) -> Mapping[int, Pose]:
        """The component with most material, the first of equals; empty without components."""
        return max(
            self.components, key=lambda c: float(areas[list(c)].sum()), default=MappingProxyType({})
        )

    def poses(self, component: Mapping[int, Pose]) -> tuple[Pose | None, ...]:
        """(N) pose of every fragment in a component's frame, None outside it."""
        return tuple(component.get(fragment) for fragment in range(self.num_fragments))

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | {"components": tuple(map(dict, self.components))}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.__post_init__()


def truth_assembly(poses: tuple[Pose | None, ...]) -> Assembly:
    """The assembly that puts every fragment with a known pose there, in one component."""
    known = {fragment: pose for fragment, pose in enumerate(poses) if pose is not None}
    return Assembly(len(poses), (known,) if known else ())
