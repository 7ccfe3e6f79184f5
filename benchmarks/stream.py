"""Fresh puzzles a second for training: 3x3 and 5x5 at 64 px, with and without the seam prior."""

from __future__ import annotations

import tempfile
import time
from itertools import islice
from pathlib import Path

from puzzleflow.core.grid import Grid
from puzzleflow.generation.fragments import fragment_generator
from puzzleflow.pictures import write_picture
from puzzleflow.samples import list_samples, load_sample
from puzzleflow.training.banks import MaskBank, PictureBank
from puzzleflow.training.stream import PuzzleStream, StreamConfig, stream_loader

NUM_BATCHES = 40
NUM_WORKERS = 2


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for sample in list_samples():
            paths.append(Path(folder) / f"{sample.name}.png")
            write_picture(paths[-1], load_sample(sample.name))
        pictures = PictureBank(paths, folder)
        masks = MaskBank([(1.0, fragment_generator("outline").masks(range(200)))])
        print("| grid | seam prior | puzzles/s, two workers |")
        print("|---|---|---|")
        for grid in (Grid(3, 3), Grid(5, 5)):
            for prior in (False, True):
                config = StreamConfig(grids={str(grid): 1.0}, with_prior=prior)
                batches = iter(
                    stream_loader(PuzzleStream(pictures, masks, config, seed=0), NUM_WORKERS)
                )
                next(batches)  # workers have started
                began = time.perf_counter()
                puzzles = sum(len(batch) for batch in islice(batches, NUM_BATCHES))
                rate = puzzles / (time.perf_counter() - began)
                print(f"| {grid} | {'yes' if prior else 'no'} | {rate:.0f} |", flush=True)
                del batches


if __name__ == "__main__":
    main()
