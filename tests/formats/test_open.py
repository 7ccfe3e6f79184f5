from __future__ import annotations

import os

import numpy as np
import pytest
from format_samples import SAMPLES, small_puzzle

from puzzleflow.core.errors import FormatError, InputError, UnknownName
from puzzleflow.core.grid import Grid
from puzzleflow.formats.audit import inspect_path
from puzzleflow.formats.open import canonical_split, open_all, open_puzzles, open_source
from puzzleflow.pictures import write_picture
from puzzleflow.storage.gap import write_gap_split


@pytest.fixture
def root(tmp_path):
    for split, count in (("train", 3), ("validation", 2), ("test", 1)):
        puzzles = [small_puzzle(i, px=4) for i in range(count)]
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


def test_what_no_format_knows_is_told_what_they_expect(tmp_path):
    with pytest.raises(
        FormatError, match=r"expected one of: .*GAP folder \(puzzles.h5\), .*JPwLEG"
    ):
        open_puzzles(tmp_path)
    assert canonical_split("valid") == "val"


PLUGIN = """
import numpy as np
from puzzleflow import Grid, Puzzle, PuzzleSource

class PaletteSource(PuzzleSource):
    kind = "palette"
    looks_like = "colours.txt, one colour a piece"
    grid, has_truth = Grid(1, 2), False

    @classmethod
    def recognise(cls, path):
        return (path / "colours.txt").is_file()

    def truths(self):
        return None

    def __len__(self):
        return 1

    def read(self, index):
        return Puzzle(np.full((2, 4, 4, 4), 255, np.uint8), self.grid)
"""


def test_a_format_of_another_package_is_asked_before_the_folder(tmp_path, install):
    (tmp_path / "code").mkdir()
    (tmp_path / "code/palette_format.py").write_text(PLUGIN)
    entries = {"palette": "palette_format:PaletteSource"}
    install("palette", "puzzleflow.formats", entries, source=tmp_path / "code")
    write_picture(tmp_path / "a.png", np.zeros((4, 4, 4), np.uint8))
    assert open_source(tmp_path).kind == "folder"
    (tmp_path / "colours.txt").touch()
    assert open_puzzles(tmp_path)[0].num_pieces == 2
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError, match=r"colours\.txt, one colour a piece"):
        open_puzzles(tmp_path / "empty")


def test_folders_that_may_not_be_read_are_said(tmp_path, monkeypatch):
    SAMPLES["own fragments"][1](tmp_path / "set_0")
    (tmp_path / "set_1").mkdir()
    open_source(tmp_path)
    allowed = os.access
    monkeypatch.setattr(  # root may read everything
        os, "access", lambda path, mode: path.name != "set_1" and allowed(path, mode)
    )
    with pytest.raises(InputError, match=r"cannot read .*set_1: Permission denied"):
        open_source(tmp_path)
    with pytest.raises(InputError, match=r"cannot read .*set_1: Permission denied"):
        inspect_path(tmp_path)
