from __future__ import annotations

import io
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays, scalar_dtypes

from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.storage import arrays as storage_arrays
from puzzleflow.storage.arrays import map_npy, read_npz, write_npy, write_npz


@settings(max_examples=60, deadline=None)
@given(arrays(scalar_dtypes(), array_shapes(min_dims=0, min_side=0, max_side=4)), st.booleans())
def test_round_trip(tmp_path_factory, array, fortran):
    folder = tmp_path_factory.getbasetemp()
    array = np.asfortranarray(array) if fortran else array
    write_npy(folder / "a.npy", array)
    write_npz(folder / "a.npz", {"x": array})
    for read in (map_npy(folder / "a.npy"), read_npz(folder / "a.npz")["x"]):
        assert read.dtype == array.dtype
        assert read.shape == array.shape
        assert read.tobytes() == array.tobytes()


def npy_header(shape: str, descr: str = "'|u1'") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


@pytest.mark.parametrize(
    "header",
    [
        npy_header("(1000000000000, 9)"),
        npy_header("(10" + "0" * 60 + ",)"),
        npy_header("(-1, 5)"),
        npy_header("(1.5,)"),
        npy_header("()", "'|O'"),
        npy_header("(3,)", "'|V0'"),
        npy_header("(3,)", "'nonsense'"),
        npy_header("(3,)", "[('a', '<i4'), ('b', '|O')]"),
        npy_header("__import__('os')"),
        npy_header("(" * 300 + ")" * 300),
        b"\x93NUMPY\x03\x00" + bytes(20),
        b"\x93NUMPY\x01\x00\xff\xff{",
        b"\x93NUMPY",
        b"",
    ],
)
def test_what_a_header_must_not_say(tmp_path, header):
    (tmp_path / "a.npy").write_bytes(header + bytes(40))
    with pytest.raises(FormatError, match=r"a\.npy"):
        map_npy(tmp_path / "a.npy")
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("predictions.npy", header + bytes(40))
    with pytest.raises(FormatError, match=r"a\.npz"):
        read_npz(tmp_path / "a.npz")


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(storage_arrays, "MAX_MEMBER_BYTES", 1 << 20)
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("predictions.npy", npy_header("(1000000,)") + bytes(1 << 20))
    assert (tmp_path / "a.npz").stat().st_size < 1 << 12
    monkeypatch.setattr(zipfile.ZipFile, "open", None)  # nothing may be unpacked
    with pytest.raises(FormatError, match="unpacks to more"):
        read_npz(tmp_path / "a.npz")


def test_a_bomb_that_lies_about_its_size(tmp_path):
    """The archive declares 200 bytes; only those are ever unpacked."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("predictions.npy", npy_header("(10000000,)") + bytes(10_000_000))
    size = struct.pack("<I", len(npy_header("(10000000,)")) + 10_000_000)
    assert stream.getvalue().count(size) == 2
    content = stream.getvalue().replace(size, struct.pack("<I", 200))
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(FormatError):
        read_npz(tmp_path / "a.npz")


def test_encrypted_and_too_many_members(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        for number in range(1001):
            archive.writestr(f"{number}.npy", b"")
    with pytest.raises(FormatError, match="too many"):
        read_npz(tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "b.npz", "w") as archive:
        archive.writestr("a.npy", npy_header("(3,)") + b"abc")
    content = bytearray((tmp_path / "b.npz").read_bytes())
    content[6] |= 1  # the flag that says encrypted, here and in the directory
    content[content.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "b.npz").write_bytes(content)
    with pytest.raises(FormatError):
        read_npz(tmp_path / "b.npz")


def test_missing_and_forbidden_files(tmp_path):
    for read in (map_npy, read_npz):
        with pytest.raises(InputError, match="no such file"):
            read(tmp_path / "missing")
        with pytest.raises(InputError):
            read(tmp_path)
