"""What the small open readings of decision 0001 change, measured in minutes.

    python runs/small_readings.py latents|prior|vertices|classical|order [MASKS]

latents    where the codes of the bundled VAE lie, against N(0, I)
prior      masks drawn from N(0, I) and from the fitted Gaussian
vertices   corners of the contour and of its convex hull (MASKS: real masks)
classical  one and 25 first pieces of `greedy`, mutation rates of `genetic`
order      ReLU before and after BatchNorm, 12 epochs each on MASKS (a quarter of an hour)
"""

from __future__ import annotations

import sys
import tempfile

import numpy as np
from scipy.spatial import ConvexHull

from puzzleflow.core.grid import Grid
from puzzleflow.core.metrics import score
from puzzleflow.generation.builder import cut_puzzle
from puzzleflow.generation.generators import PriorFragments, VAEFragments
from puzzleflow.generation.geometry import FEATURES, feature_table, outline, vertices
from puzzleflow.generation.quick_geometry import quick_perimeter
from puzzleflow.masks import read_masks
from puzzleflow.samples import list_samples, load_sample
from puzzleflow.solvers.genetic import GeneticSolver
from puzzleflow.solvers.greedy import GreedySolver


def latents() -> None:
    """Where the codes lie."""
    vae = VAEFragments()
    covariance = vae.latent_factor @ vae.latent_factor.T
    sds, axes = np.sqrt(np.diag(covariance)), np.sqrt(np.linalg.eigvalsh(covariance))
    for name, values in (("dimensions", sds), ("principal axes", axes)):
        print(
            f"sd along {name}: median {np.median(values):.2f}, {values.min():.2f} to "
            f"{values.max():.2f}, wider than 1 in {(values > 1).sum()} of {len(values)}"
        )
    print(f"mean: length {np.linalg.norm(vae.latent_mean):.2f}")
    square = covariance.trace() + vae.latent_mean @ vae.latent_mean
    print(f"rms length of a code {np.sqrt(square):.2f}, of the prior's 8.00")


def prior(count: int = 150) -> None:
    """Features of both kinds of draws."""
    for generator in (VAEFragments(), PriorFragments()):
        table = feature_table(generator.masks(range(count)))
        print(f"{generator.name}: {generator.rejected} of {count + generator.rejected} degenerate")
        for name, column in zip(FEATURES, table.T, strict=True):
            print(f"  {name:13} {column.mean():.4g} ± {column.std():.3g}")


def corners(folder: str) -> None:
    """Vertices in both readings."""
    contour, hull = [], []
    for mask in read_masks(folder, stretch=True).masks:
        border, perimeter = outline(mask), quick_perimeter(mask)
        contour.append(vertices(border, perimeter))
        hull.append(vertices(border[ConvexHull(border).vertices], perimeter))
    for name, found in (("contour", contour), ("hull", hull)):
        print(f"{name}: {np.mean(found):.2f} ± {np.std(found):.2f} ({len(found)} masks)")


def classical(count: int = 20) -> None:
    """Scores on the bundled pictures, pieces of 64 px."""
    solvers = {f"greedy, {n} first": GreedySolver(num_trials=n) for n in (1, 25)}
    solvers |= {
        f"genetic, rate {rate}": GeneticSolver(mutation_rate=rate)
        for rate in (0.01 / 3, 0.01, 0.03, 0.1)
    }
    pictures = [load_sample(sample.name) for sample in list_samples()[:count]]
    for erosion, size in (("fixed:8", 3), ("fixed:8", 5)):
        grid = Grid(size, size)
        cut = [cut_puzzle(p, grid, erosion, seed, piece_px=64) for seed, p in enumerate(pictures)]
        truth = np.stack([puzzle.truth for puzzle in cut if puzzle.truth is not None])
        for name, solver in solvers.items():
            found = [solver.prepare(p.without_truth()).solve(seed=0).position_of for p in cut]
            scores = score(np.stack(found), truth, grid)
            shares = f"PA {scores.perfect_accuracy:.1%}, AA {scores.absolute_accuracy:.1%}"
            print(f"{erosion} {grid} {name}: {shares}", flush=True)


def order(folder: str, count: int = 1500, epochs: int = 12) -> None:
    """Validation losses, epoch by epoch."""
    from puzzleflow.models.fragment_vae import FragmentVAEConfig
    from puzzleflow.training.fragment_training import FragmentRun, FragmentTraining

    found = read_masks(folder, stretch=True)
    step = len(found.masks) // count
    masks, names = found.masks[::step], found.names[::step]
    for relu_first in (False, True):
        recipe = FragmentTraining(max_epochs=epochs)
        with tempfile.TemporaryDirectory() as run:
            shape = FragmentVAEConfig(relu_first=relu_first)
            training = FragmentRun(run, masks, names, recipe, shape)
            training.run()
            losses = ", ".join(f"{row['validation_loss']:.0f}" for row in training.history)
            print(f"{'ReLU' if relu_first else 'BatchNorm'} first: validation {losses}", flush=True)


if __name__ == "__main__":
    which, *rest = sys.argv[1:]
    readings = {"latents": latents, "prior": prior, "vertices": corners}
    (readings | {"classical": classical, "order": order})[which](*rest)
