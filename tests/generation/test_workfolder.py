from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.core.errors import FormatError, OutputError
from puzzleflow.generation.workfolder import PuzzleLog, work_folder

ASKED = {"seed": 1}
PAYLOADS = [b"first", b"", b"x" * 40, b"last"]


def add(log: PuzzleLog, payload: bytes) -> None:
    log.append(f"{len(payload):08x}", np.array([len(payload), 7]), payload)


class Stopped(Exception):
    """Work that ends early keeps its folder."""


def fill(out: Path, payloads: list[bytes]) -> None:
    with suppress(Stopped), work_folder(out, ASKED) as work:
        assert work is not None
        add(PuzzleLog(work, "val", 2), b"of another split")
        log = PuzzleLog(work, "train", 2)
        for payload in payloads:
            add(log, payload)
        raise Stopped


def test_the_folder_goes_when_the_work_is_done(tmp_path: Path) -> None:
    fill(tmp_path, PAYLOADS)
    assert {path.name for path in (tmp_path / ".work").iterdir()} == {
        *("survey.jsonl", "puzzles.jsonl", "train.payloads", "val.payloads")
    }
    with work_folder(tmp_path, ASKED):
        pass
    assert list(tmp_path.iterdir()) == []


@given(payload_bytes=st.integers(0, 60), journal_bytes=st.integers(0, 700), flip=st.booleans())
def test_whatever_reached_the_disk_whole_is_kept_in_order(
    tmp_path_factory: pytest.TempPathFactory, payload_bytes: int, journal_bytes: int, flip: bool
) -> None:
    """A kill tears the end of one file; a power cut may lose the end of both, in any mixture."""
    out = tmp_path_factory.mktemp("log") / "out"
    fill(out, PAYLOADS)
    payloads, journal = out / ".work" / "train.payloads", out / ".work" / "puzzles.jsonl"
    torn = bytearray(payloads.read_bytes()[:payload_bytes])
    if flip and torn:
        torn[-1] ^= 1
    payloads.write_bytes(torn)
    journal.write_bytes(journal.read_bytes()[:journal_bytes])
    with suppress(Stopped), work_folder(out, ASKED) as work:
        assert work is not None
        log = PuzzleLog(work, "train", 2)
        log.keep_whole()
        assert list(log.payloads()) == PAYLOADS[: len(log)]
        for payload in PAYLOADS[len(log) :]:
            add(log, payload)
        raise Stopped
    with work_folder(out, ASKED) as work:
        assert work is not None
        log = PuzzleLog(work, "train", 2)
        log.keep_whole()
        assert list(log.payloads()) == PAYLOADS
        assert log.areas().tolist() == [[len(payload), 7] for payload in PAYLOADS]
        assert log.checksums() == [f"{len(payload):08x}" for payload in PAYLOADS]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"num_bytes":40', '"num_bytes":4000000000000000000'),
        ('"num_bytes":40', '"num_bytes":-1'),
        ('"areas":[40,7]', '"areas":[40]'),
        ('"index":2', '"index":-2'),
    ],
)
def test_lines_that_make_no_sense_are_made_again(tmp_path: Path, old: str, new: str) -> None:
    fill(tmp_path, PAYLOADS)
    path = tmp_path / ".work" / "puzzles.jsonl"
    content = path.read_text()
    assert content.count(old) == 1
    path.write_text(content.replace(old, new))
    with work_folder(tmp_path, ASKED) as work:
        assert work is not None
        log = PuzzleLog(work, "train", 2)
        log.keep_whole()
        assert list(log.payloads()) == PAYLOADS[:2]


def test_damaged_payloads_are_named(tmp_path: Path) -> None:
    fill(tmp_path, PAYLOADS)
    path = tmp_path / ".work" / "train.payloads"
    path.write_bytes(path.read_bytes().replace(b"x", b"y"))
    with work_folder(tmp_path, ASKED) as work:
        assert work is not None
        log = PuzzleLog(work, "train", 2)
        with pytest.raises(FormatError, match=r"train\.payloads: puzzle 2 is damaged"):
            list(log.payloads())


def test_no_space_for_a_payload(tmp_path: Path) -> None:
    with work_folder(tmp_path, ASKED) as work:
        assert work is not None
        log = PuzzleLog(work, "train", 2)
        (work.folder / "train.payloads").symlink_to("/dev/full")
        with pytest.raises(OutputError, match=r"train\.payloads: No space left"):
            add(log, b"first")
        assert len(log) == 0
        assert work.puzzles.read() == []
