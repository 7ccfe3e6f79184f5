"""Strangers by kind: chosen by a table or by folders, recorded, the same every time."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from puzzleflow.core.conditions import Conditions
from puzzleflow.core.errors import InputError, UnknownName
from puzzleflow.core.grid import Grid
from puzzleflow.files import read_json
from puzzleflow.generation.dataset import generate_set
from puzzleflow.generation.plan import Request
from puzzleflow.generation.recipe_file import read_recipe
from puzzleflow.generation.survey import kinds_of

NAMES = [f"{kind}/{number}.png" for kind in ("lamps", "prints") for number in range(3)]
SMALL = Request(
    grid=Grid(2, 2),
    piece_px=8,
    erosion="none",
    splits="0/0/100",
    per_picture=2,
    conditions=Conditions(foreign=1),
)


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    for seed, name in enumerate(NAMES):
        path = tmp_path / "pictures" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(seed).integers(0, 256, (4, 4, 3), dtype=np.uint8)
        Image.fromarray(pixels).resize((32, 32)).save(path)
    return tmp_path / "pictures"


def pairs(folder: Path) -> list[tuple[str, str]]:
    """Kinds of every puzzle's picture and of its stranger's."""
    rows = read_recipe(folder / "recipe" / "test").rows
    assert len(rows) == 12
    return [(row.picture.split("/")[0], row.stranger.picture.split("/")[0]) for row in rows]


@pytest.mark.parametrize("kind", ["same", "other"])
def test_strangers_are_of_the_kind_that_is_asked_for(
    pictures: Path, tmp_path: Path, kind: str
) -> None:
    request = replace(SMALL, foreign_kind=kind)
    statistics = generate_set(pictures, tmp_path / "a", request)
    assert {own == other for own, other in pairs(tmp_path / "a")} == {kind == "same"}
    assert read_json(tmp_path / "a" / "test" / "metadata.json")["foreign_kind"] == kind
    assert statistics["request"]["foreign_kind"] == kind
    generate_set(pictures, tmp_path / "b", request)
    one, two = (tmp_path / which / "test" / "puzzles.h5" for which in "ab")
    assert one.read_bytes() == two.read_bytes()


def test_any_kind_is_what_it_was(pictures: Path, tmp_path: Path) -> None:
    statistics = generate_set(pictures, tmp_path / "a", SMALL)
    assert len({own == other for own, other in pairs(tmp_path / "a")}) == 2
    assert "foreign_kind" not in statistics["request"]
    assert "foreign_kind" not in read_json(tmp_path / "a" / "test" / "metadata.json")


def test_a_table_goes_before_folders(pictures: Path, tmp_path: Path) -> None:
    assert set(kinds_of(pictures, NAMES).values()) == {"lamps", "prints"}
    (tmp_path / "images.csv").write_text(
        "file,kind\n" + "".join(f"{name},{'x' if '0' in name else 'y'}\n" for name in NAMES)
    )
    assert [kinds_of(pictures, NAMES)[name] for name in NAMES] == ["x", "y", "y"] * 2


def test_what_cannot_be_asked_for(pictures: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="kind of strangers"):
        replace(SMALL, foreign_kind="odd")
    only = replace(SMALL, foreign_kind="other")
    with pytest.raises(InputError, match="of unknown kind"):
        generate_set(pictures / "lamps", tmp_path / "a", only)
    (tmp_path / "images.csv").write_text("file,kind\n" + "".join(f"{n},all\n" for n in NAMES))
    with pytest.raises(InputError, match="another picture of other kind"):
        generate_set(pictures, tmp_path / "b", only)
