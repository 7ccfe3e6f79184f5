"""A small sample of every registered file format, for tests that run over all of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from puzzleflow.core.errors import naming
from puzzleflow.core.fragments import Fragment, FragmentSet
from puzzleflow.core.grid import Grid
from puzzleflow.core.plane import draw, window_around
from puzzleflow.core.pose import Pose
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import ByteArray
from puzzleflow.formats.open import on_grid, open_source
from puzzleflow.generation.erosion import erosion_model, fingerprint
from puzzleflow.generation.recipe import Recipe, RecipeRow
from puzzleflow.generation.recipe_file import write_recipe
from puzzleflow.pictures import write_picture
from puzzleflow.storage.folder import write_folder
from puzzleflow.storage.free_form.own import write_fragments
from puzzleflow.storage.free_form.source import FragmentSource
from puzzleflow.storage.gap import GapSource, write_gap_split
from puzzleflow.storage.jpwleg import write_jpwleg
from puzzleflow.storage.parquet import write_parquet

GRID = Grid(3, 3)


def small_puzzle(seed: int = 0, grid: Grid = GRID, px: int = 12, *, opaque: bool = False) -> Puzzle:
    """Random pixels under random masks, zero where there is no material, shuffled."""
    rng = child_rng(seed, "storage-test")
    n = grid.num_pieces
    pieces = rng.integers(1, 256, (n, px, px, 4), dtype=np.uint8)
    pieces[..., 3] = 255 if opaque else 255 * (rng.random((n, px, px)) < 0.8)
    pieces[pieces[..., 3] == 0] = 0
    return Puzzle(pieces, grid, rng.permutation(n))


def build_gap(folder: Path) -> None:
    write_gap_split(folder, [small_puzzle(i, px=4) for i in range(3)], 3, GRID, 4)


def build_foreign_gap(folder: Path) -> None:
    import h5py

    folder.mkdir()
    with h5py.File(folder / "puzzles.h5", "w", libver="latest") as file:
        pieces = np.stack([small_puzzle(i, px=4).pieces for i in range(3)])
        options = {"chunks": (2, 3, 4, 4, 4), "compression": "gzip", "shuffle": True}
        file.create_dataset("puzzles", data=pieces, fletcher32=True, **options)
    with h5py.File(folder / "labels_coordinates.h5", "w") as file:
        file["x"] = np.stack([np.stack(np.divmod(small_puzzle(i).truth, 3), 1) for i in range(3)])


def build_jpwleg(folder: Path) -> None:
    write_jpwleg(folder, [small_puzzle(i, px=4, opaque=True) for i in range(3)])


def build_folder(folder: Path) -> None:
    write_folder(folder, small_puzzle(0, Grid(1, 3), 4))


def build_recipe(folder: Path) -> None:
    """A recipe of three puzzles whose pictures lie beside it."""
    grid, rows = Grid(2, 2), []
    for number in range(3):
        rng = child_rng(number, "recipe sample")
        path = folder / f"{number}.png"
        write_picture(path, rng.integers(0, 256, (40, 40, 3), dtype=np.uint8))
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        rows.append(RecipeRow(path.name, sha256, number, tuple(rng.permutation(4).tolist())))
    model = fingerprint(erosion_model("fixed:2"))
    write_recipe(folder, Recipe(grid, 16, "fixed:2", model, 0, ".", tuple(rows)))


def build_parquet(folder: Path) -> None:
    build_gap(folder.with_name("as gap"))
    write_parquet(folder, GapSource(folder.with_name("as gap")), "test", per_file=2)


def build_repair_v1(folder: Path) -> None:
    folder.mkdir()
    lines = ["rpf,x,y,rot"]
    for piece in range(3):
        write_picture(folder / f"RPf_{piece}.png", small_puzzle(piece, px=8).pieces[0])
        lines.append(f"RPf_{piece}.png,{9 * piece},3,{30 * piece}")
    (folder / "gt.csv").write_text("\n".join(lines))


def build_repair_v3(folder: Path) -> None:
    folder.mkdir()
    fragments = []
    for idx in range(3):
        write_picture(folder / f"f{idx}.png", small_puzzle(idx, px=8).pieces[0])
        where = [10 * idx + 5, 6, 15 * idx]
        fragments.append({"idx": idx, "filename": f"f{idx}.png", "position_2d": where})
    data = {"metadata_version": 3, "solution_size": [40, 20], "adjacency": [[0, 1], [1, 2]]}
    (folder / "data.json").write_text(json.dumps(data | {"fragments": fragments}))


def build_own_fragments(folder: Path) -> None:
    fragments = tuple(Fragment(small_puzzle(i, px=8).pieces[0], f"{i}.png") for i in range(3))
    poses = Pose(0, 0), Pose(10, 3, 40), None
    write_fragments(folder, FragmentSet(fragments, poses, frozenset({2}), np.eye(3) == 2))


def build_jigsawnet(folder: Path) -> None:
    folder.mkdir()
    write_picture(folder / "a.png", _on_black(small_puzzle(0, px=8).pieces[0]))
    (folder / "fragmentList.txt").write_text("a.png\n")
    (folder / "bg_color.txt").write_text("0 0 0")
    (folder / "groundTruth.txt").write_text("1\n1 0 5.5 0 1 6.5 0 0 1\n")


def build_dafne(folder: Path) -> None:
    for i in range(2):
        write_picture(folder / f"frag_eroded/frag_eroded_{i}.png", small_puzzle(i, px=8).pieces[0])
    (folder / "fragments.txt").write_text("0 20 20 -30.5\n")
    (folder / "fragments_s.txt").write_text("1\n")


def build_derech(folder: Path) -> None:
    write_picture(folder / "x_s1/x_s1_p1_m.png", _on_black(small_puzzle(0, px=8).pieces[0]))
    fragments = [{"name": "x_s1_p1_m.png", "T": [1.0, 2.0, 0.0]}]
    truth = [{"options": {"series": "x_s1"}, "fragments": fragments}]
    (folder / "groundtruth.json").write_text(json.dumps(truth))


def _on_black(piece: ByteArray) -> ByteArray:
    return np.pad(piece[..., :3], [(2, 2), (2, 2), (0, 0)])


SAMPLES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "gap": ("gap", build_gap),
    "foreign gap": ("gap", build_foreign_gap),
    "jpwleg": ("jpwleg", build_jpwleg),
    "folder": ("folder", build_folder),
    "recipe": ("recipe", build_recipe),
    "parquet": ("parquet", build_parquet),
    "repair v1": ("repair", build_repair_v1),
    "repair v3": ("repair", build_repair_v3),
    "own fragments": ("puzzleflow", build_own_fragments),
    "jigsawnet": ("jigsawnet", build_jigsawnet),
    "dafne": ("dafne", build_dafne),
    "derech": ("derech", build_derech),
}
"""Name of a sample → (name of its format, what writes it)."""


def read_source(folder: Path) -> None:
    """Open a folder and read what it holds, or raise."""
    with open_source(folder) as source:
        if isinstance(source, FragmentSource):
            fragments = source.fragments(0)
            if fragments.placed.any():
                with naming(folder):
                    window = window_around(fragments.fragments, fragments.poses, max_side_px=200)
                    draw(fragments.fragments, fragments.poses, window)
        else:  # also a RePAIR folder without its data.json: it is a folder of pieces
            puzzles = on_grid(source)
            puzzles.truths()
            for index in range(min(len(puzzles), 3)):
                puzzles[index]
