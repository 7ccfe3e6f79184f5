import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from puzzleflow.core.errors import InputError, UnknownName
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.rng import child_rng
from puzzleflow.solvers.compatibility import COMPATIBILITIES, SeamCosts, seam_costs
from puzzleflow.solvers.compatibility.costs import Side, common_box, oriented, outline_side
from puzzleflow.solvers.compatibility.measures import P, Q, predicted_costs


def opaque_pieces(num, height, width, seed=0):
    rng = child_rng(seed, "compatibility")
    pieces = rng.integers(0, 256, (num, height, width, 4), dtype=np.uint8)
    pieces[..., 3] = 255
    return pieces


def smooth_pieces(grid, piece_px=24, seed=0):
    """(N, H, W, 4) in row-major order, cut from a smooth picture."""
    rng = child_rng(seed, "smooth")
    y, x = np.mgrid[: grid.rows * piece_px, : grid.cols * piece_px] / piece_px
    waves = rng.normal(size=(3, 5, 2)) * 2
    channels = [sum(np.sin(a * y + b * x + k) for k, (a, b) in enumerate(w)) for w in waves]
    picture = np.clip(np.stack(channels, axis=-1) * 40 + 128, 0, 255).astype(np.uint8)
    cells = picture.reshape(grid.rows, piece_px, grid.cols, piece_px, 3).swapaxes(1, 2)
    cells = cells.reshape(grid.num_pieces, piece_px, piece_px, 3)
    return np.concatenate([cells, np.full_like(cells[..., :1], 255)], axis=-1)


@pytest.mark.parametrize("name", sorted(COMPATIBILITIES))
def test_costs_have_their_shape_and_leave_the_pieces_alone(name):
    pieces = opaque_pieces(4, 6, 9)
    before = pieces.copy()
    costs = seam_costs(name, pieces)
    assert costs.right.shape == costs.down.shape == (4, 4)
    assert np.isinf(np.diag(costs.right)).all()
    off = ~np.eye(4, dtype=bool)
    assert np.isfinite(costs.right[off]).all()
    assert (costs.down[off] >= 0).all()
    assert np.array_equal(pieces, before)


@pytest.mark.parametrize("name", sorted(COMPATIBILITIES))
def test_true_neighbours_of_a_smooth_picture_are_cheapest(name):
    grid = Grid(3, 4)
    costs = seam_costs(name, smooth_pieces(grid))
    for direction, matrix in ((Direction.RIGHT, costs.right), (Direction.DOWN, costs.down)):
        pairs = grid.neighbours(direction)
        best = matrix.argmin(axis=1)[pairs[:, 0]]
        assert np.mean(best == pairs[:, 1]) > 0.8


@pytest.mark.parametrize("name", sorted(COMPATIBILITIES))
def test_transposed_pieces_exchange_right_and_down(name):
    pieces = opaque_pieces(3, 7, 7)
    costs, turned = seam_costs(name, pieces), seam_costs(name, pieces.swapaxes(1, 2))
    np.testing.assert_allclose(costs.right, turned.down)
    np.testing.assert_allclose(costs.down, turned.right)


@pytest.mark.parametrize("name", sorted(COMPATIBILITIES))
@pytest.mark.parametrize("shape", [(1, 5, 5), (2, 1, 1), (3, 1, 8), (2, 8, 1)])
def test_single_pieces_and_lines_of_one_pixel(name, shape):
    costs = seam_costs(name, opaque_pieces(*shape))
    assert not np.isnan(costs.right).any()


def test_border_is_the_formula_of_the_supplement():
    from skimage.color import rgb2lab

    pieces = opaque_pieces(2, 4, 5)
    lab = rgb2lab(pieces[..., :3])
    near, far = lab[0], lab[1]
    ahead = np.abs(2 * near[:, -1] - near[:, -2] - far[:, 0]) ** P
    back = np.abs(2 * far[:, 0] - far[:, 1] - near[:, -1]) ** P
    expected = ((ahead + back) ** (Q / P)).sum()
    assert seam_costs("border", pieces).right[0, 1] == pytest.approx(expected)


def test_mgc_by_hand():
    """One grey line, gradient 10 inside and 10 across: both ways no surprise beyond the dummies."""
    pieces = np.full((2, 3, 2, 4), 255, np.uint8)
    pieces[0, ..., :3] = np.array([10, 20])[None, :, None]
    pieces[1, ..., :3] = np.array([30, 40])[None, :, None]
    costs = seam_costs("mgc", pieces)
    assert costs.right[0, 1] == pytest.approx(0)
    assert costs.right[1, 0] > 1


@settings(max_examples=25, deadline=None)
@given(
    num=st.integers(1, 5),
    height=st.integers(1, 9),
    width=st.integers(1, 9),
    frame=st.integers(0, 3),
    seed=st.integers(0, 1000),
)
def test_alpha_equals_border_exactly_on_square_pieces(num, height, width, frame, seed):
    """Also with the straight void frame of JPwLEG, the same around every piece."""
    inner = opaque_pieces(num, height, width, seed)
    pieces = np.pad(inner, [(0, 0), (frame, frame), (frame, frame), (0, 0)])
    border, alpha = seam_costs("border", pieces), seam_costs("alpha", pieces)
    assert np.array_equal(border.right, alpha.right)
    assert np.array_equal(border.down, alpha.down)
    assert np.array_equal(border.right, seam_costs("border", inner).right)


def eroded(pieces, seed=0, depth=6):
    """Uneven outlines that touch the box somewhere: colour zero in the void."""
    rng = child_rng(seed, "eroded")
    out = pieces.copy()
    for piece in out:
        for direction in Direction:
            lines = oriented(piece[None], direction)[0]
            void = rng.integers(0, depth, size=len(lines))
            void[rng.integers(len(lines))] = 0
            for line, gap in zip(lines, void, strict=True):
                line[:gap] = 0
    return out


def test_alpha_sees_across_the_void_where_border_is_blind():
    grid = Grid(4, 4)
    pieces = eroded(smooth_pieces(grid, 32), depth=9)
    hits = {}
    for name in ("border", "alpha"):
        costs = seam_costs(name, pieces)
        pairs = grid.neighbours(Direction.RIGHT)
        hits[name] = np.mean(costs.right.argmin(axis=1)[pairs[:, 0]] == pairs[:, 1])
    assert hits["alpha"] > 0.6
    assert hits["alpha"] > hits["border"] + 0.3


def test_what_lies_under_the_void_does_not_count():
    pieces = eroded(smooth_pieces(Grid(2, 2), 16))
    dirty = pieces.copy()
    dirty[dirty[..., 3] == 0, :3] = 99
    assert np.array_equal(seam_costs("alpha", pieces).right, seam_costs("alpha", dirty).right)


def test_outline_side_by_hand():
    pieces = np.zeros((1, 3, 4, 4), np.uint8)
    pieces[0, 0, 1:, :] = 255  # one pixel of void on the left
    pieces[0, 0, 1, :3] = 7
    pieces[0, 1, 3] = (9, 9, 9, 255)  # a single opaque pixel
    side = outline_side(pieces, Direction.LEFT)
    assert side.void.tolist() == [[1, 3, 0]]
    assert side.solid.tolist() == [[True, True, False]]
    assert side.edge[0, :2, 0].tolist() == [7, 9]
    assert side.inner[0, :2, 0].tolist() == [255, 9]  # no neighbour inward: itself


def test_near_lines_weigh_more_than_far_ones():
    colour = np.array([[[0, 0, 0], [0, 0, 0]], [[255, 255, 255], [0, 0, 0]]], np.uint8)  # (2, 2, 3)
    solid = np.ones((2, 2), bool)

    def cost(void):
        side = Side(colour, colour, np.array([void, void]), solid)
        return predicted_costs(side, side, half_weight_px=10.0)[0, 1]

    assert cost([40, 0]) < cost([0, 0]) < cost([0, 40])


def test_pairs_that_share_no_line_get_the_mean():
    pieces = opaque_pieces(3, 4, 4)
    pieces[0, :2] = 0
    pieces[1, 2:] = 0
    right = seam_costs("alpha", pieces).right
    known = [right[0, 2], right[2, 0], right[1, 2], right[2, 1]]
    others = predicted_costs(
        outline_side(pieces, Direction.RIGHT),
        outline_side(pieces, Direction.LEFT),
        half_weight_px=10.0,
        step_decay=0.25,
        growth=0.08,
    )
    assert right[0, 1] == right[1, 0]
    assert min(np.diag(others).min(), *known) <= right[0, 1] <= max(np.diag(others).max(), *known)


def test_void_alone():
    pieces = np.zeros((3, 4, 4, 4), np.uint8)
    assert common_box(pieces).shape == pieces.shape
    assert (seam_costs("alpha", pieces).right[~np.eye(3, dtype=bool)] == 0).all()


def test_unknown_names_and_bad_costs_are_told():
    with pytest.raises(UnknownName, match="alpha, border, mgc"):
        seam_costs("nose", opaque_pieces(1, 2, 2))
    with pytest.raises(InputError, match="shape"):
        SeamCosts(np.zeros((2, 3)), np.zeros((2, 2)))
    with pytest.raises(InputError, match="differ"):
        SeamCosts(np.zeros((2, 2)), np.zeros((3, 3)))
    with pytest.raises(InputError, match="NaN"):
        SeamCosts(np.full((2, 2), np.nan), np.zeros((2, 2)))


def test_stacked_costs_agree_both_ways():
    costs = seam_costs("border", opaque_pieces(4, 3, 3))
    stacked = costs.stacked()
    for direction in Direction:
        assert np.array_equal(stacked[direction], stacked[direction.opposite].T)


def test_tamed_costs_keep_their_order_and_rank_layouts_alike():
    right = np.array([[0, -2.0, np.inf], [1.0, 0, 3.0], [-5.0, 0.5, 0]])
    tamed = SeamCosts(right, right).tamed()
    off = ~np.eye(3, dtype=bool)
    assert tamed.right[2, 0] == 0
    assert np.isfinite(tamed.right[off]).all()
    assert np.array_equal(np.argsort(tamed.right[off]), np.argsort(right[off]))
    assert tamed.right[0, 2] > 4 * tamed.right[1, 2]


def test_costs_do_not_depend_on_how_many_are_compared_at_once(monkeypatch):
    pieces = opaque_pieces(5, 8, 8)
    pieces[:, :2, :3, 3] = 0
    together = seam_costs("alpha", pieces)
    monkeypatch.setattr("puzzleflow.solvers.compatibility.measures.LINES_AT_ONCE", 2 * 5 * 8)
    in_turn = seam_costs("alpha", pieces)
    assert np.array_equal(together.right, in_turn.right)
    assert np.array_equal(together.down, in_turn.down)
