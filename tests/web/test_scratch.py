"""Temporary files are gone after the program, also after a crash."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from puzzleflow.core.errors import OutputError
from puzzleflow.web.store import LOCK, PREFIX, scratch_folder, sweep


def test_the_folder_is_private_and_goes_with_its_content(tmp_path: Path) -> None:
    with scratch_folder(tmp_path) as folder:
        (folder / "deep").mkdir()
        (folder / "deep" / "file").write_text("x")
        assert folder.stat().st_mode & 0o077 == 0
    assert not folder.exists()


def test_it_goes_after_an_error_too(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), scratch_folder(tmp_path) as folder:
        raise ZeroDivisionError
    assert not folder.exists()


def test_what_a_killed_program_left_is_swept_at_the_next_start(tmp_path: Path) -> None:
    code = (
        "import sys, time; from puzzleflow.web.store import scratch_folder\n"
        "with scratch_folder(sys.argv[1]) as folder:\n"
        "    (folder / 'piece.npy').write_bytes(b'x'); print(folder, flush=True); time.sleep(60)"
    )
    program = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert program.stdout is not None
    left = Path(program.stdout.readline().strip())
    assert sweep(tmp_path) == []  # still held
    program.send_signal(signal.SIGKILL)
    program.wait()
    program.stdout.close()
    assert (left / "piece.npy").exists()
    with scratch_folder(tmp_path) as folder:
        assert not left.exists()
        assert folder.exists()


def test_others_folders_and_links_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / "other")
    fresh = tmp_path / f"{PREFIX}being-made"
    fresh.mkdir()
    old = tmp_path / f"{PREFIX}old"
    old.mkdir()
    os.utime(old, (1, 1))
    with scratch_folder(tmp_path) as held:
        assert (held / LOCK).exists()
        assert sweep(tmp_path) == []
        assert fresh.exists()
        assert not old.exists()
        assert (tmp_path / "other").exists()


def test_a_place_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="missing"), scratch_folder(tmp_path / "missing"):
        pass
