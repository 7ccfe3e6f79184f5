"""Large puzzles: seconds, memory and accuracy from 2x2 to 30x30, and how they grow.

    python -m benchmarks.large --images FOLDER --out runs/out/large.jsonl --figure large.png
        [--grids 2,3,5,10,15,20,30] [--solvers relational,linear,mgc-tree,genetic]
        [--erosion none] [--own-px 28] [--puzzles 1] [--most-s 900]

Every line of the output is one puzzle for one solver, solved in a process of its own; lines that
are there already are not measured again. A picture that is too small for pieces of OWN_PX
pixels becomes a mosaic of several. Seconds are processor seconds of preparing and solving, which a
busy machine changes less than those of the clock, written beside them. Kernels are compiled
before. A solver that took more than MOST_S seconds is not given larger grids.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.grid import Grid
from puzzleflow.core.metrics import score
from puzzleflow.core.types import ByteArray
from puzzleflow.generation.builder import cut_puzzle
from puzzleflow.pictures import list_pictures, read_picture, square_crop

GRIDS = (2, 3, 5, 10, 15, 20, 30)
SOLVERS = ("relational", "linear", "mgc-tree", "genetic")


def mosaic(images: list[Path], first: int, side_px: int) -> tuple[ByteArray, int]:
    """A square of at least ``side_px`` from pictures beginning with the ``first``; how many."""
    pictures = [square_crop(read_picture(images[first % len(images)]))]
    tile = len(pictures[0])
    across = -(-side_px // tile)
    while len(pictures) < across**2:
        first += 1
        picture = square_crop(read_picture(images[first % len(images)]))
        if len(picture) >= tile:
            pictures.append(picture[:tile, :tile])
    rows = [
        np.concatenate(pictures[at : at + across], axis=1) for at in range(0, across**2, across)
    ]
    return np.concatenate(rows), across**2


def solve_one(asked: dict[str, Any], images: list[Path]) -> dict[str, Any]:
    """Cut, prepare and solve one puzzle; runs in a process of its own."""
    from puzzleflow.evaluation.spec import SolverSpec
    from puzzleflow.evaluation.worker import PeakMemory
    from puzzleflow.solvers.base import seen

    grid = Grid(asked["grid"], asked["grid"])
    picture, num_pictures = mosaic(images, asked["number"] * 9, grid.rows * asked["own_px"])
    puzzle = cut_puzzle(picture, grid, asked["erosion"], asked["number"], piece_px=asked["own_px"])
    solver = SolverSpec.parse(asked["solver"]).load()
    warm = cut_puzzle(picture, Grid(4, 4), "none", 0, piece_px=asked["own_px"])
    solver.prepare(seen(warm)).solve(seed=0)
    with PeakMemory() as memory:
        clock, used = time.perf_counter(), time.process_time()
        solution = solver.prepare(seen(puzzle)).solve(seed=asked["number"])
        clock, used = time.perf_counter() - clock, time.process_time() - used
    found = score(solution.position_of[None], puzzle.truth[None], grid)  # type: ignore[index]
    return asked | {
        "pictures": num_pictures,
        "cpu_s": round(used, 3),
        "clock_s": round(clock, 3),
        "mib": None if memory.process_mb is None else round(memory.process_mb),
        "AA": round(100 * found.absolute_accuracy, 2),
        "SRA": round(100 * found.relation_accuracy, 2),
    }


def measure(options: argparse.Namespace) -> list[dict[str, Any]]:
    """All lines, those of earlier runs among them."""
    out: Path = options.out
    out.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    keys = ("solver", "grid", "number", "erosion", "own_px")
    known = {tuple(line[key] for key in keys): line for line in lines}
    for solver in options.solvers.split(","):
        for side in map(int, options.grids.split(",")):
            took = 0.0
            for number in range(options.puzzles):
                key = (solver, side, number, options.erosion, options.own_px)
                if key not in known:
                    asked = json.dumps(dict(zip(keys, key, strict=True)))
                    command = [sys.executable, "-m", "benchmarks.large"]
                    command += ["--images", str(options.images), "--one", asked]
                    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
                    known[key] = json.loads(done.stdout)
                    with out.open("a") as stream:
                        stream.write(json.dumps(known[key]) + "\n")
                    print(known[key], flush=True)
                took = max(took, known[key]["cpu_s"])
            if took > options.most_s:
                break
    return list(known.values())


def summary(lines: list[dict[str, Any]]) -> dict[str, dict[int, dict[str, float]]]:
    """Means by solver and grid."""
    table: dict[str, dict[int, dict[str, float]]] = {}
    for solver in dict.fromkeys(line["solver"] for line in lines):
        mine = [line for line in lines if line["solver"] == solver]
        table[solver] = {
            side: {
                name: float(np.mean([ln[name] or 0 for ln in mine if ln["grid"] == side]))
                for name in ("cpu_s", "mib", "AA", "SRA")
            }
            for side in sorted({line["grid"] for line in mine})
        }
    return table


def exponent(points: dict[int, dict[str, float]]) -> float:
    """b of seconds ~ pieces^b, fitted to grids from 5x5 on; NaN with fewer than two."""
    large = [(side**2, figures["cpu_s"]) for side, figures in points.items() if side >= 5]
    if len(large) < 2:
        return float("nan")
    return float(np.polyfit(*np.log(np.array(large)).T, 1)[0])


def tell(table: dict[str, dict[int, dict[str, float]]]) -> None:
    print("| solver | grid | CPU s | MiB | AA | SRA |\n|---|---|---|---|---|---|")
    for solver, points in table.items():
        for side, f in points.items():
            name = f"{side}×{side}"
            print(
                f"| {solver} | {name} | {f['cpu_s']:.2f} | {f['mib']:.0f} "
                f"| {f['AA']:.1f} | {f['SRA']:.1f} |"
            )
        print(f"{solver}: seconds grow with pieces to the power {exponent(points):.2f}")


def draw(table: dict[str, dict[int, dict[str, float]]], path: Path) -> None:
    from puzzleflow.evaluation.charts import coloured, empty_chart, frame, save_chart, shared_legend

    figure, axes = empty_chart(1, 3, (11.0, 4.2))
    panels = (("cpu_s", "processor seconds"), ("mib", "memory, MiB"), ("SRA", "SRA, %"))
    for axis, (name, label) in zip(axes.flat, panels, strict=True):
        for solver, colour in coloured(list(table)):
            points = table[solver]
            power = exponent(points)
            legend = solver if np.isnan(power) else f"{solver} (pieces^{power:.2f})"
            x = [side**2 for side in points]
            y = [max(figures[name], 1e-3) for figures in points.values()]
            axis.plot(x, y, color=colour, marker="o", ms=3, label=legend)
        axis.set_xscale("log")
        axis.set_yscale("linear" if name == "SRA" else "log")  # before its limits are taken
        frame(axis, "", "pieces", label, (0, 105) if name == "SRA" else axis.get_ylim())
    shared_legend(figure, axes.flat[0])
    save_chart(figure, path)


def main() -> None:
    """A short run on the bundled pictures."""
    with tempfile.TemporaryDirectory() as folder:
        out = ["--images", str(files("puzzleflow.samples")), "--out", f"{folder}/large.jsonl"]
        run([*out, "--grids", "3,5,10", "--solvers", "relational,linear,mgc-tree"])


def run(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("runs/out/large.jsonl"))
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--grids", default=",".join(map(str, GRIDS)))
    parser.add_argument("--solvers", default=",".join(SOLVERS))
    parser.add_argument("--erosion", default="none")
    parser.add_argument("--own-px", type=int, default=28)
    parser.add_argument("--puzzles", type=int, default=1)
    parser.add_argument("--most-s", type=float, default=900.0)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        print(json.dumps(solve_one(json.loads(options.one), list_pictures(options.images))))
        return
    table = summary(measure(options))
    tell(table)
    if options.figure:
        draw(table, options.figure)


if __name__ == "__main__":
    run(sys.argv[1:])
