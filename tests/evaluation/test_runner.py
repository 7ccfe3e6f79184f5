from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from puzzleflow.core.errors import FormatError, InputError, OutputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.rng import child_seed
from puzzleflow.evaluation.results import CLASSES, Results
from puzzleflow.evaluation.runner import Bench, data_fingerprint
from puzzleflow.evaluation.spec import parse_solvers
from puzzleflow.evaluation.tables import failure_lines
from puzzleflow.solvers.registry import load_solver


def run(source: Any, solvers: str, out: Path, **options: Any) -> list[Results]:
    bench = Bench(source, parse_solvers(solvers), out, **options)
    bench.check()
    return bench.run()


def layouts(results: Results) -> dict[int, Any]:
    return {record.index: record.position_of for record in results.records}


def test_perfect_shifted_and_swapped_layouts(make_source: Any, tmp_path: Path) -> None:
    solvers = "reading,reading:shift=3,reading:wrong=1"
    perfect, shifted, swapped = run(make_source(6), solvers, tmp_path)
    assert perfect.estimate("PA").value == 100
    assert perfect.class_counts()["solved"] == 6
    assert shifted.estimate("AA").value == 0
    assert shifted.class_counts()["exact shift"] == 6
    assert shifted.estimate("SRA").value == pytest.approx(100 * 9 / 12)  # 6 right + 3 down kept
    assert swapped.class_counts()["local swap"] == 6
    assert swapped.estimate("AA").value == pytest.approx(100 * 7 / 9)


def test_seeds_follow_from_the_index_alone(make_source: Any, tmp_path: Path) -> None:
    source = make_source(4)
    (results,) = run(source, "random", tmp_path, seed=7)
    for index, position_of in layouts(results).items():
        session = load_solver("random").prepare(source.read(index))
        expected = session.solve(seed=child_seed(7, index)).position_of
        assert position_of == tuple(expected)


def test_a_second_run_solves_nothing_again(
    make_source: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = make_source(5)
    first = run(source, "random,reading", tmp_path)
    monkeypatch.setattr("puzzleflow.evaluation.runner.solve_task", None)
    second = run(source, "random,reading", tmp_path)
    assert [results.records for results in second] == [results.records for results in first]


def test_resuming_equals_running_through(make_source: Any, tmp_path: Path) -> None:
    source = make_source(6)
    bench = Bench(source, parse_solvers("random"), tmp_path / "whole")
    (whole,) = bench.run()
    journal = bench.journal(bench.specs[0]).path
    cut = tmp_path / "cut" / "journal" / journal.name
    cut.parent.mkdir(parents=True)
    content = journal.read_bytes()
    cut.write_bytes(content[: len(content) // 2])  # in the middle of a line
    resumed = Bench(source, bench.specs, tmp_path / "cut")
    seen = [record.index for _, record in resumed.stream()]
    assert sorted(seen) == list(range(6))
    (results,) = resumed.results()
    assert layouts(results) == layouts(whole)


def test_a_record_is_safe_before_it_is_seen(make_source: Any, tmp_path: Path) -> None:
    bench = Bench(make_source(5), parse_solvers("random"), tmp_path)
    stream = bench.stream()
    _, first = next(stream)
    _, second = next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert bench.journal(bench.specs[0]).read() == [first, second]


def test_the_limit_can_be_raised_later(make_source: Any, tmp_path: Path) -> None:
    source = make_source(5)
    (few,) = run(source, "random", tmp_path, limit=2)
    assert few.indices == [0, 1]
    (more,) = run(source, "random", tmp_path, limit=4)
    assert more.indices == [0, 1, 2, 3]
    assert more.records[:2] == few.records
    (fewer,) = run(source, "random", tmp_path, limit=1)
    assert fewer.indices == [0]


def test_other_data_or_seed_is_refused_unless_fresh(make_source: Any, tmp_path: Path) -> None:
    run(make_source(3), "random", tmp_path)
    with pytest.raises(InputError, match="begun with data"):
        run(make_source(3, salt=1), "random", tmp_path)
    with pytest.raises(InputError, match="begun with seed 0, not 1"):
        run(make_source(3), "random", tmp_path, seed=1)
    Bench(make_source(3), parse_solvers("random"), tmp_path, seed=1).run(fresh=True)


def test_a_folder_that_another_run_holds_is_left_alone_even_if_fresh(
    make_source: Any, tmp_path: Path
) -> None:
    bench = Bench(make_source(3), parse_solvers("random"), tmp_path)
    stream = bench.stream()
    next(stream)
    for fresh in (False, True):
        with pytest.raises(OutputError, match=r"process \d+ on .* is writing here"):
            bench.run(fresh=fresh)
    assert len([*stream]) == 2
    (results,) = bench.results()
    assert results.indices == [0, 1, 2]


def test_a_folder_that_is_removed_ends_in_an_error(make_source: Any, tmp_path: Path) -> None:
    bench = Bench(make_source(3), parse_solvers("random"), tmp_path / "out")
    stream = bench.stream()
    next(stream)
    shutil.rmtree(tmp_path / "out")
    with pytest.raises(OutputError, match=r"cannot write .*random"):
        next(stream)


def test_results_of_an_earlier_version_are_refused_unless_fresh(
    make_source: Any, tmp_path: Path
) -> None:
    bench = Bench(make_source(2), parse_solvers("random"), tmp_path)
    path = bench.journal(bench.specs[0]).path
    path.parent.mkdir()
    path.write_text('{"solver":"random","seed":0,"data":"abc","version":1}\n')
    with pytest.raises(FormatError, match=r"random\.jsonl, line 1: .* earlier one cannot go on"):
        bench.run()
    bench.run(fresh=True)


def test_a_stored_layout_that_is_none_is_named_with_its_line(
    make_source: Any, tmp_path: Path
) -> None:
    bench = Bench(make_source(2), parse_solvers("random"), tmp_path)
    bench.run()
    path = bench.journal(bench.specs[0]).path
    lines = path.read_text().splitlines()
    record = json.loads(lines[2])
    record["position_of"] = [record["position_of"][0]] * len(record["position_of"])
    path.write_text("\n".join([*lines[:2], json.dumps(record), ""]))
    with pytest.raises(InputError, match=r"random\.jsonl, line 3: "):
        Bench(make_source(2), parse_solvers("random"), tmp_path).run()


def test_refusals_and_crashes_are_results(make_source: Any, tmp_path: Path) -> None:
    ways = ("politely", "badly", "short", "silently")
    solvers = ",".join(f"reading:refuse={way}" for way in ways) + ",reading"
    polite, bad, short, silent, good = run(make_source(3), solvers, tmp_path)
    for refused, reason in (
        (polite, "not in the mood"),
        (bad, "ZeroDivisionError"),
        (short, "1 p"),
        (silent, "NoneType, not a Solution"),
    ):
        assert refused.num_refused == 3
        assert refused.estimate("AA").value == 0
        assert reason in refused.records[0].refusal
    assert good.num_refused == 0
    warning = "reading:refuse=politely gave no answer to 3 of 3 puzzles; puzzle 0: cannot solve"
    assert failure_lines([polite, good])[0].startswith(warning)
    assert len(failure_lines([polite, good])) == 1


SOLVER = """
from pathlib import Path
import numpy as np
from puzzleflow.core.puzzle import Solution

class Fixed:
    name = "fixed"

    def __init__(self, weights):
        self.order = [int(word) for word in Path(weights).read_text().split()]

    def prepare(self, puzzle):
        return self

    def solve(self, **_):
        return Solution(np.array(self.order), "fixed")
"""


def test_other_weights_and_other_code_run_again(make_source: Any, tmp_path: Path) -> None:
    code, weights = tmp_path / "fixed.py", tmp_path / "weights.txt"
    code.write_text(SOLVER)
    weights.write_text("0 1 2")
    source, out = make_source(3, (Grid(1, 3),)), tmp_path / "out"
    text = f"{code}:Fixed:weights={weights},random"
    label = f"{code}:Fixed:weights={weights}"

    def bench() -> Bench:
        return Bench(source, parse_solvers(text), out)

    assert bench().outdated() == {}
    assert layouts(bench().run()[0])[0] == (0, 1, 2)
    other = bench().run()[1].records
    assert bench().outdated() == {}
    weights.write_text("2 1 0")
    assert bench().outdated() == {label: "weights"}
    fixed, random = bench().run()
    assert layouts(fixed) == dict.fromkeys(range(3), (2, 1, 0))
    assert random.records == other  # this one stayed
    code.write_text(SOLVER.replace("(self.order)", "(self.order[1:] + self.order[:1])"))
    assert bench().outdated() == {label: "code"}
    assert layouts(bench().run()[0])[0] == (1, 0, 2)
    with pytest.raises(InputError, match="begun with seed 0, not 1"):
        Bench(source, parse_solvers(text), out, seed=1).run()


def test_mixed_grids(make_source: Any, tmp_path: Path) -> None:
    source = make_source(6, (Grid(2, 3), Grid(1, 1), Grid(4, 2)))
    reading, _ = run(source, "reading,random", tmp_path)
    assert reading.estimate("SRA").value == 100
    assert reading.class_counts()[CLASSES[0]] == 6


def test_given_pieces_are_pinned_and_do_not_count(make_source: Any, tmp_path: Path) -> None:
    source = make_source(20, centre_given=True)
    (results,) = run(source, "random", tmp_path)
    for index, position_of in layouts(results).items():
        for piece, position in source.pins(index).items():
            assert position_of[piece] == position
    truths = np.array([source.read(index).truth for index in range(20)])
    right = (np.array(list(layouts(results).values())) == truths).sum(axis=1) - 1
    assert results.shares["AA"] == pytest.approx(right / 8)


@pytest.mark.parametrize(
    ("source_options", "bench_options", "message"),
    [
        ({"num": 0}, {}, "no puzzles"),
        ({"num": 2, "truth": False}, {}, "truth"),
        ({"num": 2}, {"limit": 0}, "limit"),
    ],
)
def test_what_cannot_be_run_is_said_first(
    make_source: Any, tmp_path: Path, source_options: Any, bench_options: Any, message: str
) -> None:
    bench = Bench(make_source(**source_options), parse_solvers("random"), tmp_path, **bench_options)
    with pytest.raises(InputError, match=message):
        bench.check()


def test_the_fingerprint_sees_pixels_truth_and_size(make_source: Any) -> None:
    assert data_fingerprint(make_source(3)) == data_fingerprint(make_source(3))
    different = [make_source(4), make_source(3, salt=1), make_source(3, (Grid(1, 9),))]
    assert len({data_fingerprint(source) for source in [make_source(3), *different]}) == 4


def test_time_and_memory_are_recorded(make_source: Any, tmp_path: Path) -> None:
    bench = Bench(make_source(2), parse_solvers("random"), tmp_path)
    (results,) = bench.run()
    assert (results.seconds > 0).all()
    lines = bench.journal(bench.specs[0]).path.read_text().splitlines()
    assert json.loads(lines[1])["seconds"] > 0
    if Path("/proc/self/clear_refs").exists():
        assert results.worker_mb() is not None


def test_torch_has_one_thread_meanwhile_and_its_own_again(make_source: Any, tmp_path: Path) -> None:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        bench = Bench(make_source(2), parse_solvers("reading"), tmp_path)
        threads = {torch.get_num_threads() for _ in bench.stream()}
        assert threads == {1}
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
