"""From a training run to the weights that ship: average, fit the energy, evaluate, write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.assignment import invert
from puzzleflow.core.conditions import Conditions
from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.metrics import score
from puzzleflow.core.puzzle import Layout, Puzzle
from puzzleflow.core.rng import child_seed
from puzzleflow.core.types import FloatArray
from puzzleflow.generation.builder import cut_puzzle, opened
from puzzleflow.generation.erosion import erosion_model
from puzzleflow.models.checkpoint import load_network, save_weights
from puzzleflow.models.relational import RelationalConfig, RelationalNet
from puzzleflow.pictures import read_picture
from puzzleflow.search import minimise
from puzzleflow.search.exact import is_exact_size
from puzzleflow.solvers.relational import relate
from puzzleflow.solvers.relational_energy import EnergyWeights, weights_for
from puzzleflow.solvers.relational_open import open_terms, ways_up
from puzzleflow.solvers.second_look import Looking, with_shifts
from puzzleflow.training.energy_fit import Example, fit_weights, trusted
from puzzleflow.training.state import STATE, load_state, under

TRUST = 0.02  # in what a second look counted before: few puzzles are undecided, and all may agree


def cut_puzzles(
    pictures: Sequence[Path], grid: Grid, erosions: Sequence[str], seed: int, num_puzzles: int
) -> list[Puzzle]:
    """One puzzle a picture, cut as a GAP data set is; pictures repeat if they must.

    The erosions take turns.
    """
    if not pictures:
        raise InputError("no pictures to cut puzzles from")
    models = [erosion_model(erosion) for erosion in erosions]
    return [
        cut_puzzle(
            read_picture(path), grid, models[index % len(models)], child_seed(seed, "puzzle", index)
        )
        for index, path in enumerate(islice(cycle(pictures), num_puzzles))
    ]


OPEN = ((0.11, 0.0), (0.33, 0.0), (0.0, 0.22), (0.22, 0.22))
# shares of pieces that are missing and that are foreign: what the open world is fitted on, in turns


def solved(
    network: RelationalNet, puzzles: Sequence[Puzzle], weights: EnergyWeights
) -> dict[str, float]:
    """PA, AA and SRA of the layouts of lowest energy."""
    grid = puzzles[0].grid
    layouts = [
        minimise(relate(network, [puzzle])[0].energy(grid, weights), seed=index)[0].position_of
        for index, puzzle in enumerate(puzzles)
    ]
    truths = [puzzle.truth for puzzle in puzzles if puzzle.truth is not None]
    return score(np.stack(layouts), np.stack(truths), grid).rounded()


def trained_network(path: str | Path) -> tuple[RelationalNet, dict[str, Any]]:
    """The averaged network of a run's folder, or that of weights; and how long it was trained."""
    path = Path(path)
    if not path.is_dir():
        network, described = load_network(
            path, lambda sizes: RelationalNet(RelationalConfig.from_dict(sizes)), "relational"
        )
        kept = ("energy", "puzzles_seen", "training_minutes", "validation")
        return network, {key: described[key] for key in kept if key in described}
    tensors, values = load_state(path / STATE)
    network = RelationalNet(RelationalConfig.from_dict(values["network"]))
    network.load_state_dict(under("average", tensors))
    minutes = round(values["seconds"] / 60)
    return network.eval(), {
        "puzzles_seen": values["puzzles_seen"], "training_minutes": minutes
    }  # fmt: skip


def mean_of(network: RelationalNet, other: RelationalNet) -> RelationalNet:
    """The network whose weights are the mean of two: one is trained on from the other, or alike."""
    if network.config != other.config:
        raise InputError("only networks of the same sizes have a mean")
    mean = RelationalNet(network.config)
    theirs = other.state_dict()
    mean.load_state_dict(
        {
            name: (ours + theirs[name]) / 2 if ours.is_floating_point() else ours
            for name, ours in network.state_dict().items()
        }
    )
    return mean.eval()


def closed_examples(network: RelationalNet, puzzles: Sequence[Puzzle]) -> list[Example]:
    """Closed puzzles for the fit."""
    return [
        Example(relate(network, [puzzle])[0].parts(puzzle.grid), invert(puzzle.truth))
        for puzzle in puzzles
        if puzzle.truth is not None
    ]


def open_examples(network: RelationalNet, puzzles: Sequence[Puzzle], seed: int) -> list[Example]:
    """The same puzzles under the conditions of ``OPEN``, each with strangers of the next."""
    examples = []
    for index, puzzle in enumerate(puzzles):
        shares = OPEN[(index + index // len(OPEN)) % len(OPEN)]  # with every erosion
        missing, foreign = (round(share * puzzle.num_pieces) for share in shares)
        conditions = Conditions(missing=missing, foreign=foreign)
        stranger = puzzles[(index + 1) % len(puzzles)]
        whole = opened(puzzle, conditions, child_seed(seed, index), [stranger])
        assert whole.truth is not None
        terms, num_empty = open_terms(network, whole.without_truth())
        placed = np.flatnonzero(whole.truth >= 0)
        at = np.full(puzzle.grid.num_pieces, -1, dtype=np.int64)
        at[whole.truth[placed]] = placed
        at[at < 0] = whole.num_pieces + np.arange(np.count_nonzero(at < 0))
        examples.append(Example(terms.parts(puzzle.grid, num_empty), at))
    return examples


@dataclass(frozen=True, eq=False)
class Choice:
    """Layouts of one puzzle, K of them, of which one is right: what each costs, by evidence."""

    energy: FloatArray  # (K,)
    look: FloatArray  # (K,) a second look
    right: int


def ways_to_choose(
    network: RelationalNet, puzzles: Sequence[Puzzle], weights: EnergyWeights
) -> Iterator[Choice]:
    """Each puzzle turned as a whole in four ways."""
    for puzzle in puzzles:
        ways = ways_up(network, puzzle, weights)
        yield Choice(_energies(ways), Looking(puzzle.pieces).costs(ways, puzzle.grid), 0)


def layouts_to_choose(
    puzzles: Sequence[Puzzle], examples: Sequence[Example], weights: EnergyWeights
) -> Iterator[Choice]:
    """Of each closed puzzle its best layouts and shifts of the best, where one is right."""
    for puzzle, example in zip(puzzles, examples, strict=True):
        truth, looking = puzzle.truth, Looking(puzzle.pieces)
        assert truth is not None
        energy = example.parts.energy(weights)
        layouts = with_shifts(energy, minimise(energy, num_layouts=looking.num_layouts))
        right = [np.array_equal(layout.position_of, truth) for layout in layouts]
        if any(right):
            seen = looking.costs(layouts, puzzle.grid)
            yield Choice(_energies(layouts), seen, right.index(True))


def _energies(layouts: Sequence[Layout]) -> FloatArray:
    return np.array([layout.energy or 0.0 for layout in layouts])


def fitted_look(choices: Sequence[Choice], initial: float) -> float:
    """How much a second look counts beside the energy, by likelihood, near what it counted."""
    from scipy.optimize import minimize_scalar

    if not choices:
        return initial

    def cost(weight: float) -> float:
        return surprise(choices, weight)[0] + TRUST * (weight - initial) ** 2

    return float(minimize_scalar(cost, bounds=(0.0, 3.0), method="bounded").x)


def surprise(choices: Sequence[Choice], weight: float) -> tuple[float, float]:
    """Mean −log p of what is right, and how often it is the likeliest, where a look counts so."""
    costs = [choice.energy + weight * choice.look for choice in choices]
    right = [choice.right for choice in choices]
    surprises = [c[k] + np.logaddexp.reduce(-c) for c, k in zip(costs, right, strict=True)]
    first = [c.argmin() == k for c, k in zip(costs, right, strict=True)]
    return float(np.mean(surprises)), float(np.mean(first))


def pack_relational(
    network: RelationalNet,
    trained: Mapping[str, Any],
    validation: Mapping[Grid, Sequence[Puzzle]],
    out: str | Path,
    report: Callable[[str], None],
) -> dict[str, Any]:
    """Write fp16 weights with energy weights fitted on validation puzzles.

    trained  what :func:`trained_network` says beside the network

    The first half of each grid's puzzles fits the weights; the other half, of which they are not
    too sure, says how far to trust the fit and how much a second look counts beside it, and gives
    the figures, which are returned and stored. Energies of other grids stay as they were.
    """
    weights: EnergyWeights | None = None  # each starts from the one before, or from what it was
    known = trained.get("energy", {})
    energy = {world: dict(known.get(world, {})) for world in ("closed", "open")}
    figures: dict[str, dict[str, float]] = {}
    for grid, puzzles in validation.items():
        half = len(puzzles) // 2
        rounds = 25 if is_exact_size(grid) else 14
        fitting, others = puzzles[:half], puzzles[half:]
        worlds = {
            "closed": partial(closed_examples, network),
            "open": partial(open_examples, network, seed=0),
        }
        for world, examples_of in worlds.items():
            if before := trained.get("energy", {}).get(world, {}).get(str(grid)):
                weights = EnergyWeights(**before)
            start = weights or EnergyWeights()
            fit = fit_weights(
                examples_of(fitting),
                initial=start,
                ridge=0.01,
                rounds=rounds,
                report=lambda n, w, g: report(f"round {n}: {w}, gradient {g:.3f}"),
            )
            examples = examples_of(others)
            weights, share, factor = trusted(examples, start, fit)
            weights = replace(weights, look=start.look, upright=start.upright)
            report(f"{grid}, {world}: {share:g} of the way, times {factor:g}")
            if world == "closed":  # the open world has it too, if it knew none
                weights = with_look(network, others, examples, weights, report)
            energy[world][str(grid)] = weights.to_dict()
        closed = EnergyWeights(**energy["closed"][str(grid)])
        figures[str(grid)] = solved(network, others, closed)
        report(f"{grid}: {closed} gives {figures[str(grid)]}")
    return _saved(network, {**trained, "energy": energy, "validation": figures}, out)


def pack_look(
    network: RelationalNet,
    trained: Mapping[str, Any],
    validation: Mapping[Grid, Sequence[Puzzle]],
    out: str | Path,
    report: Callable[[str], None],
) -> dict[str, Any]:
    """The same weights, in which a second look counts as it should on these puzzles.

    For a new network of the second look: the energy itself stays.
    """
    energy = {world: dict(grids) for world, grids in trained["energy"].items()}
    for grid, puzzles in validation.items():
        before = weights_for(grid, energy.get("closed", {}))
        seen = with_look(network, puzzles, closed_examples(network, puzzles), before, report)
        for grids in energy.values():
            weights = replace(weights_for(grid, grids), look=seen.look, upright=seen.upright)
            grids[str(grid)] = weights.to_dict()
    return _saved(network, {**trained, "energy": energy}, out)


def with_look(
    network: RelationalNet,
    puzzles: Sequence[Puzzle],
    examples: Sequence[Example],
    weights: EnergyWeights,
    report: Callable[[str], None],
) -> EnergyWeights:
    """Weights with what a second look counts beside the energy of closed puzzles."""
    counts = {}
    for name, choices in (
        ("look", list(layouts_to_choose(puzzles, examples, weights))),
        ("upright", list(ways_to_choose(network, puzzles, weights))),
    ):
        counts[name] = count = fitted_look(choices, getattr(weights, name))
        if choices:
            (before, blind), (after, seeing) = surprise(choices, 0.0), surprise(choices, count)
            report(
                f"{puzzles[0].grid}: {name} {count:.3f}, without and with it in {len(choices)} "
                f"puzzles: -log p {before:.3f}, {after:.3f}; right {blind:.3f}, {seeing:.3f}"
            )
    return replace(weights, **counts)


def _saved(network: RelationalNet, facts: Mapping[str, Any], out: str | Path) -> dict[str, Any]:
    described = {"kind": "relational", "network": network.config.to_dict(), **facts}
    save_weights(out, network.state_dict(), described, dtype="float16")
    return described
