"""Small files that would cost gigabytes or minutes, if readers believed them."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import h5py
import numpy as np
from format_samples import SAMPLES
from PIL import Image


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


def one_bit_picture(folder: Path) -> Path:
    """169 megapixels in a few kilobytes."""
    Image.new("1", (13_000, 13_000)).save(folder / "a.png")
    return folder / "a.png"


def picture_of_many_scans(folder: Path, side: int = 6000, scans: int = 4000) -> Path:
    """A progressive JPEG whose last scan comes again and again, each over the whole picture."""
    stream = io.BytesIO()
    Image.new("RGB", (side, side), (90, 120, 30)).save(stream, "JPEG", progressive=True)
    content = stream.getvalue()
    last = content.rindex(b"\xff\xda")
    scan = content[last:-2]
    (folder / "a.jpg").write_bytes(content[:-2] + scan * scans + content[-2:])
    return folder / "a.jpg"


def recipe_of_many_rows(folder: Path, rows: int = 700_000) -> Path:
    """As many rows as memory allows."""
    SAMPLES["recipe"][1](folder / "set")
    table = folder / "set" / "puzzles.csv"
    head, first = table.read_text().splitlines()[:2]
    table.write_text("\n".join([head, *[first] * rows]) + "\n")
    recipe = folder / "set" / "recipe.json"
    recipe.write_text(json.dumps(json.loads(recipe.read_text()) | {"num_puzzles": rows}))
    return folder / "set"


def solutions_of_many_lines(folder: Path, lines: int = 900_000) -> Path:
    """A journal of more lines than anybody solves."""
    line = '{"grid": "3x3", "layout": [0, 1, 2, 3, 4, 5, 6, 7, 8]}'
    (folder / "s.jsonl").write_text("\n".join([line] * lines) + "\n")
    return folder / "s.jsonl"


def archive_of_many_members(folder: Path, members: int = 60_000) -> Path:
    """An .npz of as many tiny arrays as a zip may have."""
    stream = io.BytesIO()
    np.save(stream, np.zeros(1))
    with zipfile.ZipFile(folder / "p.npz", "w") as archive:
        for number in range(members):
            archive.writestr(f"a{number}.npy", stream.getvalue())
    return folder / "p.npz"


def weights_of_many_tensors(folder: Path, tensors: int = 150_000) -> Path:
    """A safetensors header full of empty tensors."""
    entry = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    header = json.dumps(
        {"__metadata__": {"puzzleflow": "{}"}} | {f"t{n}": entry for n in range(tensors)}
    ).encode()
    (folder / "w.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    return folder / "w.safetensors"


def nested_json(folder: Path) -> Path:
    """A hundred megabytes of brackets, ten deep."""
    (folder / "layout.json").write_text("[" + ",".join(["[[[[[[[[[1]]]]]]]]]"] * 4_500_000) + "]")
    return folder / "layout.json"
