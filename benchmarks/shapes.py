"""Fragment generators: finished masks per second, one process and one per core (goal: 250).

On a busy machine the wall clock counts other work too, so the rate per second
of processor time stands beside it; it is what a free core would give.
"""

from __future__ import annotations

import time

from puzzleflow.generation.fragments import fragment_generator, sample_masks
from puzzleflow.parallel import available_cores

COUNT = 640


def main() -> None:
    cores = min(2, available_cores())
    for name in ("gap", "vae", "outline"):
        generator = fragment_generator(name)
        generator.masks(range(32))
        began, spent = time.perf_counter(), time.process_time()
        generator.masks(range(100, 100 + COUNT // 2))
        wall, cpu = time.perf_counter() - began, time.process_time() - spent
        list(sample_masks(name, 64 * cores, 1, num_workers=cores))  # workers start and load
        began = time.perf_counter()
        list(sample_masks(name, COUNT, 2, num_workers=cores))
        together = time.perf_counter() - began
        print(
            f"{name:8} one process {COUNT / 2 / wall:6.0f} masks/s "
            f"({COUNT / 2 / cpu:6.0f} per processor second), "
            f"{cores} processes {COUNT / together:6.0f} masks/s"
        )


if __name__ == "__main__":
    main()
