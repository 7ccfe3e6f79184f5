"""Small files that claim gigabytes are refused from their headers; pipes are never waited for."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from costly_files import (
    gap_in_tiny_chunks,
    gap_of_huge_pieces,
    labels_in_tiny_chunks,
    picture_of_many_scans,
    recipe_of_huge_pieces,
    zeros,
)
from format_samples import SAMPLES, read_source
from PIL import Image

from puzzleflow.core import ceiling
from puzzleflow.core.ceiling import (
    SECONDS_VARIABLE,
    VARIABLE,
    ceiling_bytes,
    ceiling_s,
    check_bytes,
    check_time,
    reading,
)
from puzzleflow.core.errors import FormatError, InputError, PuzzleFlowError
from puzzleflow.files import WatchedReader, open_regular, read_json, read_table
from puzzleflow.formats.audit import inspect_path
from puzzleflow.formats.open import open_puzzles
from puzzleflow.journal import Journal
from puzzleflow.masks import read_masks
from puzzleflow.models.checkpoint import bundled_weights, load_weights
from puzzleflow.models.official import read_official
from puzzleflow.pictures import read_picture
from puzzleflow.storage.layout import read_layout
from puzzleflow.storage.predictions import read_predictions
from puzzleflow.storage.solutions import Solved, read_solutions

CASES: dict[str, Callable[[Path], Path]] = {
    "labels in tiny chunks": labels_in_tiny_chunks,
    "GAP pieces of 4096 px": gap_of_huge_pieces,
    "GAP in tiny chunks": gap_in_tiny_chunks,
    "recipe of 8192 px": recipe_of_huge_pieces,
}


@pytest.fixture
def sparing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing large may be decoded or read: the header must be enough."""
    monkeypatch.setattr(h5py.Dataset, "__getitem__", lambda *_: pytest.fail("values were read"))
    monkeypatch.setattr(Image.Image, "convert", lambda *_: pytest.fail("pixels were converted"))


@pytest.mark.usefixtures("sparing")
@pytest.mark.parametrize("name", CASES)
def test_small_files_that_claim_gigabytes(name: str, tmp_path: Path) -> None:
    path = CASES[name](tmp_path)
    with pytest.raises(FormatError, match=rf"(?s){tmp_path}.* of memory, more than the 1 GiB"):
        open_puzzles(path).truths()


@pytest.mark.usefixtures("sparing")
def test_pictures_are_measured_before_they_are_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Image.new("RGBA", (12_000, 12_000)).save(tmp_path / "a.png", compress_level=1)
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", lambda _: pytest.fail("decoded"))
    with pytest.raises(FormatError, match=r"a\.png: 12,000x12,000 pixels would take 1\.07 GiB"):
        read_picture(tmp_path / "a.png", "RGBA")


def test_archives_are_measured_before_they_are_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "0.05")
    for name, read in (("predictions", read_predictions), ("masks", read_masks)):
        path = zeros(tmp_path, name, 1 << 26)
        monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("unpacked"))
        with pytest.raises(FormatError, match=r"a\.npz: what it unpacks to would take 0\.0625 GiB"):
            read(path)
        monkeypatch.undo()
        monkeypatch.setenv(VARIABLE, "0.05")


def test_lists_in_lists_are_measured_before_they_are_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.json").write_text("[" + ",".join(["[[[[[[[[[1]]]]]]]]]"] * 1000) + "]")
    assert len(read_json(tmp_path / "a.json")) == 1000
    monkeypatch.setenv(VARIABLE, "0.0005")  # eight times the file is less
    with pytest.raises(FormatError, match=r"a\.json: its content would take"):
        read_json(tmp_path / "a.json")


def test_pictures_of_many_scans_are_decoded_in_small_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, sizes = picture_of_many_scans(tmp_path, side=64, scans=2000), []
    read = WatchedReader.read

    def noted(self: WatchedReader, size: int | None = -1, /) -> bytes:
        sizes.append(size or 0)
        return read(self, size)

    monkeypatch.setattr(WatchedReader, "read", noted)
    read_picture(path)
    assert max(sizes) <= 2048


def test_packed_masks_are_measured_before_they_are_unfolded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez(tmp_path / "a.npz", masks=np.full((100, 2048), 255, np.uint8))
    assert read_masks(tmp_path / "a.npz").masks.all()
    monkeypatch.setenv(VARIABLE, "0.001")
    with pytest.raises(FormatError, match="100 masks would take"):
        read_masks(tmp_path / "a.npz")


def test_the_ceiling_is_one_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ceiling_bytes() == 1 << 30
    check_bytes(1 << 30, "it")
    with pytest.raises(FormatError, match=f"it would take 2 GiB .* {VARIABLE} sets another"):
        check_bytes(2 << 30, "it")
    monkeypatch.setenv(VARIABLE, "2.5")
    check_bytes(2 << 30, "it")
    with pytest.raises(FormatError, match="over a billion GiB"):
        check_bytes(10**40, "it")
    for wrong in ("much", "-1", "0", "nan", "inf"):
        monkeypatch.setenv(VARIABLE, wrong)
        with pytest.raises(InputError, match=VARIABLE):
            ceiling_bytes()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds of work so far, as the readers see them: [now, each look takes]."""
    seconds = [0.0, 0.0]

    def look() -> float:
        seconds[0] += seconds[1]
        return seconds[0]

    monkeypatch.setattr(ceiling.time, "thread_time", look)
    return seconds


def test_a_file_has_ten_seconds_of_work(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    check_time()
    with reading("a.png"):
        clock[0] += 9
        check_time()
        with reading("b.png"):  # another file, whose time is its own
            clock[0] += 9
            check_time()
        check_time()
        clock[0] += 2
        with pytest.raises(FormatError, match=rf"^a\.png: .* 10 seconds .*{SECONDS_VARIABLE}"):
            check_time()
    check_time()
    monkeypatch.setenv(SECONDS_VARIABLE, "0.5")
    assert ceiling_s() == 0.5
    monkeypatch.setenv(SECONDS_VARIABLE, "soon")
    with pytest.raises(InputError, match=SECONDS_VARIABLE), reading("a.png"):
        pass


@pytest.mark.parametrize("sample", ["recipe", "jpwleg", "folder", "own fragments"])
def test_every_reader_looks_at_the_clock(sample: str, tmp_path: Path, clock: list[float]) -> None:
    SAMPLES[sample][1](tmp_path / "set")
    clock[1] = 11.0
    with pytest.raises(FormatError, match=rf"{tmp_path}.* seconds of work"):
        read_source(tmp_path / "set")


def test_readers_of_single_files_look_at_the_clock(tmp_path: Path, clock: list[float]) -> None:
    picture = tmp_path / "a.png"
    Image.new("RGB", (8, 8)).save(picture)
    np.savez(tmp_path / "p.npz", predictions=np.arange(4)[None])
    np.savez(tmp_path / "m.npz", masks=np.full((2, 2048), 255, np.uint8))
    (tmp_path / "t.csv").write_text("a\nb\n")
    line = '{"grid": "1x2", "layout": [0, 1]}'
    (tmp_path / "s.jsonl").write_text(f"{line}\n{line}\n")
    clock[1] = 11.0
    for read, name in (
        (read_picture, "a.png"),
        (read_predictions, "p.npz"),
        (read_masks, "m.npz"),
        (read_table, "t.csv"),
        (read_solutions, "s.jsonl"),
        (lambda _: load_weights(bundled_weights("rg_lns.safetensors")), "rg_lns.safetensors"),
        (lambda path: Journal(path, "k", {}, Solved).read(), "j.jsonl"),
    ):
        if name == "j.jsonl":
            clock[1] = 0
            with Journal(tmp_path / name, "k", {}, Solved) as journal:
                journal.append(Solved(grid="1x2", layout=(0, 1)))
            clock[1] = 11
        with pytest.raises(FormatError, match=rf"{name}.* seconds of work"):
            read(tmp_path / name)
    with pytest.raises(FormatError, match="seconds of work"):
        read_picture(picture.read_bytes())


def test_a_picture_whose_file_is_larger_than_any_picture_is_not_read(tmp_path: Path) -> None:
    """A sparse WebP of 3 GiB, of which 30 bytes are there."""
    Image.new("RGB", (4, 4)).save(tmp_path / "a.webp")
    os.truncate(tmp_path / "a.webp", 3 << 30)
    with pytest.raises(FormatError, match=r"a\.webp: its content would take 3 GiB"):
        read_picture(tmp_path / "a.webp")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
def test_no_reader_waits_for_a_pipe(tmp_path: Path) -> None:
    readers = (
        inspect_path, open_puzzles, open_regular, read_json, read_table, read_masks, read_layout,
        read_picture, read_predictions, read_solutions, load_weights, read_official,
    )  # fmt: skip
    for name in ("a.h5", "a.npy", "a.npz", "a.json", "a.png", "a.pt", "a"):
        os.mkfifo(tmp_path / name)
        for read in readers:
            with pytest.raises(PuzzleFlowError):
                read(tmp_path / name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
@pytest.mark.parametrize("sample", SAMPLES)
def test_no_format_waits_for_a_pipe_in_its_folder(sample: str, tmp_path: Path) -> None:
    SAMPLES[sample][1](tmp_path / "set")
    for file in sorted(path for path in (tmp_path / "set").rglob("*") if path.is_file()):
        content = file.read_bytes()
        file.unlink()
        os.mkfifo(file)
        message = str(tmp_path)
        try:
            inspect_path(tmp_path / "set")
        except PuzzleFlowError as error:
            message = str(error)
        assert str(tmp_path) in message
        file.unlink()
        file.write_bytes(content)
