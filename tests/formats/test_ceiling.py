"""Small files that claim gigabytes are refused from their headers; pipes are never waited for."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from format_samples import SAMPLES
from PIL import Image

from puzzleflow.core.ceiling import VARIABLE, ceiling_bytes, check_bytes
from puzzleflow.core.errors import FormatError, InputError, PuzzleFlowError
from puzzleflow.files import open_regular, read_json, read_table
from puzzleflow.formats.audit import inspect_path
from puzzleflow.formats.open import open_puzzles
from puzzleflow.masks import read_masks
from puzzleflow.models.checkpoint import load_weights
from puzzleflow.models.official import read_official
from puzzleflow.pictures import read_picture
from puzzleflow.storage.layout import read_layout
from puzzleflow.storage.predictions import read_predictions
from puzzleflow.storage.solutions import read_solutions


def labels_in_tiny_chunks(folder: Path) -> Path:
    shape = (2_000_000, 4)
    with h5py.File(folder / "puzzles.h5", "w") as file:
        file.create_dataset("puzzles", (shape[0], 4, 8, 8, 4), "u1", chunks=(1, 4, 8, 8, 4))
    with h5py.File(folder / "labels_indices.h5", "w") as file:
        file.create_dataset("labels", shape, "i8", chunks=(1, 1))
    return folder


def gap_of_huge_pieces(folder: Path) -> Path:
    with h5py.File(folder / "puzzles.h5", "w") as file:
        file.create_dataset("puzzles", (1, 9, 4096, 4096, 4), "u1", chunks=(1, 1, 64, 64, 4))
    return folder


def gap_in_tiny_chunks(folder: Path) -> Path:
    with h5py.File(folder / "puzzles.h5", "w") as file:
        file.create_dataset("puzzles", (1, 9, 512, 512, 4), "u1", chunks=(1, 1, 1, 1, 4))
    return folder


def recipe_of_huge_pieces(folder: Path) -> Path:
    SAMPLES["recipe"][1](folder / "set")
    head = folder / "set" / "recipe.json"
    head.write_text(json.dumps(json.loads(head.read_text()) | {"piece_px": 8192}))
    return folder / "set"


def zeros(folder: Path, name: str, num_bytes: int) -> Path:
    header = io.BytesIO()
    description = {"descr": "|u1", "fortran_order": False, "shape": (num_bytes,)}
    np.lib.format.write_array_header_1_0(header, description)
    with (
        zipfile.ZipFile(folder / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open(f"{name}.npy", "w", force_zip64=True) as stream,
    ):
        stream.write(header.getvalue())
        for _ in range(num_bytes >> 24):
            stream.write(bytes(1 << 24))
    return folder / "a.npz"


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
