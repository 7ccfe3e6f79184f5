"""Children of this process, which has imported everything already: a case costs milliseconds.

:func:`call` runs a function in a child with a ceiling of memory and time. :func:`begin` runs the
command line in one, in a session of its own, so that it and all that it starts can be counted.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import pickle
import pkgutil
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar

from processes import in_session

import puzzleflow
from puzzleflow.core.errors import PuzzleFlowError

Given, Answer = TypeVar("Given"), TypeVar("Answer")
MAX_GROWTH = 1.3 * (1 << 30)  # bytes: the ceiling of readers is 1 GiB
MAX_CPU_S = 13.0  # the ceiling of readers is 10 s
GIVEN_UP_S = 900  # of a machine that may be busy: what takes long is judged by its work
_MOST_TOLD = 8000
_HUGE, _MADV_COLLAPSE = 1 << 21, 25


LATE = (  # what the package imports only when it needs it
    "joblib.externals.loky", "matplotlib.figure", "rich.live", "rich.progress", "rich.table",
    "scipy.optimize", "scipy.sparse.csgraph", "scipy.stats", "skimage.color", "skimage.measure",
    "torch.utils.tensorboard", "transformers.models.vit.modeling_vit",
)  # fmt: skip


def warm_up() -> None:
    """Import the whole package and what it needs, so that no child has to."""
    for info in pkgutil.walk_packages(puzzleflow.__path__, "puzzleflow."):
        if not info.name.endswith("__main__"):
            importlib.import_module(info.name)
    for name in LATE:
        with suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # children leave these pages alone
    join_pages()


def join_pages() -> None:
    """Ask Linux to join small pages of memory: a child then costs half as much to make and end."""
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for line in Path("/proc/self/maps").read_text().splitlines():
        where, rights, _, _, _, *file = line.split()
        if rights == "rw-p" and file in ([], ["[heap]"]):
            begin, end = (int(number, 16) for number in where.split("-"))
            for page in range(-(-begin // _HUGE) * _HUGE, end - _HUGE + 1, _HUGE):
                madvise(page, _HUGE, _MADV_COLLAPSE)  # refused by older ones, which costs nothing


@dataclass(frozen=True)
class Ended:
    """How a call ended: "fine", "refused" in our own words, or "broke"."""

    status: str
    text: str
    cpu_s: float
    growth: int  # bytes beyond what the child began with

    @property
    def failure(self) -> str:
        """What is wrong with it, "" if nothing."""
        if self.status == "broke":
            return self.text.strip()[-1500:]
        if self.growth > MAX_GROWTH:
            return f"took {self.growth / (1 << 30):.2f} GiB"
        if self.cpu_s > MAX_CPU_S:
            return f"took {self.cpu_s:.1f} s of work"
        return ""


def call(work: Callable[[], str]) -> Ended:
    """``work()`` in a child; its answer, or what it raised."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _work(work, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        told = stream.read().decode(errors="replace")
    _, status, used = os.wait4(child, 0)
    before, _, told = told.partition("\n")
    cpu_s, growth = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 - int(before or 0)
    if status != 0 or not told:
        number = os.waitstatus_to_exitcode(status)
        names = {-signal.SIGXCPU: "too much work", -signal.SIGALRM: "hung"}
        return Ended("broke", names.get(number, f"ended with {number}"), cpu_s, growth)
    kind, _, text = told.partition("\n")
    return Ended(kind, text, cpu_s, growth)


def side_by_side(work: Callable[[Given], Answer], given: Sequence[Given]) -> list[Answer]:
    """``work`` of each in a child of its own, all at once; the answers in their order."""
    readers = []
    for one in given:
        reader, writer = os.pipe()
        if os.fork() == 0:
            try:
                with os.fdopen(writer, "wb") as stream:
                    pickle.dump(work(one), stream)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)
        os.close(writer)
        readers.append(reader)
    answers = []
    for reader in readers:
        with os.fdopen(reader, "rb") as stream:
            answers.append(pickle.load(stream))
    return answers


def _work(work: Callable[[], str], writer: int) -> NoReturn:
    try:
        os.write(writer, f"{_resident()}\n".encode())
        _silence()
        signal.alarm(GIVEN_UP_S)
        resource.setrlimit(resource.RLIMIT_CPU, (int(2 * MAX_CPU_S), int(3 * MAX_CPU_S)))
        room = _virtual() + int(3 * MAX_GROWTH)
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
        try:
            told = f"fine\n{work()}"
        except PuzzleFlowError as error:
            told = f"refused\n{error}"
        except BaseException:
            told = f"broke\n{traceback.format_exc()[-_MOST_TOLD // 2 :]}"
        os.write(writer, told.encode(errors="backslashreplace")[:_MOST_TOLD])
    finally:
        os._exit(0)


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)


def _memory() -> list[int]:
    """Pages of this process: in all, resident."""
    return [int(word) for word in Path("/proc/self/statm").read_text().split()[:2]]


def _virtual() -> int:
    return _memory()[0] * resource.getpagesize()


def _resident() -> int:
    return _memory()[1] * resource.getpagesize()


@dataclass
class Command:
    """A running command line; ``words`` are its arguments."""

    words: tuple[str, ...]
    process: int
    told: Path
    code: int | None = None

    def wait(self, seconds: float) -> int | None:
        """Its exit code, negative for a signal; None if it is still running then."""
        until = time.monotonic() + seconds
        while self.code is None:
            child, status = os.waitpid(self.process, os.WNOHANG)
            if child:
                self.code = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > until:
                return None
            else:
                time.sleep(0.003)
        return self.code

    def send(self, number: int) -> None:
        """A signal, if it is still there."""
        if self.wait(0) is None:
            os.kill(self.process, number)

    def finish(self, seconds: float = 900.0) -> int:
        """Wait; what hangs is killed with all of its session and counts as -9."""
        code = self.wait(seconds)
        if code is None:
            for number in self.session():
                os.kill(number, signal.SIGKILL)
            code = self.wait(30)
        return -9 if code is None else code

    def session(self) -> list[int]:
        """The processes that it started and that are still there, itself included."""
        return in_session(self.process)

    def orphans(self, patience_s: float = 120.0) -> int:
        """How many of its processes outlive it; they are ended."""
        until = time.monotonic() + patience_s
        while (left := self.session()) and time.monotonic() < until:
            time.sleep(0.05)
        for number in left:
            os.kill(number, signal.SIGKILL)
        return len(left)

    def output(self) -> str:
        """What it printed, on both streams."""
        return self.told.read_text(errors="replace")


def begin(
    words: tuple[str, ...],
    told: Path,
    *,
    before: Callable[[], object] = lambda: None,
) -> Command:
    """Run ``puzzleflow WORDS`` in a child that leads a session; it prints into ``told``."""
    told.write_bytes(b"")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setsid()
            output = os.open(told, os.O_WRONLY | os.O_APPEND)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(output, 1)
            os.dup2(output, 2)
            sys.stdout, sys.stderr = (os.fdopen(n, "w", closefd=False) for n in (1, 2))
            signal.signal(signal.SIGINT, signal.default_int_handler)
            before()
            code = _main(words)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return Command(words, child, told)


def _main(words: tuple[str, ...]) -> int:
    from puzzleflow.cli.main import main

    sys.argv = ["puzzleflow", *words]
    try:
        main()
    except SystemExit as end:
        code = end.code
        _end_workers()
        return code if isinstance(code, int) else 0 if code is None else 1
    _end_workers()
    return 0


def _end_workers() -> None:
    """What the interpreter would do at its end, which a forked child never reaches."""
    from joblib.externals.loky import reusable_executor

    executor = reusable_executor._executor
    if executor is not None:
        executor.shutdown(wait=True, kill_workers=True)
