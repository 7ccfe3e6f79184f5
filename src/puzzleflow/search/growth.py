"""Growing a layout from a kernel of pieces, the surest piece first.

The kernel floats: where it lies in the frame is left open until its extent
or the unary costs settle it. The next cell to be filled is the one whose
best piece leads its second best by most. Costs are *relative*
(``Tables.relative``), so that a seam counts as good only when neither of its
two pieces has a better partner.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

import numpy as np

from puzzleflow.core.cancelling import check_cancelled, stop_flag
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.search.compiling import below, compiled, inner, random_state, uniform
from puzzleflow.search.tables import Tables

_NUM_OFFSETS = 4  # places of the kernel that are weighed at once


@inner
def _weigh_offsets(score, low_y, high_y, low_x, high_x, warmth, offsets, weights):
    """The likeliest places of the kernel; returns how many, 0 when it is still open."""
    lowest = np.inf
    for oy in range(low_y, high_y + 1):
        for ox in range(low_x, high_x + 1):
            lowest = min(lowest, score[oy, ox])
    total = 0.0
    for i in range(_NUM_OFFSETS):
        weights[i] = 0.0
    for oy in range(low_y, high_y + 1):
        for ox in range(low_x, high_x + 1):
            if score[oy, ox] > lowest + 8.0 * warmth:
                continue
            weight = np.exp((lowest - score[oy, ox]) / warmth)
            total += weight
            worst = 0
            for i in range(1, _NUM_OFFSETS):
                if weights[i] < weights[worst]:
                    worst = i
            if weight > weights[worst]:
                weights[worst] = weight
                offsets[worst, 0], offsets[worst, 1] = oy, ox
    kept = 0.0
    for i in range(_NUM_OFFSETS):
        kept += weights[i]
    if kept < 0.9 * total:
        return 0
    for i in range(_NUM_OFFSETS):
        weights[i] /= kept
    return _NUM_OFFSETS


@inner
def _seam(piece, other, direction, right, down):
    """Cost of ``other`` lying in ``direction`` (right, down, left, up) of ``piece``."""
    if direction == 0:
        return right[piece, other]
    if direction == 1:
        return down[piece, other]
    if direction == 2:
        return right[other, piece]
    return down[other, piece]


@inner
def _grow(canvas, placed, num_placed, fixed, noise, warmth, rng, relative, rows, cols, piece_at):
    """Fill the grid around the pieces on ``canvas``; the layout goes to ``piece_at`` (N,).

    canvas   (3 rows * 3 cols,) pieces, -1 where empty; the kernel is written
             into the middle third, and the canvas is emptied before return
    placed   room for N canvas cells; the first ``num_placed`` hold the kernel
    fixed    whether the middle third *is* the frame, or the kernel may float
    """
    at_position, right, down, has_unary = relative
    num, width = rows * cols, 3 * cols
    used = np.zeros(num, np.bool_)
    is_front = np.zeros(canvas.size, np.bool_)
    front = np.empty(canvas.size, np.int64)
    cost = np.empty((canvas.size, num))
    score = np.zeros((2 * rows + 1, 2 * cols + 1))
    offsets = np.zeros((_NUM_OFFSETS, 2), np.int64)
    weights = np.zeros(_NUM_OFFSETS)
    expected = np.zeros(num)
    num_front = 0
    top, bottom, left, beyond = 3 * rows, 0, 3 * cols, 0
    if fixed:
        top, bottom, left, beyond = rows, 2 * rows - 1, cols, 2 * cols - 1
    done = 0
    while True:
        while done < num_placed:  # take account of what was placed last
            cell = placed[done]
            done += 1
            piece = canvas[cell]
            used[piece] = True
            y, x = cell // width, cell % width
            top, bottom = min(top, y), max(bottom, y)
            left, beyond = min(left, x), max(beyond, x)
            for direction in range(4):
                there = cell + (1, width, -1, -width)[direction]
                if canvas[there] >= 0:
                    continue
                if not is_front[there]:
                    is_front[there] = True
                    front[num_front] = there
                    num_front += 1
                    for other in range(num):
                        cost[there, other] = 0.0
                for other in range(num):
                    cost[there, other] += _seam(piece, other, direction, right, down)
            if has_unary:
                for oy in range(max(0, y - rows + 1), min(y, 2 * rows) + 1):
                    for ox in range(max(0, x - cols + 1), min(x, 2 * cols) + 1):
                        score[oy, ox] += at_position[(y - oy) * cols + x - ox, piece]
        if num_placed == num:
            break
        num_offsets = 0
        if has_unary:
            num_offsets = _weigh_offsets(
                score, max(bottom - rows + 1, 0), top, max(beyond - cols + 1, 0), left,
                warmth, offsets, weights,
            )  # fmt: skip
        lead, next_cell, next_piece, kept = -np.inf, -1, -1, 0
        for i in range(num_front):
            cell = front[i]
            if canvas[cell] >= 0:
                continue
            y, x = cell // width, cell % width
            if max(bottom, y) - min(top, y) >= rows or max(beyond, x) - min(left, x) >= cols:
                continue  # outside the frame now, hence for ever
            front[kept] = cell
            kept += 1
            for piece in range(num):
                expected[piece] = cost[cell, piece]
            for k in range(num_offsets):
                py, px = y - offsets[k, 0], x - offsets[k, 1]
                if weights[k] > 0.01 and 0 <= py < rows and 0 <= px < cols:
                    for piece in range(num):
                        expected[piece] += weights[k] * at_position[py * cols + px, piece]
            first, second, choice = np.inf, np.inf, -1
            for piece in range(num):
                if used[piece]:
                    continue
                value = expected[piece]
                if value < first:
                    second, first, choice = first, value, piece
                elif value < second:
                    second = value
            if second == np.inf:
                second = first
            here = (second - first) * (1.0 + noise * (uniform(rng) - 0.5))
            if here > lead:
                lead, next_cell, next_piece = here, cell, choice
        num_front = kept
        canvas[next_cell] = next_piece
        placed[num_placed] = next_cell
        num_placed += 1
    for row in range(rows):
        for col in range(cols):
            piece_at[row * cols + col] = canvas[(top + row) * width + left + col]
    for i in range(num):
        canvas[placed[i]] = -1


@inner
def _cost_of(piece_at, costs, rows, cols):
    unary, right, down = costs[0], costs[1], costs[2]
    total = 0.0
    for position in range(rows * cols):
        piece = piece_at[position]
        total += unary[piece, position]
        if position % cols < cols - 1:
            total += right[piece, piece_at[position + 1]]
        if position < (rows - 1) * cols:
            total += down[piece, piece_at[position + cols]]
    return total


@inner
def _lay_settled(settled, canvas, placed, rows, cols):
    """Write the settled pieces onto the canvas; returns how many there are."""
    count = 0
    for position in range(rows * cols):
        if settled[position] >= 0:
            placed[count] = (rows + position // cols) * 3 * cols + cols + position % cols
            canvas[placed[count]] = settled[position]
            count += 1
    return count


@compiled
def _grow_all(
    stop, seeds, layouts, energies, settled, noise, warmth, rng, relative, costs, rows, cols
):
    """Grow ``layouts`` (S, N) from the pieces ``seeds`` (S,), or around what is settled.

    settled  (N,) the piece each position must hold, -1 where it is open
    """
    canvas = np.full(9 * rows * cols, -1, np.int64)
    placed = np.empty(rows * cols, np.int64)
    for i in range(len(seeds)):
        if stop[0]:
            return
        count = _lay_settled(settled, canvas, placed, rows, cols)
        fixed = count > 0
        if not fixed:
            placed[0] = (rows + rows // 2) * 3 * cols + cols + cols // 2
            canvas[placed[0]] = seeds[i]
            count = 1
        _grow(canvas, placed, count, fixed, noise, warmth, rng, relative, rows, cols, layouts[i])
        energies[i] = _cost_of(layouts[i], costs, rows, cols)


@inner
def _choose_kernel(piece_at, size, canvas, placed, settled, rng, relative, rows, cols):
    """A connected part of a layout, grown over its better seams, onto the canvas."""
    _, right, down, _ = relative
    width = 3 * cols
    count = _lay_settled(settled, canvas, placed, rows, cols)
    start = below(rng, rows * cols)
    cell = (rows + start // cols) * width + cols + start % cols
    if canvas[cell] < 0:
        canvas[cell] = piece_at[start]
        placed[count] = cell
        count += 1
    while count < size:
        choice, lowest = -1, np.inf
        num_seen = 0
        for _ in range(24):  # the best of three random seams that lead outside
            cell = placed[below(rng, count)]
            direction = below(rng, 4)
            there = cell + (1, width, -1, -width)[direction]
            row, col = there // width - rows, there % width - cols
            if row < 0 or row >= rows or col < 0 or col >= cols or canvas[there] >= 0:
                continue
            value = _seam(canvas[cell], piece_at[row * cols + col], direction, right, down)
            if value < lowest:
                choice, lowest = there, value
            num_seen += 1
            if num_seen == 3:
                break
        if choice < 0:
            break
        canvas[choice] = piece_at[(choice // width - rows) * cols + choice % width - cols]
        placed[count] = choice
        count += 1
    return count


@compiled
def _regrow_all(
    stop, layouts, energies, settled, num_turns, noise, warmth, rng, relative, costs, rows, cols
):
    """Large-neighbourhood search: keep a good part of a layout, grow the rest anew.

    The layouts (R, N) take turns; what grew replaces its origin when it is
    better, and at first also when it is not much worse. In the end
    ``layouts`` and ``energies`` hold the best that each came to. Settled
    pieces must lie in their places from the start.
    """
    num = rows * cols
    canvas = np.full(9 * num, -1, np.int64)
    placed, grown = np.empty(num, np.int64), np.empty(num, np.int64)
    current, current_energies = layouts.copy(), energies.copy()
    fixed = False
    for position in range(num):
        fixed = fixed or settled[position] >= 0
    for turn in range(num_turns):
        if stop[0]:
            return
        i = turn % len(layouts)
        size = min(1 + int(num * (0.1 + 0.8 * uniform(rng))), num - 1)
        count = _choose_kernel(current[i], size, canvas, placed, settled, rng, relative, rows, cols)
        keep_place = fixed or uniform(rng) < 0.5
        _grow(canvas, placed, count, keep_place, noise, warmth, rng, relative, rows, cols, grown)
        energy = _cost_of(grown, costs, rows, cols)
        slack = -np.log(1.0 - uniform(rng)) * warmth * (1.0 - turn / num_turns)
        if energy <= current_energies[i] + slack:
            current_energies[i] = energy
            for position in range(num):
                current[i, position] = grown[position]
            if energy < energies[i]:
                energies[i] = energy
                for position in range(num):
                    layouts[i, position] = grown[position]


def _relative(tables: Tables) -> tuple[FloatArray, FloatArray, FloatArray, bool]:
    """Relative costs, the unary ones by position and piece."""
    unary, right, down = tables.relative
    return np.ascontiguousarray(unary.T), right, down, tables.has_unary


def grow(
    tables: Tables, seeds: IntArray, *, noise: float, seed: int
) -> tuple[IntArray, FloatArray]:
    """One layout (S, N) ``piece_at`` grown from each piece of ``seeds``, and their energies."""
    layouts = np.empty((len(seeds), tables.num_pieces), dtype=np.int64)
    energies = np.empty(len(seeds))
    _grow_all(
        stop_flag(), seeds, layouts, energies, tables.settled, noise, tables.warmth,
        random_state(seed, "grow", 0), _relative(tables), tables.costs, *tables.grid.shape,
    )  # fmt: skip
    check_cancelled()
    return layouts, energies


def regrow(
    tables: Tables, layouts: IntArray, *, num_turns: int, noise: float, seed: int
) -> tuple[IntArray, FloatArray]:
    """Parts of each layout (R, N) are kept and the rest is grown anew, in turns."""
    layouts = layouts.copy()
    energies = tables.energy_of(layouts)
    _regrow_all(
        stop_flag(), layouts, energies, tables.settled, num_turns, noise, tables.warmth,
        random_state(seed, "regrow", 0), _relative(tables), tables.costs, *tables.grid.shape,
    )  # fmt: skip
    check_cancelled()
    return layouts, energies
