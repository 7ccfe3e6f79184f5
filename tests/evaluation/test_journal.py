from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.core.errors import FormatError, InputError, OutputError
from puzzleflow.evaluation.journal import Heading, Journal, Record

HEADING = Heading("random", 0, "abc")


def record(index: int) -> Record:
    return Record(index, f"puzzle\u2028 {index}", (1, 0, 2), 0.25, 1.5, None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "random.jsonl"


def write(path: Path, *indices: int) -> None:
    with Journal(path, HEADING) as journal:
        for index in indices:
            journal.append(record(index))


def test_what_is_written_is_read(path: Path) -> None:
    assert Journal(path, HEADING).read() == {}
    write(path, 4, 2)
    write(path, 3)
    assert Journal(path, HEADING).read() == {4: record(4), 2: record(2), 3: record(3)}


def test_a_refusal_has_no_layout(path: Path) -> None:
    refused = Record(0, "", None, 0.1, refusal="cannot solve: why")
    with Journal(path, HEADING) as journal:
        journal.append(refused)
    assert Journal(path, HEADING).read() == {0: refused}


@given(cut=st.integers(min_value=1, max_value=10_000))
def test_cut_anywhere_only_the_torn_line_is_lost(
    cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("journal") / "j.jsonl"
    write(path, 0, 1, 2)
    whole = path.read_bytes()
    path.write_bytes(whole[: -(cut % len(whole))] if cut % len(whole) else whole)
    survived = Journal(path, HEADING).read()
    assert all(survived[index] == record(index) for index in survived)
    assert list(survived) == list(range(len(survived)))
    missing = [index for index in range(3) if index not in survived]
    write(path, *missing)
    assert path.read_bytes() == whole


def test_another_run_is_refused(path: Path) -> None:
    write(path, 0)
    for other in (Heading("greedy", 0, "abc"), Heading("random", 1, "abc")):
        with pytest.raises(InputError, match=r"another run.*--fresh"):
            Journal(path, other).read()
        with pytest.raises(InputError, match="another run"), Journal(path, other):
            pass
    assert list(Journal(path, HEADING).read()) == [0]


@pytest.mark.parametrize("content", [b"hello\n", b"[1]\n", b"\xff\xfe\n", b'{"solver": 1}\n'])
def test_a_foreign_file_is_refused_and_kept(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"random\.jsonl"):
        Journal(path, HEADING).read()
    with pytest.raises(FormatError), Journal(path, HEADING):
        pass
    assert path.read_bytes() == content


def test_a_damaged_line_in_the_middle_is_named(path: Path) -> None:
    write(path, 0, 1)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b'{"index": 0}\n' + lines[2])
    with pytest.raises(FormatError, match="line 2"):
        Journal(path, HEADING).read()


def test_two_writers_are_refused(path: Path) -> None:
    with (
        Journal(path, HEADING) as first,
        pytest.raises(OutputError, match="another process"),
        Journal(path, HEADING),
    ):
        pass
    first.close()
    write(path, 0)


def test_no_folder_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match=r"j\.jsonl"), Journal(tmp_path / "file/j.jsonl", HEADING):
        pass
