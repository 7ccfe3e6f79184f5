"""From a training run to the weights that ship: average, calibrate, evaluate, write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.metrics import score
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.rng import child_seed
from puzzleflow.core.types import IntArray
from puzzleflow.generation.builder import cut_puzzle
from puzzleflow.generation.erosion import erosion_model
from puzzleflow.models.checkpoint import save_weights
from puzzleflow.models.relational import RelationalConfig, RelationalNet
from puzzleflow.pictures import read_picture
from puzzleflow.search import minimise
from puzzleflow.search.exact import is_exact_size
from puzzleflow.solvers.relational import relate
from puzzleflow.solvers.relational_energy import EnergyWeights, Terms
from puzzleflow.training.calibration import fit_weights
from puzzleflow.training.state import load_state, under


def cut_puzzles(
    pictures: Sequence[Path], grid: Grid, erosion: str, seed: int, num_puzzles: int
) -> list[Puzzle]:
    """One puzzle a picture, cut as a GAP data set is; pictures repeat if they must."""
    if not pictures:
        raise InputError("no pictures to cut puzzles from")
    model = erosion_model(erosion)
    return [
        cut_puzzle(read_picture(path), grid, model, child_seed(seed, "puzzle", index))
        for index, path in enumerate(islice(cycle(pictures), num_puzzles))
    ]


def solved(
    terms: Sequence[Terms], truths: Sequence[IntArray], grid: Grid, weights: EnergyWeights
) -> dict[str, float]:
    """PA, AA and SRA of the layouts of lowest energy."""
    layouts = [minimise(t.energy(grid, weights), seed=k)[0] for k, t in enumerate(terms)]
    scores = score(np.stack([layout.position_of for layout in layouts]), np.stack(truths), grid)
    return {
        "PA": round(scores.perfect_accuracy, 4),
        "AA": round(scores.absolute_accuracy, 4),
        "SRA": round(scores.relation_accuracy, 4),
    }


def averaged_network(state: str | Path) -> tuple[RelationalNet, dict[str, Any]]:
    """The averaged network of a run, and what its state says of it."""
    tensors, values = load_state(state)
    network = RelationalNet(RelationalConfig.from_dict(values["network"]))
    network.load_state_dict(under("average", tensors))
    return network.eval(), values


def pack_relational(
    state: str | Path,
    validation: Mapping[Grid, Sequence[Puzzle]],
    out: str | Path,
    report: Callable[[str], None],
) -> dict[str, Any]:
    """Write fp16 weights with energy weights fitted on validation puzzles.

    The first half of each grid's puzzles fits the weights; the other half gives
    the figures, which are returned and stored.
    """
    network, values = averaged_network(state)
    weights: EnergyWeights | None = None  # each grid starts from the one before
    energy: dict[str, dict[str, float]] = {}
    figures: dict[str, dict[str, float]] = {}
    for grid, puzzles in validation.items():
        terms = [t for puzzle in puzzles for t in relate(network, [puzzle])]
        truths = [puzzle.truth for puzzle in puzzles if puzzle.truth is not None]
        half = len(terms) // 2
        weights = fit_weights(
            terms[:half],
            truths[:half],
            grid,
            initial=weights,
            rounds=25 if is_exact_size(grid) else 10,
            report=lambda n, w, g: report(f"round {n}: {w}, gradient {g:.3f}"),
        )
        energy[str(grid)] = weights.to_dict()
        figures[str(grid)] = solved(terms[half:], truths[half:], grid, weights)
        report(f"{grid}: {weights} gives {figures[str(grid)]}")
    described = {
        "kind": "relational",
        "network": network.config.to_dict(),
        "energy": energy,
        "validation": figures,
        "puzzles_seen": values["puzzles_seen"],
        "training_minutes": round(values["seconds"] / 60),
    }
    save_weights(out, network.state_dict(), described, dtype="float16")
    return described
