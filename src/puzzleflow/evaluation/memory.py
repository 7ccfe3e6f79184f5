"""How much memory a piece of work needed, as the operating system saw it."""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path

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
