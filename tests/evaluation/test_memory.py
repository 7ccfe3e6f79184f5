from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from puzzleflow.evaluation import worker
from puzzleflow.evaluation.worker import PeakMemory, release_free_memory


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc")
def test_sees_what_was_needed_for_a_moment() -> None:
    with PeakMemory() as peak:
        np.ones(8_000_000).sum()  # 61 MiB, gone at once
    with PeakMemory() as nothing:
        pass
    assert peak.added_mb is not None
    assert nothing.added_mb is not None
    assert peak.added_mb > 50
    assert nothing.added_mb < 20


def test_unknown_where_the_system_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_CLEAR_REFS", Path("/no/such/file"))
    with PeakMemory() as peak:
        pass
    assert peak.added_mb is None
    assert peak.process_mb is None


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc")
def test_the_same_work_twice_needs_the_same_memory_twice() -> None:
    needed = []
    for _ in range(2):
        release_free_memory()
        with PeakMemory() as peak:
            parts = [np.ones(4_000) for _ in range(1000)]  # 31 MiB in small parts
            del parts
        needed.append(peak.added_mb or 0.0)
    assert min(needed) > 25
