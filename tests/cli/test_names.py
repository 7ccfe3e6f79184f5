"""File names as they come: not UTF-8, with line ends in them, on terminals that know only ASCII."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import run

from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.files import format_table, read_table, write_text
from puzzleflow.formats.audit import inspect_path
from puzzleflow.formats.open import open_puzzles
from puzzleflow.pictures import list_pictures, write_picture
from puzzleflow.storage.layout import read_layout
from puzzleflow.training.banks import split_pictures

CUT = ("--grid", "2x2", "--piece-px", 16, "--erosion", "none", "--splits", "0/0/100")
NOT_UTF8 = os.fsdecode(b"caf\xe9")


def pictures(folder: Path, *names: str) -> Path:
    rng = np.random.default_rng(0)
    for name in names:
        write_picture(folder / "a.png", rng.integers(0, 256, (40, 40, 3)).astype(np.uint8))
        (folder / "a.png").rename(folder / name)
    return folder


def test_line_ends_in_names(tmp_path: Path) -> None:
    names = ["a\nb.png", "a\rb.png", "a\u2028b.png", 'a"b,\r\n.png', "a\x85b.png"]
    folder = pictures(tmp_path / "pictures", *names)
    run("generate", "--images", folder, "--out", tmp_path / "set", *CUT, "--recipe", "--workers", 1)
    source = open_puzzles(tmp_path / "set" / "test")
    assert sorted(puzzle.puzzle_id for puzzle in source) == sorted(names)


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    folder = pictures(tmp_path / NOT_UTF8, f"{NOT_UTF8}.png", "b.png", "c.png", "d.png")
    with pytest.raises(InputError, match=r"'caf\\udce9\.png': this file name is not UTF-8"):
        run("generate", "--images", folder, "--out", tmp_path / "set", *CUT)
    with pytest.raises(InputError, match="not UTF-8"):
        list_pictures(folder)
    assert inspect_path(folder)["faults"] == []
    for _ in range(2):  # the second one reads what the first one wrote
        run("solve", folder, "--solver", "random", "--out", tmp_path / "out")
    layout = read_layout(next((tmp_path / "out").glob("*.layout.json")))
    assert f"{NOT_UTF8}.png" in layout.names
    assert layout.puzzle_id == "caf\ufffd"


def test_paths_and_samples_on_an_ascii_terminal(tmp_path: Path) -> None:
    code = "from puzzleflow.cli.main import main; main()"
    pictures(tmp_path / NOT_UTF8, *(f"{index}.png" for index in range(4)))
    for words in (["demo", "--sample", "list"], ["inspect", str(tmp_path / NOT_UTF8)]):
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            env=os.environ | {"PYTHONIOENCODING": "ascii"},
            capture_output=True,
            check=False,
        )
        assert b"Traceback" not in done.stderr
        assert done.stdout + done.stderr
        (done.stdout + done.stderr).decode("ascii")


def test_tables_take_fields_of_any_kind_and_length(tmp_path: Path) -> None:
    rows = [["a", "b"], ["x\ry\nz", 'quo"te,'], ["0 " * 200_000, ""]]
    write_text(tmp_path / "t.csv", format_table(rows))
    assert read_table(tmp_path / "t.csv") == rows
    (tmp_path / "t.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(FormatError, match=r"t\.csv: expected a CSV table"):
        read_table(tmp_path / "t.csv")


def test_a_changed_seed_is_noticed(tmp_path: Path) -> None:
    folder = pictures(tmp_path / "pictures", "a.png")
    cut = (*CUT[:5], "linear", *CUT[6:], "--per-picture", 2)
    run("generate", "--images", folder, "--out", tmp_path / "set", *cut, "--recipe", "--workers", 1)
    test = tmp_path / "set" / "test"
    run("solve", test, "--solver", "random", "--out", tmp_path / "before")
    rows = read_table(test / "puzzles.csv")
    rows[2][2] = str(int(rows[2][2]) + 1)
    (test / "puzzles.csv").write_text(format_table(rows))
    open_puzzles(test)[0]
    with pytest.raises(FormatError, match=r"puzzles\.csv: puzzle 1 \(a\.png\) comes out otherwise"):
        open_puzzles(test)[1]
    with pytest.raises(FormatError, match="comes out otherwise"):
        run("solve", test, "--solver", "random", "--out", tmp_path / "out")


def test_a_foreign_table_beside_the_pictures(tmp_path: Path) -> None:
    folder = pictures(tmp_path / "pictures", *(f"{index}.png" for index in range(9)))
    before = split_pictures(folder, "train")
    (folder / "images.csv").write_text("path,title\n0.png,Nought\n")
    assert split_pictures(folder, "train") == before
