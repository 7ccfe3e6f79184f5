from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from puzzleflow.cli.main import main
from puzzleflow.formats.open import open_puzzles
from puzzleflow.pictures import write_picture


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    for index in range(7):
        pixels = rng.integers(0, 256, (40, 50, 3)).astype(np.uint8)
        write_picture(tmp_path / "pictures" / f"{index}.png", pixels)
    return tmp_path / "pictures"


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr("sys.argv", ["puzzleflow", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


def test_generate_then_materialise(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    pictures: Path,
    tmp_path: Path,
) -> None:
    (pictures / "torn.jpg").write_text("torn")
    options = ["--grid", "1x3", "--piece-px", 20, "--erosion", "fixed:4", "--workers", 1]
    recipe, made = tmp_path / "recipe", tmp_path / "made"
    given = ["--images", pictures, "--out", recipe, "--recipe", "--seed", 3]
    assert run(monkeypatch, "generate", *given, *options) == 0
    told = capsys.readouterr()
    assert "7 puzzles (5 train, 1 val, 1 test)" in told.out
    assert "left out torn.jpg" in told.err
    assert run(monkeypatch, "materialise", recipe, "--out", made, "--workers", 1) == 0
    for split in ("train", "val", "test"):
        rendered, stored = open_puzzles(recipe, split=split), open_puzzles(made, split=split)
        assert (rendered.kind, stored.kind) == ("recipe", "gap")
        for one, other in zip(rendered, stored, strict=True):
            assert one.pieces.shape == (3, 20, 20, 4)
            assert np.array_equal(one.pieces, other.pieces)
            assert np.array_equal(one.truth, other.truth)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--preset", "gap-4"], "unknown preset 'gap-4'"),
        (["--erosion", "acid"], "unknown erosion 'acid'"),
        (["--erosion", "none", "--splits", "half"], "TRAIN/VAL/TEST"),
        (["--erosion", "none", "--grid", "0x3"], "at least 1x1"),
        (["--erosion", "fixed:200"], "leaves nothing"),
        (["--erosion", "none", "--compression", "zstd"], "expected gzip or none"),
        (["--erosion", "none", "--workers", "0"], "workers"),
    ],
)
def test_bad_options_are_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    pictures: Path,
    tmp_path: Path,
    options: list[str],
    message: str,
) -> None:
    given = ["--images", pictures, "--out", tmp_path / "out", *options]
    assert run(monkeypatch, "generate", *given) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert message in told


def test_strict_materialise_refuses_other_pixels(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    pictures: Path,
    tmp_path: Path,
) -> None:
    recipe = tmp_path / "recipe"
    given = ["--images", pictures, "--out", recipe, "--recipe", "--erosion", "none"]
    assert run(monkeypatch, "generate", *given, "--piece-px", 8, "--workers", 1) == 0
    table = recipe / "val" / "puzzles.csv"
    table.write_text(table.read_text().rpartition(",")[0] + ",00000000\n")
    arguments = ["materialise", recipe, "--workers", 1]
    assert run(monkeypatch, *arguments, "--out", tmp_path / "lax") == 0
    assert "1 puzzles, the first from" in capsys.readouterr().err
    assert run(monkeypatch, *arguments, "--out", tmp_path / "strict", "--strict") == 2
    assert "differ in their pixels" in capsys.readouterr().err


def test_no_recipe_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(monkeypatch, "materialise", tmp_path, "--out", tmp_path / "out") == 2
    assert "no recipe.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    "change", [{"num_puzzles": "x"}, {"unreadable": 1}, {"splits": []}, {"splits": {"train": []}}]
)
def test_damaged_statistics_of_a_finished_set_are_named(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    pictures: Path,
    tmp_path: Path,
    change: dict[str, Any],
) -> None:
    words = ["generate", "--images", pictures, "--out", tmp_path / "set", "--grid", "1x2"]
    words += ["--piece-px", 8, "--erosion", "none", "--recipe", "--workers", 1]
    assert run(monkeypatch, *words) == 0
    path = tmp_path / "set" / "statistics.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert run(monkeypatch, *words) == 2
    assert "statistics.json: expected the statistics of a data set" in capsys.readouterr().err
