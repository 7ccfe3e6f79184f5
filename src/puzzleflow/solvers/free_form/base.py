"""What a solver of free-form fragments is: ``prepare`` once, ``solve`` and ``rank`` often."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from puzzleflow.core.assembly import Assembly, Candidate
from puzzleflow.core.errors import InputError
from puzzleflow.core.fragments import FragmentSet
from puzzleflow.core.pose import Pose

Report = Callable[[str, int, int], None]


def silent(stage: str, done: int, total: int) -> None:
    """A report that nobody reads."""


@dataclass(frozen=True)
class Together:
    """Two fragments that belong together: at this relative pose, or as the solver finds best."""

    first: int
    second: int
    pose: Pose | None = None


@dataclass(frozen=True)
class Snap:
    """A place where one fragment fits beside others that lie already.

    pose    of the fragment, in the frame of the others
    gain    higher is better; comparable within one session
    beside  fragments that it touches there
    """

    pose: Pose
    gain: float
    beside: tuple[int, ...]


@runtime_checkable
class FreeFormSession(Protocol):
    """One set, prepared; may be asked any number of times."""

    def solve(
        self,
        *,
        seed: int = 0,
        pinned: Mapping[int, Pose] | None = None,
        together: Sequence[Together] = (),
        never: Sequence[tuple[int, int]] = (),
    ) -> Assembly:
        """Put fragments together as far as they seem to belong so.

        pinned    fragment → pose: all of them lie there, in one component
        together  pairs that end up in one component in any case
        never     pairs that do not touch
        The same arguments give the same assembly.
        """
        ...

    def rank(self, fragment: int, k: int = 10) -> list[Candidate]:
        """The likeliest partners of one fragment with their poses as it sees them, best first."""
        ...

    def fits(
        self,
        fragment: int,
        near: Pose,
        placed: Mapping[int, Pose],
        *,
        k: int = 5,
        within: float = 0.5,
    ) -> list[Snap]:
        """Where a fragment that was dropped at ``near`` fits beside the placed ones, best first.

        within  of √area: how far from ``near`` it may be moved; it may be turned by any angle
        Quick: only candidates of the placed ones, and ``near`` itself, are looked at.
        """
        ...


@runtime_checkable
class FreeFormSolver(Protocol):
    """A method of putting fragments together, with its options already chosen."""

    @property
    def name(self) -> str:
        """The name it is registered under."""
        ...

    def prepare(
        self,
        fragments: FragmentSet,
        *,
        journal: Path | None = None,
        num_workers: int = 1,
        on_progress: Report = silent,
    ) -> FreeFormSession:
        """The costly part, once for each set; must not read poses or adjacency.

        journal  a file from which a killed preparation goes on
        """
        ...


def check_wishes(
    count: int,
    pinned: Mapping[int, Pose],
    together: Sequence[Together],
    never: Sequence[tuple[int, int]],
) -> frozenset[tuple[int, int]]:
    """The pairs of ``never``, smaller index first; raises where wishes name what is not there."""
    pairs = [(each.first, each.second) for each in together] + list(never)
    for first, second in pairs:
        if first == second:
            raise InputError(f"fragment {first} cannot be paired with itself")
    for index in [*pinned, *(index for pair in pairs for index in pair)]:
        if not 0 <= index < count:
            raise InputError(f"there is no fragment {index} among {count}")
    kept_apart = frozenset((min(pair), max(pair)) for pair in never)
    for each in together:
        if (min(each.first, each.second), max(each.first, each.second)) in kept_apart:
            raise InputError(
                f"fragments {each.first} and {each.second}: both together and never together"
            )
    return kept_apart
