from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.core.errors import FormatError, InputError, OutputError
from puzzleflow.files import (
    atomic_folder,
    atomic_path,
    read_json,
    remove_stale_parts,
    write_bytes,
    write_json,
    write_text,
)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def no_space(*_args, **_kwargs):
    raise OSError(errno.ENOSPC, "No space left on device")


@given(value=json_values)
def test_json_survives_the_way_to_disk_and_back(tmp_path_factory, value):
    path = tmp_path_factory.getbasetemp() / "value.json"
    write_json(path, value)
    assert read_json(path) == value


def test_numpy_becomes_plain_and_nan_becomes_null(tmp_path):
    path = tmp_path / "out.json"
    write_json(
        path, {"n": np.int64(3), "a": np.array([[1.5, np.nan]]), "f": float("inf"), "t": (1,)}
    )
    assert json.loads(path.read_text()) == {"n": 3, "a": [[1.5, None]], "f": None, "t": [1]}


def test_folders_are_made_and_nothing_else_is_left(tmp_path):
    write_text(tmp_path / "a" / "b.txt", "schön")
    assert (tmp_path / "a" / "b.txt").read_bytes() == "schön".encode()
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["b.txt"]


def test_a_failing_block_leaves_the_old_file_and_no_rest(tmp_path):
    path = tmp_path / "out.bin"
    path.write_bytes(b"old")

    def fail_half_way():
        with atomic_path(path) as temporary:
            temporary.write_bytes(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_final_name_does_not_exist_before_the_end(tmp_path):
    path = tmp_path / "out.bin"
    with atomic_path(path) as temporary:
        temporary.write_bytes(b"whole")
        assert not path.exists()
    assert path.read_bytes() == b"whole"


def test_a_folder_is_there_whole_or_not_at_all(tmp_path):
    with pytest.raises(OutputError), atomic_folder(tmp_path / "set") as inside:
        (inside / "a.txt").touch() or write_text(inside / "a.txt" / "below", "1")
    assert list(tmp_path.iterdir()) == []
    with atomic_folder(tmp_path / "sets" / "set") as inside:
        write_text(inside / "a.txt", "1")
        assert not (tmp_path / "sets" / "set").exists()
    assert [p.name for p in (tmp_path / "sets").rglob("*")] == ["set", "a.txt"]
    assert (tmp_path / "sets" / "set").stat().st_mode == (tmp_path / "sets").stat().st_mode
    with (
        pytest.raises(OutputError, match="sets/set: Directory not empty"),
        atomic_folder(tmp_path / "sets" / "set"),
    ):
        pass
    assert [p.name for p in (tmp_path / "sets").iterdir()] == ["set"]


def test_no_space_left_is_said_with_the_file(tmp_path, monkeypatch):
    path = tmp_path / "out.json"
    path.write_text("old")
    monkeypatch.setattr(Path, "write_bytes", no_space)
    with pytest.raises(OutputError, match=r"cannot write .*out\.json: No space left on device"):
        write_json(path, {})
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_no_space_left_at_the_last_moment(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OutputError, match="No space left"):
        write_bytes(tmp_path / "out.bin", b"x")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_the_way(tmp_path):
    with pytest.raises(OutputError, match="folder is in the way"):
        write_bytes(tmp_path, b"x")


def test_a_file_where_a_folder_should_be(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="cannot write"):
        write_bytes(tmp_path / "file" / "below.bin", b"x")


def test_a_link_is_written_through(tmp_path):
    real = tmp_path / "real.txt"
    real.write_text("old")
    (tmp_path / "link.txt").symlink_to(real)
    write_text(tmp_path / "link.txt", "new")
    assert real.read_text() == "new"
    assert (tmp_path / "link.txt").is_symlink()


def test_a_device_is_written_to_not_replaced():
    write_text("/dev/null", "gone")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_pipe_is_written_to_if_somebody_reads_from_it(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OutputError, match=r"pipe: nobody reads from this pipe"):
        write_text(pipe, "waits for ever")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_text(pipe, "read")
    assert os.read(reader, 9) == b"read"
    os.close(reader)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_rights_are_those_of_a_new_file(tmp_path):
    (tmp_path / "plain").touch()
    write_bytes(tmp_path / "atomic", b"")
    assert (tmp_path / "atomic").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_long_name_still_fits(tmp_path):
    write_bytes(tmp_path / ("n" * 250), b"x")
    assert (tmp_path / ("n" * 250)).read_bytes() == b"x"


def test_only_the_temporary_files_of_dead_processes_go(tmp_path):
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    dead, mine = process.pid, os.getpid()
    folder = tmp_path / "sub"
    folder.mkdir()
    kept = {
        *(".part", "x.part", f".{dead}.part", f".x.{dead}.part", f"x.{dead}.abc.part"),
        *(f".x.{mine}.abc.part", ".x.npz.abc.part", f".x.{dead}.abc.png"),
    }
    reborn = folder / f".x.{mine}.def.part"  # of an earlier process that had our number
    gone = {f".x.{dead}.abc.part", f".a.b.{dead}.a_c.part", f".x.{9**20}.a.part", reborn.name}
    for name in kept | gone:
        (folder / name).touch()
    os.utime(reborn, (1, 1))
    (folder / f".set.{dead}.abc.part" / "whole").mkdir(parents=True)  # of an atomic folder
    remove_stale_parts(tmp_path)
    assert {path.name for path in folder.iterdir()} == kept


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe\x00", b"[1,]", b"[" * 100_000, b"9" * 5000]
)
def test_what_is_no_json_is_said_with_the_file(tmp_path, content):
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"bad\.json: expected JSON"):
        read_json(path)


def test_json_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "bom.json"
    path.write_bytes(b"\xef\xbb\xbf[1]")
    assert read_json(path) == [1]


def test_missing_and_unreadable_files(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"gone\.json: No such file"):
        read_json(tmp_path / "gone.json")
    with pytest.raises(InputError, match="cannot read"):
        read_json(tmp_path)

    def refuse(*_args, **_kwargs):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(InputError, match="Permission denied"):
        read_json(tmp_path / "secret.json")
