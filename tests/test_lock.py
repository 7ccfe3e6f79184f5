from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from puzzleflow.core.errors import OutputError
from puzzleflow.lock import LOCK, fcntl, locked

HOLD = (
    "import sys, time; from pathlib import Path; from puzzleflow.lock import locked\n"
    "from puzzleflow.files import atomic_path\n"
    "folder = Path(sys.argv[1])\n"
    "with locked(folder), atomic_path(folder / 'deep' / 'half.bin') as temporary:\n"
    "    temporary.write_bytes(b'half'); print('held', flush=True); time.sleep(60)"
)


@contextmanager
def holder(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds ``folder`` and is writing a file below it."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_second_process_is_told_who_holds_the_folder(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with holder(out) as process:
        pattern = rf"out: process {process.pid} on \S+ is writing here; wait for its end"
        with pytest.raises(OutputError, match=pattern), locked(out):
            pass
        assert len(list(out.rglob("*.part"))) == 1, "a living process keeps its file"
        assert (out / LOCK).exists()


def test_a_kill_ends_the_lock_and_the_next_one_clears_up(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        (left,) = tmp_path.rglob("*.part")
        assert f".{process.pid}." in left.name
        mine = left.with_name(f".x.{os.getpid()}.abc.part")
        mine.touch()
        foreign = left.with_name(".download.part")
        foreign.touch()
        with locked(tmp_path):
            assert set(left.parent.iterdir()) == {mine, foreign}
    assert not (tmp_path / LOCK).exists()


def test_it_holds_within_one_process_and_again_afterwards(tmp_path: Path) -> None:
    with locked(tmp_path):
        with (
            pytest.raises(OutputError, match=f"process {os.getpid()} on .* is writing"),
            locked(tmp_path),
        ):
            pass
        with pytest.raises(OutputError), locked(tmp_path):
            pass
    with locked(tmp_path):
        assert [path.name for path in tmp_path.iterdir()] == [LOCK]
    assert list(tmp_path.iterdir()) == []


def test_a_new_folder_stays_only_if_something_is_in_it(tmp_path: Path) -> None:
    with locked(tmp_path / "empty"):
        assert (tmp_path / "empty").is_dir()
    assert not (tmp_path / "empty").exists()
    with locked(tmp_path / "full"):
        (tmp_path / "full" / "file").touch()
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["file"]


def test_a_folder_that_is_removed_meanwhile_is_an_error(tmp_path: Path) -> None:
    out = tmp_path / "out"

    def work() -> None:
        with locked(out) as lock:
            lock.check()
            shutil.rmtree(out)
            with pytest.raises(OutputError, match="out: was removed while"):
                lock.check()
            out.mkdir()  # also if it is made again

    with pytest.raises(OutputError, match="out: was removed while"):
        work()


def test_the_first_error_is_the_one_that_counts(tmp_path: Path) -> None:
    def work() -> None:
        with locked(tmp_path / "out"):
            shutil.rmtree(tmp_path / "out")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()


def test_a_lock_file_that_goes_while_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = fcntl.flock
    calls = 0

    def late(handle: int, how: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            (tmp_path / LOCK).unlink()  # its last owner leaves between our open and our lock
        real(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with (
        locked(tmp_path),
        pytest.raises(OutputError, match="is writing here"),
        locked(tmp_path),
    ):
        pass
    assert calls == 3


def test_what_cannot_be_locked_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OutputError, match=r"cannot write .*file"), locked(place):
            pass

    def unsupported(handle: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with pytest.raises(OutputError, match=r"cannot lock .*: No locks available"), locked(tmp_path):
        pass


def test_a_full_disk_is_locked_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int, content: bytes, offset: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with (
        locked(tmp_path / "out"),
        pytest.raises(OutputError, match="another process is writing"),
        locked(tmp_path / "out"),
    ):
        pass
    assert list(tmp_path.iterdir()) == []
