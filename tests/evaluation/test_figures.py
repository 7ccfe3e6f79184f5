from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from puzzleflow.core.canvas import PAGE, RIGHT, WRONG
from puzzleflow.core.fragments import Fragment, FragmentSet
from puzzleflow.core.grid import Grid
from puzzleflow.core.pose import Pose
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.rng import child_rng
from puzzleflow.evaluation.figures import (
    MAX_SIDE_PX,
    MIN_SIDE_PX,
    caption,
    case_sheet,
    contact_sheet,
    fragment_figure,
    pick_cases,
    puzzle_figure,
)
from puzzleflow.evaluation.results import Record, Results
from puzzleflow.evaluation.runner import Bench
from puzzleflow.evaluation.spec import parse_solvers


def puzzle_of(seed=0, grid=Grid(2, 3), px=32):  # noqa: B008
    rng = child_rng(seed, "figures")
    pieces = np.full((grid.num_pieces, px, px, 4), 255, np.uint8)
    pieces[..., :3] = rng.integers(0, 256, (grid.num_pieces, 1, 1, 3))
    return Puzzle(pieces, grid, rng.permutation(grid.num_pieces), puzzle_id=f"puzzle {seed}")


def count(picture, colour):
    return int((picture == colour).all(axis=-1).sum())


def test_a_figure_marks_right_and_wrong_pieces():
    puzzle = puzzle_of()
    solved = puzzle_figure(puzzle, puzzle.truth)
    assert count(solved, RIGHT) > 0
    assert count(solved, WRONG) == 0
    wrong = puzzle_figure(puzzle, puzzle.truth[::-1])
    assert count(wrong, WRONG) > 0


def test_a_figure_has_as_many_panels_as_are_known():
    puzzle = puzzle_of()
    three = puzzle_figure(puzzle, puzzle.truth, captions=False)
    two = puzzle_figure(puzzle, captions=False)
    one = puzzle_figure(puzzle.without_truth(), captions=False)
    assert three.shape[0] == two.shape[0] == one.shape[0]
    assert three.shape[1] - two.shape[1] == two.shape[1] - one.shape[1] > 0


def test_small_puzzles_are_enlarged_to_be_seen():
    figure = puzzle_figure(puzzle_of(px=2).without_truth(), captions=False)
    assert max(figure.shape[:2]) >= MIN_SIDE_PX


def test_captions_add_ink_below_and_nothing_above():
    puzzle = puzzle_of()
    plain, captioned = (puzzle_figure(puzzle, captions=flag) for flag in (False, True))
    assert captioned.shape[0] > plain.shape[0]
    assert captioned.shape[1] == plain.shape[1]
    below = captioned[plain.shape[0] - 16 :]
    assert count(below, PAGE) < below.shape[0] * below.shape[1]


@pytest.mark.parametrize("text", ["", "short", "a very long caption " * 9])
def test_a_caption_never_widens_the_picture(text):
    picture = np.zeros((20, 60, 3), np.uint8)
    captioned = caption(picture, text)
    assert captioned.shape[1] == 60
    assert np.array_equal(captioned[:20], picture)


def test_a_sheet_holds_every_puzzle_once():
    puzzles = [puzzle_of(seed) for seed in range(5)]
    sheet = contact_sheet(iter(puzzles), columns=3, tile_px=48, captions=False)
    height = round(48 * 68 / 100)  # 64x96 and a rim of two pixels
    assert sheet.shape == (2 * height + 3 * 16, 3 * 48 + 4 * 16, 3)
    assert count(sheet, RIGHT) == count(sheet, WRONG) == 0


def test_a_sheet_marks_layouts_where_it_has_them():
    puzzles = [puzzle_of(seed, px=64) for seed in range(2)]
    marked = contact_sheet(puzzles, [puzzles[0].truth, None], tile_px=196, captions=False)
    assert count(marked[:, : marked.shape[1] // 2], RIGHT) > 0
    assert count(marked[:, marked.shape[1] // 2 :], RIGHT) == 0


def test_figures_are_the_same_every_time():
    puzzle = puzzle_of()
    assert np.array_equal(
        puzzle_figure(puzzle, puzzle.truth[::-1]), puzzle_figure(puzzle, puzzle.truth[::-1])
    )


def fragments_of(num_pieces=3, known=True):
    """Opaque squares in a row, one pixel apart."""
    pieces = tuple(np.full((8, 8, 4), 40 * (i + 1), np.uint8) for i in range(num_pieces))
    for piece in pieces:
        piece[..., 3] = 255
    poses = [Pose(4 + 9 * i, 4) for i in range(num_pieces)]
    fragments = tuple(Fragment(piece, f"{i}.png") for i, piece in enumerate(pieces))
    return FragmentSet(fragments, (*poses[:-1], poses[-1] if known else None))


def test_free_fragments_are_shown_loose_and_assembled():
    figure = fragment_figure(fragments_of(), captions=False)
    for i in range(3):  # every fragment once beside the others and once in place
        colour = (40 * (i + 1),) * 3
        assert count(figure, colour) > 64
    left_out = fragment_figure(fragments_of(known=False), captions=False)
    assert count(left_out, (120,) * 3) < count(figure, (120,) * 3)


def test_large_assemblies_are_reduced():
    tall = Fragment(np.full((2000, 10, 4), 255, np.uint8), "a")
    fragments = FragmentSet((tall,), (Pose(5, 1000),), name="tall")
    assert max(fragment_figure(fragments, captions=False).shape) < 1.1 * MAX_SIDE_PX


def test_a_sheet_takes_free_fragments_too():
    sheet = contact_sheet([fragments_of(), puzzle_of()], columns=2, tile_px=64)
    assert sheet.shape[1] == 2 * 64 + 3 * 16


def results(quality: list[float | None]) -> Results:
    records = tuple(
        Record(index, "", None if value is None else (0,), 0.1)
        for index, value in enumerate(quality)
    )
    share = np.array([value or 0.0 for value in quality])
    shares = {"PA": share, "AA": share, "SRA": share}
    return Results("any", records, shares, np.zeros(len(quality), dtype=np.int64))


def places(cases: dict[str, Any]) -> dict[str, set[int]]:
    return {kind: {case.place for case in chosen} for kind, chosen in cases.items()}


def test_best_typical_and_worst() -> None:
    quality: list[float | None] = [0.5, 0.0, 1.0, 0.1, 0.9, 0.6, None, 0.4, 0.45]
    chosen = places(pick_cases(results(quality), num_cases=2))
    assert chosen == {"best": {2, 4}, "typical": {0, 8}, "worst": {1, 3}}


@pytest.mark.parametrize("size", range(1, 12))
def test_no_layout_is_on_two_sheets(size: int) -> None:
    chosen = places(pick_cases(results([1.0] * size), num_cases=4))
    shown = [place for kind in chosen.values() for place in kind]
    assert len(shown) == len(set(shown))
    assert shown


def test_nothing_to_show() -> None:
    assert pick_cases(results([None, None])) == {}


def test_a_sheet_has_three_panels_for_each_case(make_source: Any, tmp_path: Path) -> None:
    source = make_source(6)
    (found,) = Bench(source, parse_solvers("reading:wrong=1"), tmp_path).run()
    cases = pick_cases(found)
    page = case_sheet(source, found, cases["best"])
    assert page.dtype == np.uint8
    assert page.ndim == 3
    assert page.shape[1] > 2.5 * page.shape[0]  # two cases side by side, three panels each
    assert "AA 78" in cases["best"][0].caption
