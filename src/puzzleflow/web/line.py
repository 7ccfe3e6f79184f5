"""A line of steps with a place on it: undo walks back, redo forward."""

from __future__ import annotations

from typing import Generic, TypeVar

from puzzleflow.core.errors import InputError

Step = TypeVar("Step")


class Line(Generic[Step]):
    """At most ``most`` steps; the oldest are forgotten first."""

    def __init__(self, most: int, nothing: str) -> None:
        self.steps: list[Step] = []
        self.at = -1
        self.most = most
        self.nothing = nothing

    @property
    def now(self) -> Step:
        if not self.steps:
            raise InputError(self.nothing)
        return self.steps[self.at]

    def add(self, step: Step) -> None:
        """Make it the present; what was undone is forgotten."""
        self.steps = [*self.steps[: self.at + 1], step][-self.most :]
        self.at = len(self.steps) - 1

    def change(self, step: Step) -> None:
        """Put ``step`` in the place of the present one."""
        self.steps[self.at] = step

    @property
    def can_undo(self) -> bool:
        return self.at > 0

    @property
    def can_redo(self) -> bool:
        return self.at + 1 < len(self.steps)

    def undo(self) -> None:
        if not self.can_undo:
            raise InputError("there is nothing to undo")
        self.at -= 1

    def redo(self) -> None:
        if not self.can_redo:
            raise InputError("there is nothing to redo")
        self.at += 1
