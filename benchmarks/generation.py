"""Data sets: puzzles per second, random reads, size of recipes, memory.

``python -m benchmarks generation`` measures everything but a whole set, which is
``python -m benchmarks.generation --whole NUM_PUZZLES``: made, with the memory of all
processes, and inspected.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from puzzleflow.formats.audit import inspect_path
from puzzleflow.generation.dataset import generate_set
from puzzleflow.generation.plan import PRESETS, Request
from puzzleflow.generation.recipe_file import RecipeSource
from puzzleflow.pictures import list_pictures
from puzzleflow.storage.gap import GapSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WORKERS = 2
READS = 60


def pictures() -> Path:
    """The bundled sample pictures."""
    return Path(str(files("puzzleflow.samples")))


class Rate:
    """Speed between the first puzzle that a run reports and the last one."""

    def __init__(self) -> None:
        self.marks: list[tuple[float, float, int]] = []

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage == "puzzles" and done and (not self.marks or done in (total // 2, total)):
            self.marks.append((time.perf_counter(), _tree_use()[1], done))

    @property
    def per_second(self) -> float:
        (start, _, first), (end, _, last) = self.marks[0], self.marks[-1]
        return (last - first) / (end - start)

    @property
    def cpu_ms(self) -> float:
        """CPU milliseconds of all processes per puzzle."""
        (_, start, first), (_, end, last) = self.marks[0], self.marks[-1]
        return 1e3 * (end - start) / (last - first)


def generate(
    out: Path, request: Request, images: Path | None = None, workers: int = WORKERS
) -> tuple[Rate, dict[str, Any]]:
    rate = Rate()
    statistics = generate_set(
        images or pictures(), out, request, num_workers=workers, on_progress=rate
    )
    return rate, statistics


def generation_speed(root: Path) -> None:
    print(f"puzzles/s, {WORKERS} workers, 640 px pictures from the package")
    for preset in ("gap-3", "gap-5"):
        for erosion in ("gap", "vae", "linear"):
            for compression in ("gzip", "none"):
                request = replace(
                    PRESETS[preset],
                    erosion=erosion,
                    compression=compression,
                    splits="1/0/0",
                    per_picture=2,
                )
                out = root / f"{preset}-{erosion}-{compression}"
                rate, statistics = generate(out, request)
                size = statistics["splits"]["train"]["bytes"] / statistics["num_puzzles"] / 1e3
                print(
                    f"  {preset} {erosion:6} {compression:4}  {rate.per_second:7.1f} puzzles/s"
                    f"  {rate.cpu_ms:6.1f} CPU ms each"
                    f"  {size:7.0f} kB each",
                    flush=True,
                )


def _seconds(read: Callable[[int], Any], count: int) -> float:
    order = np.random.default_rng(0).permutation(count)[:READS]
    start = time.perf_counter()
    for index in order:
        read(int(index))
    return (time.perf_counter() - start) / len(order)


def random_reads(root: Path) -> None:
    for preset in ("gap-3", "gap-5"):
        ours = root / f"{preset}-linear-gzip" / "train" / "puzzles.h5"
        automatic = root / f"{preset}-automatic.h5"
        with h5py.File(ours) as source, h5py.File(automatic, "w") as target:
            data = source["puzzles"]
            copy = target.create_dataset(
                "puzzles", data=data[:], compression="gzip", compression_opts=4, chunks=True
            )
            print(f"one puzzle at random, {preset}, {len(data)} puzzles, gzip 4")
            theirs_s = _seconds(copy.__getitem__, len(data))
            ours_s = _seconds(data.__getitem__, len(data))
            print(f"  h5py's automatic chunks {copy.chunks}: {theirs_s * 1e3:7.1f} ms")
            print(f"  one puzzle a chunk {data.chunks}: {ours_s * 1e3:7.1f} ms")
            print(f"  ratio {theirs_s / ours_s:.1f}")
        gap = GapSource(ours.parent)
        recipe = RecipeSource(root / f"{preset}-linear-gzip" / "recipe" / "train")
        print(f"  GapSource, one puzzle a chunk: {_seconds(gap.read, len(gap)) * 1e3:7.1f} ms")
        again = GapSource(automatic, grid=PRESETS[preset].grid)
        print(f"  GapSource, automatic chunks:   {_seconds(again.read, len(again)) * 1e3:7.1f} ms")
        print(
            f"  RecipeSource, rendered:        {_seconds(recipe.read, len(recipe)) * 1e3:7.1f} ms"
        )


def recipe_size(root: Path) -> None:
    print("size of a recipe against its files")
    picture_bytes = sum(path.stat().st_size for path in pictures().glob("*.webp"))
    for preset in ("gap-3", "gap-5"):
        folder = root / f"{preset}-vae-gzip"
        stored = sum(p.stat().st_size for p in (folder / "train").iterdir())
        recipe = sum(p.stat().st_size for p in (folder / "recipe").rglob("*") if p.is_file())
        count = len(GapSource(folder / "train"))
        print(
            f"  {preset}: {count} puzzles, HDF5 gzip {stored:,} B, recipe {recipe:,} B, "
            f"{stored / recipe:.0f} times smaller; with its pictures ({picture_bytes:,} B) "
            f"{stored / (recipe + picture_bytes):.1f} times"
        )


def _tree_use() -> tuple[int, float]:
    """Resident bytes and CPU seconds of this process and of all that it started."""
    stats = {}
    for entry in Path("/proc").iterdir():
        try:
            stats[int(entry.name)] = (entry / "stat").read_text().rpartition(")")[2].split()
        except (ValueError, OSError):
            continue
    pages, ticks = 0, 0
    for process, fields in stats.items():
        ancestor = process
        while ancestor not in (0, os.getpid()):
            ancestor = int(stats[ancestor][1]) if ancestor in stats else 0
        if ancestor:
            pages += int(fields[21])
            ticks += int(fields[11]) + int(fields[12])
    return pages * os.sysconf("SC_PAGE_SIZE"), ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def peak_rss() -> Iterator[list[int]]:
    """Yields a list whose only value becomes the peak."""
    peak, over = [0], threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            peak[0] = max(peak[0], _tree_use()[0])

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        over.set()
        watcher.join()


def whole_set(num_puzzles: int, preset: str, erosion: str, images: Path, workers: int) -> None:
    count = len(list_pictures(images))
    request = replace(
        PRESETS[preset], erosion=erosion, splits="1/0/0", per_picture=-(-num_puzzles // count)
    )
    with tempfile.TemporaryDirectory() as root:
        began = time.perf_counter()
        with peak_rss() as peak:
            rate, made = generate(Path(root) / "out", request, images, workers)
        seconds = time.perf_counter() - began
        num = made["num_puzzles"]
        print(
            f"{preset} {erosion}: {num} puzzles in {seconds:.0f} s, {rate.per_second:.1f}/s, "
            f"{rate.cpu_ms:.1f} CPU ms each once started, {workers} workers, {count} pictures, "
            f"peak of all processes {peak[0] / 2**20:.0f} MiB",
            flush=True,
        )
        began, before = time.perf_counter(), _tree_use()[1]
        inspect_path(Path(root) / "out", limit=None, num_workers=workers)
        seconds, used = time.perf_counter() - began, _tree_use()[1] - before
        told = f", {1e3 * used / num:.1f} CPU ms each" if workers == 1 else ""
        print(f"inspected in {seconds:.1f} s{told}", flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        generation_speed(root)
        random_reads(root)
        recipe_size(root)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--whole", type=int, metavar="NUM_PUZZLES")
    parser.add_argument("--preset", default="gap-3")
    parser.add_argument("--erosion", default="gap")
    parser.add_argument("--images", type=Path, default=pictures())
    parser.add_argument("--workers", type=int, default=WORKERS)
    asked = parser.parse_args()
    if asked.whole:
        whole_set(asked.whole, asked.preset, asked.erosion, asked.images, asked.workers)
    else:
        main()
