"""Free placing: fragments where they lie, at any place and angle, without a grid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from puzzleflow.core.arrangement import arrange
from puzzleflow.core.assembly import Assembly
from puzzleflow.core.errors import InputError
from puzzleflow.core.fragments import Fragment
from puzzleflow.core.pose import Pose
from puzzleflow.web.history import Line, several

MAX_STEPS = 200


@dataclass(frozen=True, eq=False)
class FreeTable:
    """Where fragments lie on the table; those without a pose wait in the tray.

    poses       fragment → pose of the centre of its picture, in pixels of the pieces
    label       what was done, for the undo button
    pinned      fragments that a person fixed
    components  of the last answer: fragments that it put together
    confidence  fragment → probability that it lies right, of the last answer
    """

    poses: Mapping[int, Pose]
    label: str
    pinned: frozenset[int] = frozenset()
    components: tuple[frozenset[int], ...] = ()
    confidence: Mapping[int, float] = field(default_factory=dict)

    def place(self, pieces: Mapping[int, Pose | None], *, label: str = "") -> FreeTable:
        """Some fragments elsewhere, or in the tray (None)."""
        for piece in pieces:
            if piece in self.pinned:
                raise InputError(f"piece {piece + 1} is pinned: unpin it to move it")
        poses = {piece: pose for piece, pose in self.poses.items() if piece not in pieces}
        poses |= {piece: pose for piece, pose in pieces.items() if pose is not None}
        told = label or several("move", sorted(pieces))
        sure = {piece: sure for piece, sure in self.confidence.items() if piece not in pieces}
        return replace(self, poses=poses, label=told, confidence=sure)

    def pin(self, pieces: Iterable[int], pinned: bool) -> FreeTable:
        """Fix fragments where they lie, or let them go."""
        chosen = sorted({*pieces})
        if pinned and any(piece not in self.poses for piece in chosen):
            raise InputError("only what lies on the table can be pinned")
        pins = self.pinned.union(chosen) if pinned else self.pinned.difference(chosen)
        return replace(self, pinned=pins, label=several("pin" if pinned else "unpin", chosen))

    def answered(self, assembly: Assembly, fragments: Sequence[Fragment]) -> FreeTable:
        """The table as a solver lays it; what is pinned stays where it lies."""
        laid = arrange(fragments, assembly, with_rest=False)
        poses = {piece: pose for piece, pose in enumerate(laid) if pose is not None}
        held = next((each for each in assembly.components if self.pinned & set(each)), None)
        if held is not None:
            anchor = min(self.pinned & set(held))
            move = self.poses[anchor] @ poses[anchor].inverse()
            poses = {piece: move @ pose for piece, pose in poses.items()}
        known = {
            piece: float(assembly.confidence[piece])
            for piece in poses
            if assembly.confidence[piece] == assembly.confidence[piece]
        }
        return FreeTable(
            poses,
            "assemble",
            self.pinned,
            tuple(frozenset(component) for component in assembly.components),
            {piece: sure for piece, sure in known.items() if piece not in self.pinned},
        )


class FreeHistory(Line[FreeTable]):
    """The tables of one set of pieces."""

    def __init__(self) -> None:
        super().__init__(MAX_STEPS, "nothing lies on the table yet")
