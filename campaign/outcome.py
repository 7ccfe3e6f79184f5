"""What a part of the campaign found: how many cases, which of them failed, what was measured."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

FEWEST = 3  # cases of every part, however little time there is


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

    def write(self, path: Path) -> None:
        """Keep it as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(vars(self), indent=1))

    @classmethod
    def read(cls, path: Path) -> Outcome:
        """What :meth:`write` kept."""
        found = json.loads(path.read_text())
        return cls(**found | {"told": Counter(found["told"])})


@dataclass
class Budget:
    """How much a part may do, and the random numbers that it draws from.

    extent  "short", "whole": the same cases every time, however long they take, few or all
            that are promised;
            "timed": as many as the time allows, without what takes long regardless
    """

    seconds: float
    rng: random.Random
    extent: Literal["short", "timed", "whole"] = "timed"
    began: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        return self.began + self.seconds - time.monotonic()

    @property
    def quick(self) -> bool:
        """Whether what takes long regardless is left out."""
        return self.extent != "whole"

    def spent(self, done: int, *, short: int, whole: int) -> bool:
        """Whether ``done`` cases are enough of a short campaign, of a whole one, of the time."""
        if self.extent == "timed":
            return self.left <= 0 and done >= min(short, FEWEST)
        return done >= (short if self.extent == "short" else whole)
