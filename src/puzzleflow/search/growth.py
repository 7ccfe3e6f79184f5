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
_EXACT_CELLS = 100  # on larger grids these weights may be out of date by 0.05


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
def _has_changed(offsets, weights, num_offsets, told, tolerance):
    """Whether the places of the kernel are others than those ``told``, which are then renewed."""
    changed = False
    for k in range(_NUM_OFFSETS):
        weight = weights[k] if k < num_offsets else 0.0
        moved = weight > 0.0 and (told[k, 1] != offsets[k, 0] or told[k, 2] != offsets[k, 1])
        changed = changed or moved or abs(told[k, 0] - weight) > tolerance
    if changed:
        for k in range(_NUM_OFFSETS):
            told[k, 0] = weights[k] if k < num_offsets else 0.0
            told[k, 1], told[k, 2] = offsets[k, 0], offsets[k, 1]
    return changed


@inner
def _best_two(cost, used, told, y, x, at_position, rows, cols, expected):
    """The cheapest unused piece for cell (y, x), its cost, the second cheapest and its cost."""
    num = len(cost)
    for piece in range(num):
        expected[piece] = cost[piece]
    for k in range(_NUM_OFFSETS):
        py, px = y - int(told[k, 1]), x - int(told[k, 2])
        if told[k, 0] > 0.01 and 0 <= py < rows and 0 <= px < cols:
            for piece in range(num):
                expected[piece] += told[k, 0] * at_position[py * cols + px, piece]
    first, second, choice, runner = np.inf, np.inf, -1, -1
    for piece in range(num):
        if used[piece]:
            continue
        value = expected[piece]
        if value < first:
            second, runner = first, choice
            first, choice = value, piece
        elif value < second:
            second, runner = value, piece
    return choice, first, runner, second


@inner
def _grow(
    canvas, cost, placed, num_placed, fixed, noise, warmth, rng, relative, rows, cols, piece_at
):
    """Fill the grid around the candidates on ``canvas``; the layout goes to ``piece_at`` (P,).

    canvas   (3 rows * 3 cols,) candidates, -1 where empty; the kernel is written
             into the middle third, and the canvas is emptied before return
    cost     (9 rows * cols, N) room; made once, as so much memory takes time to get
    placed   room for P canvas cells; the first ``num_placed`` hold the kernel
    fixed    whether the middle third *is* the frame, or the kernel may float
    """
    at_position, steps, has_unary, piece_of, first_of = relative
    num, width = steps.shape[1], 3 * cols
    used = np.zeros(num, np.bool_)
    is_front = np.zeros(canvas.size, np.bool_)
    front = np.empty(canvas.size, np.int64)
    score = np.zeros((2 * rows + 1, 2 * cols + 1))
    offsets = np.zeros((_NUM_OFFSETS, 2), np.int64)
    weights = np.zeros(_NUM_OFFSETS)
    expected = np.zeros(num)
    told = np.zeros((_NUM_OFFSETS, 3))  # weight and place of the kernel that ``best`` counts with
    tolerance = 0.0 if rows * cols <= _EXACT_CELLS else 0.05
    best = np.full((canvas.size, 2), -1, np.int64)  # the cheapest pieces of a front cell, -1: ask
    lowest = np.empty((canvas.size, 2))  # and their costs
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
            for other in range(first_of[piece_of[piece]], first_of[piece_of[piece] + 1]):
                used[other] = True
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
                best[there, 0] = -1
                for other in range(num):
                    cost[there, other] += steps[direction, piece, other]
            if has_unary and not fixed:  # there is but one place otherwise
                for oy in range(max(0, y - rows + 1), min(y, 2 * rows) + 1):
                    for ox in range(max(0, x - cols + 1), min(x, 2 * cols) + 1):
                        score[oy, ox] += at_position[(y - oy) * cols + x - ox, piece]
        if num_placed == rows * cols:
            break
        num_offsets = 0
        if has_unary:
            num_offsets = _weigh_offsets(
                score, max(bottom - rows + 1, 0), top, max(beyond - cols + 1, 0), left,
                warmth, offsets, weights,
            )  # fmt: skip
        all_anew = _has_changed(offsets, weights, num_offsets, told, tolerance)
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
            choice, runner = best[cell]
            if all_anew or choice < 0 or used[choice] or (runner >= 0 and used[runner]):
                best[cell, 0], lowest[cell, 0], best[cell, 1], lowest[cell, 1] = _best_two(
                    cost[cell], used, told, y, x, at_position, rows, cols, expected
                )
            first, second = lowest[cell]
            if second == np.inf:
                second = first
            here = (second - first) * (1.0 + noise * (uniform(rng) - 0.5))
            if here > lead:
                lead, next_cell, next_piece = here, cell, best[cell, 0]
        num_front = kept
        canvas[next_cell] = next_piece
        placed[num_placed] = next_cell
        num_placed += 1
    for row in range(rows):
        for col in range(cols):
            piece_at[row * cols + col] = canvas[(top + row) * width + left + col]
    for i in range(rows * cols):
        canvas[placed[i]] = -1


@inner
def _cost_of(piece_at, costs, rows, cols):
    unary, right, down = costs
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
    """Grow ``layouts`` (S, P) from the candidates ``seeds`` (S,), or around what is settled.

    settled  (P,) the candidate each position must hold, -1 where it is open
    """
    canvas = np.full(9 * rows * cols, -1, np.int64)
    cost = np.empty((canvas.size, relative[1].shape[1]))
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
        _grow(
            canvas, cost, placed, count, fixed, noise, warmth, rng, relative, rows, cols,
            layouts[i],
        )  # fmt: skip
        energies[i] = _cost_of(layouts[i], costs, rows, cols)


@inner
def _choose_kernel(piece_at, size, canvas, placed, settled, rng, relative, rows, cols):
    """A connected part of a layout, grown over its better seams, onto the canvas."""
    steps = relative[1]
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
            value = steps[direction, canvas[cell], piece_at[row * cols + col]]
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

    The layouts (R, P) take turns; what grew replaces its origin when it is
    better, and at first also when it is not much worse. In the end
    ``layouts`` and ``energies`` hold the best that each came to. Settled
    pieces must lie in their places from the start.
    """
    num = rows * cols
    canvas = np.full(9 * num, -1, np.int64)
    cost = np.empty((canvas.size, relative[1].shape[1]))
    placed, grown = np.empty(num, np.int64), np.empty(num, np.int64)
    current, current_energies = layouts.copy(), energies.copy()
    fixed = False
    for position in range(num):
        fixed = fixed or settled[position] >= 0
    for turn in range(num_turns):
        if stop[0]:
            return
        i = turn % len(layouts)
        share = 0.1 + 0.8 * uniform(rng)
        if num > _EXACT_CELLS:  # mistakes are local there
            share = 1.0 - (1.0 - share) ** 2
        size = min(1 + int(num * share), num - 1)
        count = _choose_kernel(current[i], size, canvas, placed, settled, rng, relative, rows, cols)
        keep_place = fixed or uniform(rng) < 0.5
        _grow(
            canvas, cost, placed, count, keep_place, noise, warmth, rng, relative, rows, cols,
            grown,
        )  # fmt: skip
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


_Relative = tuple[FloatArray, FloatArray, bool, IntArray, IntArray]


def _relative(tables: Tables) -> _Relative:
    """Relative costs by position and candidate, and by direction; and who excludes whom."""
    unary, right, down = tables.relative
    by_position = np.ascontiguousarray(unary.T)
    by_direction = np.stack([right, down, right.T, down.T])  # (4, N, N) right, down, left, up
    return by_position, by_direction, tables.has_unary, tables.piece_of, tables.first_of


def grow(
    tables: Tables, seeds: IntArray, *, noise: float, seed: int
) -> tuple[IntArray, FloatArray]:
    """One layout (S, P) grown from each candidate of ``seeds``, and their energies."""
    layouts = np.empty((len(seeds), tables.num_cells), dtype=np.int64)
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
