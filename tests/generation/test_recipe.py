from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from puzzleflow.core.errors import FormatError, InputError, PuzzleFlowError
from puzzleflow.core.grid import Grid
from puzzleflow.formats.open import open_all, open_puzzles
from puzzleflow.generation.builder import cut_puzzle
from puzzleflow.generation.dataset import generate_set
from puzzleflow.generation.plan import Request
from puzzleflow.generation.recipe import Recipe, RecipeRow, pieces_crc
from puzzleflow.generation.recipe_file import RecipeSource, read_recipe, write_recipe
from puzzleflow.pictures import read_picture, write_picture

MakePictures = Callable[..., Path]
SMALL = Request(grid=Grid(2, 3), piece_px=16, erosion="linear", recipe_only=True, name="small")


@pytest.fixture
def recipe_set(make_pictures: MakePictures, tmp_path: Path) -> Path:
    out = tmp_path / "recipes"
    generate_set(make_pictures(8), out, SMALL)
    return out


def test_a_puzzle_of_a_recipe_is_what_its_seed_cuts(recipe_set: Path) -> None:
    source = RecipeSource(recipe_set / "train" / "recipe.json")
    row, puzzle = source.recipe.rows[0], source[0]
    picture = read_picture(recipe_set / "train" / source.recipe.pictures / row.picture)
    cut = cut_puzzle(picture, SMALL.grid, SMALL.erosion, row.seed, piece_px=SMALL.piece_px)
    assert np.array_equal(cut.pieces, puzzle.pieces)
    assert np.array_equal(cut.truth, puzzle.truth)


@settings(max_examples=30)
@given(
    rows=st.integers(1, 3),
    cols=st.integers(1, 3),
    pictures=st.lists(
        st.text(
            st.characters(codec="utf-8", exclude_characters="/\0\n\r\x85\u2028\u2029"), min_size=1
        ).filter(lambda name: name not in (".", "..") and name.isprintable()),
        max_size=4,
    ),
    seed=st.integers(0, 2**63 - 1),
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    rows: int,
    cols: int,
    pictures: list[str],
    seed: int,
) -> None:
    folder = tmp_path_factory.mktemp("recipe")
    rng = np.random.default_rng(seed)
    made = tuple(
        RecipeRow(
            picture, "ab" * 32, seed, tuple(rng.permutation(rows * cols).tolist()), "12345678"
        )
        for picture in pictures
    )
    recipe = Recipe(Grid(rows, cols), 32, "fixed:4", "0badcafe", seed, "../pictures", made, "name")
    write_recipe(folder, recipe)
    assert read_recipe(folder) == recipe


def test_the_source_behaves_like_any_other(recipe_set: Path) -> None:
    sources = open_all(recipe_set)
    assert {name: len(source) for name, source in sources.items()} == {
        "train": 6,
        "val": 1,
        "test": 1,
    }
    source = open_puzzles(recipe_set, split="train")
    assert isinstance(source, RecipeSource)
    assert (source.kind, source.grid, source.has_truth) == ("recipe", Grid(2, 3), True)
    truths = source.truths()
    puzzles = list(source)
    assert truths is not None
    for index, puzzle in enumerate(puzzles):
        assert np.array_equal(puzzle.truth, truths[index])
        assert pieces_crc(puzzle.pieces) == source.recipe.rows[index].crc32
        assert np.all(puzzle.pieces[..., :3][~puzzle.masks] == 0)
    copy = pickle.loads(pickle.dumps(source))
    assert np.array_equal(copy[-1].pieces, puzzles[-1].pieces)
    with pytest.raises(IndexError):
        source[6]
    assert all(path.is_file() for path in source.files())
    assert source.describe()["erosion"] == "linear"


def test_one_recipe_file_is_enough(recipe_set: Path) -> None:
    assert len(open_puzzles(recipe_set / "val" / "recipe.json")) == 1


def test_pictures_that_moved_are_said(recipe_set: Path, tmp_path: Path) -> None:
    before = RecipeSource(recipe_set / "train")[0]
    (tmp_path / "pictures").rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="pictures are not at"):
        RecipeSource(recipe_set / "train")[0]
    moved = RecipeSource(recipe_set / "train", images=tmp_path / "elsewhere")
    assert np.array_equal(moved[0].pieces, before.pieces)


def test_both_folders_may_move_together(recipe_set: Path, tmp_path: Path) -> None:
    before = RecipeSource(recipe_set / "train")[0]
    new = tmp_path / "deep" / "place"
    new.mkdir(parents=True)
    for name in ("pictures", "recipes"):
        (tmp_path / name).rename(new / name)
    assert np.array_equal(RecipeSource(new / "recipes" / "train")[0].pieces, before.pieces)


def test_another_picture_under_the_same_name_is_refused(
    recipe_set: Path, tmp_path: Path, smooth_picture: Callable[..., np.ndarray]
) -> None:
    source = RecipeSource(recipe_set / "train")
    name = source.recipe.rows[0].picture
    write_picture(tmp_path / "pictures" / name, smooth_picture(999))
    with pytest.raises(FormatError, match=f"{name}: not the picture"):
        source[0]
    (tmp_path / "pictures" / name).unlink()
    with pytest.raises(InputError, match=f"{name}: No such file"):
        source[0]


def test_another_generator_of_the_same_name_is_refused(recipe_set: Path) -> None:
    path = recipe_set / "train" / "recipe.json"
    head = json.loads(path.read_text())
    path.write_text(json.dumps(head | {"erosion_fingerprint": "00000000"}))
    with pytest.raises(InputError, match="draws other masks here"):
        RecipeSource(recipe_set / "train")[0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "cake"}, "expected a puzzleflow-recipe"),
        ({"version": 99}, "version 99"),
        ({"num_puzzles": 5}, "6 puzzles, 5 expected"),
        ({"grid": "2x2"}, "puzzle 0"),
        ({"grid": 4}, "grid should be str"),
        ({"grid": "3by3"}, "recipe.json: grid: '3by3' is no grid"),
        ({"piece_px": 0}, "no sensible piece size"),
        ({"piece_px": True}, "piece_px should be int"),
        ({"seed": None}, "seed should be int"),
    ],
)
def test_damaged_heads(recipe_set: Path, changes: dict[str, object], message: str) -> None:
    path = recipe_set / "train" / "recipe.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(FormatError, match=message):
        open_puzzles(recipe_set / "train")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "a.png,00,1,0 1 2 3 4 4,00000000",
            "puzzle 6: seed or position_of: position 4 used by pieces",
        ),
        ("a.png,00,1,0 1 2 3 4,00000000", "puzzle 6: seed or position_of: expected 6 positions"),
        ("a.png,00,x,0 1 2 3 4 5,00000000", "puzzle 6: seed or position_of: invalid literal"),
        ("a.png,00,1", "puzzle 6: expected 5 fields"),
        (",00,1,0 1 2 3 4 5,00000000", "puzzle 6: picture: '' is no file name"),
        ("a\0.png,00,1,0 1 2 3 4 5,00000000", "puzzle 6: picture: 'a.x00.png' is no file name"),
        ('"' + "a" * 200_000, "puzzle 6: expected 5 fields"),
        ("../a.png,00,1,0 1 2 3 4 5,00000000", "outside the picture folder"),
        ("/etc/a.png,00,1,0 1 2 3 4 5,00000000", "outside the picture folder"),
    ],
)
def test_damaged_rows(recipe_set: Path, line: str, message: str) -> None:
    path = recipe_set / "train" / "puzzles.csv"
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(FormatError, match=message):
        open_puzzles(recipe_set / "train")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"erosion": "rust"}, "erosion or piece_px: unknown erosion 'rust'"),
        ({"erosion": "fixed:" + "9" * 5000}, "erosion or piece_px: erosion 'fixed': px=9999"),
        ({"erosion": "outlines:/nowhere"}, "erosion or piece_px: /nowhere: no such folder"),
        ({"piece_px": 1, "erosion": "fixed:2", "erosion_fingerprint": ""}, "leaves nothing of 1x1"),
        ({"pictures": "x" * 5000}, "its pictures are not at"),
        ({"pictures": "\0"}, "its pictures are not at"),
    ],
)
def test_fields_that_only_rendering_can_judge(
    recipe_set: Path, changes: dict[str, object], message: str
) -> None:
    path = recipe_set / "train" / "recipe.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(InputError, match=message) as caught:
        open_puzzles(recipe_set / "train")[0]
    assert str(path.parent) in str(caught.value)


def test_missing_or_foreign_table(recipe_set: Path) -> None:
    path = recipe_set / "train" / "puzzles.csv"
    path.write_text("name,size\n")
    with pytest.raises(FormatError, match="expected the columns"):
        read_recipe(path.parent)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FormatError, match=r"puzzles\.csv: expected a CSV table"):
        read_recipe(path.parent)
    path.unlink()
    with pytest.raises(InputError, match=r"cannot read .*puzzles\.csv"):
        read_recipe(path.parent)


@settings(max_examples=60)
@given(data=st.data())
def test_damaged_bytes_raise_our_errors_only(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    row = RecipeRow("a.png", "00" * 32, 7, (1, 0, 3, 2), "00000000")
    write_recipe(folder, Recipe(Grid(2, 2), 8, "none", "", 7, ".", (row,)))
    path = folder / data.draw(st.sampled_from(["recipe.json", "puzzles.csv"]))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(content[: data.draw(st.integers(0, len(content)))]))
    try:
        recipe = read_recipe(folder)
    except PuzzleFlowError:
        return
    assert len(recipe.rows) == 1
