"""What a training keeps on disk: damaged caches are made anew, a full disk is one error."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from processes import in_session
from small_disk import small_disk

from puzzleflow.core.errors import FormatError, OutputError
from puzzleflow.training import banks
from puzzleflow.training.banks import PictureBank, draw_or_read
from puzzleflow.training.log import LOG, RunLog, validations
from puzzleflow.training.state import (
    PREVIOUS,
    STATE,
    load_newest,
    load_state,
    save_newest,
    save_state,
)


def bank_of(folder: Path, cache: Path) -> PictureBank:
    return PictureBank(sorted(folder.glob("*.png")), cache, size_px=32)


def test_a_damaged_picture_cache_is_made_anew(picture_folder: Path, tmp_path: Path) -> None:
    bank = bank_of(picture_folder, tmp_path)
    assert np.array_equal(bank[3], np.load(bank.path)[3]), "an .npy file like any other"
    whole = bank.path.read_bytes()
    middle = len(whole) // 2
    for damaged in (
        whole[:-1],
        whole[:middle],
        whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
        whole.replace(b"(12, 32", b"(11, 32"),
        whole + b"more",
        b"",
    ):
        assert damaged != whole
        bank.path.write_bytes(damaged)
        bank_of(picture_folder, tmp_path)
        assert bank.path.read_bytes() == whole
    bank.path.unlink()
    os.mkfifo(bank.path)  # would be waited for
    bank_of(picture_folder, tmp_path)
    assert bank.path.read_bytes() == whole
    kept = bank.path.stat().st_mtime_ns
    bank_of(picture_folder, tmp_path)
    assert bank.path.stat().st_mtime_ns == kept, "a whole one is used"


def test_a_damaged_mask_cache_is_drawn_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(banks, "NUM_GENERATED", 30)
    drawn = draw_or_read("outline", tmp_path)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for damaged in (whole[:-30], whole[:500] + b"\0\0" + whole[502:], b"", b"PK"):
        path.write_bytes(damaged)
        assert np.array_equal(draw_or_read("outline", tmp_path), drawn)
        assert path.read_bytes() == whole


def test_a_full_disk_while_caching_is_one_error(picture_folder: Path, tmp_path: Path) -> None:
    with (
        small_disk(20_000),
        pytest.raises(OutputError, match=r"cannot write .*pictures-.*\.npy"),
    ):
        bank_of(picture_folder, tmp_path)
    assert not list(tmp_path.rglob("*.*"))


def test_a_full_disk_keeps_both_states(tmp_path: Path) -> None:
    for step in (1, 2):
        save_newest(tmp_path, {"a": torch.full((9000,), float(step))}, {"step": step})
    with small_disk(20_000), pytest.raises(OutputError, match=r"cannot write .*state"):
        save_newest(tmp_path, {"a": torch.zeros(9000)}, {"step": 3})
    assert [load_state(tmp_path / name)[1]["step"] for name in (STATE, PREVIOUS)] == [2, 1]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([STATE, PREVIOUS])


def test_every_changed_byte_of_a_state_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / STATE
    tensors = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.arange(4)}
    save_state(path, tensors, {"step": 3, "settings": {"rate": 0.1}})
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            found, values = load_state(path)
        except FormatError:
            continue
        assert values == {"step": 3, "settings": {"rate": 0.1}}, place
        assert all(torch.equal(found[name], tensor) for name, tensor in tensors.items()), place


def test_the_last_good_state_is_named(tmp_path: Path) -> None:
    for step in (1, 2):
        save_newest(tmp_path, {"a": torch.ones(3)}, {"step": step})
    (tmp_path / STATE).write_bytes(b"damaged")
    _, values, note = load_newest(tmp_path)
    assert values == {"step": 1}
    assert f"goes on from {PREVIOUS}, step 1" in note
    for name in (STATE, PREVIOUS):
        (tmp_path / name).write_bytes(b"damaged")
    with pytest.raises(FormatError, match=rf"{STATE}: .* {PREVIOUS} is no better"):
        load_newest(tmp_path)


def test_a_damaged_log_is_passed_over(tmp_path: Path) -> None:
    log = RunLog(tmp_path, 0)
    log.write({"step": 1, "train": {"loss": 1.0}, "val": {"score": 1.0}})
    log.close()
    with (tmp_path / LOG).open("ab") as stream:
        stream.write(b'\xff\xfe\n7\n{"val": {}}\n{"step": "x", "val": 1}\n' + b"[" * 9999 + b"\n")
    assert [row["step"] for row in validations(tmp_path)] == [1]


KILLED = """
import os, sys, time
from pathlib import Path
import numpy as np
from puzzleflow.training.banks import MaskBank, PictureBank
from puzzleflow.training.stream import PuzzleStream, StreamConfig, stream_loader
folder = Path(sys.argv[1])
bank = PictureBank(sorted(folder.glob("*.png")), Path(sys.argv[2]), size_px=32)
cutting = StreamConfig(piece_px=16, pieces_per_batch=8, grids={"2x2": 1.0})
stream = PuzzleStream(bank, MaskBank([(1.0, np.ones((1, 128, 128), bool))]), cutting, seed=0)
batches = iter(stream_loader(stream, num_workers=2))
next(batches)
print("going", flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_workers_of_a_killed_training_end_with_it(picture_folder: Path, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(picture_folder), str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "going\n"
            assert len(in_session(process.pid)) >= 3
            process.send_signal(signal.SIGKILL)
            process.wait()
            deadline = time.monotonic() + 30
            while left := in_session(process.pid):
                assert time.monotonic() < deadline, f"left: {left}"
                time.sleep(0.1)
        finally:
            for number in in_session(process.pid):
                os.kill(number, signal.SIGKILL)
