from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from puzzleflow.cli.main import build_app
from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.rng import child_rng
from puzzleflow.storage.gap_writer import write_gap_split

NUM_PUZZLES = 12


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny GAP folder of noise."""
    folder = tmp_path_factory.mktemp("data") / "test"
    grid = Grid(3, 3)

    def puzzle(index: int) -> Puzzle:
        rng = child_rng(0, index)
        pieces = rng.integers(0, 256, (9, 8, 8, 4), dtype=np.uint8)
        return Puzzle(pieces, grid, rng.permutation(9))

    puzzles = [puzzle(index) for index in range(NUM_PUZZLES)]
    write_gap_split(folder, puzzles, grid=grid, piece_px=8, num_puzzles=NUM_PUZZLES)
    return folder


def invoke(*arguments: Any) -> Any:
    return CliRunner().invoke(build_app(), ["bench", *map(str, arguments)], catch_exceptions=False)


def layouts(out: Path, solver: str = "random") -> dict[int, list[int]]:
    lines = (out / "journal" / f"{solver}.jsonl").read_text().splitlines()[1:]
    return {record["index"]: record["position_of"] for record in map(json.loads, lines)}


def test_the_command_writes_a_report(data: Path, tmp_path: Path) -> None:
    result = invoke(data, "--solvers", "random", "--out", tmp_path, "--limit", 5)
    assert result.exit_code == 0
    assert "5/5" in result.output
    assert "result" in result.output  # the last table is no longer called "so far"
    assert "index.html" in result.output
    assert json.loads((tmp_path / "bench.json").read_text())["solvers"][0]["puzzles"] == 5


def test_workers_change_nothing(data: Path, tmp_path: Path) -> None:
    invoke(data, "--solvers", "random", "--out", tmp_path / "one")
    invoke(data, "--solvers", "random", "--out", tmp_path / "two", "--workers", 2)
    assert layouts(tmp_path / "one") == layouts(tmp_path / "two")
    assert len(layouts(tmp_path / "two")) == NUM_PUZZLES


FALTERING = """
from puzzleflow.solvers.random import RandomSolver

class Faltering(RandomSolver):
    def prepare(self, puzzle):
        session = super().prepare(puzzle)
        return self if puzzle.puzzle_id.endswith("/1") else session

    def solve(self, **_):
        return "no idea"
"""


def test_failures_are_shown_and_strict_fails(data: Path, tmp_path: Path) -> None:
    (tmp_path / "faltering.py").write_text(FALTERING)
    name = f"{tmp_path / 'faltering.py'}:Faltering"
    words = (data, "--solvers", name, "--out", tmp_path / "out", "--limit", 3)
    result = invoke(*words)
    assert result.exit_code == 0
    assert "failed" in result.stdout
    assert "gave no answer to 1 of 3 puzzles; puzzle 1: crashed" in result.stderr
    assert "str, not a Solution" in result.stderr
    assert invoke(*words, "--strict").exit_code == 1
    assert invoke(*words, "--strict", "--limit", 1).exit_code == 0
    with (tmp_path / "faltering.py").open("a") as file:
        file.write("# edited\n")
    assert "runs again: its code changed" in invoke(*words).stdout


def test_errors_are_ours(data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown solver"):
        invoke(data, "--solvers", "no-such", "--out", tmp_path)
    with pytest.raises(InputError, match="no such"):
        invoke(tmp_path / "nothing", "--solvers", "random", "--out", tmp_path)
    with pytest.raises(InputError, match="no grid"):
        invoke(data, "--solvers", "random", "--grid", "3by3", "--out", tmp_path)


def test_killed_and_resumed(data: Path, tmp_path: Path) -> None:
    """SIGKILL in the middle; the next run goes on and ends with the same layouts."""
    slow = (
        "import time\n"
        "from puzzleflow.solvers import random\n"
        "solve = random.RandomSession.solve\n"
        "def slowly(self, **options):\n"
        "    time.sleep(0.15)\n"
        "    return solve(self, **options)\n"
        "random.RandomSession.solve = slowly\n"
        "from puzzleflow.cli.main import main\n"
        "main()\n"
    )
    out = tmp_path / "out"
    command = ["bench", str(data), "--solvers", "random", "--out", str(out)]
    journal = out / "journal" / "random.jsonl"
    with subprocess.Popen(
        [sys.executable, "-c", slow, *command], stdout=subprocess.DEVNULL, env=dict(os.environ)
    ) as process:
        deadline = time.monotonic() + 60
        while not (journal.exists() and journal.read_bytes().count(b"\n") > 3):
            assert time.monotonic() < deadline, "the benchmark wrote nothing"
            assert process.poll() is None, "the benchmark ended too early"
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    before = journal.read_bytes()
    assert before.count(b"\n") < NUM_PUZZLES
    assert not (out / "bench.json").exists()
    assert invoke(*command[1:]).exit_code == 0
    assert journal.read_bytes().startswith(before[: before.rfind(b"\n") + 1])
    invoke(data, "--solvers", "random", "--out", tmp_path / "through")
    assert layouts(out) == layouts(tmp_path / "through")


def test_an_error_does_not_stand_on_the_last_line_of_the_table(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise InputError("no space left")

    monkeypatch.setattr("puzzleflow.evaluation.runner.Bench.stream", full)
    words = ["bench", str(data), "--solvers", "random", "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(build_app(), words)
    assert isinstance(result.exception, InputError)
    assert "so far" in result.output
    assert result.output.endswith("\n")
