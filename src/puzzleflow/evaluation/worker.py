"""What a worker process does: keep source and solver, solve a puzzle, say how it went."""

from __future__ import annotations

import ctypes
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

import numpy as np

from puzzleflow.core.errors import CannotSolve, InputError
from puzzleflow.core.open_facts import OpenFacts
from puzzleflow.core.puzzle import Puzzle, Solution
from puzzleflow.core.rng import child_seed
from puzzleflow.core.types import FloatArray
from puzzleflow.evaluation.results import Record
from puzzleflow.evaluation.spec import SolverSpec
from puzzleflow.solvers.base import Solver, seen
from puzzleflow.storage.source import PuzzleSource

_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"  # proc(5): reset the peak resident set size


class PeakMemory:
    """Context manager: peak resident memory of this process inside the block.

    Works where Linux's ``/proc`` lets a process reset its own peak; elsewhere
    both figures are None.

    added_mb    peak inside the block minus what was resident before it
    process_mb  peak inside the block
    """

    added_mb: float | None = None
    process_mb: float | None = None

    def __enter__(self) -> PeakMemory:
        self._before_kb: int | None = None
        try:
            _CLEAR_REFS.write_text(_RESET_PEAK)
            self._before_kb = _status_kb("VmRSS")
        except OSError:
            pass
        return self

    def __exit__(self, *raised: object) -> None:
        if self._before_kb is None:
            return
        peak_kb = _status_kb("VmHWM")
        self.process_mb = round(peak_kb / 1024, 2)
        self.added_mb = round(max(0, peak_kb - self._before_kb) / 1024, 2)


def release_free_memory() -> None:
    """Give memory that was freed but kept for later back to the system, where that is possible.

    Without it the peak of repeated work hides in what earlier work left behind.
    """
    if sys.platform != "linux":
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it, musl does not
    if trim is not None:
        trim(0)


def _status_kb(name: str) -> int:
    match = re.search(rf"^{name}:\s+(\d+) kB", _STATUS.read_text(), re.MULTILINE)
    if match is None:
        raise OSError(f"{_STATUS} has no {name}")
    return int(match[1])


@dataclass(frozen=True)
class Task:
    """One puzzle for one solver; ``run`` is the same for all tasks of a run."""

    run: str
    source: PuzzleSource
    spec: SolverSpec
    index: int
    seed: int
    threads: int = 1


NUM_MEASURED = 3  # puzzles of each solver and worker whose memory is measured

_sources: dict[str, PuzzleSource] = {}
_solvers: dict[SolverSpec, Solver] = {}
_num_measured: Counter[SolverSpec] = Counter()
_torch_threads: list[int] = []  # how many there were before we set one


def solve_task(task: Task) -> tuple[SolverSpec, Record]:
    """Solve without sight of the truth; a refusal or a crash is a result, too.

    The seed follows from the root seed and the puzzle's index alone. The first
    puzzle that a solver meets in this process is solved once more, so that
    imports, weights and compiled kernels count neither as time nor as memory;
    the first few are solved once more to measure memory, because giving freed
    memory back to the system first, which that needs, would cost time.
    """
    source = open_here(task.run, task.source)
    whole = source.read(task.index)
    puzzle = seen(whole)
    pinned = source.pins(task.index) or None
    seed = child_seed(task.seed, task.index)
    is_new = task.spec not in _solvers
    solver = load_here(task.spec, task.threads)
    if is_new:
        _attempt(solver, puzzle, seed, pinned)
    memory_mb = None
    if _num_measured[task.spec] < NUM_MEASURED:
        _num_measured[task.spec] += 1
        release_free_memory()
        with PeakMemory() as memory:
            _attempt(solver, puzzle, seed, pinned)
        memory_mb = memory.added_mb
    with PeakMemory() as memory:
        started = perf_counter()
        answer = _attempt(solver, puzzle, seed, pinned)
        seconds = perf_counter() - started
    record = Record(
        index=task.index,
        puzzle_id=whole.puzzle_id,
        position_of=None,
        seconds=round(seconds, 6),
        memory_mb=memory_mb,
        worker_mb=memory.process_mb,
    )
    if not isinstance(answer, Solution):
        return task.spec, replace(record, refusal=answer)
    return task.spec, replace(
        record,
        position_of=tuple(answer.position_of.tolist()),
        confidence=_shares(None if answer.confidence is None else [answer.confidence]),
        seams=_shares(answer.seam_confidence),
        open=OpenFacts.of(answer),
    )


def forget() -> None:
    """Drop the sources and solvers that this process keeps; give torch its threads back."""
    for source in _sources.values():
        source.close()
    _sources.clear()
    _solvers.clear()
    _num_measured.clear()
    if _torch_threads:
        sys.modules["torch"].set_num_threads(_torch_threads.pop())


def open_here(run: str, source: PuzzleSource) -> PuzzleSource:
    """The source of this run, opened once in this process."""
    if run not in _sources:
        forget()
        _sources[run] = source
    return _sources[run]


def load_here(spec: SolverSpec, threads: int = 1) -> Solver:
    """The solver, loaded once in this process; torch, where it needs that, has few threads."""
    if spec not in _solvers:
        _solvers[spec] = spec.load()
    torch = sys.modules.get("torch")
    if torch is not None and not _torch_threads:
        _torch_threads.append(torch.get_num_threads())
        torch.set_num_threads(threads)
    return _solvers[spec]


def _shares(parts: Sequence[FloatArray] | None) -> tuple[float, ...] | None:
    """All parts in one row, 5 digits; None unless every number lies in [0, 1]."""
    if parts is None:
        return None
    flat = np.concatenate([np.ravel(part) for part in parts])
    within = (flat >= -1e-6) & (flat <= 1 + 1e-6)
    return tuple(np.clip(flat, 0, 1).round(5).tolist()) if within.all() else None


def _attempt(
    solver: Solver, puzzle: Puzzle, seed: int, pinned: dict[int, int] | None
) -> Solution | str:
    """The solution, or why there is none."""
    try:
        return checked(solver.prepare(puzzle).solve(seed=seed, pinned=pinned), puzzle)
    except CannotSolve as refusal:
        return f"cannot solve: {refusal}"
    except Exception as error:  # a foreign solver may raise anything; the run goes on
        return f"crashed: {type(error).__name__}: {error}"


def checked(answer: object, puzzle: Puzzle) -> Solution:
    """What a session returned, if it is a solution of this puzzle."""
    if not isinstance(answer, Solution):
        raise InputError(f"the solver returned {type(answer).__name__}, not a Solution")
    if answer.num_pieces != puzzle.num_pieces:
        raise InputError(f"{answer.num_pieces} positions for {puzzle.num_pieces} pieces")
    if not puzzle.is_closed:
        _check_open(answer, puzzle)
    elif answer.grid is not None and (answer.grid != puzzle.grid or (answer.position_of < 0).any()):
        raise InputError("the solver left pieces aside or changed the grid of a closed puzzle")
    return answer


def _check_open(answer: Solution, puzzle: Puzzle) -> None:
    """Refuse an answer that the conditions of an open puzzle do not allow."""
    allowed, grid = puzzle.conditions, answer.grid
    if grid is None or (allowed.turned and answer.turns is None):
        raise CannotSolve(
            "this solver says nothing of grids or turns: it knows closed puzzles only"
        )
    if puzzle.known_grid is not None and not allowed.hidden and grid != puzzle.known_grid:
        raise InputError(f"the solver laid a {grid} grid, not {puzzle.known_grid}")
    num_aside = int(np.count_nonzero(answer.position_of < 0))
    num_empty = grid.num_pieces - puzzle.num_pieces + num_aside
    if num_aside > allowed.foreign or num_empty > allowed.missing:
        raise InputError(
            f"the solver left {num_aside} pieces aside and {num_empty} cells empty, of at most "
            f"{allowed.foreign} and {allowed.missing}"
        )
