"""RG-LNS: the second stage by hand and on planted costs, and the solver with tiny weights."""

from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_costs import everything, planted

from puzzleflow.core.assignment import as_permutation
from puzzleflow.core.errors import FormatError, UnknownName
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.rng import child_rng
from puzzleflow.models.checkpoint import save_weights
from puzzleflow.models.edge_embedding import EdgeConfig, EdgeEmbedding
from puzzleflow.solvers.compatibility import SeamCosts
from puzzleflow.solvers.linear import linear_layout
from puzzleflow.solvers.placer import Partial
from puzzleflow.solvers.refill import _filled, best_refill, mean_distance
from puzzleflow.solvers.rg_lns import (
    STARTS,
    Neighbourhood,
    RgLnsSolver,
    both_views,
    improved,
    largest_trusted_part,
    rg_lns_layout,
    trusted_seams,
    worse_rank,
)

TINY = EdgeConfig(
    piece_px=32, widths=(6, 8, 10), blocks=(0, 0, 0), side_hidden=8, side_dim=4, embedding_dim=8
)


def shifted(grid, position_of, down, right):
    """The layout rolled cyclically."""
    rows, cols = grid.coordinates[position_of].T
    return (rows + down) % grid.rows * grid.cols + (cols + right) % grid.cols


def test_mean_distance_by_hand():
    right = np.array([[9, 1.0, 9, 9], [9, 9, 9, 9], [9, 9, 9, 2.0], [9, 9, 9, 9]])
    down = np.array([[9, 9, 3.0, 9], [9, 9, 9, 6.0], [9, 9, 9, 9], [9, 9, 9, 9]])
    costs = SeamCosts(right, down)
    assert mean_distance(costs, Grid(2, 2), np.arange(4)) == 3.0  # (1 + 2 + 3 + 6) / 4
    # pieces 0 and 1 changed places: 1→0 9, 2→3 2, 1 above 2 9, 0 above 3 9
    assert mean_distance(costs, Grid(2, 2), np.array([1, 0, 2, 3])) == 29 / 4
    assert mean_distance(costs, Grid(1, 4), np.array([0, 1, 2, 3])) == 4.0  # (1 + 9 + 2) / 3
    assert (
        mean_distance(SeamCosts(np.ones((1, 1)), np.ones((1, 1))), Grid(1, 1), np.zeros(1, int))
        == 0
    )


def test_ranks_are_those_of_the_less_willing_side():
    inf = np.inf
    costs = np.array([[inf, 1.0, 2.0], [5.0, inf, 1.0], [4.0, 1.0, inf]])
    # 0→1: first in its row, shares the first rank of its column with 2→1
    assert worse_rank(costs)[0, 1] == 1
    assert worse_rank(costs)[0, 2] == 2
    assert worse_rank(costs)[1, 0] == 2  # last of its row, last of its column
    assert worse_rank(costs)[2, 0] == 2  # first of its column, but second of its row


def test_seams_are_reliable_only_in_whole_good_blocks():
    """3×3 in order; one bad seam inside the right half leaves the left two columns."""
    grid = Grid(3, 3)
    costs, _ = planted_in_order(grid)
    right, down = trusted_seams(costs, grid, np.arange(9), max_rank=1)
    assert right.all()
    assert down.all()
    spoilt = costs.right.copy()
    spoilt[4, 5] = 9.0  # middle to middle right: in both right-hand blocks
    right, down = trusted_seams(SeamCosts(spoilt, costs.down), grid, np.arange(9), max_rank=1)
    assert right.tolist() == [[True, False], [True, False], [True, False]]
    assert down.tolist() == [[True, True, False], [True, True, False]]
    part = largest_trusted_part(SeamCosts(spoilt, costs.down), grid, np.arange(9), max_rank=1)
    assert part.pieces.tolist() == [0, 1, 3, 4, 6, 7]
    assert part.cells.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1]]


def planted_in_order(grid):
    """True seams cost 1, all others about 3: piece i belongs at position i."""
    pieces = np.arange(grid.num_pieces)
    right = 3 + 0.01 * pieces[:, None] + 0.001 * pieces
    down = right.copy()
    for direction, matrix in ((Direction.RIGHT, right), (Direction.DOWN, down)):
        first, second = grid.neighbours(direction).T
        matrix[first, second] = 1.0
    return SeamCosts(right, down), np.arange(grid.num_pieces)


def test_good_seams_without_a_block_join_nothing():
    grid = Grid(1, 4)
    costs, truth = planted_in_order(grid)
    assert len(largest_trusted_part(costs, grid, truth, max_rank=3).pieces) == 1
    assert improved(costs, grid, everything(grid), truth, Neighbourhood()) is None


def test_the_largest_part_is_found_wherever_it_lies():
    """4×4 cut into two halves that changed places: each holds together by itself."""
    grid = Grid(4, 4)
    costs, truth = planted_in_order(grid)
    swapped = shifted(grid, truth, 0, 2)
    part = largest_trusted_part(costs, grid, swapped, max_rank=1)
    assert len(part.pieces) == 8
    columns = {int(piece) % 4 for piece in part.pieces}
    assert columns in ({0, 1}, {2, 3})


def test_a_rolled_layout_is_put_right():
    grid = Grid(4, 4)
    costs, truth = planted_in_order(grid)
    found = improved(costs, grid, everything(grid), shifted(grid, truth, 1, 2), Neighbourhood())
    assert np.array_equal(found, truth)


def test_nothing_is_searched_around_a_small_part():
    grid = Grid(4, 4)
    costs, truth = planted_in_order(grid)
    rolled = shifted(grid, truth, 1, 2)
    few = Neighbourhood(min_pieces=9)
    assert improved(costs, grid, everything(grid), rolled, few) is None


def test_repair_keeps_the_inner_arrangement():
    """However bad a part is, its pieces stay side by side as they are."""
    grid = Grid(3, 4)
    costs, _ = planted(grid, seed=3)
    part = Partial(np.array([5, 2, 9, 0]), np.array([[1, 1], [1, 2], [2, 1], [2, 2]]))
    found = best_refill(costs, grid, everything(grid), part, [1, 4])
    moved = grid.coordinates[found.position_of[part.pieces]] - part.cells
    assert (moved == moved[0]).all()
    assert found.shift == np.abs(moved[0]).sum()
    assert found.distance == mean_distance(costs, grid, found.position_of)


def test_an_anchored_part_stays_where_it_is():
    grid = Grid(3, 3)
    costs, _ = planted(grid, seed=5)
    part = Partial(np.array([4, 7]), np.array([[0, 1], [0, 2]]), anchored=True)
    found = best_refill(costs, grid, everything(grid), part, [4])
    assert found.position_of[[4, 7]].tolist() == [1, 2]
    assert found.shift == 0


def test_a_wide_beam_finds_the_best_refill():
    """A beam that drops nothing is exhaustive: 2×3 with one piece fixed has 120 layouts."""
    grid = Grid(2, 3)
    rng = child_rng(0, "wide beam")
    costs = SeamCosts(*rng.random((2, 6, 6)))
    part = Partial(np.array([2]), np.array([[0, 1]]), anchored=True)
    layouts = [np.array(p) for p in permutations(range(6)) if p[2] == 1]
    least = min(mean_distance(costs, grid, layout) for layout in layouts)
    assert best_refill(costs, grid, everything(grid), part, [2000]).distance == pytest.approx(least)


def test_equal_canvases_take_one_place_in_the_beam():
    """Two positions open, two pieces that fit either: the beam of two ends with both layouts."""
    grid = Grid(2, 2)
    costs = SeamCosts(np.ones((4, 4)), np.ones((4, 4)))
    canvas = np.array([0, -1, -1, 3])
    ends = _filled(canvas, costs.tamed().stacked(), grid, everything(grid), 4)
    assert sorted(map(tuple, ends)) == [(0, 1, 2, 3), (0, 2, 1, 3)]


def test_ties_go_to_the_smallest_shift():
    """Without any preference a part stays where it lies."""
    grid = Grid(3, 3)
    costs = SeamCosts(np.ones((9, 9)), np.ones((9, 9)))
    part = Partial(np.array([3, 4]), np.array([[1, 0], [1, 1]]))
    assert best_refill(costs, grid, everything(grid), part, [1, 4]).shift == 0


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_search_never_raises_the_mean_distance(data):
    grid = data.draw(st.sampled_from([Grid(2, 2), Grid(2, 5), Grid(3, 3), Grid(4, 3)]))
    seed = data.draw(st.integers(0, 999))
    costs, _ = planted(grid, seed, noise=data.draw(st.sampled_from([0.3, 1.0, 3.0])))
    layout = child_rng(seed, "layout").permutation(grid.num_pieces)
    if data.draw(st.booleans()):
        layout = linear_layout(costs, grid, everything(grid)).position_of
    found = improved(costs, grid, everything(grid), layout, Neighbourhood())
    if found is not None:
        as_permutation(found, len(found))
        assert mean_distance(costs, grid, found) < mean_distance(costs, grid, layout)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(
    "grid", [Grid(1, 1), Grid(1, 5), Grid(4, 1), Grid(2, 3), Grid(3, 3), Grid(5, 5)], ids=str
)
def test_finds_the_planted_layout(start, grid):
    costs, truth = planted(grid)
    found = rg_lns_layout(costs, grid, everything(grid), start=start)
    assert np.array_equal(found.position_of, truth)
    assert np.array_equal(found.trace[-1], found.position_of)


@pytest.mark.parametrize("start", STARTS)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_any_costs_and_pins_give_a_permutation_that_honours_them(start, data):
    grid = data.draw(st.sampled_from([Grid(1, 1), Grid(1, 4), Grid(3, 2), Grid(3, 3)]))
    num = grid.num_pieces
    rng = child_rng(data.draw(st.integers(0, 99)), "any costs")
    matrices = rng.choice([-7.0, 0.0, 1.0, 2.5, 1e9, np.inf], size=(2, num, num))
    allowed = everything(grid)
    for piece in rng.permutation(num)[: data.draw(st.integers(0, num))]:
        position = int(rng.choice(np.flatnonzero(allowed[piece])))
        allowed[piece], allowed[:, position] = False, False
        allowed[piece, position] = True
    found = rg_lns_layout(SeamCosts(*matrices), grid, allowed, start=start)
    as_permutation(found.position_of, len(found.position_of))
    assert allowed[np.arange(num), found.position_of].all()


def test_the_search_moves_around_pins():
    """A rolled layout with one piece pinned where it is wrong: the pin stays."""
    grid = Grid(4, 4)
    costs, truth = planted_in_order(grid)
    rolled = shifted(grid, truth, 0, 1)
    allowed = everything(grid)
    allowed[5], allowed[:, 6], allowed[5, 6] = False, False, True
    found = improved(costs, grid, allowed, rolled, Neighbourhood())
    assert found is None or found[5] == 6


def test_both_views_by_hand():
    inf = np.inf
    right = np.array([[inf, 1.0, 3.0], [2.0, inf, 6.0], [4.0, 5.0, inf]])
    scaled = both_views(SeamCosts(right, right)).right
    assert scaled[0, 1] == 0.0  # the least of its row and of its column
    assert scaled[0, 2] == pytest.approx(0.5 * (1 + 0))  # the most of its row, least of its column
    assert scaled[2, 1] == pytest.approx(0.5 * (1 + 1))
    assert np.isinf(np.diag(scaled)).all()
    assert (both_views(SeamCosts(np.ones((3, 3)), np.ones((3, 3)))).down[0, 1:] == 0).all()


@pytest.fixture
def weights(tmp_path):
    torch.manual_seed(0)
    path = tmp_path / "tiny.safetensors"
    described = {"kind": "edges", "network": TINY.to_dict()}
    save_weights(path, EdgeEmbedding(TINY).state_dict(), described, dtype="float16")
    return path


def some_puzzle(grid, seed=0):
    rng = child_rng(seed, "some puzzle")
    pieces = rng.integers(0, 256, size=(grid.num_pieces, 40, 48, 4)).astype(np.uint8)
    pieces[..., 3] = 255
    return Puzzle(pieces, grid)


@pytest.mark.parametrize("start", STARTS)
def test_solver_lays_any_grid_and_honours_pins(weights, start):
    solver = RgLnsSolver(weights=weights, start=start)
    for grid in (Grid(1, 1), Grid(1, 3), Grid(2, 3)):
        session = solver.prepare(some_puzzle(grid))
        solution = session.solve(seed=0, num_alternatives=2)
        as_permutation(solution.position_of, len(solution.position_of))
        assert solution.energy == pytest.approx(
            mean_distance(session.costs, grid, solution.position_of)
            * (2 * grid.num_pieces - grid.rows - grid.cols)
        )
        last = grid.num_pieces - 1
        assert session.solve(seed=0, pinned={0: last}).position_of[0] == last


def test_batches_change_nothing(weights):
    solver = RgLnsSolver(weights=weights)
    puzzles = [some_puzzle(Grid(2, 2), seed) for seed in range(3)]
    for session, puzzle in zip(solver.prepare_many(puzzles), puzzles, strict=True):
        alone = solver.prepare(puzzle)
        assert np.allclose(session.costs.right, alone.costs.right, atol=1e-5)
        assert np.allclose(session.costs.down, alone.costs.down, atol=1e-5)


def test_unknown_start_and_foreign_weights_are_refused(weights, tmp_path):
    with pytest.raises(UnknownName, match="lp"):
        RgLnsSolver(weights=weights, start="pomeranz")
    torch.manual_seed(0)
    other = tmp_path / "other.safetensors"
    save_weights(other, torch.nn.Linear(2, 2).state_dict(), {"kind": "relational", "network": {}})
    with pytest.raises(FormatError, match=r"other\.safetensors"):
        RgLnsSolver(weights=other)
