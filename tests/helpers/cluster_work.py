"""What tests let the workers of a cluster do; light to import there."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def told(item: int) -> tuple[int, str]:
    time.sleep(0.02 * (item % 3))
    return item * item, str(Path.cwd())


def process(item: int) -> int:
    return os.getpid()


def fail_at_two(item: int) -> int:
    if item == 2:
        raise ValueError("two")
    return item


def end_worker(item: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)
