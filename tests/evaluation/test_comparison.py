from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.evaluation.results import Record, Results, compare, compare_all, is_clear, mcnemar_p
from puzzleflow.evaluation.tables import Report, accuracy_table


def results(solver: str, perfect: list[float]) -> Results:
    share = np.array(perfect)
    records = tuple(Record(index, "", (0,), 0.1) for index in range(len(perfect)))
    classes = np.where(share == 1, 0, 4)
    return Results(solver, records, {"PA": share, "AA": share, "SRA": share}, classes)


def test_hand_worked() -> None:
    comparison = compare(results("a", [1, 1, 1, 0]), results("b", [0, 0, 1, 1]))
    assert (comparison.only_first, comparison.only_second) == (2, 1)
    assert comparison.differences["PA"].value == 25.0
    assert comparison.mcnemar_p == 1.0
    assert not is_clear(comparison.differences["PA"])


def test_the_pairing_is_used() -> None:
    """A constant lead of one puzzle in ten is clear although both vary wildly."""
    rng = np.random.default_rng(0)
    second = rng.integers(0, 2, 400).astype(float)
    first = np.where(np.arange(400) % 10 == 0, 1.0, second)
    difference = compare(results("a", first.tolist()), results("b", second.tolist())).differences
    assert is_clear(difference["AA"])
    assert difference["AA"].low > 0


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_a_fair_coin_for_each_puzzle_on_which_they_differ(
    only_first: int, only_second: int
) -> None:
    discordant = only_first + only_second
    tail = sum(comb(discordant, k) for k in range(min(only_first, only_second) + 1))
    expected = min(1.0, float(2 * tail / 2**discordant))
    assert mcnemar_p(only_first, only_second) == pytest.approx(expected)
    assert mcnemar_p(only_first, only_second) == mcnemar_p(only_second, only_first)


def test_mcnemar_of_many_puzzles() -> None:
    assert mcnemar_p(3000, 2000) < 1e-40
    assert mcnemar_p(5, 0) == pytest.approx(2 / 32)


def test_every_pair_once() -> None:
    pairs = compare_all([results(name, [1, 0]) for name in "abc"])
    assert [(p.first, p.second) for p in pairs] == [("a", "b"), ("a", "c"), ("b", "c")]


def test_other_puzzles_are_refused() -> None:
    with pytest.raises(ValueError, match="same puzzles"):
        compare(results("a", [1, 0]), results("b", [1]))


def test_many_solvers_are_compared_with_the_reference_alone() -> None:
    many = [results(name, [1, 0]) for name in "abcde"]
    pairs = compare_all(many, reference="d")
    assert [(p.first, p.second) for p in pairs] == [(n, "d") for n in "abce"]
    assert len(compare_all(many, reference="x")) == 10
    assert len(compare_all(many[:4], reference="d")) == 6


def test_published_figures_stand_beside_ours() -> None:
    ours = [results("flow:steps=5", [1, 0]), results("relational", [1, 1])]
    head, flow, relational = accuracy_table(Report({}, ours, [], 0, "GAP-3"))
    assert head[-1] == "published, other data (PA / AA / SRA)"
    assert flow[-1] == "28.5 / 62.9 / 55.7"
    assert relational[-1] == "–"
    assert len(accuracy_table(Report({}, ours[1:], [], 0, "GAP-3"))[0]) == len(head) - 1
