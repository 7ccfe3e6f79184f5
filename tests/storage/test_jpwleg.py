from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from puzzleflow.core.errors import FormatError, InputError, NotAGrid, NotAPermutation
from puzzleflow.core.grid import Grid
from puzzleflow.formats.open import open_all, open_puzzles
from puzzleflow.storage.jpwleg import JpwlegSource, write_jpwleg


def test_labels_by_hand(tmp_path):
    """Slot 0 holds the piece of position 8, slot 8 that of position 0; the rest lies right."""
    picture = np.zeros((1, 6, 6, 3), np.uint8)
    picture[0, :2, :2] = 80  # piece in slot 0
    labels = np.zeros((1, 8, 8), bool)
    labels[0, np.arange(8), [7, 1, 2, 3, 4, 5, 6, 0]] = True
    np.save(tmp_path / "test_img_48gap_33-001.npy", picture)
    np.save(tmp_path / "test_label_48gap_33.npy", labels)
    with open_puzzles(tmp_path) as source:
        puzzle = source[0]
        assert source.kind == "jpwleg"
        assert source.pins(0) == {4: 4}
    assert list(puzzle.truth) == [8, 1, 2, 3, 4, 5, 6, 7, 0]
    assert puzzle.pieces.shape == (9, 3, 3, 4)  # 48 px of 96 are one of two
    assert (puzzle.pieces[0, :2, :2, :3] == 80).all()
    assert (puzzle.pieces[:, :2, :2, 3] == 255).all()
    assert (puzzle.pieces[:, 2].any(), puzzle.pieces[:, :, 2].any()) == (False, False)
    assert (puzzle.pieces[1:, ..., :3] == 0).all()


def test_the_gap_in_the_name_is_void_around_the_pieces(tmp_path, puzzle_of):
    """As far apart as `fixed:48` leaves them in a picture of 144 px a cell."""
    write_jpwleg(tmp_path, [puzzle_of(0, Grid(3, 3), 96, opaque=True)])
    with open_puzzles(tmp_path) as source:
        alpha = source[0].pieces[..., 3]
        assert source.piece_px == (144, 144)
    assert (alpha[:, 24:120, 24:120] == 255).all()
    assert alpha.sum() == 9 * 96 * 96 * 255
    for name, side in (("test_img_12gap_33.npy", 108), ("test_img_33.npy", 96)):
        (tmp_path / "test_img_48gap_33.npy").rename(tmp_path / name)
        assert open_puzzles(tmp_path / name, grid=Grid(3, 3)).piece_px == (side, side)
        (tmp_path / name).rename(tmp_path / "test_img_48gap_33.npy")
    wide = (tmp_path / "test_img_48gap_33.npy").rename(tmp_path / "test_img_4800gap_33.npy")
    with pytest.raises(InputError, match="a gap of 4800 px"):
        open_puzzles(wide, grid=Grid(3, 3))


def test_what_was_read_is_written_without_the_void(tmp_path, puzzle_of):
    once = write_jpwleg(tmp_path / "once", [puzzle_of(i, px=6, opaque=True) for i in range(2)])
    with open_puzzles(tmp_path / "once") as source:
        again = write_jpwleg(tmp_path / "again", source)
    assert [path.read_bytes() for path in once] == [path.read_bytes() for path in again]


def test_centre_free_is_the_same_puzzle_otherwise_shuffled(tmp_path, puzzle_of):
    write_jpwleg(tmp_path, [puzzle_of(i, opaque=True) for i in range(6)])
    given_, free = JpwlegSource(tmp_path), open_puzzles(tmp_path, centre_free=True)
    assert free.pins(0) == {}
    moved = 0
    for index in range(6):
        solved = {}
        for source in (given_, free):
            puzzle = source[index]
            solved[source] = puzzle.pieces[np.argsort(puzzle.truth)]
        assert np.array_equal(solved[given_], solved[free])
        assert np.array_equal(free.truths()[index], free[index].truth)
        moved += free[index].truth[4] != 4
    assert moved > 2
    copy = pickle.loads(pickle.dumps(free))
    assert np.array_equal(copy[3].pieces, free[3].pieces)


@settings(max_examples=15, deadline=None)
@given(
    grid=st.sampled_from([Grid(3, 3), Grid(5, 5), Grid(1, 3), Grid(3, 5)]),
    px=st.integers(1, 5),
    count=st.integers(1, 4),
    seed=st.integers(0, 1000),
)
def test_round_trip(tmp_path_factory, puzzle_of, grid, px, count, seed):
    folder = tmp_path_factory.mktemp("jpwleg")
    puzzles = [puzzle_of(seed + i, grid, px, opaque=True) for i in range(count)]
    write_jpwleg(folder, puzzles, split="valid")
    with open_puzzles(folder, split="valid", grid=grid) as source:
        assert len(source) == count
        for puzzle, read in zip(puzzles, source, strict=True):
            centre = grid.num_pieces // 2
            assert read.truth[centre] == centre
            void = read.piece_px[0] - px
            inner = read.pieces[:, void // 2 :, void // 2 :][:, :px, :px]
            assert np.array_equal(
                inner[np.argsort(read.truth)], puzzle.pieces[np.argsort(puzzle.truth)]
            )
        assert np.array_equal(source.truths(), np.stack([p.truth for p in source]))


def test_splits_side_by_side(tmp_path, puzzle_of):
    for split in ("train", "valid", "test"):
        write_jpwleg(tmp_path, [puzzle_of(opaque=True)], split=split)
    assert list(open_all(tmp_path)) == ["train", "val", "test"]
    with pytest.raises(InputError, match="train, val, test"):
        open_puzzles(tmp_path)
    with open_puzzles(tmp_path, split="validation") as source:
        assert source.images_path.name == "valid_img_48gap_33.npy"


def test_without_labels_the_size_tells_the_grid(tmp_path):
    np.save(tmp_path / "test_img_x.npy", np.zeros((2, 288, 288, 3), np.uint8))
    with open_puzzles(tmp_path) as source:
        assert source.grid == Grid(3, 3)
        assert source.truths() is None
        assert source[1].truth is None
    with pytest.raises(NotAGrid, match="do not split"):
        open_puzzles(tmp_path, grid=Grid(5, 5))


@pytest.mark.parametrize(
    ("images", "labels", "error"),
    [
        (np.zeros((1, 6, 6, 4), np.uint8), None, FormatError),
        (np.zeros((1, 6, 6, 3), np.float64), None, FormatError),
        (np.zeros((0, 6, 6, 3), np.uint8), None, InputError),
        (np.zeros((1, 6, 6, 3), np.uint8), np.eye(8)[None].repeat(2, 0), FormatError),
        (np.zeros((1, 6, 6, 3), np.uint8), np.eye(7)[None], NotAGrid),
        (np.zeros((1, 6, 6, 3), np.uint8), np.zeros((1, 8, 8), "U3"), FormatError),
        (np.zeros((1, 6, 6, 3), np.uint8), np.ones((1, 8, 8)), NotAPermutation),
        (np.zeros((1, 6, 6, 3), np.uint8), np.eye(8)[None] * 0.5, NotAPermutation),
    ],
)
def test_wrong_arrays(tmp_path, images, labels, error):
    np.save(tmp_path / "test_img_33.npy", images)
    if labels is not None:
        np.save(tmp_path / "test_label_33.npy", labels)
    with pytest.raises(error), open_puzzles(tmp_path) as source:
        source.truths()
