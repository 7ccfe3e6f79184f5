"""Free-form sets through the benchmark: records, resuming, tables."""

from pathlib import Path

import numpy as np
import pytest

from puzzleflow.core.errors import InputError
from puzzleflow.evaluation.assembly_bench import (
    AssemblyBench,
    SetRecord,
    calibration_error,
    estimates,
    table,
    write_assembly_report,
)
from puzzleflow.evaluation.spec import SolverSpec
from puzzleflow.formats.open import open_fragments
from puzzleflow.generation.free_form import FreeForm, break_picture
from puzzleflow.storage.free_form.own import write_fragments


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets")
    rng = np.random.default_rng(0)
    picture = np.repeat(np.repeat(rng.integers(0, 256, (12, 12, 3)), 8, 0), 8, 1)
    how = FreeForm((3, 3), pattern="cuts", rotation="none")
    for number in range(2):
        broken = break_picture(picture.astype(np.uint8), how, number, name=f"set_{number}")
        write_fragments(folder / f"set_{number}", broken)
    return folder


def bench(sets: Path, out: Path, solver: str = "extrapolate-greedy:rotation=none") -> AssemblyBench:
    return AssemblyBench(open_fragments(sets), [SolverSpec.parse(solver)], out)


def test_sets_are_scored_and_a_second_run_computes_nothing(
    sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = bench(sets, tmp_path)
    first = list(run.stream())
    assert [record.name for _, record in first] == ["set_0", "set_1"]
    assert all(0 <= record.scores["right"] <= 1 for _, record in first)
    assert all(record.refusal == "" for _, record in first)
    monkeypatch.setattr("puzzleflow.evaluation.assembly_bench._solved", None)
    again = list(bench(sets, tmp_path).stream())
    assert [record for _, record in again] == [record for _, record in first]
    page, record = write_assembly_report(run)
    assert "extrapolate-greedy" in page.read_text()
    assert record.exists()


def test_a_crash_is_a_result(sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("boom")

    monkeypatch.setattr(
        "puzzleflow.solvers.free_form.derech.ExtrapolateGreedySolver.prepare", broken
    )
    records = [record for _, record in bench(sets, tmp_path).stream()]
    assert all("boom" in record.refusal for record in records)
    rows = table({"it": records})
    assert rows[1][rows[0].index("no answer")] == "2"


def test_unknown_solvers_are_told_before_any_work(sets: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="free-form solver"):
        list(bench(sets, tmp_path, "magic").stream())


def test_calibration_by_hand() -> None:
    assert calibration_error([1.0, 1.0], [1, 0]) == pytest.approx(0.5)
    assert calibration_error([0.25, 0.25, 0.25, 0.25], [1, 0, 0, 0]) == pytest.approx(0.0)
    assert np.isnan(calibration_error([], []))


def test_means_leave_out_what_is_not_defined() -> None:
    records = [
        SetRecord(
            0, "a", 3, 1.0, 1.0, None, scores={"right": 1.0, "ece": 0.0}, sure=(1.0,), right=(1,)
        ),
        SetRecord(1, "b", 3, 1.0, 1.0, None, scores={"right": 0.5, "foreign_f1": 1.0}),
    ]
    means = estimates(records)
    assert means["right"].value == pytest.approx(0.75)
    assert means["foreign_f1"].value == 1.0
    assert means["ece"].value == 0.0
