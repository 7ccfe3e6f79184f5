"""Mending a large layout: a little of it is opened or moved, and what is left is filled anew.

Most mistakes of large layouts are local, and what belongs into one of them often lies in another.
So holes are opened at weak cells and where the pieces lie that would fit there better. Other
layouts have whole parts that are right in themselves and lie a little beside their place: such a
part slides, and what it covers makes room. All that is open then is filled together as
:mod:`puzzleflow.search.growth` does it, the surest piece first.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

import numpy as np

from puzzleflow.core.cancelling import check_cancelled, stop_flag
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.search.compiling import below, compiled, inner, random_state, uniform
from puzzleflow.search.growth import _cost_of, _grow, _relative
from puzzleflow.search.tables import Tables

_LEAST_OPEN = 3  # cells
_MOST_OPEN = 100  # cells, and no more than half of them
_SLACK = 0.5  # times the warmth, by which what is laid may be worse at first
_SLIDING = 0.1  # of the turns
_COMPARED = 12  # cells at most, of which the weakest is opened first


@inner
def _beside(position, direction, rows, cols):
    """The position beside another one, -1 outside the frame."""
    row, col = position // cols, position % cols
    if direction == 0:
        return position + 1 if col < cols - 1 else -1
    if direction == 1:
        return position + cols if row < rows - 1 else -1
    if direction == 2:
        return position - 1 if col > 0 else -1
    return position - cols if row > 0 else -1


@inner
def _weakest(piece_at, settled, rng, relative, rows, cols):
    """Of some random positions the one whose piece fits worst, -1 if all are settled."""
    at_position, steps = relative[0], relative[1]
    choice, highest = -1, -np.inf
    for _ in range(1 + below(rng, _COMPARED)):
        position = below(rng, rows * cols)
        if settled[position] >= 0:
            continue
        piece = piece_at[position]
        weakness = at_position[position, piece]
        for direction in range(4):
            there = _beside(position, direction, rows, cols)
            if there >= 0:
                weakness += steps[direction, piece, piece_at[there]]
        if weakness > highest:
            choice, highest = position, weakness
    return choice


@inner
def _where_it_fits(piece_at, position_of, position, rng, relative, rows, cols):
    """Where the piece lies that a random neighbour of ``position`` would like there; or -1."""
    steps = relative[1]
    direction = below(rng, 4)
    there = _beside(position, direction, rows, cols)
    if there < 0:
        return -1
    back, choice, lowest = (direction + 2) % 4, -1, np.inf
    for piece in range(steps.shape[1]):
        value = steps[back, piece_at[there], piece]
        if value < lowest and piece != piece_at[there]:
            choice, lowest = piece, value
    return position_of[choice]


@inner
def _open_holes(piece_at, settled, size, is_open, position_of, rng, relative, rows, cols):
    """Mark ``size`` cells, or fewer, that are to be filled anew."""
    is_open[:] = False
    position_of[:] = -1
    for position in range(rows * cols):
        position_of[piece_at[position]] = position
    count, start = 0, -1
    for _ in range(4 * size):
        if count >= size:
            break
        if start >= 0 and uniform(rng) < 0.7:
            start = _where_it_fits(piece_at, position_of, start, rng, relative, rows, cols)
        else:
            start = -1
        if start < 0:
            start = _weakest(piece_at, settled, rng, relative, rows, cols)
        position = start
        for _ in range(1 + below(rng, size - count)):  # a random walk opens what it meets
            if position < 0:
                break
            if settled[position] < 0 and not is_open[position]:
                is_open[position] = True
                count += 1
            there = _beside(position, below(rng, 4), rows, cols)
            position = position if there < 0 else there


@inner
def _lay_around_holes(piece_at, is_open, canvas, placed, rows, cols):
    """Write what is not open onto the canvas; returns how many pieces that are."""
    count = 0
    for position in range(rows * cols):
        if not is_open[position]:
            placed[count] = (rows + position // cols) * 3 * cols + cols + position % cols
            canvas[placed[count]] = piece_at[position]
            count += 1
    return count


@inner
def _shift(low, high, length, rng):
    """By how much what reaches from ``low`` to ``high`` moves: not, to an end, or anywhere."""
    kind = below(rng, 4)
    if kind == 0:
        return 0
    if kind == 1:
        return -low
    if kind == 2:
        return length - 1 - high
    return below(rng, length - high + low) - low


@inner
def _lay_with_a_part_moved(piece_at, is_member, canvas, placed, warmth, rng, steps, rows, cols):
    """A part that good seams hold together moves, what it covers is left out; returns the count."""
    is_member[:] = False
    weakest = -warmth * uniform(rng)  # of its seams
    placed[0] = below(rng, rows * cols)
    is_member[placed[0]] = True
    count, done = 1, 0
    top, bottom, left, right = rows, 0, cols, 0
    while done < count:
        position = placed[done]
        done += 1
        top, bottom = min(top, position // cols), max(bottom, position // cols)
        left, right = min(left, position % cols), max(right, position % cols)
        for direction in range(4):
            there = _beside(position, direction, rows, cols)
            if there < 0 or is_member[there]:
                continue
            if steps[direction, piece_at[position], piece_at[there]] < weakest:
                is_member[there] = True
                placed[count] = there
                count += 1
    moved = _shift(top, bottom, rows, rng) * 3 * cols + _shift(left, right, cols, rng)
    for i in range(count):
        position = placed[i]
        placed[i] = (rows + position // cols) * 3 * cols + cols + position % cols + moved
        canvas[placed[i]] = piece_at[position]
    for position in range(rows * cols):
        cell = (rows + position // cols) * 3 * cols + cols + position % cols
        if not is_member[position] and canvas[cell] < 0:
            placed[count] = cell
            canvas[cell] = piece_at[position]
            count += 1
    return count


@compiled
def _mend_all(
    stop, layouts, energies, settled, num_turns, noise, warmth, rng, relative, costs, rows, cols
):
    """The layouts (R, P) take turns; a mended one counts as regrown ones do.

    Where pieces are settled nothing slides.
    """
    num = rows * cols
    canvas = np.full(9 * num, -1, np.int64)
    cost = np.empty((canvas.size, relative[1].shape[1]))
    placed, grown = np.empty(num, np.int64), np.empty(num, np.int64)
    marked = np.empty(num, np.bool_)
    position_of = np.empty(relative[1].shape[1], np.int64)
    current, current_energies = layouts.copy(), energies.copy()
    sliding = _SLIDING if settled.max() < 0 else 0.0
    for turn in range(num_turns):
        if stop[0]:
            return
        i = turn % len(layouts)
        if uniform(rng) < sliding:
            count = _lay_with_a_part_moved(
                current[i], marked, canvas, placed, warmth, rng, relative[1], rows, cols
            )
        else:
            size = int(_LEAST_OPEN * (min(_MOST_OPEN, num / 2) / _LEAST_OPEN) ** uniform(rng))
            _open_holes(current[i], settled, size, marked, position_of, rng, relative, rows, cols)
            count = _lay_around_holes(current[i], marked, canvas, placed, rows, cols)
        _grow(canvas, cost, placed, count, True, noise, warmth, rng, relative, rows, cols, grown)
        energy = _cost_of(grown, costs, rows, cols)
        slack = -np.log(1.0 - uniform(rng)) * _SLACK * warmth * (1.0 - turn / num_turns)
        if energy <= current_energies[i] + slack:
            current_energies[i] = energy
            current[i] = grown
            if energy < energies[i]:
                energies[i] = energy
                layouts[i] = grown


def mend(
    tables: Tables, layouts: IntArray, *, num_turns: int, noise: float, seed: int
) -> tuple[IntArray, FloatArray]:
    """A few weak cells of each layout (R, P) are opened and filled anew, in turns."""
    layouts = layouts.copy()
    energies = tables.energy_of(layouts)
    _mend_all(
        stop_flag(), layouts, energies, tables.settled, num_turns, noise, tables.warmth,
        random_state(seed, "mend", 0), _relative(tables), tables.costs, *tables.grid.shape,
    )  # fmt: skip
    check_cancelled()
    return layouts, energies
