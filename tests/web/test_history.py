"""Arrangements by hand: what moves, what is pinned, what is known about it afterwards."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Layout, Solution
from puzzleflow.web.history import MAX_STEPS, Answer, Arrangement, History


def answer() -> Solution:
    prob = np.array(
        [[0.7, 0.1, 0.1, 0.1], [0.1, 0.6, 0.2, 0.1], [0.1, 0.2, 0.5, 0.2], [0.1, 0.1, 0.2, 0.6]]
    )
    return Solution(
        np.arange(4),
        "known",
        confidence=np.diag(prob),
        seam_confidence=(np.array([[0.9], [0.8]]), np.array([[0.7, 0.6]])),
        position_prob=prob,
        alternatives=(Layout(np.arange(4)), Layout(np.array([1, 0, 2, 3]))),
    )


def board(solution: Solution | None = None) -> Arrangement:
    told = None if solution is None else Answer(solution, Grid(2, 2), np.zeros(4, np.int64))
    return Arrangement(Grid(2, 2), np.arange(4), "solve", answer=told)


def test_a_piece_and_its_target_change_places() -> None:
    moved = board().place(0, 3)
    assert moved.position_of.tolist() == [3, 1, 2, 0]
    assert moved.piece_at.tolist() == [3, 1, 2, 0]
    assert moved.label == "move piece 1"


def test_pinned_pieces_stay_and_say_so() -> None:
    pinned = board().pin([1], True)
    assert pinned.pins == {1: 1}
    for piece, position in ((1, 0), (0, 1)):
        with pytest.raises(InputError, match="piece 2 is pinned"):
            pinned.place(piece, position)
    assert pinned.place(0, 3).pins == {1: 1}
    assert pinned.pin([1], False).pins == {}
    assert board().place(0, 3, pin=True).pins == {0: 3}
    assert board().place(2, 2, pin=True).pins == {2: 2}
    assert pinned.pin([2], True).unpin_all().pins == {}


@pytest.mark.parametrize(("piece", "position"), [(4, 0), (-1, 0), (0, 4), (0, -2)])
def test_numbers_outside_are_refused(piece: int, position: int) -> None:
    with pytest.raises(InputError, match="from 0 to 3"):
        board().place(piece, position)


def test_what_was_moved_swapped_out_turned_or_pinned_has_no_estimate() -> None:
    moved = board(answer()).place(1, 2)
    assert np.isnan(moved.confidence()).tolist() == [False, True, True, False]
    assert moved.place(1, 1).confidence().tolist() == [0.7, 0.6, 0.5, 0.6]  # laid back
    assert np.isnan(board(answer()).turn([3], 1).confidence()).tolist() == [False] * 3 + [True]
    assert np.isnan(board(answer()).pin([0], True).confidence()).tolist() == [True] + [False] * 3


def test_a_chosen_layout_is_the_solvers_not_moved_by_hand() -> None:
    chosen = board(answer()).choose(1)
    assert chosen.confidence().tolist() == [0.1, 0.1, 0.5, 0.6]


def test_the_tray_takes_pieces_and_gives_them_back() -> None:
    aside = board(answer()).place(2, -1)
    assert aside.aside == [2]
    assert aside.piece_at.tolist() == [0, 1, -1, 3]
    assert aside.label == "put piece 3 aside"
    back = aside.place(2, 0)  # the piece that lay there waits in the tray now
    assert back.position_of.tolist() == [-1, 1, 0, 3]
    assert aside.place(3, 2).piece_at.tolist() == [0, 1, 3, -1]  # into the empty cell
    nowhere = aside.pin([2], True)
    assert nowhere.pins == {2: -1}
    with pytest.raises(InputError, match="piece 3 is pinned"):
        nowhere.place(2, 0)


def test_a_block_moves_by_rows_and_columns_and_what_it_covers_fills_what_it_leaves() -> None:
    start = Arrangement(Grid(3, 3), np.arange(9), "solve")
    moved = start.shift([0, 1, 3, 4], 1, 1)
    assert moved.piece_at.tolist() == [5, 7, 2, 8, 0, 1, 6, 3, 4] or sorted(
        moved.piece_at.tolist()
    ) == list(range(9))
    assert [int(moved.position_of[p]) for p in (0, 1, 3, 4)] == [4, 5, 7, 8]
    assert moved.shift([0, 1, 3, 4], -1, -1).position_of[[0, 1, 3, 4]].tolist() == [0, 1, 3, 4]
    with pytest.raises(InputError, match="would leave the board"):
        start.shift([2], 0, 1)
    with pytest.raises(InputError, match="piece 6 is pinned"):
        start.pin([5], True).shift([4], 0, 1)


def test_what_belongs_together_moves_together() -> None:
    start = Arrangement(Grid(3, 3), np.arange(9), "solve").join([0, 1], True)
    moved = start.place(0, 3)
    assert [int(moved.position_of[p]) for p in (0, 1)] == [3, 4]
    assert start.join([1, 2], True).groups == (frozenset({0, 1, 2}),)
    assert start.join([0], False).groups == ()
    with pytest.raises(InputError, match="two or more"):
        start.join([5], True)


def test_seams_of_moved_pieces_are_unknown() -> None:
    right, down = board(answer()).seam_confidence()
    assert right.tolist() == [[0.9], [0.8]]
    assert down.tolist() == [[0.7, 0.6]]
    right, down = board(answer()).place(1, 3).seam_confidence()
    assert np.isnan(right).all()
    assert down[0, 0] == 0.7
    assert np.isnan(down[0, 1])


def test_a_solver_may_tell_nothing() -> None:
    silent = board(Solution(np.arange(4), "silent"))
    assert np.isnan(silent.confidence()).all()
    assert all(np.isnan(seams).all() for seams in silent.seam_confidence())
    assert silent.candidates() == [[], [], [], []]
    with pytest.raises(InputError, match="0 whole layouts"):
        silent.choose(0)


def test_confidence_without_probabilities_is_lost_by_moving() -> None:
    plain = Solution(np.arange(4), "plain", confidence=np.array([0.5, 0.6, 0.7, 0.8]))
    moved = board(plain).place(0, 1).confidence()
    assert np.isnan(moved[:2]).all()
    assert moved[2:].tolist() == [0.7, 0.8]


def test_candidates_are_the_most_probable_pieces_of_a_cell() -> None:
    best = board(answer()).candidates(num=2)
    assert best[0] == [(0, 0.7), (1, 0.1)]
    assert best[2] == [(2, 0.5), (1, 0.2)]


def test_whole_layouts_honour_pins() -> None:
    chosen = board(answer()).choose(1)
    assert chosen.position_of.tolist() == [1, 0, 2, 3]
    with pytest.raises(InputError, match="moves piece 1, which is pinned"):
        board(answer()).pin([0], True).choose(1)
    with pytest.raises(InputError, match="no number 3"):
        board(answer()).choose(2)


def test_undo_and_redo_walk_the_line() -> None:
    history = History()
    with pytest.raises(InputError, match="solve first"):
        _ = history.now
    for step in (board(), board().place(0, 1), board().place(0, 2)):
        history.add(step)
    history.undo()
    assert history.now.position_of.tolist() == [1, 0, 2, 3]
    history.redo()
    assert history.now.position_of.tolist() == [2, 1, 0, 3]
    with pytest.raises(InputError, match="nothing to redo"):
        history.redo()
    history.undo()
    history.add(board().place(0, 3))
    assert len(history.steps) == 3
    with pytest.raises(InputError, match="nothing to redo"):
        history.redo()
    history.undo()
    history.undo()
    with pytest.raises(InputError, match="nothing to undo"):
        history.undo()


def test_the_arrangement_to_compare_with_lay_otherwise() -> None:
    history = History()
    history.add(board())
    assert history.previous is None
    history.add(history.now.pin([0], True))
    assert history.previous is None
    history.add(history.now.place(1, 2))
    history.add(history.now.pin([1], True))
    assert history.previous is not None
    assert history.previous.position_of.tolist() == [0, 1, 2, 3]


def test_the_line_is_bounded() -> None:
    history = History()
    for _ in range(MAX_STEPS + 7):
        history.add(board())
    assert len(history.steps) == MAX_STEPS
    assert history.at == MAX_STEPS - 1


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12), st.data())
def test_any_moves_leave_a_permutation_and_undo_restores(
    moves: list[tuple[int, int]], data: st.DataObject
) -> None:
    history = History()
    history.add(Arrangement(Grid(2, 3), np.arange(6), "solve"))
    for piece, position in moves:
        history.add(history.now.place(piece, position))
        assert history.now.position_of[piece] == position
        assert sorted(history.now.position_of.tolist()) == list(range(6))
    steps = data.draw(st.integers(0, len(moves)))
    for _ in range(steps):
        history.undo()
    for _ in range(steps):
        history.redo()
    assert history.at == len(moves)
    for _ in moves:
        history.undo()
    assert history.now.position_of.tolist() == list(range(6))
