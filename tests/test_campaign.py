"""The campaign sees what it is there to see."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from campaign import __main__ as campaign
from campaign.commands import LongCommand, long_commands
from campaign.forked import begin, call, side_by_side
from campaign.interrupted import Known, compared
from campaign.outcome import Budget, Outcome
from campaign.report import BEGIN, END, table, write
from damaging import damage_file

from puzzleflow.cli.main import GO_ON
from puzzleflow.core.errors import FormatError

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at /proc")


def refuse() -> str:
    raise FormatError("a.png: damaged")


def fail() -> str:
    raise KeyError("grid")


def end() -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


def take() -> str:
    return str(len(np.ones(200 << 20, np.uint8)))


def test_a_call_tells_how_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    assert call(lambda: "7").status == "fine"
    refused = call(refuse)
    assert (refused.status, refused.text, refused.failure) == ("refused", "a.png: damaged", "")
    assert "KeyError: 'grid'" in call(fail).failure
    assert call(end).failure == "ended with -9"
    large = call(take)
    assert large.growth > 190 << 20
    assert large.failure == ""
    monkeypatch.setattr("campaign.forked.MAX_GROWTH", 100 << 20)
    assert call(take).failure.startswith("took 0.2")


def test_lanes_run_side_by_side_and_answer_in_order() -> None:
    began = time.monotonic()
    answers = side_by_side(lambda n: (n, os.getpid(), time.monotonic()), [3, 1, 2])
    assert [number for number, _, _ in answers] == [3, 1, 2]
    assert len({process for _, process, _ in answers} | {os.getpid()}) == 4
    assert all(ended > began for _, _, ended in answers)


@pytest.mark.parametrize(
    ("extent", "seconds", "enough"), [("short", 0, 5), ("short", 99, 5), ("timed", 0, 3)]
)
def test_how_much_is_enough(extent: Any, seconds: float, enough: int) -> None:
    budget = Budget(seconds, random.Random(0), extent)
    assert not budget.spent(enough - 1, short=5, whole=50)
    assert budget.spent(enough, short=5, whole=50)


@pytest.mark.parametrize("seconds", [0, 99])
def test_a_whole_campaign_keeps_its_promises_however_long_they_take(seconds: float) -> None:
    budget = Budget(seconds, random.Random(0), "whole")
    assert not budget.spent(49, short=5, whole=50)
    assert budget.spent(50, short=5, whole=50)


def test_every_command_that_goes_on_is_disturbed(tmp_path: Path) -> None:
    disturbed = {command.words[0] for command in long_commands(tmp_path)}
    assert disturbed | {"collect"} >= GO_ON  # which the museum's part kills


def test_outcomes_are_kept_and_gone_on_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def part(budget: Budget, place: Path) -> Outcome:
        outcome = Outcome("files", notes=["note"])
        outcome.case("one", kind=f"draw {budget.rng.random()}")
        return outcome

    monkeypatch.setattr(campaign, "_lanes", lambda: [{"a": (1.0, part)}, {"b": (1.0, part)}])
    monkeypatch.setattr("campaign.forked.warm_up", lambda: None)
    monkeypatch.setattr(sys, "path", [*sys.path])
    tables = []
    for only, seed in (("a", 1), ("a,b", 2)):  # what is kept is not made again
        words = ["campaign", "--in-turn", "--only", only, "--seed", str(seed), "--out", tmp_path]
        monkeypatch.setattr(sys, "argv", [str(word) for word in words])
        assert campaign.main() == 0
        tables.append(capsys.readouterr().out)
    row = next(line for line in tables[0].splitlines() if line.startswith("| files"))
    assert row in tables[1]
    assert "| **all** | **2** | **0** |" in tables[1]


def test_a_command_is_a_session_whose_words_are_kept(tmp_path: Path) -> None:
    running = begin(("demo", "--sample", "list"), tmp_path / "told")
    assert running.finish(60) == 0
    assert "harvesters" in running.output()
    assert running.orphans(0) == 0
    wrong = begin(("inspect", str(tmp_path / "none")), tmp_path / "told")
    assert wrong.finish(60) == 2
    assert wrong.output().startswith("puzzleflow: error: ")
    waiting = begin(("demo",), tmp_path / "told", before=lambda: time.sleep(60))
    assert waiting.wait(0.05) is None
    waiting.send(signal.SIGKILL)
    assert waiting.finish(10) == -signal.SIGKILL


def test_results_are_compared_by_bytes_and_by_what_is_left(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    one = Known(LongCommand("x", ()), {"a": b"1"}, 1.0)
    assert compared(one, tmp_path) == ""
    (tmp_path / "a").write_text("2")
    assert compared(one, tmp_path) == "other bytes in a"
    (tmp_path / "b").touch()
    assert compared(one, tmp_path) == "other files: ['b']"
    (tmp_path / ".c.12.x.part").touch()
    assert compared(one, tmp_path) == "left behind: .c.12.x.part"


def test_damage_follows_from_the_seed_and_changes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    ways = set()
    for seed in range(60):
        results = []
        for _ in range(2):
            path.write_text('{"rows": [1, 2, {"a": "b"}], "cols": 3}')
            ways.add(damage_file(path, random.Random(seed)))
            results.append(
                path.read_bytes() if path.is_file() and path.stat().st_size < 9999 else 0
            )
            path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
        assert results[0] == results[1]
    assert ways >= {"a pipe", "removed", "damage", "with strange value"}


def test_the_report_counts(tmp_path: Path) -> None:
    outcome = Outcome("files")
    outcome.case("one", kind="refused")
    outcome.case("two", "traceback")
    assert "| files | 2 | 1 | 0 | 1 refused |" in table([outcome])
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}old{END}\nafter\n")
    write(page, [outcome], "python -m campaign")
    text = page.read_text()
    assert "old" not in text
    assert text.startswith("before\n")
    assert "- two: traceback" in text
    write(page, [outcome], "python -m campaign")
    assert page.read_text().count(BEGIN) == 1
