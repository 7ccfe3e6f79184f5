from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import pickle
import signal
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from puzzleflow.core.errors import FormatError, InputError, NotAGrid, NotAPermutation, OutputError
from puzzleflow.core.grid import Grid
from puzzleflow.formats.open import open_puzzles
from puzzleflow.storage.gap import GapSource, write_gap_split
from puzzleflow.storage.gap_writer import GapCodec, write_gap_files

GRID = Grid(3, 3)


def digest(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
    }


def write(folder, puzzle_of, count=4, grid=GRID, px=12, **options):
    puzzles = [puzzle_of(seed, grid, px) for seed in range(count)]
    write_gap_split(folder, iter(puzzles), count, grid, px, **options)
    return puzzles


@pytest.mark.parametrize("compression", ["gzip", None])
def test_written_files_are_what_the_official_code_reads(tmp_path, puzzle_of, compression):
    puzzles = write(tmp_path / "test", puzzle_of, compression=compression)
    with h5py.File(tmp_path / "test/puzzles.h5") as file:
        assert list(file) == ["puzzles"]
        stored = file["puzzles"]
        assert (stored.ndim, stored.dtype, stored.shape) == (5, np.uint8, (4, 9, 12, 12, 4))
        assert stored.chunks == (1, 9, 12, 12, 4)
        assert stored.compression == compression
        assert np.array_equal(stored[2], puzzles[2].pieces)
    with h5py.File(tmp_path / "test/labels_indices.h5") as file:
        labels = file["labels"][()]
    assert labels.dtype == np.int64
    assert np.array_equal(np.sort(labels, axis=1), np.tile(np.arange(9), (4, 1)))
    assert np.array_equal(labels[1], puzzles[1].truth)
    with h5py.File(tmp_path / "test/labels_coordinates.h5") as file:
        cells = file["labels"][()]
    assert np.array_equal(cells[..., 0] * 3 + cells[..., 1], labels)
    metadata = json.loads((tmp_path / "test/metadata.json").read_text())
    assert metadata["compression"] == compression
    assert metadata["num_puzzles"] == 4


@settings(max_examples=15, deadline=None)
@given(
    rows=st.integers(1, 4),
    cols=st.integers(1, 4),
    px=st.integers(1, 6),
    count=st.integers(1, 5),
    level=st.sampled_from([None, 0, 4, 9]),
    seed=st.integers(0, 1000),
)
def test_round_trip(tmp_path_factory, puzzle_of, same_puzzle, rows, cols, px, count, level, seed):
    grid = Grid(rows, cols)
    folder = tmp_path_factory.mktemp("gap")
    puzzles = [puzzle_of(seed + i, grid, px) for i in range(count)]
    options = {"compression": None} if level is None else {"compression_level": level}
    write_gap_split(folder, iter(puzzles), count, grid, (px, px), **options)
    with GapSource(folder) as source:
        assert source.grid == grid
        assert len(source) == count
        assert all(same_puzzle(a, b) for a, b in zip(source, puzzles, strict=True))
        assert np.array_equal(source.truths(), np.stack([p.truth for p in puzzles]))


def test_flat_reading_of_foreign_storage(tmp_path, puzzle_of, same_puzzle):
    puzzles = write(tmp_path / "a", puzzle_of, 7)
    pieces = np.stack([p.pieces for p in puzzles])
    layouts = {
        "contiguous": {},
        "auto": {"chunks": True, "compression": "gzip"},
        "several puzzles": {"chunks": (3, 2, 12, 5, 4), "compression": "lzf", "shuffle": True},
        "checksums": {"chunks": (1, 9, 12, 12, 4), "fletcher32": True},
    }
    for name, options in layouts.items():
        folder = tmp_path / name
        folder.mkdir()
        with h5py.File(folder / "puzzles.h5", "w") as file:
            file.create_dataset("puzzles", data=pieces, **options)
        with h5py.File(folder / "labels_coordinates.h5", "w") as file:
            file["any key"] = np.stack([np.stack(np.divmod(p.truth, 3), 1) for p in puzzles])
        with open_puzzles(folder) as source:
            assert all(same_puzzle(a, b) for a, b in zip(source, puzzles, strict=True)), name
            assert source.describe()["shape"] == [7, 9, 12, 12, 4]


def test_without_labels_and_given_the_file_itself(tmp_path, puzzle_of):
    write(tmp_path, puzzle_of)
    with open_puzzles(tmp_path / "puzzles.h5") as source:
        assert source.has_truth
    for name in ("labels_indices.h5", "labels_coordinates.h5", "metadata.json"):
        (tmp_path / name).unlink()
    with open_puzzles(tmp_path / "puzzles.h5") as source:
        assert not source.has_truth
        assert source.truths() is None
        assert source[0].truth is None
        assert source.grid == GRID


def test_indices_are_those_of_a_sequence(tmp_path, puzzle_of, same_puzzle):
    puzzles = write(tmp_path, puzzle_of)
    with GapSource(tmp_path) as source:
        assert same_puzzle(source[-1], puzzles[3])
        for index in (4, -5):
            with pytest.raises(IndexError):
                source[index]
        source.close()
        assert same_puzzle(source[0], puzzles[0])


def test_pickled_source_opens_its_own_file(tmp_path, puzzle_of, same_puzzle):
    puzzles = write(tmp_path, puzzle_of)
    with GapSource(tmp_path) as source:
        source[0]
        copy = pickle.loads(pickle.dumps(source))
    with copy:
        assert same_puzzle(copy[1], puzzles[1])


def test_reference_pictures(tmp_path, puzzle_of):
    pictures = [np.full((36, 36, 3), i, np.uint8) for i in range(4)]
    write(tmp_path, puzzle_of, references=pictures)
    with GapSource(tmp_path) as source:
        assert np.array_equal(source.reference(2), pictures[2])


def test_a_rectangle_needs_the_metadata_or_a_word(tmp_path, puzzle_of):
    write(tmp_path, puzzle_of, 2, Grid(2, 3))
    assert GapSource(tmp_path).grid == Grid(2, 3)
    (tmp_path / "metadata.json").unlink()
    with pytest.raises(NotAGrid, match="6 pieces"):
        GapSource(tmp_path)
    assert GapSource(tmp_path, grid=Grid(3, 2)).grid == Grid(3, 2)


@pytest.mark.parametrize("name", ["labels_indices.h5", "labels_coordinates.h5"])
def test_labels_may_be_whole_floats(tmp_path, puzzle_of, same_puzzle, name):
    puzzles = write(tmp_path, puzzle_of)
    for other in {"labels_indices.h5", "labels_coordinates.h5"} - {name}:
        (tmp_path / other).unlink()
    with h5py.File(tmp_path / name, "r+") as file:
        labels = file["labels"][()].astype(np.float32)
        del file["labels"]
        file["labels"] = labels
    with open_puzzles(tmp_path) as source:
        assert np.array_equal(source.truths(), [p.truth for p in puzzles])
        assert same_puzzle(source[1], puzzles[1])
    with h5py.File(tmp_path / name, "r+") as file:
        file["labels"][0] = 0.5
    with open_puzzles(tmp_path) as source, pytest.raises(InputError, match=f"{name}.*whole"):
        source.truths()


def test_labels_that_are_no_permutation(tmp_path, puzzle_of):
    write(tmp_path, puzzle_of)
    with h5py.File(tmp_path / "labels_indices.h5", "r+") as file:
        file["labels"][2] = 1
    with GapSource(tmp_path) as source:
        assert source[1].truth is not None
        with pytest.raises(NotAPermutation, match=r"labels_indices.h5: puzzle 2: position 1"):
            source[2]
        with pytest.raises(NotAPermutation, match="labels_indices"):
            source.truths()


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 9, 4, 4, 3), np.uint8), "expected puzzles"),
        (np.zeros((2, 9, 4, 4, 4), np.float32), "expected puzzles"),
        (np.zeros((2, 9, 4), np.uint8), "expected puzzles"),
        (np.zeros((0, 9, 4, 4, 4), np.uint8), "no puzzles"),
        (np.zeros((1, 7, 4, 4, 4), np.uint8), "7 pieces"),
    ],
)
def test_wrong_arrays(tmp_path, array, message):
    with h5py.File(tmp_path / "puzzles.h5", "w") as file:
        file["puzzles"] = array
    with pytest.raises(InputError, match=message):
        GapSource(tmp_path)


def test_links_to_other_files_are_refused(tmp_path, puzzle_of):
    write(tmp_path / "a", puzzle_of)
    for name, link in {
        "external link": h5py.ExternalLink(str(tmp_path / "a/puzzles.h5"), "puzzles"),
        "soft link": h5py.SoftLink("/nowhere"),
    }.items():
        path = tmp_path / f"{name}.h5"
        with h5py.File(path, "w") as file:
            file["puzzles"] = link
        with pytest.raises(FormatError, match="link"):
            GapSource(path)
    with h5py.File(tmp_path / "raw.h5", "w") as file:
        shape = (1, 1, 1, 1, 4)
        file.create_dataset("puzzles", shape, "u1", external=[(tmp_path / "a/puzzles.h5", 0, 4)])
    with pytest.raises(FormatError, match="itself"):
        GapSource(tmp_path / "raw.h5")


def test_a_filter_that_is_not_there_is_named(tmp_path):
    created = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    created.set_chunk((1, 9, 2, 2, 4))
    created.set_filter(1, h5py.h5z.FLAG_OPTIONAL, (4,))
    with h5py.File(tmp_path / "puzzles.h5", "w") as file:
        space = h5py.h5s.create_simple((2, 9, 2, 2, 4))
        dataset = h5py.h5d.create(file.id, b"puzzles", h5py.h5t.NATIVE_UINT8, space, created)
        dataset.write_direct_chunk((0, 0, 0, 0, 0), b"x" * 10)
    content = (tmp_path / "puzzles.h5").read_bytes()
    header = b"\x01\x00\x08\x00\x01\x00\x01\x00deflate\x00"
    assert content.count(header) == 1
    foreign = header.replace(b"\x01\x00\x08", b"\x0f\x7d\x08", 1)  # filter 32015, zstd
    (tmp_path / "puzzles.h5").write_bytes(content.replace(header, foreign))
    with pytest.raises(FormatError, match="32015"):
        GapSource(tmp_path)


def test_encoded_puzzles_give_the_same_bytes(tmp_path, puzzle_of):
    puzzles = write(tmp_path / "a", puzzle_of, metadata={"note": "x"})
    codec = GapCodec(GRID, (12, 12))
    payloads = [codec.encode(puzzle) for puzzle in puzzles]
    write_gap_files(tmp_path / "b", iter(payloads), len(payloads), codec, {"note": "x"})
    assert digest(tmp_path / "a") == digest(tmp_path / "b")


def test_full_folders_are_refused(tmp_path, puzzle_of):
    write(tmp_path, puzzle_of)
    before = digest(tmp_path)
    with pytest.raises(OutputError, match="in the way"):
        write(tmp_path, puzzle_of)
    assert digest(tmp_path) == before


def test_nothing_is_left_of_a_failed_pass(tmp_path, puzzle_of):
    folder = tmp_path / "a"
    for count in (3, 5):
        with pytest.raises(InputError, match="promised"):
            write_gap_split(folder, (puzzle_of(i) for i in range(4)), count, GRID, 12)
    with pytest.raises(InputError, match="shape"):
        write_gap_split(folder, [puzzle_of(0, px=5)], 1, GRID, 12)
    with pytest.raises(InputError, match="truth"):
        write_gap_split(folder, [puzzle_of(0).without_truth()], 1, GRID, 12)
    assert list(folder.iterdir()) == []


def test_no_space_left(tmp_path, puzzle_of):
    resource = pytest.importorskip("resource")

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            write_gap_split(tmp_path / "a", [puzzle_of(0)], 1, GRID, 12)
        except OutputError:
            os._exit(0)
        os._exit(1)

    process = multiprocessing.get_context("fork").Process(target=limited)
    process.start()
    process.join()
    assert process.exitcode == 0
    assert list((tmp_path / "a").glob("*.h5")) == []


def test_huge_declared_shapes_are_refused_or_read_lazily(tmp_path):
    with h5py.File(tmp_path / "puzzles.h5", "w") as file:
        shape = (10**9, 9, 4, 4, 4)
        file.create_dataset("puzzles", shape, "u1", chunks=(1, 9, 4, 4, 4))
    with h5py.File(tmp_path / "labels_indices.h5", "w") as file:
        file.create_dataset("labels", (10**9, 9), "i8", chunks=(1000, 9))
    with GapSource(tmp_path) as source:
        assert len(source) == 10**9
        with pytest.raises(FormatError, match="too many"):
            source.truths()
    with h5py.File(tmp_path / "large.h5", "w") as file:
        file.create_dataset("puzzles", (1, 9, 10**5, 10**5, 4), "u1", chunks=(1, 1, 8, 8, 4))
    with pytest.raises(FormatError, match="too large"):
        GapSource(tmp_path / "large.h5")


def test_neighbouring_puzzles_share_unpacked_chunks(tmp_path):
    """The chunk cache holds all chunks of one row of puzzles: each is unpacked once."""
    with h5py.File(tmp_path / "puzzles.h5", "w") as file:
        shape, chunks = (80, 9, 64, 64, 4), (80, 1, 16, 16, 4)
        file.create_dataset("puzzles", shape, "u1", chunks=chunks, compression="gzip")
    with GapSource(tmp_path) as source:
        slots, cache_bytes, _ = source._puzzles.id.get_access_plist().get_chunk_cache()
        needed = source.describe()["bytes_per_random_read"]
    assert needed == 80 * 9 * 64 * 64 * 4
    assert cache_bytes >= needed
    assert slots > 9 * 4 * 4
