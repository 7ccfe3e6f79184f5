from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from puzzleflow.core.errors import InputError, UnknownName
from puzzleflow.core.grid import Grid
from puzzleflow.evaluation.limits.cases import kept_share
from puzzleflow.evaluation.limits.pictures import PictureSet, draw_pictures, sample_pictures
from puzzleflow.evaluation.limits.plan import SECTIONS, Plan, points
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


def test_every_section_has_its_points(pictures: PictureSet, tmp_path: Path) -> None:
    found = points(SMALL, pictures, sample_pictures(tmp_path / "samples"))
    assert list(dict.fromkeys(point.section for point in found)) == list(SECTIONS)
    labels = [point.label for point in found if point.section == "grid"]
    assert labels == ["2x2", "3x3"]
    kinds = {p.label: len(p.case.pictures) for p in found if p.section == "kind"}
    assert kinds == {"prints": 2, "coins": 2}
    series = {point.series for point in found if point.section == "gap"}
    assert series == {"linear", "straight"}


def test_sections_share_their_cases(pictures: PictureSet) -> None:
    found = points(SMALL, pictures, None)
    base = {id(point.case.pictures): point.case.name for point in found if point.label == "2x2"}
    assert set(base.values()) == {"2x2-linear"}
    for name in {point.case.name for point in found}:
        same = [point.case for point in found if point.case.name == name]
        assert len({(case.grid, case.erosion, case.pictures) for case in same}) == 1


def test_the_sweep_over_gaps_keeps_less_and_less(pictures: PictureSet, tmp_path: Path) -> None:
    for series in ("linear", "straight"):
        cases = [point.case for point in points(SMALL, pictures, None) if point.series == series]
        kept = [kept_share(case.open(tmp_path / case.name)).value for case in cases]
        assert len(kept) > 5
        assert kept == sorted(kept, reverse=True)
        assert kept[0] - kept[-1] > 35
        assert kept[-1] > 5


def test_a_sweep_changes_the_gap_and_nothing_else(pictures: PictureSet, tmp_path: Path) -> None:
    gap = [p.case for p in points(SMALL, pictures, None) if p.series == "linear"]
    narrow, wide = (case.open(tmp_path / case.name).read(0) for case in (gap[0], gap[-1]))
    assert narrow.truth is not None
    assert np.array_equal(narrow.truth, wide.truth)
    assert not (wide.masks & ~narrow.masks).any()
    assert np.array_equal(narrow.pieces[wide.masks], wide.pieces[wide.masks])


def test_cases_are_recipes_that_any_command_opens(pictures: PictureSet, tmp_path: Path) -> None:
    case = points(SMALL, pictures, None)[0].case
    case.open(tmp_path / "case")
    with open_puzzles(tmp_path / "case") as source:
        assert len(source) == 2
        assert source.read(1).grid == Grid(2, 2)
    assert case.content_px == 24, "pictures of 48 x 64 px, two rows"


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
    asked, optional = Plan(sections=("kind", "grid")), Plan(optional=True)
    with pytest.raises(InputError, match="section 'kind' needs kinds"):
        asked.possible(flat)
    with pytest.raises(InputError, match="section 'kind' needs a folder of pictures"):
        asked.possible(None)
    assert optional.possible(flat).sections == ("calibration", "gap", "grid", "samples")
    assert optional.possible(None).sections == ("samples",)


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
