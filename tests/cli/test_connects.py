"""generate → solve → evaluate: what one command writes, the next one reads."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from command_line import run

from puzzleflow.core.errors import InputError
from puzzleflow.evaluation import solved_set
from puzzleflow.evaluation.solved_set import SolvedSet
from puzzleflow.evaluation.spec import SolverSpec
from puzzleflow.formats.open import open_puzzles
from puzzleflow.pictures import write_picture

NUM = 6


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six puzzles of 2x3 pieces."""
    root = tmp_path_factory.mktemp("connects")
    rng = np.random.default_rng(0)
    for index in range(NUM):
        pixels = rng.integers(0, 256, (40, 60, 3)).astype(np.uint8)
        write_picture(root / "pictures" / f"{index}.png", pixels)
    cut = ("--grid", "2x3", "--piece-px", 16, "--erosion", "fixed:2", "--splits", "0/0/100")
    run("generate", "--images", root / "pictures", "--out", root / "set", *cut, "--workers", 1)
    return root / "set" / "test"


def solve(data: Path, out: Path, *more: object) -> str:
    return run("solve", data, "--solver", "random", "--out", out, "--seed", 3, *more)


def evaluated(tmp_path: Path, *words: object) -> dict[str, Any]:
    run("evaluate", *words, "--json", tmp_path / "report.json")
    report: dict[str, Any] = json.loads((tmp_path / "report.json").read_text())
    return report


def lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "solutions.jsonl").read_text().splitlines()]


def test_what_is_generated_is_solved_and_what_is_solved_is_evaluated(
    data: Path, tmp_path: Path
) -> None:
    told = solve(data, tmp_path / "out", "--pictures")
    with h5py.File(data / "labels_indices.h5") as file:
        truth = file["labels"][()]
    layouts = [line["layout"] for line in lines(tmp_path / "out")[1:]]
    right = sum(
        p == q
        for laid, true in zip(layouts, truth, strict=True)
        for p, q in zip(laid, true, strict=True)
    )
    assert 0 < right < 6 * NUM
    by_hand = 100 * right / (6 * NUM)
    assert f"AA {by_hand:.1f}%" in told
    (tmp_path / "layouts").mkdir()
    for path in (tmp_path / "out").glob("*.layout.json"):
        path.rename(tmp_path / "layouts" / path.name)
    solved = tmp_path / "out"
    for answers in (
        solved / "predictions.npz",
        solved / "solutions.jsonl",
        solved,
        tmp_path / "layouts",
    ):
        report = evaluated(tmp_path, "--predictions", answers, "--data", data)
        assert report["metrics"]["absolute_accuracy"] == pytest.approx(by_hand)
        assert report["dataset_info"]["num_puzzles"] == NUM
    report = evaluated(tmp_path, "--predictions", solved / "predictions.npz")
    assert report["metrics"]["absolute_accuracy"] == pytest.approx(by_hand)


def write(out: Path, entries: list[dict[str, Any]]) -> Path:
    out.mkdir(exist_ok=True)
    (out / "solutions.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return out


def test_solutions_by_id_need_no_order_and_no_heading(data: Path, tmp_path: Path) -> None:
    solve(data, tmp_path / "out")
    entries = lines(tmp_path / "out")
    for entry in entries[1:]:
        del entry["index"], entry["confidence"]
    first = evaluated(tmp_path, "--predictions", tmp_path / "out", "--data", data)
    shuffled = write(tmp_path / "by-id", entries[:0:-1])
    assert evaluated(tmp_path, "--predictions", shuffled, "--data", data) == first


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda e: e.pop(), "no layout of puzzle 'test/5' of the 6"),
        (lambda e: e.__delitem__(slice(3, 5)), "no layout of puzzle 'test/2' and 1 more of the 6"),
        (lambda e: e[1].update(id="test/9", index=None), "holds no puzzle called 'test/9'"),
        (lambda e: e[1].update(id="test/1"), "no puzzle called 'test/1' as number 0"),
        (lambda e: e[1].update(index=6), "no puzzle called 'test/0' as number 6"),
        (lambda e: e.append(e[1]), "a second layout of puzzle 'test/0'"),
        (lambda e: e[1].update(grid="3x2"), "puzzle 'test/0' is 3x2, not 2x3"),
        (lambda e: e[0]["heading"].update(data="?"), "made for other puzzles"),
        (lambda e: e[0].update(version=1), "line 1: expected a journal (solutions) of version 2"),
        (lambda e: e[2].update(layout=[0, 0, 1, 2, 3, 4]), "line 3: position 0 used by"),
        (lambda e: e[2].update(layout=None), "line 3: layout: expected a list, found None"),
        (lambda e: e[2].update(index=True), "line 3: index: expected a whole number, found True"),
        (lambda e: e[2].update(grid="nose"), "line 3: 'nose' is no grid"),
    ],
)
def test_wrong_and_missing_solutions_are_told(
    data: Path, tmp_path: Path, spoil: Any, message: str
) -> None:
    solve(data, tmp_path / "out")
    entries = lines(tmp_path / "out")
    spoil(entries)
    with pytest.raises(InputError) as told:
        run("evaluate", "--predictions", write(tmp_path / "bad", entries), "--data", data)
    assert message in str(told.value)
    assert "solutions.jsonl" in str(told.value)


def test_layout_files_of_strangers_are_told(data: Path, tmp_path: Path) -> None:
    run("solve", data, "--solver", "random", "--index", 0, "--out", tmp_path / "one")
    layout = next((tmp_path / "one").glob("*.layout.json"))
    with pytest.raises(InputError, match=r"no layout of puzzle 'test/1' and 4 more of the 6"):
        run("evaluate", "--predictions", tmp_path / "one", "--data", data)
    layout.write_text(layout.read_text().replace("test/0", "somewhere/0"))
    with pytest.raises(InputError, match="holds no puzzle called 'somewhere/0'"):
        run("evaluate", "--predictions", layout, "--data", data)


def test_recipes_repeat_the_names_of_their_pictures(data: Path, tmp_path: Path) -> None:
    """Two puzzles of one picture share its name: lines tell them apart, names cannot."""
    pictures = data.parents[1] / "pictures"
    cut = ("--grid", "2x2", "--piece-px", 16, "--erosion", "none", "--splits", "0/0/100")
    more = ("--per-picture", 2, "--recipe", "--limit", 2, "--workers", 1)
    run("generate", "--images", pictures, "--out", tmp_path / "set", *cut, *more)
    twice = tmp_path / "set" / "test"
    assert len(open_puzzles(twice)) == 4
    solve(twice, tmp_path / "out", "--pictures")
    by_line = evaluated(tmp_path, "--predictions", tmp_path / "out", "--data", twice)
    assert by_line["dataset_info"]["num_puzzles"] == 4
    layout = next((tmp_path / "out").glob("*.layout.json"))
    with pytest.raises(InputError, match="holds 2 puzzles called"):
        run("evaluate", "--predictions", layout, "--data", twice)


def test_workers_change_nothing(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solved_set, "BLOCK", 2)
    source = open_puzzles(data)
    progress: list[tuple[int, int]] = []
    for workers in (1, 2):
        run = SolvedSet(source, SolverSpec.parse("random"), tmp_path / str(workers), seed=4)
        run.run(num_workers=workers, on_progress=lambda _, *seen: progress.append(seen))
    assert progress == 2 * [(0, 6), (2, 6), (4, 6), (6, 6)]
    assert len(list((tmp_path / "1").iterdir())) == 3
    for path in (tmp_path / "1").iterdir():
        assert path.read_bytes() == (tmp_path / "2" / path.name).read_bytes()


SLOW = (
    "import time\n"
    "from puzzleflow.evaluation import solved_set\n"
    "solved_set.BLOCK = 2\n"
    "from puzzleflow.solvers import random\n"
    "solve = random.RandomSession.solve\n"
    "def slowly(self, **options):\n"
    "    time.sleep(0.2)\n"
    "    return solve(self, **options)\n"
    "random.RandomSession.solve = slowly\n"
    "from puzzleflow.cli.main import main\n"
    "main()\n"
)


def test_killed_and_resumed(data: Path, tmp_path: Path) -> None:
    """SIGKILL in the middle, a torn line, then on: the same bytes as in one run."""
    out = tmp_path / "killed"
    command = ["solve", data, "--solver", "random", "--out", out, "--seed", 3, "--workers", 1]
    journal = out / "solutions.jsonl"
    with subprocess.Popen(
        [sys.executable, "-c", SLOW, *map(str, command)], stdout=subprocess.DEVNULL, env=os.environ
    ) as process:
        deadline = time.monotonic() + 60
        while not (journal.exists() and journal.read_bytes().count(b"\n") > 2):
            assert time.monotonic() < deadline, "nothing was written"
            assert process.poll() is None, "it ended too early"
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    before = journal.read_bytes()
    assert 2 < before.count(b"\n") < NUM + 1
    assert not (out / "predictions.npz").exists()
    journal.write_bytes(before[:-20])
    solve(data, out)
    solve(data, tmp_path / "through")
    names = {path.name for path in out.iterdir()}
    assert names == {"solutions.jsonl", "predictions.npz", "predictions.json"}
    for name in names:
        assert (out / name).read_bytes() == (tmp_path / "through" / name).read_bytes()
