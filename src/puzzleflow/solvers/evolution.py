"""The inner loops of the genetic solver, compiled. A layout here is ``piece_at[position]``."""

from __future__ import annotations

import numpy as np

from puzzleflow.core.cancelling import StopFlag
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.search.compiling import RandomState, below, compiled, shuffle, uniform

EMPTY = -1
RIGHT, DOWN = 0, 1
KERNEL_MUTATION = 0.05  # a random piece instead of the chosen one, as in the publication


@compiled
def cost_of(piece_at: IntArray, costs: FloatArray, unary: FloatArray, cols: int) -> float:
    """Sum of the costs of all seams and placements."""
    total = 0.0
    for position in range(len(piece_at)):
        piece = piece_at[position]
        total += unary[piece, position]
        if position % cols < cols - 1:
            total += costs[RIGHT, piece, piece_at[position + 1]]
        if position + cols < len(piece_at):
            total += costs[DOWN, piece, piece_at[position + cols]]
    return total


@compiled
def select(fitness: FloatArray, tournament: int, state: RandomState) -> int:
    """The fittest (cheapest) of ``tournament`` random individuals."""
    best: int = below(state, len(fitness))
    for _ in range(tournament - 1):
        other = below(state, len(fitness))
        if fitness[other] < fitness[best]:
            best = other
    return best


@compiled
def cross_pmx(child: IntArray, first: IntArray, second: IntArray, state: RandomState) -> None:
    """Partially mapped crossover: a stretch of ``first``, the rest from ``second``, made whole.

    Where both parents agree, so does the child: pinned pieces stay.
    """
    num = len(child)
    start, stop = below(state, num), below(state, num)
    if start > stop:
        start, stop = stop, start
    at_first = np.full(num, EMPTY)  # position within the stretch, by piece
    for position in range(start, stop + 1):
        child[position] = first[position]
        at_first[first[position]] = position
    for position in range(num):
        if start <= position <= stop:
            continue
        piece = second[position]
        while at_first[piece] != EMPTY:
            piece = second[at_first[piece]]
        child[position] = piece


@compiled
def mutate(piece_at: IntArray, movable: IntArray, rate: float, state: RandomState) -> None:
    """Swap, inversion and scramble, each with probability ``rate``, on ``movable`` positions."""
    num = len(movable)
    if num < 2:
        return
    for kind in range(3):
        if uniform(state) >= rate:
            continue
        a, b = below(state, num), below(state, num)
        if a > b:
            a, b = b, a
        if kind == 0:
            p, q = movable[a], movable[b]
            piece_at[p], piece_at[q] = piece_at[q], piece_at[p]
            continue
        stretch = piece_at[movable[a : b + 1]]
        if kind == 1:
            stretch = stretch[::-1].copy()
        else:
            shuffle(stretch, 0, len(stretch), state)
        for offset in range(len(stretch)):
            piece_at[movable[a + offset]] = stretch[offset]


@compiled
def neighbours_in(piece_at: IntArray, cols: int) -> IntArray:
    """(4, N) the neighbour of every piece by direction in a layout, or -1."""
    num = len(piece_at)
    beside = np.full((4, num), EMPTY)
    for position in range(num):
        piece = piece_at[position]
        if position % cols < cols - 1:
            beside[0, piece] = piece_at[position + 1]
            beside[2, piece_at[position + 1]] = piece
        if position + cols < num:
            beside[1, piece] = piece_at[position + cols]
            beside[3, piece_at[position + cols]] = piece
    return beside


@compiled
def cross_kernel(
    child: IntArray,
    first: IntArray,
    second: IntArray,
    costs: FloatArray,
    buddy: IntArray,
    shape: IntArray,
    movable: IntArray,
    state: RandomState,
) -> None:
    """Grow ``child`` piece by piece inside a floating frame (a fixed one around pins)."""
    rows, cols = shape
    num = len(child)
    step_row, step_col = (0, 1, 0, -1), (1, 0, -1, 0)
    beside_first, beside_second = neighbours_in(first, cols), neighbours_in(second, cols)
    canvas = np.full((2 * rows + 1, 2 * cols + 1), EMPTY)
    laid = np.empty((num, 3), np.int64)  # piece, row, col
    free = np.ones(num, np.bool_)
    num_laid = 0
    top, bottom, left, right = rows, rows, cols, cols
    if len(movable) < num:  # pinned pieces, equal in both parents
        top, bottom, left, right = 1, rows, 1, cols
        is_movable = np.zeros(num, np.bool_)
        is_movable[movable] = True
        for position in range(num):
            if not is_movable[position]:
                laid[num_laid, 0] = first[position]
                laid[num_laid, 1] = 1 + position // cols
                laid[num_laid, 2] = 1 + position % cols
                num_laid += 1
    else:
        laid[0, 0], laid[0, 1], laid[0, 2] = below(state, num), rows, cols
        num_laid = 1
    for index in range(num_laid):
        canvas[laid[index, 1], laid[index, 2]] = laid[index, 0]
        free[laid[index, 0]] = False

    while num_laid < num:
        chosen_phase, num_equal = 4, 0
        piece, row, col, wished = -1, -1, -1, -1
        for index in range(num_laid):
            here = laid[index, 0]
            for direction in range(4):
                r, c = laid[index, 1] + step_row[direction], laid[index, 2] + step_col[direction]
                if canvas[r, c] != EMPTY:
                    continue
                if max(bottom, r) - min(top, r) >= rows or max(right, c) - min(left, c) >= cols:
                    continue
                phase, candidate = 3, -1
                shared = beside_first[direction, here]
                if shared != EMPTY and free[shared] and beside_second[direction, here] == shared:
                    phase, candidate = 1, shared
                else:
                    best = buddy[direction, here]
                    if (
                        best != EMPTY
                        and free[best]
                        and (
                            beside_first[direction, here] == best
                            or beside_second[direction, here] == best
                        )
                    ):
                        phase, candidate = 2, best
                if phase > chosen_phase:
                    continue
                num_equal = num_equal + 1 if phase == chosen_phase else 1
                chosen_phase = phase
                if below(state, num_equal) == 0:  # each of the equals with the same chance
                    piece, row, col, wished = candidate, r, c, here * 4 + direction
        if chosen_phase != 2 and uniform(state) < KERNEL_MUTATION:
            skip = below(state, num - num_laid)
            for other in range(num):
                if free[other]:
                    if skip == 0:
                        piece = other
                        break
                    skip -= 1
        elif piece == EMPTY:
            least = np.inf
            for other in range(num):
                cost = costs[wished % 4, wished // 4, other]
                if free[other] and cost < least:
                    piece, least = other, cost
        canvas[row, col] = piece
        free[piece] = False
        laid[num_laid, 0], laid[num_laid, 1], laid[num_laid, 2] = piece, row, col
        num_laid += 1
        top, bottom, left, right = min(top, row), max(bottom, row), min(left, col), max(right, col)
    for index in range(num):
        child[(laid[index, 1] - top) * cols + laid[index, 2] - left] = laid[index, 0]


@compiled
def evolve(
    stop: StopFlag,
    layouts: IntArray,
    costs: FloatArray,
    unary: FloatArray,
    buddy: IntArray,
    shape: IntArray,
    movable: IntArray,
    kernel: bool,
    max_generations: int,
    patience: int,
    tournament: int,
    crossover_rate: float,
    mutation_rate: float,
    num_elite: int,
    state: RandomState,
    trace: IntArray,
) -> int:
    """Evolve (P, N) ``layouts`` in place, best first; returns how many improvements are traced."""
    cols = shape[1]
    fitness = np.empty(len(layouts))
    for individual in range(len(layouts)):
        fitness[individual] = cost_of(layouts[individual], costs, unary, cols)
    order = np.argsort(fitness)
    layouts[:], fitness = layouts[order].copy(), fitness[order]
    trace[0] = layouts[0]
    num_traced, stale = 1, 0
    children = layouts.copy()
    for _ in range(max_generations):
        if stop[0]:
            break
        children[:num_elite] = layouts[:num_elite]
        for child in range(num_elite, len(layouts)):
            first = layouts[select(fitness, tournament, state)]
            second = layouts[select(fitness, tournament, state)]
            if uniform(state) < crossover_rate:
                if kernel:
                    cross_kernel(
                        children[child], first, second, costs, buddy, shape, movable, state
                    )
                else:
                    cross_pmx(children[child], first, second, state)
            else:
                children[child] = first
            mutate(children[child], movable, mutation_rate, state)
        best_before = fitness[0]
        for individual in range(len(layouts)):
            fitness[individual] = cost_of(children[individual], costs, unary, cols)
        order = np.argsort(fitness)
        layouts[:], fitness = children[order], fitness[order]
        stale += 1
        if fitness[0] < best_before - 1e-12:
            trace[num_traced] = layouts[0]
            num_traced += 1
            stale = 0
        if stale >= patience:
            break
    return num_traced
