from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.evaluation.limits.conditions import draw_pictures, sample_pictures
from puzzleflow.generation.survey import read_kinds
from puzzleflow.samples import list_samples

MakeFolder = Callable[..., Path]


def table(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_subfolders_are_kinds(make_folder: MakeFolder, tmp_path: Path) -> None:
    drawn = draw_pictures(make_folder(prints=3, coins=2), tmp_path / "s", None, count=5, seed=0)
    assert list(drawn.kinds) == ["prints", "coins"]
    assert len(drawn.kinds["coins"]) == 2
    assert all(picture.sha256 for picture in drawn.pictures)


def test_so_many_in_all_and_so_many_of_each_kind(make_folder: MakeFolder, tmp_path: Path) -> None:
    folder = make_folder(prints=40, coins=2)
    drawn = draw_pictures(folder, tmp_path / "s", None, count=3, seed=1)
    assert len(drawn.kinds["prints"]) == 3
    assert len(drawn.kinds["coins"]) == 2


def test_the_seed_draws(make_folder: MakeFolder, tmp_path: Path) -> None:
    folder = make_folder(prints=30)

    def names(seed: int) -> list[str]:
        drawn = draw_pictures(folder, tmp_path / "s", None, count=5, seed=seed)
        return [picture.picture for picture in drawn.pictures]

    assert names(0) == names(0)
    assert names(0) != names(1)


def test_kinds_of_a_table_by_path_or_by_name(make_folder: MakeFolder, tmp_path: Path) -> None:
    path = table(
        tmp_path / "kinds.csv",
        "file,kind,rights\ncoins-0.png,gold,CC0\ncoins/coins-1.png, silver ,CC0\nprints-0.png,,\n",
    )
    kinds = read_kinds(path)
    drawn = draw_pictures(make_folder(prints=1, coins=2), tmp_path / "s", kinds, count=9, seed=0)
    assert dict(drawn.kind_of) == {"coins/coins-0.png": "gold", "coins/coins-1.png": "silver"}
    assert len(drawn.pictures) == 3
    merged = read_kinds(path, ["metal=gold,silver"])
    assert set(merged.values()) == {"metal"}


def test_a_damaged_picture_is_left_out_and_counted(make_folder: MakeFolder, tmp_path: Path) -> None:
    folder = make_folder(prints=3)
    (folder / "prints" / "broken.png").write_bytes(b"no picture")
    drawn = draw_pictures(folder, tmp_path / "s", None, count=9, seed=0)
    assert (len(drawn.pictures), drawn.num_unread) == (3, 1)


@pytest.mark.parametrize(
    ("text", "merged", "error", "message"),
    [
        ("name,sort\na,b\n", [], FormatError, "expected the columns file and kind"),
        ("", [], FormatError, "expected the columns file and kind"),
        ("file,kind\na.png,coin\n", ["metal=lead"], InputError, "no kind lead to merge"),
        ("file,kind\na.png,coin\n", ["metal"], InputError, "expected NEW=OLD,OLD"),
        ("file,kind\na.png,coin\n", ["=coin"], InputError, "expected NEW=OLD,OLD"),
    ],
)
def test_tables_that_cannot_be_used(
    tmp_path: Path, text: str, merged: list[str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        read_kinds(table(tmp_path / "kinds.csv", text), merged)


def test_no_table_and_no_pictures(make_folder: MakeFolder, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        read_kinds(tmp_path / "none.csv")
    (tmp_path / "binary.csv").write_bytes(b"file,kind\n\xff\xfe,\x80")
    with pytest.raises(FormatError, match=r"binary\.csv: expected a CSV table"):
        read_kinds(tmp_path / "binary.csv")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no pictures in it"):
        draw_pictures(tmp_path / "empty", tmp_path / "s", None, count=1, seed=0)
    with pytest.raises(InputError, match="none of its 2 pictures has a kind"):
        draw_pictures(make_folder(prints=2), tmp_path / "s", {"x.png": "y"}, count=1, seed=0)


def test_the_samples_are_all_there(tmp_path: Path) -> None:
    samples = sample_pictures(tmp_path / "samples")
    assert len(samples.pictures) == len(list_samples())
    assert not any(picture.problem for picture in samples.pictures)
    again = sample_pictures(tmp_path / "samples")
    assert again.pictures == samples.pictures
