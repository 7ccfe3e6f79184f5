"""From a closed puzzle to one of the open world: pieces taken out, strangers put in, all turned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from puzzleflow.core.conditions import Conditions
from puzzleflow.core.errors import InputError
from puzzleflow.core.puzzle import Puzzle, turned_pieces
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import IntArray


@dataclass(frozen=True, eq=False)
class Opening:
    """Which pieces of a closed puzzle and of strangers make an open one.

    kept       (K,) pieces of the puzzle
    strangers  (F,) pieces of the strangers, counted through all of them
    order      (K + F,) in which order the two lie, the kept ones counted first
    turns      (K + F,) quarter turns against the clock that bring each upright, or None
    """

    kept: IntArray
    strangers: IntArray
    order: IntArray
    turns: IntArray | None


def draw_opening(
    num_pieces: int, num_offered: Sequence[int], conditions: Conditions, seed: int
) -> Opening:
    """An opening that uses ``conditions`` in full.

    num_offered  pieces of each stranger; foreign pieces are taken from one after the other
    """
    rng = child_rng(seed, "opened")
    kept = rng.permutation(num_pieces)[conditions.missing :]
    offered: list[int] = []
    for count in num_offered if conditions.foreign else ():
        offered += (len(offered) + rng.permutation(count)).tolist()
    if len(offered) < conditions.foreign:
        raise InputError(f"{len(offered)} strangers for {conditions.foreign} foreign pieces")
    strangers = np.array(offered[: conditions.foreign], dtype=np.int64)
    order = rng.permutation(len(kept) + len(strangers))
    turns = rng.integers(4, size=len(order)) if conditions.turned else None
    return Opening(kept, strangers, order, turns)


def opened(
    puzzle: Puzzle, conditions: Conditions, seed: int, strangers: Sequence[Puzzle] = ()
) -> Puzzle:
    """``puzzle`` under ``conditions``, which are used in full.

    As many pieces are missing as may be missing, and as many are foreign as may be
    foreign; these come from ``strangers``, one after the other.
    """
    if puzzle.truth is None or not puzzle.is_closed:
        raise InputError("only a closed puzzle whose truth is known can be opened")
    offered = [stranger.num_pieces for stranger in strangers]
    drawn = draw_opening(puzzle.num_pieces, offered, conditions, seed)
    pieces, truth = puzzle.pieces[drawn.kept], puzzle.truth[drawn.kept]
    if conditions.foreign:
        foreign = np.concatenate([stranger.pieces for stranger in strangers])[drawn.strangers]
        pieces = np.concatenate([pieces, foreign])
        truth = np.concatenate([truth, np.full(conditions.foreign, -1)])
    pieces, truth = pieces[drawn.order], truth[drawn.order]
    if drawn.turns is not None:
        pieces = turned_pieces(pieces, -drawn.turns % 4)
    return replace(
        puzzle,
        pieces=pieces,
        truth=truth,
        names=None,
        conditions=conditions,
        true_turns=drawn.turns,
    )
