"""Parquet tables of puzzles: what is written comes back, here and through ``datasets``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest
from format_samples import build_gap, small_puzzle

from puzzleflow.core.conditions import Conditions
from puzzleflow.core.errors import FormatError, InputError, NotAPermutation, PuzzleFlowError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.formats.open import open_puzzles
from puzzleflow.formats.publishing import write_tables
from puzzleflow.storage.gap import GapSource, write_gap_split
from puzzleflow.storage.parquet import ParquetSource, write_parquet


@pytest.fixture
def gap(tmp_path: Path) -> GapSource:
    build_gap(tmp_path / "gap")
    return GapSource(tmp_path / "gap")


def assert_same(first: Puzzle, second: Puzzle) -> None:
    assert np.array_equal(first.pieces, second.pieces)
    assert np.array_equal(first.truth, second.truth)
    assert np.array_equal(first.true_turns, second.true_turns)
    assert (first.known_grid, first.conditions) == (second.known_grid, second.conditions)


def test_the_open_world_comes_back(tmp_path: Path) -> None:
    grid, conditions = Grid(2, 3), Conditions(missing=1, foreign=1, turned=True, hidden=True)
    pieces = small_puzzle(3, grid, px=4).pieces
    told = [([3, 0, -1, 5, 1, 2], [0, 1, 0, 3, 2, 0]), ([0, 1, 2, 3, 4, -1], [0] * 6)]
    puzzles = [
        Puzzle(pieces, grid, np.array(truth), conditions=conditions, true_turns=np.array(turns))
        for truth, turns in told
    ]
    write_gap_split(tmp_path / "gap", puzzles, 2, grid, 4, conditions=conditions)
    source = GapSource(tmp_path / "gap")
    write_parquet(tmp_path / "out", source, "test")
    with ParquetSource(tmp_path / "out") as back:
        assert np.array_equal(back.truths(), source.truths())
        assert np.array_equal(back.turns(), source.turns())
        for ours, theirs in zip(back, source, strict=True):
            assert_same(ours, theirs)


def test_files_that_are_there_are_kept(tmp_path: Path, gap: GapSource) -> None:
    first, second = write_parquet(tmp_path / "out", gap, "train", per_file=2)
    assert (first.name, second.name) == (
        "train-00000-of-00002.parquet",
        "train-00001-of-00002.parquet",
    )
    whole, kept = first.read_bytes(), first.stat().st_mtime_ns
    second.unlink()
    write_parquet(tmp_path / "out", gap, "train", per_file=2)
    assert first.stat().st_mtime_ns == kept
    write_gap_split(tmp_path / "other", [small_puzzle(9, px=4)] * 3, 3, Grid(3, 3), 4)
    write_parquet(tmp_path / "out", GapSource(tmp_path / "other"), "train", per_file=2)
    assert first.read_bytes() != whole
    write_parquet(tmp_path / "out", gap, "train", per_file=2)
    assert first.read_bytes() == whole  # the same puzzles, the same bytes


def test_splits_are_chosen_as_everywhere(tmp_path: Path) -> None:
    for split in ("train", "val"):
        build_gap(tmp_path / "gap" / split)
    assert write_tables(tmp_path / "gap", tmp_path / "out") == {"train": 3, "validation": 3}
    assert len(open_puzzles(tmp_path / "out", split="val")) == 3
    with pytest.raises(InputError, match="holds the splits train, val: choose one of them"):
        open_puzzles(tmp_path / "out")
    with pytest.raises(InputError, match="no split 'test'"):
        open_puzzles(tmp_path / "out", split="test")
    assert write_tables(tmp_path / "gap", tmp_path / "one", only="val") == {"validation": 3}
    assert open_puzzles(tmp_path / "one").split == "val"


def test_datasets_reads_them(
    tmp_path: Path, gap: GapSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    write_tables(tmp_path / "gap", tmp_path / "out")
    loaded = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    assert {name: len(split) for name, split in loaded.items()} == {"train": 3}
    row = loaded["train"][1]
    assert np.array_equal(np.stack([np.asarray(piece) for piece in row["pieces"]]), gap[1].pieces)
    assert row["position_of"] == gap.truths()[1].tolist()
    assert (row["rows"], row["cols"], row["turns"]) == (3, 3, None)


def test_tables_of_others_are_refused(tmp_path: Path, gap: GapSource) -> None:
    path = tmp_path / "test.parquet"
    parquet.write_table(arrow.table({"picture": [b""]}), path)
    with pytest.raises(FormatError, match="not one of puzzles: it has no column cols, pieces"):
        ParquetSource(path)
    (path,) = write_parquet(tmp_path / "out", gap, "test")
    table = parquet.read_table(path)
    wrong = table.set_column(2, "position_of", arrow.array([[0] * 9] * 3))
    parquet.write_table(wrong, path)
    with pytest.raises(NotAPermutation, match=f"{path}: puzzle 0"):
        ParquetSource(path).truths()
    empty = table.set_column(1, "pieces", arrow.array([[]] * 3, table.schema.field("pieces").type))
    parquet.write_table(empty, path)
    with pytest.raises(FormatError, match=f"{path}: puzzle 2: expected pieces"):
        ParquetSource(path)[2]


def test_a_damaged_footer_ends_in_our_errors(tmp_path: Path, gap: GapSource) -> None:
    """Not in the end of the process: pyarrow's, where a column is asked for its size."""
    (path,) = write_parquet(tmp_path / "out", gap, "test")
    whole = path.read_bytes()
    footer = int.from_bytes(whole[-8:-4], "little")
    told = 0
    for place in range(len(whole) - 8 - footer, len(whole) - 8, 7):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << (place % 8)
        path.write_bytes(damaged)
        try:
            source = ParquetSource(path)
            source.truths()
            source[0]
        except PuzzleFlowError:
            told += 1
    assert told > 20
