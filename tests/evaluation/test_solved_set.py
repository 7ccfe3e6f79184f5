from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from puzzleflow.core.errors import CannotSolve, InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Solution
from puzzleflow.evaluation import solved_set
from puzzleflow.evaluation.solved_set import SolvedSet
from puzzleflow.evaluation.spec import SolverSpec
from puzzleflow.solvers.registry import load_solver

TOGETHER = '''
import numpy as np
from puzzleflow.core.puzzle import Solution

batches = []

class Together:
    """Its confidence is a sum over all puzzles of a batch: who else was there shows."""

    name = "together"

    def prepare_many(self, puzzles):
        assert len({(p.grid, p.piece_px) for p in puzzles}) == 1
        batches.append([p.puzzle_id for p in puzzles])
        total = sum(float(p.pieces[..., 1].mean()) for p in puzzles)
        return [Session(p, total) for p in puzzles]

    def prepare(self, puzzle):
        return self.prepare_many([puzzle])[0]

class Session:
    def __init__(self, puzzle, total):
        self.puzzle, self.total = puzzle, total

    def solve(self, *, seed, pinned=None, forbidden=(), num_alternatives=0):
        n = self.puzzle.num_pieces
        return Solution(np.arange(n), "together", confidence=np.full(n, self.total))
'''


@pytest.fixture
def together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SolverSpec:
    """A solver in a file that encodes in batches; blocks of five, batches of three."""
    monkeypatch.setattr(solved_set, "BLOCK", 5)
    monkeypatch.setattr(solved_set, "PIECES_AT_ONCE", 3 * 9 + 8)
    path = tmp_path / "solvers" / "together.py"
    path.parent.mkdir()
    path.write_text(TOGETHER)
    return SolverSpec.parse(f"{path}:Together")


def content(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.iterdir()}


def test_a_stopped_run_goes_on_with_the_same_batches(
    make_source: Any, tmp_path: Path, together: SolverSpec
) -> None:
    source = make_source(13)
    SolvedSet(source, together, tmp_path / "whole").run()
    whole = content(tmp_path / "whole")
    lines = whole["solutions.jsonl"].splitlines(keepends=True)
    shown = [json.loads(line)["confidence"][0] for line in lines[1:]]
    assert len(set(shown)) == 5  # 0-2, 3-4, 5-7, 8-9, 10-12
    for num in (0, 1, 5, 13):
        out = tmp_path / f"cut{num}"
        out.mkdir()
        (out / "solutions.jsonl").write_bytes(b"".join(lines[: num + 1]) + b'{"index": 1')
        SolvedSet(source, together, out).run()
        assert content(out) == whole
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "solutions.jsonl").write_bytes(lines[0][:20])
    SolvedSet(source, together, tmp_path / "torn").run()
    assert content(tmp_path / "torn") == whole
    few = SolvedSet(source, together, tmp_path / "few", limit=4)
    assert len(few.run()) == 4
    assert content(few.out)["solutions.jsonl"] == b"".join(lines[:5])
    SolvedSet(source, together, few.out).run()
    assert content(few.out) == whole


def test_puzzles_of_different_grids_are_prepared_apart(
    make_source: Any, tmp_path: Path, together: SolverSpec
) -> None:
    source = make_source(7, (Grid(2, 3), Grid(1, 2)))
    solved = SolvedSet(source, together, tmp_path / "out").run()
    assert [len(one.position_of) for one in solved] == [6, 2, 6, 2, 6, 2, 6]
    assert not (tmp_path / "out" / "predictions.npz").exists()


def test_other_runs_are_refused_unless_fresh(make_source: Any, tmp_path: Path) -> None:
    spec = SolverSpec.parse("random")
    SolvedSet(make_source(3), spec, tmp_path).run()
    before = content(tmp_path)
    for other, changed in (
        (SolvedSet(make_source(3), spec, tmp_path, seed=1), "seed"),
        (SolvedSet(make_source(3, salt=1), spec, tmp_path), "data"),
        (SolvedSet(make_source(3), SolverSpec.parse("reading"), tmp_path), "solver"),
        (SolvedSet(make_source(3), spec, tmp_path, alternatives=2), "alternatives"),
    ):
        with pytest.raises(InputError, match=rf"begun with .*{changed} .*, not "):
            other.run()
        assert content(tmp_path) == before
    SolvedSet(make_source(3), spec, tmp_path, seed=1).run(fresh=True)
    assert content(tmp_path) != before


def test_an_edited_solver_starts_over(
    make_source: Any, tmp_path: Path, together: SolverSpec
) -> None:
    out = tmp_path / "out"
    SolvedSet(make_source(3), together, out).run()
    path = Path(together.name.rpartition(":")[0])
    path.write_text(TOGETHER.replace("np.arange(n)", "np.arange(n)[::-1]"))
    again = SolvedSet(make_source(3), together, out)
    assert again.outdated() == {"code"}
    assert again.run()[0].position_of.tolist() == list(range(9))[::-1]


def test_what_goes_wrong_names_the_puzzle(make_source: Any, tmp_path: Path) -> None:
    for options, error, message in (
        ("refuse=politely", CannotSolve, r"made-up, puzzle 0: not in the mood"),
        ("refuse=short", InputError, r"made-up, puzzle 0: 1 positions for 9 pieces"),
        ("refuse=silently", InputError, r"made-up, puzzle 0: .*NoneType, not a Solution"),
    ):
        spec = SolverSpec.parse(f"reading:{options}")
        with pytest.raises(error, match=message):
            SolvedSet(make_source(3), spec, tmp_path / options).run()
    with pytest.raises(InputError, match="no puzzles"):
        SolvedSet(make_source(0), SolverSpec.parse("random"), tmp_path / "none").run()


def test_given_pieces_are_pinned_and_do_not_count(make_source: Any, tmp_path: Path) -> None:
    source = make_source(20, centre_given=True)
    run = SolvedSet(source, SolverSpec.parse("random"), tmp_path)
    solved = run.run()
    truths = np.stack([source.read(index).truth for index in range(20)])
    layouts = np.stack([one.position_of for one in solved])
    assert all(layouts[i, piece] == 4 for i in range(20) for piece in source.pins(i))
    results = run.results(solved)
    assert results is not None
    assert results.shares["AA"] == pytest.approx(((layouts == truths).sum(axis=1) - 1) / 8)
    assert SolvedSet(make_source(2, truth=False), run.spec, tmp_path).results(solved[:2]) is None


def test_relational_solutions_do_not_depend_on_where_it_was_stopped(
    make_source: Any, tmp_path: Path
) -> None:
    """The real network: batches of another size would differ in the last bits."""
    spec = SolverSpec.parse("relational")
    SolvedSet(make_source(5), spec, tmp_path / "whole", alternatives=2).run()
    whole = content(tmp_path / "whole")
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "solutions.jsonl").write_bytes(whole["solutions.jsonl"][:-900])
    SolvedSet(make_source(5), spec, tmp_path / "cut", alternatives=2).run()
    assert content(tmp_path / "cut") == whole
    session = load_solver("relational").prepare(make_source(5).read(3).without_truth())
    alone: Solution = session.solve(seed=0)
    line = json.loads(whole["solutions.jsonl"].splitlines()[4])
    assert line["layout"] == alone.position_of.tolist()
    assert line["energy"] == pytest.approx(alone.energy, abs=1e-3)
