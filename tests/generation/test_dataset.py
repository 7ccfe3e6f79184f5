from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from puzzleflow.core.errors import InputError, OutputError
from puzzleflow.core.grid import Grid
from puzzleflow.files import write_json
from puzzleflow.formats.open import open_all, open_puzzles
from puzzleflow.generation.dataset import generate_set, materialise_set, recipe_folders
from puzzleflow.generation.plan import PRESETS, Request
from puzzleflow.generation.recipe_file import read_recipe
from puzzleflow.lock import LOCK
from puzzleflow.pictures import write_picture

MakePictures = Callable[..., Path]
TreeBytes = Callable[[Path], dict[str, bytes]]
SMALL = Request(grid=Grid(2, 2), piece_px=16, erosion="linear", name="small")
SPLITS = ("train", "val", "test")


def test_presets_are_the_published_sizes() -> None:
    sizes = {name: (str(p.grid), p.grid.rows * p.piece_px) for name, p in PRESETS.items()}
    assert sizes == {"gap-3": ("3x3", 384), "gap-5": ("5x5", 640)}
    assert {(p.erosion, p.splits, p.compression) for p in PRESETS.values()} == {
        ("gap", "70/15/15", "gzip")
    }


def test_official_files(make_pictures: MakePictures, tmp_path: Path) -> None:
    statistics = generate_set(make_pictures(20), tmp_path / "out", SMALL)
    assert statistics["num_puzzles"] == 20
    for split, count in zip(SPLITS, (14, 3, 3), strict=True):
        with (
            h5py.File(tmp_path / "out" / split / "puzzles.h5") as puzzles,
            h5py.File(tmp_path / "out" / split / "labels_indices.h5") as indices,
            h5py.File(tmp_path / "out" / split / "labels_coordinates.h5") as coordinates,
        ):
            pieces, labels = puzzles["puzzles"], indices["labels"][:]
            assert pieces.shape == (count, 4, 16, 16, 4)
            assert pieces.dtype == np.uint8
            assert (pieces.compression, pieces.chunks) == ("gzip", (1, 4, 16, 16, 4))
            assert set(np.unique(pieces[..., 3])) == {0, 255}
            assert np.all(pieces[..., :3][pieces[..., 3] == 0] == 0)
            assert np.array_equal(np.sort(labels, axis=1), np.tile(np.arange(4), (count, 1)))
            assert np.array_equal(
                coordinates["labels"][:], np.stack([labels // 2, labels % 2], axis=-1)
            )
        metadata = json.loads((tmp_path / "out" / split / "metadata.json").read_text())
        assert (metadata["split"], metadata["erosion"]) == (split, "linear")


def test_no_picture_in_two_splits_and_copies_together(
    make_pictures: MakePictures, tmp_path: Path
) -> None:
    images = make_pictures(30)
    for index in range(10):  # a smaller copy of every third picture, in another folder
        pixels = np.array(_read(images / f"{index * 3:04d}.png"))
        write_picture(images / "copies" / f"{index}.png", pixels[::2, ::2])
    statistics = generate_set(images, tmp_path / "out", replace(SMALL, recipe_only=True))
    owner = {}
    for split, folder in recipe_folders(tmp_path / "out").items():
        for row in read_recipe(folder).rows:
            assert row.picture not in owner
            owner[row.picture] = split
    assert len(owner) == 40
    for index in range(10):
        assert owner[f"copies/{index}.png"] == owner[f"{index * 3:04d}.png"]
    assert statistics["pictures"]["near_duplicate_groups"] == 10


def _read(path: Path) -> np.ndarray:
    from puzzleflow.pictures import read_picture

    return read_picture(path)


@pytest.mark.parametrize("recipe_only", [False, True])
def test_same_files_for_any_number_of_workers(
    make_pictures: MakePictures, tmp_path: Path, tree_bytes: TreeBytes, recipe_only: bool
) -> None:
    images = make_pictures(14)
    request = replace(SMALL, reference=not recipe_only, recipe_only=recipe_only)
    for workers in (1, 2, 3):
        generate_set(images, tmp_path / f"out{workers}", request, num_workers=workers)
    one = tree_bytes(tmp_path / "out1")
    assert tree_bytes(tmp_path / "out2") == one
    assert tree_bytes(tmp_path / "out3") == one


def test_another_seed_gives_other_puzzles(make_pictures: MakePictures, tmp_path: Path) -> None:
    images = make_pictures(6)
    for seed in (0, 1):
        generate_set(images, tmp_path / f"out{seed}", replace(SMALL, seed=seed, splits="1/0/0"))
    first, second = (open_puzzles(tmp_path / f"out{seed}").truths() for seed in (0, 1))
    assert first is not None
    assert not np.array_equal(first, second)


def test_references_are_the_complete_pictures(make_pictures: MakePictures, tmp_path: Path) -> None:
    request = replace(SMALL, reference=True, splits="1/0/0", erosion="none", grid=Grid(2, 3))
    generate_set(make_pictures(3, height=50, width=90), tmp_path / "out", request)
    source = open_puzzles(tmp_path / "out", split="train")
    with h5py.File(tmp_path / "out" / "train" / "reference.h5") as file:
        references = file["reference"][:]
    assert references.shape == (3, 32, 48, 3)
    for puzzle, reference in zip(source, references, strict=True):
        assert puzzle.truth is not None
        for piece, position in enumerate(puzzle.truth):
            row, col = divmod(int(position), 3)
            cell = reference[row * 16 : row * 16 + 16, col * 16 : col * 16 + 16]
            assert np.array_equal(puzzle.pieces[piece, ..., :3], cell)


def test_several_puzzles_per_picture(make_pictures: MakePictures, tmp_path: Path) -> None:
    statistics = generate_set(make_pictures(10), tmp_path / "out", replace(SMALL, per_picture=3))
    assert statistics["splits"]["train"] | {"bytes": 0, "material_share": 0} == {
        "num_puzzles": 21,
        "num_pictures": 7,
        "material_share": 0,
        "bytes": 0,
    }
    rows = read_recipe(tmp_path / "out" / "recipe" / "train").rows
    assert len({row.seed for row in rows}) == 21


def test_unreadable_pictures_are_named_and_left_out(
    make_pictures: MakePictures, tmp_path: Path
) -> None:
    images = make_pictures(12)
    whole = (images / "0003.png").read_bytes()
    (images / "0003.png").write_bytes(whole[: len(whole) // 2])
    (images / "0007.png").write_text("no picture at all")
    write_picture(images / "0009.png", np.zeros((5, 40, 3), np.uint8))  # too small to show anything
    statistics = generate_set(images, tmp_path / "out", SMALL, num_workers=2)
    assert statistics["num_puzzles"] == 9
    left_out = ["0003.png", "0007.png", "0009.png"]
    assert [entry["picture"] for entry in statistics["unreadable"]] == left_out
    assert all(entry["problem"] for entry in statistics["unreadable"])
    assert "`0003.png`, `0007.png`, `0009.png`" in (tmp_path / "out" / "README.md").read_text()


def test_a_limit_is_filled_up_with_further_pictures(
    make_pictures: MakePictures, tmp_path: Path
) -> None:
    images = make_pictures(12)
    for index in range(0, 12, 2):
        (images / f"{index:04d}.png").write_text("broken")
    statistics = generate_set(images, tmp_path / "out", replace(SMALL, limit=5))
    assert statistics["num_puzzles"] == 5
    assert 0 < len(statistics["unreadable"]) <= 6


def test_nothing_readable(make_pictures: MakePictures, tmp_path: Path) -> None:
    images = make_pictures(1)
    (images / "0000.png").write_text("broken")
    with pytest.raises(InputError, match="none of 1 pictures can be read"):
        generate_set(images, tmp_path / "out", SMALL)
    (images / "0000.png").unlink()
    with pytest.raises(InputError, match="no pictures in it"):
        generate_set(images, tmp_path / "out", SMALL)
    with pytest.raises(InputError, match="no such folder"):
        generate_set(tmp_path / "nowhere", tmp_path / "out", SMALL)


def test_what_is_in_the_way_stays(
    make_pictures: MakePictures, tmp_path: Path, tree_bytes: TreeBytes
) -> None:
    images = make_pictures(4)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "letter.txt").write_text("dear all")
    with pytest.raises(OutputError, match="not empty"):
        generate_set(images, tmp_path / "out", SMALL)
    assert list(tree_bytes(tmp_path / "out")) == ["letter.txt"]
    with pytest.raises(InputError, match="inside the picture folder"):
        generate_set(images, images / "out", SMALL)


def test_a_complete_set_is_left_alone_and_another_request_refused(
    make_pictures: MakePictures, tmp_path: Path, tree_bytes: TreeBytes
) -> None:
    images = make_pictures(6)
    statistics = generate_set(images, tmp_path / "out", SMALL)
    before = tree_bytes(tmp_path / "out")
    assert generate_set(images, tmp_path / "out", SMALL) == statistics
    with pytest.raises(InputError, match=r"out: begun with seed \d, not 5; repeat"):
        generate_set(images, tmp_path / "out", replace(SMALL, seed=5))
    write_picture(images / "late.png", np.zeros((30, 30, 3), np.uint8))
    with pytest.raises(InputError, match=r"out: begun with pictures '"):
        generate_set(images, tmp_path / "out", SMALL)
    assert tree_bytes(tmp_path / "out") == before


def test_interrupted_after_every_report_it_goes_on(
    make_pictures: MakePictures, tmp_path: Path, tree_bytes: TreeBytes
) -> None:
    images = make_pictures(9)
    generate_set(images, tmp_path / "whole", SMALL)
    interruptions = 0
    while True:
        reports = 0

        def stop_at_the_second(stage: str, done: int, total: int) -> None:
            nonlocal reports
            reports += 1
            if reports == 2:
                raise KeyboardInterrupt

        try:
            generate_set(images, tmp_path / "torn", SMALL, on_progress=stop_at_the_second)
            break
        except KeyboardInterrupt:
            interruptions += 1
            assert not (tmp_path / "torn" / "statistics.json").exists()
    assert interruptions >= 6
    assert tree_bytes(tmp_path / "torn") == tree_bytes(tmp_path / "whole")


def test_killed_while_clearing_up(
    make_pictures: MakePictures, tmp_path: Path, tree_bytes: TreeBytes
) -> None:
    images = make_pictures(5)
    generate_set(images, tmp_path / "out", SMALL)
    before = tree_bytes(tmp_path / "out")
    (tmp_path / "out" / ".work" / "survey").mkdir(parents=True)
    (tmp_path / "out" / ".work" / "val.payloads").write_bytes(b"rest")
    generate_set(images, tmp_path / "out", SMALL)
    assert tree_bytes(tmp_path / "out") == before
    (tmp_path / "out" / LOCK).write_text("process 1 on a machine")  # killed even later
    generate_set(images, tmp_path / "out", SMALL)
    assert tree_bytes(tmp_path / "out") == before


def test_removed_while_it_is_made(make_pictures: MakePictures, tmp_path: Path) -> None:
    def remove(stage: str, done: int, total: int) -> None:
        if stage == "puzzles" and done == 2:
            shutil.rmtree(tmp_path / "out")

    with pytest.raises(OutputError, match=r"cannot write .*out"):
        generate_set(make_pictures(5), tmp_path / "out", SMALL, on_progress=remove)


def test_work_of_an_earlier_version_does_not_go_on(
    make_pictures: MakePictures, tmp_path: Path, tree_bytes: TreeBytes
) -> None:
    write_json(tmp_path / "out" / ".work" / "request.json", SMALL.record())
    before = tree_bytes(tmp_path / "out")
    with pytest.raises(OutputError, match=r"out: begun by an earlier version .* remove the folder"):
        generate_set(make_pictures(3), tmp_path / "out", SMALL)
    assert tree_bytes(tmp_path / "out") == before


def test_another_request_does_not_go_on(make_pictures: MakePictures, tmp_path: Path) -> None:
    def stop(stage: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate_set(make_pictures(3), tmp_path / "out", SMALL, on_progress=stop)
    with pytest.raises(InputError, match=r"survey\.jsonl: begun with seed \d, not 5"):
        generate_set(make_pictures(3), tmp_path / "out", replace(SMALL, seed=5))


def test_two_runs_do_not_write_one_folder(make_pictures: MakePictures, tmp_path: Path) -> None:
    images = make_pictures(5)

    def second_run(stage: str, done: int, total: int) -> None:
        with pytest.raises(OutputError, match=r"process \d+ on .* is writing here"):
            generate_set(images, tmp_path / "out", SMALL)

    generate_set(images, tmp_path / "out", SMALL, on_progress=second_run)
    assert (tmp_path / "out" / "statistics.json").exists()


def test_a_recipe_and_its_files_hold_the_same_puzzles(
    make_pictures: MakePictures, tmp_path: Path, tree_bytes: TreeBytes
) -> None:
    images = make_pictures(12)
    generate_set(images, tmp_path / "files", SMALL)
    generate_set(images, tmp_path / "recipes", replace(SMALL, recipe_only=True))
    statistics = materialise_set(recipe_folders(tmp_path / "recipes"), tmp_path / "made")
    assert statistics["differing_from_recipe"] == []
    for split in SPLITS:
        files, made = tree_bytes(tmp_path / "files" / split), tree_bytes(tmp_path / "made" / split)
        assert made == files
    rendered, stored = open_all(tmp_path / "recipes"), open_all(tmp_path / "files")
    for split in SPLITS:
        for one, other in zip(rendered[split], stored[split], strict=True):
            assert np.array_equal(one.pieces, other.pieces)
            assert np.array_equal(one.truth, other.truth)
    # and back again
    materialise_set(recipe_folders(tmp_path / "files"), tmp_path / "back", recipe_only=True)
    for split in SPLITS:
        assert tree_bytes(tmp_path / "back" / split) == tree_bytes(tmp_path / "recipes" / split)


def test_a_recipe_is_fifty_times_smaller(make_pictures: MakePictures, tmp_path: Path) -> None:
    request = replace(PRESETS["gap-3"], erosion="linear")
    statistics = generate_set(make_pictures(8, height=400, width=400), tmp_path / "out", request)
    stored = sum(split["bytes"] for split in statistics["splits"].values())
    assert stored > 50 * statistics["recipe_bytes"]


def test_puzzles_that_differ_from_their_recipe_are_told(
    make_pictures: MakePictures, tmp_path: Path
) -> None:
    generate_set(make_pictures(5), tmp_path / "out", replace(SMALL, recipe_only=True))
    path = tmp_path / "out" / "train" / "puzzles.csv"
    lines = path.read_text().splitlines()
    lines[1] = lines[1].rpartition(",")[0] + ",00000000"
    path.write_text("\n".join(lines) + "\n")
    statistics = materialise_set(recipe_folders(tmp_path / "out"), tmp_path / "made")
    assert statistics["differing_from_recipe"] == [lines[1].partition(",")[0]]


def test_outlines_and_pictures_may_move(make_pictures: MakePictures, tmp_path: Path) -> None:
    outline = np.zeros((32, 32), np.uint8)
    outline[4:28, 6:26] = 255
    write_picture(tmp_path / "outlines" / "a.png", outline)
    request = replace(SMALL, erosion=f"outlines:{tmp_path / 'outlines'}", recipe_only=True)
    generate_set(make_pictures(4), tmp_path / "out", request)
    assert open_puzzles(tmp_path / "out", split="train")[0].masks.mean() == pytest.approx(
        24 * 20 / 32**2, abs=0.02
    )
    (tmp_path / "outlines").rename(tmp_path / "bank")
    (tmp_path / "pictures").rename(tmp_path / "images")
    folders = recipe_folders(tmp_path / "out")
    with pytest.raises(InputError, match="pictures are not at"):
        materialise_set(folders, tmp_path / "made")
    statistics = materialise_set(
        folders, tmp_path / "again", images=tmp_path / "images", outlines=tmp_path / "bank"
    )
    assert statistics["differing_from_recipe"] == []
    assert statistics["num_puzzles"] == 4


def test_the_card(make_pictures: MakePictures, tmp_path: Path) -> None:
    generate_set(make_pictures(10), tmp_path / "out", SMALL)
    card = (tmp_path / "out" / "README.md").read_text()
    assert "10 puzzles of 4 pieces (2x2, 16 x 16 pixels each) from 10 pictures" in card
    assert "| train | 7 | 7 |" in card
    sheet = _read(tmp_path / "out" / "contact_sheet.png")
    assert len(np.unique(sheet.reshape(-1, 3), axis=0)) > 100
    statistics = json.loads((tmp_path / "out" / "statistics.json").read_text())
    assert 0.3 < statistics["material_share"]["mean"] < 0.6
    assert not (tmp_path / "out" / ".work").exists()


def test_memory_does_not_grow_with_the_set(make_pictures: MakePictures, tmp_path: Path) -> None:
    request = replace(
        SMALL, piece_px=64, compression="none", erosion="none", per_picture=60, splits="1/0/0"
    )
    images = make_pictures(4)
    tracemalloc.start()
    try:
        statistics = generate_set(images, tmp_path / "out", request)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert statistics["splits"]["train"]["bytes"] > 15e6
    assert peak < 6e6


@pytest.mark.parametrize(
    "changes",
    [
        {"piece_px": 1},
        {"limit": 0},
        {"per_picture": 0},
        {"compression": "zip"},
        {"seed": -1},
        {"splits": "1/1"},
    ],
)
def test_requests_that_make_no_sense(changes: dict[str, object]) -> None:
    with pytest.raises(InputError):
        replace(SMALL, **changes)  # type: ignore[arg-type]


def _command(images: Path, out: Path, *options: str) -> list[str]:
    main = "from puzzleflow.cli.main import main; main()"
    given = ["generate", "--images", str(images), "--out", str(out), "--grid", "2x2"]
    return [sys.executable, "-c", main, *given, "--piece-px", "24", "--erosion", "linear", *options]


def _lines(path: Path, words: str = "") -> int:
    lines = path.read_text().splitlines() if path.exists() else []
    return sum(words in line for line in lines)


MOMENTS: dict[str, Callable[[Path], bool]] = {
    "survey": lambda work: _lines(work / "survey.jsonl") > 1,
    "first puzzles": lambda work: _lines(work / "puzzles.jsonl", '"train"') > 5,
    "train": lambda work: _lines(work / "puzzles.jsonl", '"train"') > 100,
    "val": lambda work: _lines(work / "puzzles.jsonl", '"val"') > 5,
    "test": lambda work: _lines(work / "puzzles.jsonl", '"test"') > 20,
}


@pytest.mark.parametrize(
    ("options", "moments"),
    [
        (["--workers", "2", "--reference"], ["first puzzles", "val"]),
        pytest.param(["--workers", "1", "--recipe"], list(MOMENTS), marks=pytest.mark.slow),
        pytest.param(["--workers", "2"], list(MOMENTS), marks=pytest.mark.slow),
    ],
)
def test_killed_at_any_moment_it_goes_on(
    make_pictures: MakePictures,
    tmp_path: Path,
    tree_bytes: TreeBytes,
    options: list[str],
    moments: list[str],
) -> None:
    images = make_pictures(40)
    (images / "0005.png").write_text("broken")
    options = [*options, "--per-picture", "12"]
    out = tmp_path / "killed"
    kills = 0
    for moment in moments:
        process = subprocess.Popen(
            _command(images, out, *options), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while process.poll() is None and not MOMENTS[moment](out / ".work"):
            time.sleep(0.001)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.wait()
    assert kills == len(moments)
    assert (out / ".work").exists()
    last = subprocess.run(_command(images, out, *options), capture_output=True, text=True)
    assert last.returncode == 0, last.stderr
    assert "left out 0005.png" in last.stderr
    subprocess.run(_command(images, tmp_path / "whole", *options), check=True, capture_output=True)
    assert tree_bytes(out) == tree_bytes(tmp_path / "whole")
