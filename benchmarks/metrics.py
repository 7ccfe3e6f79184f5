"""Scoring 100,000 GAP-5 predictions: every metric, every class of failure, every interval."""

from __future__ import annotations

import time

import numpy as np

from puzzleflow.core.grid import Grid
from puzzleflow.core.metrics import official_result, score

NUM_PUZZLES = 100_000


def main() -> None:
    grid = Grid(5, 5)
    rng = np.random.default_rng(0)
    truth = rng.permuted(np.tile(np.arange(grid.num_pieces), (NUM_PUZZLES, 1)), axis=1)
    predicted = rng.permuted(truth, axis=1)
    score(predicted[:10], truth[:10], grid)  # nothing is loaded while the clock runs
    start, start_cpu = time.perf_counter(), time.process_time()
    scores = score(predicted, truth, grid)
    scored = time.perf_counter()
    scores.estimates()
    official_result(scores)
    done, done_cpu = time.perf_counter(), time.process_time()
    print(f"scores and failure classes  {scored - start:6.3f} s")
    print(f"95 % intervals and result   {done - scored:6.3f} s")
    print(f"all of {NUM_PUZZLES:,} puzzles      {done - start:6.3f} s")
    print(f"processor time              {done_cpu - start_cpu:6.3f} s")
