"""From a closed puzzle to one of the open world: pieces taken out, strangers put in, all turned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from puzzleflow.core.conditions import Conditions
from puzzleflow.core.errors import InputError
from puzzleflow.core.puzzle import Puzzle, turned_pieces
from puzzleflow.core.rng import child_rng


def opened(
    puzzle: Puzzle, conditions: Conditions, seed: int, strangers: Sequence[Puzzle] = ()
) -> Puzzle:
    """``puzzle`` under ``conditions``, which are used in full.

    As many pieces are missing as may be missing, and as many are foreign as may be
    foreign; these come from ``strangers``, one after the other.
    """
    if puzzle.truth is None or not puzzle.is_closed:
        raise InputError("only a closed puzzle whose truth is known can be opened")
    rng = child_rng(seed, "opened")
    kept = rng.permutation(puzzle.num_pieces)[conditions.missing :]
    pieces, truth = puzzle.pieces[kept], puzzle.truth[kept]
    if conditions.foreign:
        offered = [piece for stranger in strangers for piece in rng.permutation(stranger.pieces)]
        if len(offered) < conditions.foreign:
            raise InputError(f"{len(offered)} strangers for {conditions.foreign} foreign pieces")
        pieces = np.concatenate([pieces, np.stack(offered[: conditions.foreign])])
        truth = np.concatenate([truth, np.full(conditions.foreign, -1)])
    order = rng.permutation(len(pieces))
    pieces, truth, turns = pieces[order], truth[order], None
    if conditions.turned:
        turns = rng.integers(4, size=len(pieces))
        pieces = turned_pieces(pieces, -turns % 4)
    return replace(
        puzzle, pieces=pieces, truth=truth, names=None, conditions=conditions, true_turns=turns
    )
