from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from puzzleflow.core.errors import FormatError, InputError, NotAGrid, NotAPermutation
from puzzleflow.core.grid import Grid
from puzzleflow.storage.layout import SavedLayout, read_layout, write_layout


@st.composite
def layouts(draw):
    grid = Grid(draw(st.integers(1, 4)), draw(st.integers(1, 4)))
    n = grid.num_pieces
    position_of = np.array(draw(st.permutations(range(n))))
    position_of[draw(st.lists(st.integers(0, n - 1), max_size=3))] = -1
    names = draw(st.lists(st.text(max_size=8), min_size=n, max_size=n))
    some = st.one_of(st.just(np.nan), st.floats(0, 1))
    confidence = np.array(draw(st.lists(some, min_size=n, max_size=n)))
    return SavedLayout(
        position_of,
        grid,
        tuple(name.encode("utf-8", "replace").decode() for name in names),
        None if np.isnan(confidence).all() else confidence,
        frozenset(draw(st.sets(st.integers(0, n - 1)))),
        draw(st.sampled_from([None, "greedy"])),
        "id",
    )


@settings(max_examples=60, deadline=None)
@given(layout=layouts())
def test_round_trip(tmp_path_factory, layout):
    path = tmp_path_factory.getbasetemp() / "layout.json"
    write_layout(path, layout)
    read = read_layout(path, partial=True)
    assert np.array_equal(read.position_of, layout.position_of)
    assert (read.grid, read.names, read.pinned) == (layout.grid, layout.names, layout.pinned)
    assert (read.solver, read.puzzle_id) == (layout.solver, "id")
    if layout.confidence is None:
        assert read.confidence is None
    else:
        assert np.array_equal(read.confidence, layout.confidence, equal_nan=True)


def good() -> dict:
    pieces = [{"name": "a", "row": 0, "col": 1}, {"name": "b", "row": 0, "col": 0}]
    grid = {"rows": 1, "cols": 2}
    return {"schema": "puzzleflow/layout", "version": 1, "grid": grid, "pieces": pieces}


def test_the_least_that_is_a_layout(tmp_path):
    (tmp_path / "l.json").write_text(json.dumps(good()))
    assert read_layout(tmp_path / "l.json").position_of.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"schema": "other"}, FormatError),
        ({"version": 2}, FormatError),
        ({"grid": [1, 2]}, FormatError),
        ({"grid": {"rows": 1.0, "cols": 2}}, FormatError),
        ({"grid": {"rows": True, "cols": 2}}, FormatError),
        ({"grid": {"rows": 0, "cols": 2}}, NotAGrid),
        ({"grid": {"rows": 10**40, "cols": 2}}, NotAGrid),
        ({"pieces": {}}, FormatError),
        ({"pieces": [1, 2]}, FormatError),
        ({"pieces": []}, NotAGrid),
        ({"pieces": [{"name": "a", "row": 0, "col": 0}] * 2}, NotAPermutation),
        ({"pieces": [{"name": "a", "row": 9, "col": 0}] * 2}, NotAPermutation),
        ({"pieces": [{"name": "a", "row": 0}] * 2}, FormatError),
        ({"solver": 3}, FormatError),
    ],
)
def test_what_is_no_layout_names_its_file(tmp_path, change, error):
    (tmp_path / "l.json").write_text(json.dumps(good() | change))
    with pytest.raises(error, match=r"l\.json"):
        read_layout(tmp_path / "l.json")


def test_other_json_and_missing_files(tmp_path):
    for text in ("[]", "null", '"x"', "{", "[" * 100_000, '{"a": NaN}'):
        (tmp_path / "l.json").write_text(text)
        with pytest.raises(FormatError):
            read_layout(tmp_path / "l.json")
    with pytest.raises(InputError):
        read_layout(tmp_path / "missing.json")
