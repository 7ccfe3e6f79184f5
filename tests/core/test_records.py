from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.core.errors import FormatError
from puzzleflow.core.records import from_json


@dataclass(frozen=True)
class Inner:
    name: str
    yes: bool = False


@dataclass(frozen=True)
class Outer:
    count: int
    share: float
    inner: Inner | None = None
    many: tuple[Inner, ...] = ()
    rows: tuple[tuple[int, ...], ...] | None = None


numbers = st.integers(-(2**63) + 1, 2**63 - 1)
inners = st.builds(Inner, st.text(st.characters(codec="utf-8")), st.booleans())
outers = st.builds(
    Outer,
    numbers,
    st.floats(allow_nan=False, allow_infinity=False),
    st.none() | inners,
    st.lists(inners, max_size=3).map(tuple),
    st.none() | st.lists(st.lists(numbers, max_size=2).map(tuple), max_size=2).map(tuple),
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(record=outers)
def test_records_survive_json(record: Outer) -> None:
    assert from_json(Outer, json.loads(json.dumps(asdict(record)))) == record


@given(record=outers, field=st.sampled_from([*Outer.__dataclass_fields__]), value=values)
def test_any_value_in_a_field_is_of_its_type_or_refused(
    record: Outer, field: str, value: Any
) -> None:
    try:
        made = from_json(Outer, {**json.loads(json.dumps(asdict(record))), field: value})
    except FormatError:
        return
    assert from_json(Outer, json.loads(json.dumps(asdict(made)))) == made
    assert type(made.count) is int
    assert type(made.share) is float


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], r"Outer: expected an object, found \[\]"),
        ({"count": 1}, "Outer: missing 'share'"),
        ({"count": 1, "share": 1, "size": 2}, "Outer: unknown 'size'"),
        ({"count": True, "share": 1}, "count: expected a whole number, found True"),
        ({"count": 1.0, "share": 1}, "count: expected a whole number, found 1.0"),
        ({"count": 2**63, "share": 1}, "count: expected a whole number"),
        ({"count": 1, "share": "1"}, "share: expected a number, found '1'"),
        ({"count": 1, "share": None}, "share: expected a number, found None"),
        ({"count": 1, "share": float("nan")}, "share: expected a number, found nan"),
        ({"count": 1, "share": 1, "many": {}}, r"many: expected a list, found \{\}"),
        ({"count": 1, "share": 1, "inner": {"name": 3}}, "name: expected a text, found 3"),
        ({"count": 1, "share": 1, "inner": {"name": "\ud800"}}, "name: expected a text"),
        ({"count": 1, "share": 1, "rows": [[1], ["2"]]}, "rows: expected a whole number"),
        ({"count": 1, "share": 1, "inner": {"name": "", "yes": 1}}, "yes: expected true or false"),
    ],
)
def test_what_is_wrong_is_said(value: Any, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        from_json(Outer, value)


def test_a_whole_number_may_stand_for_a_number() -> None:
    made = from_json(Outer, {"count": 1, "share": 2})
    assert type(made.share) is float
