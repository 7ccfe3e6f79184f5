"""Data sets of the open world: recipes, GAP files, cards, and going on after a kill."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from puzzleflow.core.conditions import Conditions
from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.files import read_json, write_json
from puzzleflow.formats.audit import inspect_path
from puzzleflow.formats.open import open_puzzles
from puzzleflow.generation import dataset
from puzzleflow.generation.builder import cut_puzzle, opened
from puzzleflow.generation.dataset import generate_set, materialise_set, recipe_folders
from puzzleflow.generation.plan import Request
from puzzleflow.generation.recipe_file import read_recipe
from puzzleflow.pictures import read_picture

MakePictures = Callable[..., Path]
ALL = Conditions(missing=2, foreign=1, turned=True, hidden=True)
SMALL = Request(grid=Grid(2, 3), piece_px=16, erosion="linear", name="open", splits="0/0/100")


@pytest.fixture
def pictures(make_pictures: MakePictures) -> Path:
    return make_pictures(3)


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize(
    "conditions",
    [Conditions(missing=2), Conditions(foreign=2), Conditions(turned=True), ALL],
    ids=str,
)
def test_gap_files_and_recipes_hold_the_same_puzzles(
    pictures: Path, tmp_path: Path, conditions: Conditions
) -> None:
    generate_set(pictures, tmp_path / "set", replace(SMALL, conditions=conditions))
    gap = open_puzzles(tmp_path / "set", split="test")
    recipe = open_puzzles(tmp_path / "set" / "recipe", split="test")
    assert gap.conditions == recipe.conditions == conditions
    assert gap.grid == Grid(2, 3)
    assert len(gap) == len(recipe) == 3
    for stored, made in zip(gap, recipe, strict=True):
        assert stored.conditions == conditions
        assert stored.num_pieces == conditions.num_pieces(Grid(2, 3))
        assert np.array_equal(stored.pieces, made.pieces)
        assert np.array_equal(stored.truth, made.truth)
        assert np.count_nonzero(stored.truth < 0) == conditions.foreign
        assert (stored.true_turns is not None) == conditions.turned
        if conditions.turned:
            assert np.array_equal(stored.true_turns, made.true_turns)
        assert (stored.without_truth().known_grid is None) == conditions.hidden
    assert np.array_equal(gap.truths(), recipe.truths())
    if conditions.turned:
        assert np.array_equal(gap.turns(), recipe.turns())
    assert inspect_path(tmp_path / "set")["faults"] == []
    assert str(conditions) in (tmp_path / "set" / "README.md").read_text()


def test_a_recipe_says_what_opened_does(pictures: Path, tmp_path: Path) -> None:
    generate_set(pictures, tmp_path / "set", replace(SMALL, conditions=ALL, recipe_only=True))
    source = open_puzzles(tmp_path / "set", split="test")
    for row, puzzle in zip(read_recipe(tmp_path / "set" / "test").rows, source, strict=True):
        assert row.stranger is not None
        assert row.stranger.picture != row.picture

        def whole(picture: str, seed: int) -> Puzzle:
            pixels = read_picture(pictures / picture)
            return cut_puzzle(pixels, SMALL.grid, "linear", seed, piece_px=16)

        stranger = whole(row.stranger.picture, row.stranger.seed)
        expected = opened(whole(row.picture, row.seed), ALL, row.seed, [stranger])
        assert np.array_equal(puzzle.pieces, expected.pieces)
        assert np.array_equal(puzzle.truth, expected.truth)
        assert np.array_equal(puzzle.true_turns, expected.true_turns)


def test_closed_sets_know_nothing_of_conditions(pictures: Path, tmp_path: Path) -> None:
    generate_set(pictures, tmp_path / "set", SMALL)
    test = tmp_path / "set" / "test"
    assert "conditions" not in read_json(test / "metadata.json")
    assert "conditions" not in read_json(tmp_path / "set" / "recipe" / "test" / "recipe.json")
    assert "conditions" not in read_json(tmp_path / "set" / "statistics.json")["request"]
    assert not (test / "labels_turns.h5").exists()
    head = (tmp_path / "set" / "recipe" / "test" / "puzzles.csv").read_text().splitlines()[0]
    assert head == "picture,sha256,seed,position_of,crc32"


def test_materialised_recipes_are_the_same_files(pictures: Path, tmp_path: Path) -> None:
    request = replace(SMALL, conditions=ALL)
    generate_set(pictures, tmp_path / "set", request)
    materialise_set(recipe_folders(tmp_path / "set"), tmp_path / "again")
    for name in ("puzzles.h5", "labels_indices.h5", "labels_turns.h5", "labels_coordinates.h5"):
        one, other = (tmp_path / folder / "test" / name for folder in ("set", "again"))
        assert one.read_bytes() == other.read_bytes(), name


def test_a_killed_run_goes_on(
    pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = replace(SMALL, conditions=ALL, splits="100/0/0", per_picture=5)
    generate_set(pictures, tmp_path / "whole", request)
    write, killed = dataset.write_gap_files, []

    def dies(*args: object, **options: object) -> None:
        killed.append(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(dataset, "write_gap_files", dies)
    with pytest.raises(KeyboardInterrupt):
        generate_set(pictures, tmp_path / "cut", request)
    monkeypatch.setattr(dataset, "write_gap_files", write)
    generate_set(pictures, tmp_path / "cut", request)
    assert killed
    whole, cut = files(tmp_path / "whole"), files(tmp_path / "cut")
    assert whole == cut


def test_labels_of_foreign_pieces_leave_the_grid(pictures: Path, tmp_path: Path) -> None:
    generate_set(pictures, tmp_path / "set", replace(SMALL, conditions=ALL))
    test = tmp_path / "set" / "test"
    with (
        h5py.File(test / "labels_indices.h5") as one,
        h5py.File(test / "labels_coordinates.h5") as other,
    ):
        indices, cells = one["labels"][()], other["labels"][()]
    foreign = indices == -1
    assert (cells[foreign] == -1).all()
    assert np.array_equal(cells[~foreign] @ [3, 1], indices[~foreign])


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"missing": 1}, "do not fill"),
        ({"missing": "2"}, "missing: expected"),
        ({"strange": 1}, "unknown"),
        (None, "conditions|Conditions"),
    ],
)
def test_conditions_that_make_no_sense(
    pictures: Path, tmp_path: Path, change: dict[str, object] | None, match: str
) -> None:
    generate_set(pictures, tmp_path / "set", replace(SMALL, conditions=Conditions(missing=2)))
    path = tmp_path / "set" / "test" / "metadata.json"
    content = read_json(path)
    content["conditions"] = [] if change is None else content["conditions"] | change
    write_json(path, content)
    with pytest.raises(InputError, match=match):
        open_puzzles(tmp_path / "set", split="test")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (3, "0 1 2 3 4"),
        (3, "0 1 2 3 7"),
        (3, "0 1 2 -1 -1"),
        (5, "0 1 2 3 4"),
        (5, ""),
        (6, "../outside.png"),
        (8, "x"),
        (9, "6"),
        (9, "-1"),
        (9, "0 1"),
    ],
)
def test_damaged_open_recipes(pictures: Path, tmp_path: Path, column: int, value: str) -> None:
    generate_set(pictures, tmp_path / "set", replace(SMALL, conditions=ALL, recipe_only=True))
    path = tmp_path / "set" / "test" / "puzzles.csv"
    head, first, *rest = path.read_text().splitlines()
    fields = first.split(",")
    fields[column] = value
    path.write_text("\n".join([head, ",".join(fields), *rest]) + "\n")
    with pytest.raises(FormatError, match="puzzle 0"):
        read_recipe(tmp_path / "set" / "test")


def test_what_cannot_be_asked_for(
    pictures: Path, tmp_path: Path, make_pictures: MakePictures
) -> None:
    for conditions in (Conditions(missing=6), Conditions(foreign=7)):
        with pytest.raises(InputError):
            replace(SMALL, conditions=conditions)
    request = replace(SMALL, conditions=Conditions(foreign=1), splits="34/33/33")
    with pytest.raises(InputError, match="another picture"):
        generate_set(pictures, tmp_path / "set", request)
