"""How fast and how good the search is, on one core.

    python benchmarks/search.py [--instances 20]

Instances hide one layout in noise: every cost is normal with unit variance,
and the seams (and places) of the hidden layout are cheaper by a margin. With
a margin of 2.5 on 10x10, only about half of the true seams are the best that
their piece has. "planted" counts the instances in which the search came to an
energy no higher than that of the hidden layout. Seconds are CPU seconds of
this process, compilation excluded; "quickest" is the least of all instances.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any

import numpy as np

from puzzleflow.core.assignment import invert
from puzzleflow.core.grid import Grid
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import IntArray
from puzzleflow.search import Energy, minimise, most_pieces_right, posterior
from puzzleflow.search.local import search

MARGINS = [
    ("5x5", 3.0, 0.0),
    ("5x5", 2.5, 0.0),
    ("5x5", 2.5, 1.0),
    ("5x5", 2.0, 0.0),
    ("10x10", 3.0, 0.0),
    ("10x10", 2.7, 0.0),
    ("10x10", 2.7, 1.0),
    ("10x10", 2.5, 0.0),
    ("20x20", 4.0, 0.0),
]


def planted(grid: Grid, seed: int, *, seam: float, place: float) -> tuple[Energy, IntArray]:
    """Unit noise, and a hidden layout whose seams and places are cheaper by so much."""
    rng = child_rng(seed, "search benchmark", str(grid))
    num = grid.num_pieces
    position_of = rng.permutation(num)
    cells = invert(position_of).reshape(grid.shape)
    unary, right, down = rng.normal(size=(3, num, num))
    unary *= place > 0
    unary[np.arange(num), position_of] -= place
    right[cells[:, :-1], cells[:, 1:]] -= seam
    down[cells[:-1], cells[1:]] -= seam
    return Energy(grid, unary, right, down), position_of


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    started = process_time()
    result = call()
    return process_time() - started, result


def row(name: str, seconds: list[float], note: str = "") -> None:
    ms = 1e3 * np.array(seconds)
    print(f"| {name} | {np.median(ms):.1f} | {ms.min():.1f} | {note} |", flush=True)


def exact_rows(num_instances: int) -> None:
    for text in ("3x3", "2x6", "3x4"):
        energies = [
            planted(Grid.parse(text), s, seam=1.0, place=0.5)[0] for s in range(num_instances)
        ]
        minimise(energies[0])  # the table of transitions is made once
        tasks: dict[str, Callable[[Energy], Any]] = {
            "proven minimum": minimise,
            "10 best, proven": partial(minimise, num_layouts=10),
            "exact marginals": posterior,
        }
        for name, task in tasks.items():
            row(f"{text}, {name}", [timed(partial(task, e))[0] for e in energies])


def planted_rows(num_instances: int) -> None:
    for text, seam, place in MARGINS:
        large = text != "5x5"
        seconds, found = [], 0
        count = max(2, num_instances // (10 if text == "20x20" else 2 if large else 1))
        for seed in range(count):
            energy, truth = planted(Grid.parse(text), seed, seam=seam, place=place)
            spent, (best,) = timed(partial(search, energy, seed=seed))
            seconds.append(spent)
            found += best.energy <= energy.of_layout(truth) + 1e-9
        name = f"{text}, seams {seam}, places {place}"
        row(name, seconds, f"planted {found}/{count}")


def calibration_rows(num_instances: int) -> None:
    """At temperature 1 / margin the posterior of this noise is the true one."""
    for text, seam in (("3x3", 1.5), ("4x4", 1.7), ("5x5", 2.0), ("5x5", 2.5)):
        seconds, confidence, right = [], [], []
        for seed in range(num_instances):
            energy, truth = planted(Grid.parse(text), seed, seam=seam, place=0.0)
            spent, marginals = timed(partial(posterior, energy, seed=seed, temperature=1 / seam))
            position_of = most_pieces_right(marginals.position_prob)
            seconds.append(spent)
            confidence.append(marginals.confidence(position_of).mean())
            right.append((position_of == truth).mean())
        note = f"confidence {np.mean(confidence):.2f}, pieces right {np.mean(right):.2f}"
        row(f"{text}, marginals, seams {seam}", seconds, note)


def main() -> None:
    parser = argparse.ArgumentParser(description="Benchmark of puzzleflow.search")
    parser.add_argument("--instances", type=int, default=20)
    num_instances = parser.parse_known_args()[0].instances
    warm_up, _ = planted(Grid(4, 4), 0, seam=3.0, place=1.0)
    posterior(warm_up, effort=0.1)
    print("| task | median ms | quickest ms | outcome |\n|---|---|---|---|")
    exact_rows(num_instances)
    planted_rows(num_instances)
    calibration_rows(num_instances)


if __name__ == "__main__":
    main()
