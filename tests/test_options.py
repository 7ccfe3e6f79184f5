"""Options by name: bad types, unknown names and values out of range are one line."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.core.errors import InputError
from puzzleflow.options import Within, checked_call, options_of

if TYPE_CHECKING:
    from decimal import Decimal


@dataclass(frozen=True)
class Thing:
    steps: Annotated[int, "how many", Within(1, 9)] = 3
    rate: Annotated[float, Within(0)] = 0.5
    deep: bool = False
    weights: str | Path | None = None
    seed: int | None = None


def unresolved(amount: Decimal, num: int = 1) -> object:
    return amount


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"steps": 9}, 9),
        ({"steps": "9"}, 9),
        ({"steps": np.int64(9)}, 9),
        ({"rate": 2}, 2.0),
        ({"rate": "2e-1"}, 0.2),
        ({"deep": "yes"}, True),
        ({"deep": False}, False),
        ({"weights": "a.safetensors"}, "a.safetensors"),
        ({"weights": Path("a")}, Path("a")),
        ({"weights": None}, None),
        ({"seed": "7"}, 7),
    ],
)
def test_values_become_what_the_type_asks_for(options: dict[str, Any], expected: object) -> None:
    thing = checked_call("thing", Thing, **options)
    value = getattr(thing, next(iter(options)))
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": "abc"}, "thing: steps=abc: expected a whole number from 1 to 9"),
        ({"steps": 0}, "thing: steps=0: expected a whole number from 1 to 9"),
        ({"steps": 10}, "thing: steps=10: expected a whole number from 1 to 9"),
        ({"steps": 2.5}, "thing: steps=2.5: expected a whole number from 1 to 9"),
        ({"steps": True}, "thing: steps=True: expected a whole number from 1 to 9"),
        ({"steps": None}, "thing: steps=None: expected a whole number from 1 to 9"),
        ({"rate": -0.1}, "thing: rate=-0.1: expected a number from 0"),
        ({"rate": "nan"}, "thing: rate=nan: expected a number from 0"),
        ({"deep": "maybe"}, "thing: deep=maybe: expected true or false"),
        ({"weights": 3}, "thing: weights=3: expected text"),
        ({"seed": "x"}, "thing: seed=x: expected a whole number"),
        (
            {"colour": 1},
            "thing: got an unexpected keyword argument 'colour'; "
            "its options: steps, rate, deep, weights, seed",
        ),
    ],
)
def test_what_cannot_be_used_is_one_line_that_names_the_option(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        checked_call("thing", Thing, **options)
    assert str(caught.value) == message


def test_options_of_a_partial_and_of_what_cannot_be_resolved() -> None:
    changed = options_of(partial(Thing, steps=5))
    assert changed["steps"].default == 5
    assert changed["steps"].within == Within(1, 9)
    assert checked_call("it", unresolved, "1.5") == "1.5"  # nothing is known: all is taken


@given(st.one_of(st.integers(), st.floats(), st.text(), st.booleans(), st.none()))
def test_any_value_is_taken_as_it_should_be_or_refused(value: object) -> None:
    try:
        thing = checked_call("thing", Thing, steps=value)
    except InputError:
        return
    assert type(thing.steps) is int
    assert 1 <= thing.steps <= 9
