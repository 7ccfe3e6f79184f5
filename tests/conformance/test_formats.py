"""What every registered file format promises, plugins included."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from format_samples import SAMPLES

from puzzleflow.core.errors import PuzzleFlowError
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.formats.open import FORMATS, open_source
from puzzleflow.storage.free_form.source import FragmentSource
from puzzleflow.storage.source import PuzzleSource, Source


@pytest.mark.parametrize("name", FORMATS.names())
def test_a_format_knows_its_name_and_says_no_to_nothing(name: str, tmp_path: Path) -> None:
    reader = FORMATS.load(name)
    assert issubclass(reader, Source)
    assert issubclass(reader, PuzzleSource) != issubclass(reader, FragmentSource)
    assert reader.kind == name
    assert reader.looks_like
    (tmp_path / "text").write_text("no puzzle")
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    for path in (tmp_path, tmp_path / "text", tmp_path / "link", tmp_path / "gone"):
        assert reader.recognise(path) is False
        with pytest.raises(PuzzleFlowError):
            reader(path)


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_source_is_a_picklable_sequence(sample: str, tmp_path: Path) -> None:
    name, build = SAMPLES[sample]
    build(tmp_path / "sample")
    with open_source(tmp_path / "sample") as source:
        assert source.kind == name
        assert all(path.is_file() for path in source.files())
        first, last = contents(source, 0), contents(source, len(source) - 1)
        source.close()
        assert same(contents(source, -len(source)), first)
        assert same(contents(pickle.loads(pickle.dumps(source)), -1), last)
        for index in (len(source), -len(source) - 1):
            with pytest.raises(IndexError):
                contents(source, index)


@pytest.mark.parametrize("sample", SAMPLES)
def test_puzzles_agree_with_what_their_source_says(sample: str, tmp_path: Path) -> None:
    SAMPLES[sample][1](tmp_path / "sample")
    with open_source(tmp_path / "sample") as source:
        if not isinstance(source, PuzzleSource):
            pytest.skip("a free-form set")
        truths = source.truths()
        assert source.has_truth == (truths is not None)
        for index, puzzle in enumerate(source):
            assert source.grid in (None, puzzle.grid)
            assert truths is None or np.array_equal(truths[index], puzzle.truth)
            assert all(puzzle.truth[piece] == at for piece, at in source.pins(index).items())


def contents(source: Source, index: int) -> list[np.ndarray]:
    """The pixels of one puzzle or set, piece by piece."""
    if isinstance(source, FragmentSource):
        return [fragment.pixels for fragment in source.fragments(index).fragments]
    assert isinstance(source, PuzzleSource)
    puzzle = source[index]
    assert isinstance(puzzle, Puzzle)
    return list(puzzle.pieces)


def same(first: list[np.ndarray], second: list[np.ndarray]) -> bool:
    return len(first) == len(second) and all(map(np.array_equal, first, second))
