"""What a part of the campaign found: how many cases, which of them failed, what was measured."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Outcome:
    """The result of one part; ``skipped`` says why it could not run here."""

    part: str
    cases: int = 0
    failures: list[str] = field(default_factory=list)
    told: Counter[str] = field(default_factory=Counter)  # what happened, how often
    notes: list[str] = field(default_factory=list)
    skipped: str = ""
    seconds: float = 0.0

    def case(self, what: str, failure: str = "", *, kind: str = "") -> None:
        """Count one case; ``failure`` is what was wrong with it."""
        self.cases += 1
        if failure:
            self.failures.append(f"{what}: {failure}")
        elif kind:
            self.told[kind] += 1

    def summary(self) -> str:
        """One line."""
        if self.skipped:
            return f"not run: {self.skipped}"
        told = [f"{count} {kind}" for kind, count in sorted(self.told.items())]
        return "; ".join([*told, *self.notes])


@dataclass
class Budget:
    """How long a part may take, and the random numbers that it draws from."""

    seconds: float
    rng: random.Random
    quick: bool  # a shortened campaign: what takes long regardless is left out
    began: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        return self.began + self.seconds - time.monotonic()
