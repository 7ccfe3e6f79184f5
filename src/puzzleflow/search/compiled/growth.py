"""Growing a layout from a kernel of pieces, the surest piece first.

The kernel floats: where it lies in the frame is left open until its extent
or the unary costs settle it. The next cell to be filled is the one whose
best piece leads its second best by most. Costs are *relative*
(``Tables.relative``), so that a seam counts as good only when neither of its
two pieces has a better partner.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np
from numba import njit

from puzzleflow.search.compiled.random import below, uniform

_NUM_OFFSETS = 4  # places of the kernel that are weighed at once
_jit = njit(cache=True, nogil=True)


@_jit
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


@_jit
def grow(canvas, placed, num_placed, fixed, noise, warmth, rng, relative, rows, cols):
    """Fill the grid around the pieces on ``canvas``; returns ``piece_at`` (N,).

    canvas   (3 rows, 3 cols) pieces, -1 where empty; the kernel is written
             into the middle third, and the canvas is emptied before return
    placed   room for N flat canvas cells; the first ``num_placed`` hold the kernel
    fixed    whether the middle third *is* the frame, or the kernel may float
    """
    at_position, right, down, has_unary = relative
    num, width = rows * cols, 3 * cols
    flat = canvas.ravel()
    used = np.zeros(num, np.bool_)
    is_front = np.zeros(flat.size, np.bool_)
    front = np.empty(flat.size, np.int64)
    cost = np.empty((flat.size, num))
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
            piece = flat[cell]
            used[piece] = True
            y, x = cell // width, cell % width
            top, bottom = min(top, y), max(bottom, y)
            left, beyond = min(left, x), max(beyond, x)
            for direction in range(4):
                there = cell + (1, width, -1, -width)[direction]
                if flat[there] >= 0:
                    continue
                if not is_front[there]:
                    is_front[there] = True
                    front[num_front] = there
                    num_front += 1
                    cost[there, :] = 0.0
                for other in range(num):
                    if direction == 0:
                        cost[there, other] += right[piece, other]
                    elif direction == 1:
                        cost[there, other] += down[piece, other]
                    elif direction == 2:
                        cost[there, other] += right[other, piece]
                    else:
                        cost[there, other] += down[other, piece]
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
            if flat[cell] >= 0:
                continue
            y, x = cell // width, cell % width
            if max(bottom, y) - min(top, y) >= rows or max(beyond, x) - min(left, x) >= cols:
                continue  # outside the frame now, hence for ever
            front[kept] = cell
            kept += 1
            expected[:] = cost[cell]
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
        flat[next_cell] = next_piece
        placed[num_placed] = next_cell
        num_placed += 1
    piece_at = np.empty(num, np.int64)
    for row in range(rows):
        for col in range(cols):
            piece_at[row * cols + col] = canvas[top + row, left + col]
    for i in range(num):
        flat[placed[i]] = -1
    return piece_at


@_jit
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


@_jit
def grow_all(seeds, settled, noise, warmth, rng, relative, costs, rows, cols):
    """Grow from each piece of ``seeds``, or around the settled pieces where there are any.

    settled  (N,) the piece each position must hold, -1 where it is open
    Returns ``piece_at`` (len(seeds), N) and their energies.
    """
    num = rows * cols
    canvas = np.full((3 * rows, 3 * cols), -1, np.int64)
    placed = np.empty(num, np.int64)
    layouts = np.empty((len(seeds), num), np.int64)
    energies = np.empty(len(seeds))
    for i in range(len(seeds)):
        count = 0
        for position in range(num):
            if settled[position] >= 0:
                y, x = rows + position // cols, cols + position % cols
                canvas[y, x] = settled[position]
                placed[count] = y * 3 * cols + x
                count += 1
        fixed = count > 0
        if not fixed:
            canvas[rows + rows // 2, cols + cols // 2] = seeds[i]
            placed[0] = (rows + rows // 2) * 3 * cols + cols + cols // 2
            count = 1
        layouts[i] = grow(canvas, placed, count, fixed, noise, warmth, rng, relative, rows, cols)
        energies[i] = _cost_of(layouts[i], costs, rows, cols)
    return layouts, energies


@_jit
def _choose_kernel(piece_at, size, canvas, placed, settled, rng, relative, rows, cols):
    """A connected part of a layout, grown over its better seams, onto the canvas."""
    _, right, down, _ = relative
    num, width = rows * cols, 3 * cols
    count = 0
    for position in range(num):
        if settled[position] >= 0:
            canvas[rows + position // cols, cols + position % cols] = settled[position]
            placed[count] = (rows + position // cols) * width + cols + position % cols
            count += 1
    start = below(rng, num)
    y, x = rows + start // cols, cols + start % cols
    if canvas[y, x] < 0:
        canvas[y, x] = piece_at[start]
        placed[count] = y * width + x
        count += 1
    while count < size:
        choice, lowest = -1, np.inf
        for _ in range(3):  # the best of three random seams that lead outside
            for _attempt in range(8):
                cell = placed[below(rng, count)]
                direction = below(rng, 4)
                there = cell + (1, width, -1, -width)[direction]
                ty, tx = there // width - rows, there % width - cols
                if not (0 <= ty < rows and 0 <= tx < cols) or canvas[ty + rows, tx + cols] >= 0:
                    continue
                piece = canvas[cell // width, cell % width]
                other = piece_at[ty * cols + tx]
                if direction == 0:
                    value = right[piece, other]
                elif direction == 1:
                    value = down[piece, other]
                elif direction == 2:
                    value = right[other, piece]
                else:
                    value = down[other, piece]
                if value < lowest:
                    choice, lowest = there, value
                break
        if choice < 0:
            break
        ty, tx = choice // width - rows, choice % width - cols
        canvas[ty + rows, tx + cols] = piece_at[ty * cols + tx]
        placed[count] = choice
        count += 1
    return count


@_jit
def regrow(layouts, energies, settled, num_turns, noise, warmth, rng, relative, costs, rows, cols):
    """Large-neighbourhood repair: keep a good part of a layout, grow the rest anew.

    The layouts (R, N) take turns; what grew replaces its origin when it is
    better, and at first also when it is not much worse. In the end
    ``layouts`` and ``energies`` hold the best that each came to.
    """
    num = rows * cols
    canvas = np.full((3 * rows, 3 * cols), -1, np.int64)
    placed = np.empty(num, np.int64)
    fixed = settled.max() >= 0
    current, current_energies = layouts.copy(), energies.copy()
    for turn in range(num_turns):
        i = turn % len(layouts)
        size = 1 + int(num * (0.1 + 0.8 * uniform(rng)))
        count = _choose_kernel(
            current[i], min(size, num - 1), canvas, placed, settled, rng, relative, rows, cols
        )
        keep_place = fixed or uniform(rng) < 0.5
        grown = grow(canvas, placed, count, keep_place, noise, warmth, rng, relative, rows, cols)
        energy = _cost_of(grown, costs, rows, cols)
        slack = -np.log(1.0 - uniform(rng)) * warmth * (1.0 - turn / num_turns)
        if energy <= current_energies[i] + slack:
            current[i] = grown
            current_energies[i] = energy
            if energy < energies[i]:
                layouts[i] = grown
                energies[i] = energy
