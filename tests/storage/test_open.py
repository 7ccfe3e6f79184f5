from __future__ import annotations

import pytest

from puzzleflow.core.errors import FormatError, InputError, UnknownName
from puzzleflow.core.grid import Grid
from puzzleflow.storage.gap import write_gap_split
from puzzleflow.storage.open import KINDS, canonical_split, load_kind, open_all, open_puzzles
from puzzleflow.storage.source import PuzzleSource


@pytest.fixture
def root(tmp_path, puzzle_of):
    for split, count in (("train", 3), ("validation", 2), ("test", 1)):
        puzzles = [puzzle_of(i, px=4) for i in range(count)]
        write_gap_split(tmp_path / split, puzzles, count, Grid(3, 3), 4)
    return tmp_path


def test_a_root_needs_a_split(root):
    assert {name: len(source) for name, source in open_all(root).items()} == {
        "train": 3,
        "val": 2,
        "test": 1,
    }
    for spelling in ("val", "valid", "Validation"):
        assert len(open_puzzles(root, split=spelling)) == 2
    with pytest.raises(InputError, match="train, val, test: choose one"):
        open_puzzles(root)
    with pytest.raises(UnknownName, match="dev"):
        open_puzzles(root, split="dev")


def test_the_only_split_needs_no_word(root):
    for name in ("train", "validation"):
        (root / name).rename(root / f"old {name}")
    source = open_puzzles(root)
    assert (len(source), source.split) == (1, "test")
    with pytest.raises(InputError, match="no split 'train'"):
        open_puzzles(root, split="train")


def test_one_set_is_never_taken_for_another_split(root):
    assert len(open_puzzles(root / "train", split="train")) == 3
    assert len(open_puzzles(root / "train/puzzles.h5", split="train")) == 3
    for path in (root / "train", root / "train/puzzles.h5"):
        with pytest.raises(InputError, match="no split 'val'"):
            open_puzzles(path, split="val")


def test_every_kind_loads_and_says_no_to_nothing(tmp_path):
    for name in KINDS:
        reader = load_kind(name)
        assert issubclass(reader, PuzzleSource)
        assert reader.kind == name
        assert reader.recognise(tmp_path) is False
    with pytest.raises(UnknownName, match="gap"):
        load_kind("hdf4")
    with pytest.raises(FormatError, match="expected a GAP folder"):
        open_puzzles(tmp_path)
    assert canonical_split("valid") == "val"
