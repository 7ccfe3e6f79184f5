"""Bad input ends in one line on stderr that names the file, exit status 2, no traceback."""

from __future__ import annotations

import struct
import subprocess
import sys
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest

from puzzleflow.cli.main import main


def inspect(monkeypatch, capsys, path: Path, *options: str) -> tuple[int, str]:
    monkeypatch.delenv("PUZZLEFLOW_DEBUG", raising=False)
    monkeypatch.setattr(sys, "argv", ["puzzleflow", "inspect", str(path), *options])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0), capsys.readouterr().err


def truncated(folder: Path) -> None:
    with h5py.File(folder / "whole.h5", "w") as file:
        file["puzzles"] = np.zeros((2, 9, 4, 4, 4), np.uint8)
    content = (folder / "whole.h5").read_bytes()
    (folder / "whole.h5").unlink()
    (folder / "puzzles.h5").write_bytes(content[:-300])


def foreign(folder: Path) -> None:
    (folder / "puzzles.h5").write_text("a text")


def wrong_dtype(folder: Path) -> None:
    with h5py.File(folder / "puzzles.h5", "w") as file:
        file["puzzles"] = np.zeros((2, 9, 4, 4, 4), np.float32)


def no_grid(folder: Path) -> None:
    with h5py.File(folder / "puzzles.h5", "w") as file:
        file["puzzles"] = np.zeros((2, 7, 4, 4, 4), np.uint8)


def pickled(folder: Path) -> None:
    np.save(folder / "test_img_33.npy", np.array([None]), allow_pickle=True)


def bomb(folder: Path) -> None:
    """A few bytes that claim to be 60,000 x 60,000 pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    size = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 6, 0, 0, 0)
    body = chunk(b"IHDR", size) + chunk(b"IDAT", zlib.compress(bytes(99))) + chunk(b"IEND", b"")
    (folder / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + body)


def no_picture(folder: Path) -> None:
    (folder / "a.png").write_bytes(b"nothing to see")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (truncated, "puzzles.h5: expected a readable HDF5 file"),
        (foreign, "puzzles.h5: expected a readable HDF5 file"),
        (wrong_dtype, "puzzles.h5: expected puzzles, uint8"),
        (no_grid, "puzzles.h5: 7 pieces fill no square grid"),
        (pickled, "test_img_33.npy: holds pickled Python objects"),
        (bomb, "a.png: "),
        (no_picture, "a.png: not a readable picture"),
        (lambda folder: None, "no puzzles recognised"),
        (Path.rmdir, "no such file or folder"),
    ],
)
def test_bad_input(tmp_path, monkeypatch, capsys, spoil, words):
    folder = tmp_path / "data"
    folder.mkdir()
    spoil(folder)
    code, stderr = inspect(monkeypatch, capsys, folder)
    assert code == 2
    assert stderr.startswith("puzzleflow: error: ")
    assert stderr.count("\n") == 1
    assert str(folder) in stderr
    assert words in stderr


def test_an_output_in_the_way(tmp_path, monkeypatch, capsys, make_set):
    make_set(tmp_path / "a")
    (tmp_path / "taken").mkdir()
    code, stderr = inspect(monkeypatch, capsys, tmp_path / "a", "--json", str(tmp_path / "taken"))
    assert code == 2
    assert "cannot write" in stderr


@pytest.fixture
def make_set():
    def write(folder: Path) -> None:
        folder.mkdir()
        with h5py.File(folder / "puzzles.h5", "w") as file:
            file["puzzles"] = np.full((2, 9, 4, 4, 4), 255, np.uint8)

    return write


def test_as_a_program(tmp_path, make_set):
    make_set(tmp_path / "a")
    code = "from puzzleflow.cli.main import main; main()"
    command = [sys.executable, "-c", code, "inspect", str(tmp_path / "a")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "2 puzzles of 3x3 pieces, without truth" in done.stdout
    assert "not compressed" in done.stdout
