from __future__ import annotations

import json

import h5py
import numpy as np
import pytest

from puzzleflow.cli.main import build_app
from puzzleflow.core.errors import FormatError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.rng import child_rng
from puzzleflow.formats.audit import find_repeats, fingerprint, inspect_path
from puzzleflow.storage.folder import write_folder
from puzzleflow.storage.gap import write_gap_split
from puzzleflow.storage.predictions import write_predictions

GRID = Grid(3, 3)


def broken(picture_seed: int, mask_seed: int, grid: Grid = GRID, px: int = 32) -> Puzzle:
    """A smooth random picture, broken and shuffled by ``mask_seed``."""
    rng = child_rng(picture_seed, "picture")
    coarse = rng.integers(0, 256, (6, 6, 3)).astype(float)
    height, width = grid.rows * px, grid.cols * px
    rows = np.linspace(0, 5, height).round().astype(int)
    cols = np.linspace(0, 5, width).round().astype(int)
    picture = coarse[rows][:, cols].astype(np.uint8)
    rng = child_rng(mask_seed, "mask")
    truth = rng.permutation(grid.num_pieces)
    pieces = np.zeros((grid.num_pieces, px, px, 4), np.uint8)
    for piece, position in enumerate(truth):
        row, col = grid.cell(int(position))
        top, left, bottom, right = rng.integers(1, 6, 4)
        tile = picture[row * px : (row + 1) * px, col * px : (col + 1) * px]
        pieces[piece, top : px - bottom, left : px - right, :3] = tile[
            top : px - bottom, left : px - right
        ]
        pieces[piece, top : px - bottom, left : px - right, 3] = 255
    return Puzzle(pieces, grid, truth)


def write(folder, seeds, change=lambda pieces: None):
    puzzles = []
    for index, seed in enumerate(seeds):
        puzzle = broken(seed, 100 + index)
        pieces = np.array(puzzle.pieces)
        change(pieces)
        puzzles.append(Puzzle(pieces, GRID, puzzle.truth))
    write_gap_split(folder, puzzles, len(puzzles), GRID, 32)


def test_the_same_picture_is_known_however_it_broke():
    prints = np.stack([fingerprint(broken(seed, 7 * seed + 1)) for seed in range(12)])
    again = np.stack([fingerprint(broken(seed, 1000 + seed)) for seed in range(12)])
    assert find_repeats(prints).tolist() == []
    assert find_repeats(prints, again[3:5]).tolist() == [[3, 0], [4, 1]]
    both = np.concatenate([prints, again])
    assert find_repeats(both).tolist() == [[i, i + 12] for i in range(12)]


def test_a_sound_set(tmp_path):
    write(tmp_path / "train", range(5))
    write(tmp_path / "val", range(5, 8))
    seen = []
    report = inspect_path(tmp_path, report=lambda *stage: seen.append(stage))
    assert report["kind"] == "gap"
    assert report["faults"] == []
    train = report["splits"]["train"]
    assert (train["puzzles"], train["grid"], train["has_truth"]) == (5, "3x3", True)
    assert train["facts"]["filters"] == ["deflate"]
    assert train["facts"]["chunks_written"] == 5
    assert 0.4 < train["audit"]["material"] < 0.9
    assert seen[-1] == ("val", 3, 3)
    json.dumps(report)


def test_pictures_that_repeat_between_splits(tmp_path):
    write(tmp_path / "train", [0, 1, 2, 3])
    write(tmp_path / "test", [9, 2, 8, 9])
    report = inspect_path(tmp_path)
    assert [(r["splits"], r["pairs"]) for r in report["repeats"]] == [
        (["train", "test"], [[2, 1]]),
        (["test", "test"], [[0, 3]]),
    ]
    assert any("between train and test" in fault for fault in report["faults"])
    assert any("within test" in fault for fault in report["faults"])


def grey_edge(pieces):
    pieces[0, 0, 0] = (0, 0, 0, 128)


def left_colour(pieces):
    pieces[1, 0, 0] = (9, 9, 9, 0)


def no_material(pieces):
    pieces[2] = 0


@pytest.mark.parametrize(
    ("change", "fault"),
    [(grey_edge, "not binary"), (left_colour, "colour is left"), (no_material, "without material")],
)
def test_pixel_faults(tmp_path, change, fault):
    write(tmp_path, [0, 1], change)
    (only,) = inspect_path(tmp_path)["faults"]
    assert fault in only
    assert "2 of 2" in only


def test_label_and_storage_faults(tmp_path):
    write(tmp_path, range(3))
    with h5py.File(tmp_path / "labels_coordinates.h5", "r+") as file:
        file["labels"][0] = file["labels"][1]
    assert "contradict" in inspect_path(tmp_path)["faults"][0]
    with h5py.File(tmp_path / "labels_indices.h5", "r+") as file:
        file["labels"][2] = 4
    (fault,) = inspect_path(tmp_path)["faults"]
    assert "puzzle 2: position 4 used by pieces 0 and 1" in fault
    with h5py.File(tmp_path / "short.h5", "w") as file:
        data = file.create_dataset("puzzles", (4, 9, 4, 4, 4), "u1", chunks=(1, 9, 4, 4, 4))
        data[:2] = 255
    for name in ("labels_indices.h5", "labels_coordinates.h5"):
        (tmp_path / name).unlink()
    assert "only 2 of 4 chunks" in " ".join(inspect_path(tmp_path / "short.h5")["faults"])


def test_a_limit_looks_at_an_even_sample(tmp_path):
    write(tmp_path, range(9))
    report = inspect_path(tmp_path, limit=3)
    assert report["splits"][""]["audit"]["checked"] == 3


def test_a_damaged_puzzle_among_good_ones(tmp_path):
    write(tmp_path, range(3))
    with h5py.File(tmp_path / "puzzles.h5") as file:
        chunk = file["puzzles"].id.get_chunk_info(1)
    content = bytearray((tmp_path / "puzzles.h5").read_bytes())
    content[chunk.byte_offset : chunk.byte_offset + 20] = b"x" * 20
    (tmp_path / "puzzles.h5").write_bytes(content)
    report = inspect_path(tmp_path)
    assert report["splits"][""]["audit"]["unreadable"] == 1
    assert "puzzle 1" in report["faults"][0]


def test_command(tmp_path, capsys):
    write(tmp_path / "train", [0, 1])
    write(tmp_path / "test", [2, 0])
    build_app()(["inspect", str(tmp_path), "--split", "train"], standalone_mode=False)
    out = capsys.readouterr().out
    assert "2 puzzles of 3x3 pieces, with truth" in out
    assert "no faults found" in out
    arguments = ["inspect", str(tmp_path), "--json", str(tmp_path / "r.json")]
    code = build_app()(arguments, standalone_mode=False)
    assert code == 1
    assert "fault: 1 pairs of puzzles between train and test" in capsys.readouterr().out
    assert json.loads((tmp_path / "r.json").read_text())["repeats"][0]["count"] == 1


def test_command_on_single_files(tmp_path, capsys):
    write_predictions(tmp_path / "p.npz", [[1, 0]], grid=Grid(1, 2))
    write_predictions(tmp_path / "p.npy", [[1, 0]])
    write_folder(tmp_path / "pieces", broken(0, 0))
    for name, words in {
        "p.npz": "piece -> position",
        "p.npy": "position -> piece",
        "pieces/layout.json": "layout",
        "pieces": "folder",
    }.items():
        build_app()(["inspect", str(tmp_path / name)], standalone_mode=False)
        assert words in capsys.readouterr().out
    (tmp_path / "x.bin").write_bytes(b"12345678")
    with pytest.raises(FormatError, match="no puzzles recognised"):
        inspect_path(tmp_path / "x.bin")
