"""Which object is drawn next for which set: a seeded order that no failure changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from puzzleflow.core.rng import child_rng


@dataclass
class SetDraws:
    """One set's share of the draws: ``first``, ``first + step``, … below ``end``."""

    name: str
    first: int
    step: int
    end: int
    num_drawn: int = 0
    num_rejected: int = 0

    @property
    def num_held(self) -> int:
        """Kept, or still on the way."""
        return self.num_drawn - self.num_rejected

    @property
    def next_draw(self) -> int | None:
        draw = self.first + self.num_drawn * self.step
        return draw if draw < self.end else None


class Draws:
    """Draw ``k`` is ``object_of[k]``; the sets take turns, so they can never overlap.

    A set draws again only for an object that was rejected. So it ends with the first
    ``num`` suitable objects of its share, whatever the order in which answers arrive.
    """

    def __init__(self, pool: Sequence[int], seed: int, sets: Sequence[str], num: int) -> None:
        order = child_rng(seed, "draws").permutation(len(pool))
        self.object_of = [int(pool[i]) for i in order]
        self.num = num
        self.sets = [SetDraws(name, i, len(sets), len(pool)) for i, name in enumerate(sets)]

    def set_of(self, draw: int) -> SetDraws:
        return self.sets[draw % len(self.sets)]

    def reject(self, draw: int) -> None:
        self.set_of(draw).num_rejected += 1

    def take(self, known: Callable[[int], bool | None]) -> int | None:
        """The next draw to ask for, or None while no set needs one.

        ``known`` says of a draw whether an earlier run kept it (True) or rejected it
        (False); those are counted here without being asked for again.
        """
        while True:
            needy = [s for s in self.sets if s.num_held < self.num and s.next_draw is not None]
            if not needy:
                return None
            chosen = min(needy, key=lambda s: s.num_drawn)
            draw = chosen.next_draw
            assert draw is not None
            chosen.num_drawn += 1
            kept = known(draw)
            if kept is None:
                return draw
            if not kept:
                chosen.num_rejected += 1
