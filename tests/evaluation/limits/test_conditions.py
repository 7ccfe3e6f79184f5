from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from puzzleflow.core.errors import InputError, UnknownName
from puzzleflow.core.grid import Grid
from puzzleflow.evaluation.limits.conditions import (
    SECTIONS,
    Condition,
    PictureSet,
    Plan,
    conditions,
    draw_pictures,
    sample_pictures,
)
from puzzleflow.evaluation.limits.measure import kept_share
from puzzleflow.formats.open import open_puzzles

MakeFolder = Callable[..., Path]
SMALL = Plan(
    num_puzzles=2,
    base_grids=(Grid(2, 2), Grid(2, 3)),
    grids=(Grid(2, 2), Grid(3, 3)),
    erosion="linear",
    piece_px=32,
)


@pytest.fixture
def pictures(make_folder: MakeFolder, tmp_path: Path) -> PictureSet:
    folder = make_folder(prints=3, coins=2)
    return draw_pictures(folder, tmp_path / "survey", None, count=2, seed=0)


@pytest.fixture
def found(pictures: PictureSet, tmp_path: Path) -> list[Condition]:
    return conditions(SMALL, pictures, sample_pictures(tmp_path / "samples"))


def test_every_section_has_its_conditions(found: list[Condition]) -> None:
    assert list(dict.fromkeys(c.section for c in found)) == list(SECTIONS)
    assert [c.label for c in found if c.section == "grid"] == ["2x2", "3x3"]
    kinds = {c.label: len(c.pictures) for c in found if c.section == "kind"}
    assert kinds == {"prints": 2, "coins": 2}
    assert {c.series for c in found if c.section == "gap"} == {"linear", "straight"}


def test_conditions_of_one_name_are_the_same_puzzles(found: list[Condition]) -> None:
    named = {c.section: c.request.name for c in found if c.label in ("2x2", "as made")}
    assert named == dict.fromkeys(("calibration", "grid", "gap"), "2x2-linear")
    for name in {c.request.name for c in found}:
        assert len({(c.request, c.pictures) for c in found if c.request.name == name}) == 1


def test_the_sweep_over_gaps_keeps_less_and_less(found: list[Condition], tmp_path: Path) -> None:
    for series in ("linear", "straight"):
        sweep = [c for c in found if c.series == series]
        kept = [kept_share(c.open(tmp_path / c.request.name)).value for c in sweep]
        assert len(kept) > 5
        assert kept == sorted(kept, reverse=True)
        assert kept[0] - kept[-1] > 35
        assert kept[-1] > 5


def test_a_sweep_changes_the_gap_and_nothing_else(found: list[Condition], tmp_path: Path) -> None:
    gap = [c for c in found if c.series == "linear"]
    narrow, wide = (c.open(tmp_path / c.request.name).read(0) for c in (gap[0], gap[-1]))
    assert narrow.truth is not None
    assert np.array_equal(narrow.truth, wide.truth)
    assert not (wide.masks & ~narrow.masks).any()
    assert np.array_equal(narrow.pieces[wide.masks], wide.pieces[wide.masks])


def test_conditions_are_recipes_that_any_command_opens(
    found: list[Condition], tmp_path: Path
) -> None:
    found[0].open(tmp_path / "recipe")
    with open_puzzles(tmp_path / "recipe") as source:
        assert len(source) == 2
        assert source.read(1).grid == Grid(2, 2)
    assert found[0].content_px == 24, "pictures of 48 x 64 px, two rows"


def test_larger_grids_have_fewer_puzzles() -> None:
    plan = Plan(num_puzzles=120)
    counts = [plan.count(Grid(n, n)) for n in (2, 3, 5, 6, 8, 10)]
    assert counts == [120, 120, 120, 30, 20, 20]
    assert Plan(num_puzzles=5).count(Grid(10, 10)) == 5


def test_what_cannot_be_done_is_an_error_or_left_out(
    make_folder: MakeFolder, tmp_path: Path
) -> None:
    folder = make_folder(prints=2) / "prints"
    flat = draw_pictures(folder, tmp_path / "survey", None, count=2, seed=0)
    none, samples = PictureSet(tmp_path, (), {}), sample_pictures(tmp_path / "samples")
    asked, anything = Plan(sections=("kind", "grid")), Plan()
    with pytest.raises(InputError, match="section 'kind' needs kinds"):
        conditions(asked, flat, samples)
    with pytest.raises(InputError, match="section 'kind' needs a folder of pictures"):
        conditions(asked, none, samples)
    possible = dict.fromkeys(c.section for c in conditions(anything, flat, samples))
    assert list(possible) == ["calibration", "gap", "grid", "samples"]
    assert {c.section for c in conditions(anything, none, samples)} == {"samples"}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"sections": ("mood",)}, UnknownName, "unknown section 'mood'"),
        ({"sections": ()}, InputError, "no section given"),
        ({"num_puzzles": 0}, InputError, "0 puzzles"),
        ({"grids": ()}, InputError, "no grid given"),
        ({"erosion": "rust"}, InputError, "rust"),
    ],
)
def test_plans_that_make_no_sense(
    options: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Plan(**options)  # type: ignore[arg-type]
