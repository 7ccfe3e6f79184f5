from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from puzzleflow.core.errors import FormatError, InputError, OutputError
from puzzleflow.journal import Journal

shared_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@dataclass(frozen=True)
class Note:
    text: str
    places: tuple[int, ...] = ()
    share: float | None = None


HEADING = {"seed": 3, "solver": "random", "sets": ("a", "b")}


def journal(path: Path, **changes: Any) -> Journal[Note]:
    return Journal(path, "notes", {**HEADING, **changes}, Note)


def write(path: Path, *texts: str) -> None:
    with journal(path) as opened:
        for text in texts:
            opened.append(Note(text, (1, 2), 0.5))


def texts(path: Path) -> list[str]:
    return [note.text for note in journal(path).read()]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "j.jsonl"
    assert journal(path).read() == []
    assert not path.exists()
    with journal(path) as first:
        assert first.entries == []
        first.append(Note("ä\n\u2028", (4, 5), 0.25))
        assert journal(path).read() == [Note("ä\n\u2028", (4, 5), 0.25)]  # before it is closed
    with journal(path) as second:
        assert second.entries == [Note("ä\n\u2028", (4, 5), 0.25)]
        second.append(Note("more"))
    assert texts(path) == ["ä\n\u2028", "more"]


@shared_folder
@given(written=st.lists(st.text(max_size=8), max_size=5), data=st.data())
def test_cut_anywhere_it_keeps_its_whole_lines_and_goes_on(
    tmp_path: Path, written: list[str], data: st.DataObject
) -> None:
    path = tmp_path / "j.jsonl"
    path.unlink(missing_ok=True)
    written = [text.encode(errors="replace").decode() for text in written]
    ends = []
    with journal(path) as opened:
        for text in written:
            opened.append(Note(text))
            ends.append(path.stat().st_size)
    content = path.read_bytes()
    cut = data.draw(st.integers(0, len(content)))
    path.write_bytes(content[:cut])
    whole = [text for text, end in zip(written, ends, strict=True) if end <= cut]
    assert texts(path) == whole
    with journal(path) as opened:
        for text in written[len(whole) :]:
            opened.append(Note(text))
    assert path.read_bytes() == content


@shared_folder
@given(data=st.data())
def test_damaged_bytes_give_whole_entries_or_one_clear_error(
    tmp_path: Path, data: st.DataObject
) -> None:
    path = tmp_path / "j.jsonl"
    path.unlink(missing_ok=True)
    write(path, "a", "b", "c")
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(content)))
        stop = data.draw(st.integers(start, min(len(content), start + 20)))
        content[start:stop] = data.draw(st.binary(max_size=12) | st.sampled_from(JUNK))
    path.write_bytes(content)
    try:
        notes = journal(path).read()
    except InputError:  # FormatError, or the heading became another one
        with pytest.raises(InputError, match=r"j\.jsonl"), journal(path):
            pass
        assert path.read_bytes() == content, "what is refused is left as it is"
    else:
        for note in notes:
            assert type(note.text) is str
            assert all(type(place) is int for place in note.places)
            assert note.share is None or type(note.share) is float
        with journal(path) as opened:
            opened.append(Note("d"))
        assert journal(path).read() == [*notes, Note("d")]


JUNK = [
    b"null",
    b"[[",
    b"[" * 3000,
    b"9" * 5000,
    b"1e999",
    b"NaN",
    b"\n",
    b'"',
    b"{}\n",
    b"\\ud800",
]


@shared_folder
@given(line=st.binary(max_size=30) | st.sampled_from(JUNK))
@example(line=b"[1]")
@example(line=b"{}")
@example(line=b'{"text":1}')
@example(line=b'{"text":"\\ud800"}')
@example(line=b'{"text":"a","places":[true]}')
@example(line=b'{"text":"a","places":[1.0]}')
@example(line=b'{"text":"a","places":[9223372036854775808]}')
@example(line=b'{"text":"a","places":{}}')
@example(line=b'{"text":"a","share":1e999}')
@example(line=b'{"text":"a","share":NaN}')
@example(line=b'{"text":"a","more":1}')
@example(line=b"\xff\xfe")
def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "j.jsonl"
    path.unlink(missing_ok=True)
    write(path, "a", "c")
    head, first, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(head + first + line.replace(b"\n", b"") + b"\n" + last)
    with pytest.raises(FormatError, match=r"j\.jsonl, line 3: damaged .* cut the file before"):
        journal(path).read()
    path.write_bytes(head + first)
    assert texts(path) == ["a"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 4}, "begun with seed 3, not 4; repeat"),
        (
            {"sets": ["a"], "more": 1},
            r"begun with more None, not 1; sets \['a', 'b'\], not \['a'\]",
        ),
    ],
)
def test_another_heading_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = tmp_path / "j.jsonl"
    write(path, "a")
    with pytest.raises(InputError, match=message):
        journal(path, **changes).read()
    with pytest.raises(InputError, match=message), journal(path, **changes):
        pass
    assert texts(path) == ["a"]


OLD = [
    b'{"solver":"random","seed":0,"data":"abc","version":1}\n{"index":0}\n',  # bench
    b'{"draw":0,"record":{"object_id":1}}\n',  # collect
    b"PFJOURN1\x10\x00\x00\x00",  # GAP files
    b"00000000 1 2 3 4\n",  # data sets
]


@pytest.mark.parametrize("content", [*OLD, b"hello", b"[1]\n", b"\xff\xfe\n", b"\n", b"{}\n"])
def test_journals_of_earlier_versions_and_foreign_files_are_refused_and_kept(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "j.jsonl"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"j\.jsonl, line 1: expected a journal .* remove it or"):
        journal(path).read()
    with pytest.raises(FormatError), journal(path):
        pass
    assert path.read_bytes() == content


def test_journals_of_other_work_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    with Journal(path, "survey", HEADING, Note):
        pass
    with pytest.raises(FormatError, match=r"expected a journal \(notes\)"):
        journal(path).read()


def test_killed_in_the_heading_of_other_work_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    with journal(path, seed=4):
        pass
    path.write_bytes(path.read_bytes()[:-1])
    write(path, "a")
    assert texts(path) == ["a"]


def test_a_journal_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises((InputError, OutputError), match="cannot"), journal(tmp_path / "file" / "j"):
        pass
    with pytest.raises(InputError, match="cannot read"):
        journal(tmp_path).read()


def test_no_space_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "j.jsonl"

    def no_space(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with journal(path) as opened:
        opened.append(Note("a"))
        with monkeypatch.context() as patched:
            patched.setattr("puzzleflow.journal.SYNC_S", -1.0)
            patched.setattr(os, "fsync", no_space)
            with pytest.raises(OutputError, match=r"cannot write .*j\.jsonl: No space left"):
                opened.append(Note("b"))  # written, but perhaps not on the disk: not counted
        opened.append(Note("c"))
    assert texts(path) == ["a", "c"]


def test_a_folder_that_is_removed_stops_the_work(tmp_path: Path) -> None:
    path = tmp_path / "out" / "j.jsonl"
    with journal(path) as opened:
        opened.append(Note("a"))
        shutil.rmtree(path.parent)
        with pytest.raises(OutputError, match=r"cannot write .*j\.jsonl: No such file"):
            opened.append(Note("b"))
    assert not path.exists()


def test_lines_are_forced_to_the_disk_now_and_then_and_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forced: list[int] = []
    clock = [0.0]
    monkeypatch.setattr(os, "fsync", forced.append)
    monkeypatch.setattr("puzzleflow.journal.time.monotonic", lambda: clock[0])
    with journal(tmp_path / "j.jsonl") as opened:
        for clock[0] in (1.0, 2.0, 7.0, 8.0):
            opened.append(Note("a"))
        assert len(forced) == 1
    assert len(forced) == 2


def test_a_line_is_plain_json(tmp_path: Path) -> None:
    write(tmp_path / "j", "a")
    head, line = map(json.loads, (tmp_path / "j").read_text().splitlines())
    assert head["journal"] == "notes"
    assert head["heading"] == {"seed": 3, "solver": "random", "sets": ["a", "b"]}
    assert line == {"text": "a", "places": [1, 2], "share": 0.5}
