"""Growing a layout from a kernel of pieces, the surest piece first; see the compiled twin."""

from __future__ import annotations

import numpy as np

from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.search.tables import Tables

NUM_OFFSETS = 4  # places of the kernel that are weighed at once


class _Growth:
    """A layout that grows on a canvas of (3 rows, 3 cols) cells, frame still open."""

    def __init__(self, tables: Tables, fixed: bool) -> None:
        self.tables = tables
        self.rows, self.cols = tables.grid.shape
        self.unary, self.right, self.down = tables.relative
        self.canvas = np.full((3 * self.rows, 3 * self.cols), -1)
        self.cost = np.zeros((*self.canvas.shape, tables.num_pieces))
        self.is_front = np.zeros(self.canvas.shape, dtype=bool)
        self.used = np.zeros(tables.num_pieces, dtype=bool)
        self.score = np.zeros((2 * self.rows + 1, 2 * self.cols + 1))
        self.low, self.high = np.array(self.canvas.shape), np.zeros(2, dtype=np.int64)
        if fixed:  # the middle third is the frame
            self.low = np.array([self.rows, self.cols])
            self.high = 2 * self.low - 1

    def place(self, y: int, x: int, piece: int) -> None:
        self.canvas[y, x] = piece
        self.used[piece] = True
        self.is_front[y, x] = False
        self.low = np.minimum(self.low, (y, x))
        self.high = np.maximum(self.high, (y, x))
        neighbours = (
            (y, x + 1, self.right[piece]),
            (y + 1, x, self.down[piece]),
            (y, x - 1, self.right[:, piece]),
            (y - 1, x, self.down[:, piece]),
        )
        for ny, nx, cost in neighbours:
            if self.canvas[ny, nx] < 0:
                self.is_front[ny, nx] = True
                self.cost[ny, nx] += cost
        if self.tables.has_unary:  # what this piece costs wherever the frame may lie
            positions = self.unary[piece].reshape(self.rows, self.cols)[::-1, ::-1]
            top, left = y - self.rows + 1, x - self.cols + 1
            inside = self.score[max(top, 0) : y + 1, max(left, 0) : x + 1]
            inside += positions[max(-top, 0) :, max(-left, 0) :][: len(inside), : inside.shape[1]]

    def fill(self, noise: float, rng: np.random.Generator) -> IntArray:
        """Lay all remaining pieces; ``piece_at`` (N,)."""
        shape = np.array([self.rows, self.cols])
        while not self.used.all():
            front = np.argwhere(self.is_front)  # (F, 2)
            extent = np.maximum(front, self.high) - np.minimum(front, self.low)
            front = front[(extent < shape).all(axis=1)]
            cost = self.cost[front[:, 0], front[:, 1]]  # (F, N)
            if self.tables.has_unary:
                cost = cost + self._expected_unary(front)
            cost[:, self.used] = np.inf
            piece = cost.argmin(axis=1)  # (F,)
            two = np.sort(cost, axis=1)[:, :2]
            last = not np.isfinite(two[:, 1:]).any()
            lead = np.zeros(len(front)) if last else two[:, 1] - two[:, 0]
            best = int(np.argmax(lead * (1 + noise * (rng.random(len(front)) - 0.5))))
            self.place(int(front[best, 0]), int(front[best, 1]), int(piece[best]))
        top, left = self.low
        return self.canvas[top : top + self.rows, left : left + self.cols].reshape(-1).copy()

    def _expected_unary(self, front: IntArray) -> FloatArray:
        """(F, N) unary costs over the likeliest places of the frame; 0 while it is open."""
        low = np.maximum(self.high - (self.rows - 1, self.cols - 1), 0)
        scores = self.score[low[0] : self.low[0] + 1, low[1] : self.low[1] + 1]
        weights = np.exp((scores.min() - scores) / self.tables.warmth)
        expected = np.zeros((len(front), self.tables.num_pieces))
        likeliest = np.argsort(-weights, axis=None, kind="stable")[:NUM_OFFSETS]
        kept = weights.ravel()[likeliest]
        if kept.sum() < 0.9 * weights.sum():
            return expected
        for weight, offset in zip(kept / kept.sum(), likeliest, strict=True):
            cell = front - low - np.divmod(offset, weights.shape[1])
            inside = ((cell >= 0) & (cell < (self.rows, self.cols))).all(axis=1)
            position = cell[inside, 0] * self.cols + cell[inside, 1]
            expected[inside] += weight * self.unary[:, position].T
        return expected


def _kernel(tables: Tables, pieces: dict[tuple[int, int], int], fixed: bool) -> _Growth:
    """A growth that starts from pieces (row, col) → piece and from what is settled."""
    growth = _Growth(tables, fixed)
    rows, cols = tables.grid.shape
    for position in np.flatnonzero(tables.settled >= 0):
        row, col = tables.grid.cell(int(position))
        pieces = {**pieces, (row, col): int(tables.settled[position])}
    for (row, col), piece in pieces.items():
        growth.place(rows + row, cols + col, piece)
    return growth


def grow(
    tables: Tables, seeds: IntArray, *, noise: float, seed: int
) -> tuple[IntArray, FloatArray]:
    """One layout grown from each piece of ``seeds``."""
    rng = child_rng(seed, "grow")
    middle = tables.grid.rows // 2, tables.grid.cols // 2
    fixed = bool((tables.settled >= 0).any())
    layouts = np.stack(
        [
            _kernel(tables, {} if fixed else {middle: int(piece)}, fixed).fill(noise, rng)
            for piece in seeds
        ]
    )
    return layouts, tables.energy_of(layouts)


def regrow(
    tables: Tables, layouts: IntArray, *, num_turns: int, noise: float, seed: int
) -> tuple[IntArray, FloatArray]:
    """Keep parts of each layout and grow the rest anew, in turns."""
    rng = child_rng(seed, "regrow")
    layouts, energies = layouts.copy(), tables.energy_of(layouts)
    current, current_energies = layouts.copy(), energies.copy()
    has_settled = bool((tables.settled >= 0).any())
    for turn in range(num_turns):
        i = turn % len(layouts)
        kept = _connected_part(tables, current[i], rng)
        growth = _kernel(tables, kept, has_settled or bool(rng.random() < 0.5))
        grown = growth.fill(noise, rng)
        energy = float(tables.energy_of(grown))
        slack = rng.exponential() * tables.warmth * (1 - turn / num_turns)
        if energy <= current_energies[i] + slack:
            current[i], current_energies[i] = grown, energy
            if energy < energies[i]:
                layouts[i], energies[i] = grown, energy
    return layouts, energies


def _connected_part(
    tables: Tables, piece_at: IntArray, rng: np.random.Generator
) -> dict[tuple[int, int], int]:
    """(row, col) → piece: a part of a layout, grown over the better of its seams."""
    rows, cols = tables.grid.shape
    cells = piece_at.reshape(rows, cols)
    _, right, down = tables.relative
    size = 1 + int(len(piece_at) * rng.uniform(0.1, 0.9))
    part = [tables.grid.cell(int(rng.integers(len(piece_at))))]
    while len(part) < min(size, len(piece_at) - 1):
        choices: dict[tuple[int, int], float] = {}
        for _ in range(6):
            row, col = part[rng.integers(len(part))]
            dy, dx = ((0, 1), (1, 0), (0, -1), (-1, 0))[rng.integers(4)]
            there = row + dy, col + dx
            if there in part or not (0 <= there[0] < rows and 0 <= there[1] < cols):
                continue
            first, second = sorted([(row, col), there])
            seam = right if dx else down
            choices[there] = float(seam[cells[first], cells[second]])
        if choices:
            part.append(min(choices, key=choices.__getitem__))
        elif rng.random() < 0.1:
            break
    taken = set(tables.settled[tables.settled >= 0].tolist())
    return {cell: int(cells[cell]) for cell in part if int(cells[cell]) not in taken}
