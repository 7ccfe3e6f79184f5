"""500 fragments in composed photographs: how many are found, how well, and how fast."""

from __future__ import annotations

import time

import numpy as np
from photographs import found_iou, sample_photograph

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.generation.erosion import erosion_model
from puzzleflow.generation.fragments import list_fragment_generators
from puzzleflow.segmentation import segment

NUM_PHOTOGRAPHS = 56  # of nine fragments: 504
FIRST_SEED = 80_000  # never looked at while the method was made


def main() -> None:
    for name in list_fragment_generators():
        try:
            erosion = erosion_model(name)
        except InputError:  # weights that do not ship with this installation
            print(f"{name}: no weights here")
            continue
        iou: list[float] = []
        spurious, seconds, pixels = 0, 0.0, 0
        for seed in range(FIRST_SEED, FIRST_SEED + NUM_PHOTOGRAPHS):
            _, taken = sample_photograph(seed, erosion, Grid(3, 3))
            start = time.process_time()
            found = segment(taken.pixels)
            seconds += time.process_time() - start
            pixels += taken.piece_of.size
            iou += list(found_iou(taken.piece_of, found.labels))
            backwards = found_iou(found.labels, taken.piece_of)
            spurious += int(np.count_nonzero(backwards < 0.5))
        values = np.array(iou)
        print(f"{name}: {len(values)} fragments in {NUM_PHOTOGRAPHS} photographs")
        print(f"  found with IoU >= 0.9       {100 * np.mean(values >= 0.9):6.1f} %")
        print(f"  found with IoU >= 0.95      {100 * np.mean(values >= 0.95):6.1f} %")
        print(f"  median IoU                  {np.median(values):8.3f}")
        print(f"  regions that are none       {spurious:6d}")
        print(f"  processor time a megapixel  {1e6 * seconds / pixels:8.2f} s")
