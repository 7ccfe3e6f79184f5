from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from joblib.externals.loky import reusable_executor

from puzzleflow.core.errors import InputError
from puzzleflow.core.rng import child_rng
from puzzleflow.parallel import available_cores, bounded_map


def draw(item: int) -> float:
    return float(child_rng(0, item).random())


def process_of(item: int) -> int:
    return os.getpid()


def threads_of(item: int) -> str | None:
    return os.environ.get("OMP_NUM_THREADS")


def folder_of(item: int) -> str:
    return str(Path.cwd())


def later_first(item: int) -> int:
    time.sleep(0.05 * (3 - item))
    return item


def fail_at_two(item: int) -> int:
    if item == 2:
        raise ValueError("two")
    return item


def test_one_worker_runs_here_and_lazily():
    assert list(bounded_map(process_of, range(3))) == [os.getpid()] * 3
    taken: list[int] = []
    results = bounded_map(lambda item: item * item, (taken.append(i) or i for i in range(9)))
    assert [next(results), next(results)] == [0, 1]
    assert taken == [0, 1]


def test_the_number_of_workers_changes_nothing_but_the_process():
    alone = list(bounded_map(draw, range(6)))
    assert list(bounded_map(draw, range(6), num_workers=2)) == alone
    assert os.getpid() not in list(bounded_map(process_of, range(2), num_workers=2))
    assert list(bounded_map(threads_of, range(2), num_workers=2)) == ["1", "1"]


def test_results_keep_the_order_of_the_items():
    assert list(bounded_map(later_first, range(3), num_workers=2)) == [0, 1, 2]


def test_no_more_items_are_taken_than_allowed():
    taken: list[int] = []
    items = (taken.append(i) or i for i in range(100))
    results = bounded_map(draw, items, num_workers=2, ahead=3)
    next(results)
    assert len(taken) == 6
    next(results)
    assert len(taken) == 7
    results.close()
    assert len(taken) == 7


@pytest.mark.parametrize("num_workers", [1, 2])
def test_an_error_comes_through_and_the_next_map_works(num_workers):
    with pytest.raises(ValueError, match="two"):
        list(bounded_map(fail_at_two, range(4), num_workers=num_workers))
    assert list(bounded_map(fail_at_two, [0, 1], num_workers=num_workers)) == [0, 1]


@pytest.mark.parametrize("num_workers", [1, 2])
def test_nothing_to_do(num_workers):
    assert list(bounded_map(draw, [], num_workers=num_workers)) == []


@pytest.mark.parametrize("num_workers", [0, -2])
def test_numbers_of_workers_that_make_no_sense(num_workers):
    with pytest.raises(InputError, match="workers: expected 1 or more"):
        list(bounded_map(draw, [1], num_workers=num_workers))


def test_every_core_may_be_asked_for():
    assert available_cores() >= 1
    assert list(bounded_map(draw, [5], num_workers=-1)) == [draw(5)]


def test_workers_end_when_their_parent_is_killed():
    code = (
        "import os, time\n"
        "from puzzleflow.parallel import bounded_map\n"
        "for pid in bounded_map(lambda i: os.getpid() if i < 2 else time.sleep(60), range(6),"
        " num_workers=2):\n"
        "    print(pid, flush=True)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    workers = {int(parent.stdout.readline()) for _ in range(2)}
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 30
    while any(_runs(pid) for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not [pid for pid in workers if _runs(pid)]


def _runs(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


GROWING = """
import os
from puzzleflow.parallel import bounded_map

def grown(item):
    from joblib.externals.loky import process_executor
    process_executor._MAX_MEMORY_LEAK_SIZE = -(10**12)  # any size is too much ...
    process_executor._MEMORY_LEAK_CHECK_DELAY = -1.0  # ... and looked at after every item
    return os.getpid()

print(len(set(bounded_map(grown, range(12), num_workers=2))))
"""


def test_a_worker_that_has_grown_is_kept_and_nothing_hangs(tmp_path: Path) -> None:
    pytest.importorskip("psutil")  # only then loky looks
    (tmp_path / "growing.py").write_text(GROWING)
    words = [sys.executable, "-W", "error::UserWarning", tmp_path / "growing.py"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100)
    assert (done.stderr, done.returncode) == ("", 0)
    assert int(done.stdout) <= 2


def test_interrupted_while_items_wait_no_thread_breaks(monkeypatch) -> None:
    """Ctrl-C comes when an item is queued and the thread that hands it out not yet woken."""
    broken: list[object] = []
    monkeypatch.setattr(threading, "excepthook", broken.append)

    def items():
        yield 60
        executor = reusable_executor._executor
        while not executor._running_work_items:  # the first one is handed out
            time.sleep(0.05)
        time.sleep(0.2)  # and the thread waits again
        wakeup = executor._executor_manager_thread_wakeup
        waking = wakeup.wakeup

        def interrupted() -> None:
            monkeypatch.setattr(wakeup, "wakeup", waking)
            raise KeyboardInterrupt

        monkeypatch.setattr(wakeup, "wakeup", interrupted)
        yield 60

    with pytest.raises(KeyboardInterrupt):
        list(bounded_map(time.sleep, items(), num_workers=2))
    assert broken == []
    assert list(bounded_map(abs, [-1, -2], num_workers=2)) == [1, 2]


def test_workers_are_where_their_parent_is(tmp_path: Path, monkeypatch) -> None:
    list(bounded_map(process_of, range(2), num_workers=2))
    monkeypatch.chdir(tmp_path)
    found = list(bounded_map(folder_of, range(2), num_workers=2))
    assert found == [str(tmp_path)] * 2
