"""From a training run to the weights that ship: average, calibrate, evaluate, write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from puzzleflow.core.grid import Grid
from puzzleflow.core.metrics import score
from puzzleflow.core.types import IntArray
from puzzleflow.models.checkpoint import save_weights
from puzzleflow.models.relational import RelationalConfig, RelationalNet
from puzzleflow.search import minimise
from puzzleflow.solvers.relational_energy import EnergyWeights, Terms, terms_of
from puzzleflow.training.calibration import fit_weights
from puzzleflow.training.state import load_state, under
from puzzleflow.training.stream import Batch


@torch.no_grad()
def related(network: RelationalNet, batches: Sequence[Batch]) -> tuple[list[Terms], list[IntArray]]:
    """Costs and truths of every puzzle."""
    terms: list[Terms] = []
    truths: list[IntArray] = []
    for batch in batches:
        terms += terms_of(network(batch.pixels(), batch.grid)[0])
        truths += list(batch.position_of.numpy())
    return terms, truths


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


def pack_relational(
    state: str | Path,
    validation: Mapping[Grid, Sequence[Batch]],
    out: str | Path,
    report: Callable[[str], None],
) -> dict[str, Any]:
    """Write fp16 weights with energy weights fitted on the validation puzzles.

    The first half of each grid's puzzles fits the weights; the other half gives
    the figures, which are returned and stored.
    """
    tensors, values = load_state(state)
    network = RelationalNet(RelationalConfig.from_dict(values.get("network", {})))
    network.load_state_dict(under("average", tensors))
    network.eval()
    energy: dict[str, dict[str, float]] = {}
    figures: dict[str, dict[str, float]] = {}
    for grid, batches in validation.items():
        terms, truths = related(network, batches)
        half = len(terms) // 2
        weights = fit_weights(
            terms[:half],
            truths[:half],
            grid,
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
