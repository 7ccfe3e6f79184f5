"""A stored set solved end to end by ``relational``: read, encode in batches, search, write.

    python -m benchmarks.throughput [--puzzles 1000] [--workers 2] [--erosion gap]

With one worker the processor time of a puzzle is told, too; two free cores then solve at most
2000 / (CPU ms) puzzles a second.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

from puzzleflow.core.grid import Grid
from puzzleflow.evaluation.solved_set import SolvedSet
from puzzleflow.evaluation.spec import SolverSpec
from puzzleflow.formats.open import open_puzzles
from puzzleflow.generation.builder import cut_puzzle
from puzzleflow.samples import list_samples, load_sample
from puzzleflow.storage.gap_writer import write_gap_split

GRID = Grid(3, 3)


def measure(num_puzzles: int, workers: int, erosion: str) -> None:
    names = islice(cycle(sample.name for sample in list_samples()), num_puzzles)
    puzzles = (cut_puzzle(load_sample(name), GRID, erosion, k) for k, name in enumerate(names))
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        write_gap_split(data, puzzles, num_puzzles, GRID, 128)
        for part in ("started", "going"):  # first workers start, load and compile
            with open_puzzles(data) as source:
                wanted = SolvedSet(source, SolverSpec.parse("relational"), Path(folder) / part)
                began, spent = time.perf_counter(), time.process_time()
                wanted.run(num_workers=workers)
                clock, used = time.perf_counter() - began, time.process_time() - spent
            told = f", {1e3 * used / num_puzzles:.1f} CPU ms each" if workers == 1 else ""
            rate = num_puzzles / clock
            print(
                f"{part}: {num_puzzles} puzzles, {workers} workers, {rate:.1f}/s{told}", flush=True
            )


def main() -> None:
    """A short run."""
    measure(40, 1, "fixed:10")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--puzzles", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--erosion", default="gap")
    asked = parser.parse_args()
    measure(asked.puzzles, asked.workers, asked.erosion)
