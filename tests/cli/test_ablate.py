from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import run

from puzzleflow.core.errors import FormatError, InputError, UnknownName
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.storage.gap_writer import write_gap_split
from puzzleflow.training.loop import Trainer


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Steps of training, as they happen."""
    steps: list[int] = []
    update = Trainer._update

    def counting(self: Trainer[Any], batch: Any) -> dict[str, Any]:
        steps.append(self.step)
        return update(self, batch)

    monkeypatch.setattr(Trainer, "_update", counting)
    return steps


def figures(out: Path) -> dict[str, dict[str, Any]]:
    stored = json.loads((out / "ablation.json").read_text())
    return {entry["variant"]: entry for entry in stored["variants"]}


@pytest.mark.slow
def test_the_whole_table_and_nothing_trained_twice(
    pictures: Path, discs: Path, tmp_path: Path, counted: list[int]
) -> None:
    out = tmp_path / "out"
    words: list[object] = [
        "ablate", "--data", pictures, "--out", out, "--preset", "tiny", "--masks", discs,
        "--grids", "2x2", "--pieces-per-batch", 8, "--steps", 1, "--workers", 0,
    ]  # fmt: skip
    run(*words, "--puzzles", 6, "--variants", "direct,one-step")
    assert list(figures(out)) == ["direct", "full", "one-step"]
    assert counted == [0, 0]

    said = run(*words, "--puzzles", 6)
    assert counted == [0] * 8  # direct and the full model were finished
    rows = figures(out)
    assert list(rows) == [
        "direct", "frozen", "layers-0", "layers-4", "layers-6", "rgb", "rgb-trained", "full",
        "no-time", "one-step", "one-step-t1", "before", "hungarian",
    ]  # fmt: skip
    for name, entry in rows.items():
        for metric in ("PA", "AA", "SRA"):
            ours, full = (rows[n]["metrics"][metric] for n in (name, "full"))
            assert 0 <= ours["low"] <= ours["value"] <= ours["high"] <= 100
            if name != "full":
                delta = entry["deltas"][metric]["value"]
                assert delta == pytest.approx(ours["value"] - full["value"], abs=1e-9)
    assert str(out / "ablation.md") in said
    assert (out / "ablation.png").stat().st_size > 1000

    run(*words, "--puzzles", 5)  # other held-out puzzles: evaluated again, never trained
    assert len(counted) == 8
    assert "held out: 5 puzzles" in (out / "ablation.md").read_text()

    with pytest.raises(InputError, match="another rate"):
        run(*words, "--rate", 1e-3)


def test_stored_puzzles(tmp_path: Path, counted: list[int]) -> None:
    rng = np.random.default_rng(0)
    for split in ("train", "test"):
        puzzles = []
        for _ in range(4):
            pieces = rng.integers(0, 256, (4, 32, 32, 4), dtype=np.uint8)
            pieces[..., 3] = 255
            puzzles.append(Puzzle(pieces, Grid(2, 2), rng.permutation(4)))
        write_gap_split(tmp_path / "gap" / split, puzzles, 4, Grid(2, 2), 32)
    out = tmp_path / "out"
    run(
        "ablate", "--data", tmp_path / "gap", "--out", out, "--preset", "tiny", "--batch", 2,
        "--minutes", 1e-6, "--workers", 0, "--variants", "layers-0",
    )  # fmt: skip
    assert list(figures(out)) == ["layers-0", "full"]
    assert json.loads((out / "plan.json").read_text())["steps"] == 1
    assert counted[-2:] == [0, 0]
    assert "held out: 4 puzzles of split test" in (out / "ablation.md").read_text()


@pytest.mark.parametrize("plan", ["[]", "{}", '{"asked": {}, "steps": "1"}', '{"asked": 1}', "{"])
def test_a_damaged_plan_is_named(tmp_path: Path, plan: str) -> None:
    (tmp_path / "plan.json").write_text(plan)
    with pytest.raises(FormatError, match=r"plan\.json: expected"):
        run("ablate", "--data", tmp_path, "--out", tmp_path, "--steps", 2)


def test_what_cannot_be_is_said_before_anything_is_read(tmp_path: Path) -> None:
    words: list[object] = ["ablate", "--data", tmp_path, "--out", tmp_path / "out"]
    with pytest.raises(UnknownName, match="unknown variant 'mirror'; known: before, direct"):
        run(*words, "--steps", 2, "--variants", "direct,mirror")
    with pytest.raises(UnknownName, match="preset"):
        run(*words, "--steps", 2, "--preset", "huge")
    with pytest.raises(UnknownName, match="split"):
        run(*words, "--steps", 2, "--split", "train")
    for budget in ([], ["--steps", 2, "--minutes", 1]):
        with pytest.raises(InputError, match="either --steps or --minutes"):
            run(*words, *budget)
    assert not (tmp_path / "out").exists()
