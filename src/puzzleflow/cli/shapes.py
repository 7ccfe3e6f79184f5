"""``puzzleflow shapes``: train, sample and validate fragment generators."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from puzzleflow.core.types import BoolArray
    from puzzleflow.masks import MaskSet


def register(app: typer.Typer) -> None:
    """Add the ``shapes`` group."""
    group = typer.Typer(help="Fragment shapes: train, sample and validate generators.")
    group.command("train")(train)
    group.command("fit")(fit)
    group.command("sample")(sample)
    group.command("validate")(validate)
    app.add_typer(group, name="shapes")


def train(
    masks: Path = typer.Option(..., help="Folder of mask pictures, with its subfolders, or .npz."),
    out: Path = typer.Option(..., help="Folder for state, log, curves and weights."),
    generator: str = typer.Option("vae", help="vae (the paper's) or outline."),
    resume: bool = typer.Option(False, help="Go on with the run in OUT."),
    epochs: int = typer.Option(300, help="vae: stop at the latest after so many."),
    patience: int = typer.Option(15, help="vae: stop after so many without improvement."),
    relu_first: bool = typer.Option(
        True, help="vae: ReLU before BatchNorm, in the order in which the paper lists them."
    ),
    seed: int = typer.Option(0, help="Split, first weights and order."),
    threads: int = typer.Option(0, help="Threads of a VAE run; 0 leaves it to torch."),
    device: str = typer.Option("cpu", help="vae: cpu, cuda, mps or auto."),
) -> None:
    """Train a generator on a folder of real outlines.

    Stop a VAE run with Ctrl-C; --resume goes on exactly.
    """
    from puzzleflow.core.errors import UnknownName
    from puzzleflow.lock import locked

    folder = _read(masks, stretch=True)
    if generator == "outline":
        from puzzleflow.training.outline_fit import fit_outline_run

        with locked(out):
            fit_outline_run(out, folder.masks, folder.names, seed=seed, report=typer.echo)
        return
    if generator != "vae":
        raise UnknownName("fragment generator to train", generator, ["outline", "vae"])
    from puzzleflow.cli._trainable import saying_how_to_go_on
    from puzzleflow.cli._training import fabric_for
    from puzzleflow.evaluation.charts import draw_losses
    from puzzleflow.models.fragment_vae import FragmentVAEConfig
    from puzzleflow.training.fragment_training import DECODER, FragmentRun, FragmentTraining

    recipe = FragmentTraining(max_epochs=epochs, patience=patience, seed=seed)
    shape = FragmentVAEConfig(relu_first=relu_first)
    fabric = fabric_for(device, mixed=False, threads=threads)
    with locked(out):
        run = FragmentRun(
            out, folder.masks, folder.names, recipe, shape, resume=resume, fabric=fabric
        )
        parts = (run.split.train, run.split.validation, run.split.test)
        typer.echo("masks: {} to train, {} to choose, {} held out".format(*map(len, parts)))

        def report(row: dict[str, float]) -> None:
            draw_losses(out / "losses.png", run.history)
            best = run.progress["best_epoch"] == row["epoch"]
            typer.echo(
                f"epoch {row['epoch']:.0f}: train {row['train_loss']:.1f}, "
                f"validation {row['validation_loss']:.1f}{' (best)' if best else ''}"
            )

        with saying_how_to_go_on(run.trainer, "run again with --resume"):
            progress = run.run(report)
    typer.echo(
        f"{out / DECODER}: epoch {progress['best_epoch']}, validation loss "
        f"{progress['best_validation']:.2f} (the paper states 1623.76 on its own masks)"
    )


def fit(
    out: Path = typer.Option(..., help="Folder for the weights."),
    seed: int = typer.Option(0, min=0, help="Of the masks that are drawn to fit."),
    count: int = typer.Option(2000, "-n", "--count", min=100, help="How many."),
) -> None:
    """Fit the generator gap to the paper's table of generated fragments; it needs no masks."""
    from puzzleflow.generation.generators import OutlineFragments
    from puzzleflow.lock import locked
    from puzzleflow.training.gap_fit import GapFit, fit_gap_run

    settings = GapFit(draws=count, seed=seed)
    with locked(out):
        path, share = fit_gap_run(out, OutlineFragments().model, fit=settings)
    typer.echo(f"{path}: {100 * share:.0f} % of the drawn masks are kept")


def sample(
    out: Path = typer.Option(..., help="New folder of PNGs, or a file that ends in .npz."),
    count: int = typer.Option(1000, "-n", "--count", min=1, help="Number of masks."),
    seed: int = typer.Option(0, min=0, help="The same seed gives the same masks."),
    generator: str = typer.Option("vae", help="vae (the paper's), outline, gap, ..."),
    weights: Path | None = typer.Option(None, help="Weights other than the bundled ones."),
    workers: int = typer.Option(-1, help="Processes; -1 takes every core."),
) -> None:
    """Draw masks: 128x128, white = material."""
    from puzzleflow.cli._talk import stage_progress
    from puzzleflow.generation.fragments import sample_masks
    from puzzleflow.masks import write_masks

    done = rejected = 0
    path = None if weights is None else str(weights)

    def drawn() -> Iterator[BoolArray]:
        nonlocal done, rejected
        for masks, again in sample_masks(generator, count, seed, weights=path, num_workers=workers):
            yield masks
            done, rejected = done + len(masks), rejected + again
            on_progress("masks", done, count)

    with stage_progress() as on_progress:
        write_masks(out, drawn())
    typer.echo(f"{out}: {count} masks of {generator!r}, seed {seed}")
    typer.echo(f"{rejected} degenerate samples were rejected and drawn again")


def validate(
    real: Path = typer.Option(..., help="Real masks: a folder or .npz."),
    generated: Path | None = typer.Option(None, help="Generated masks to judge: a folder or .npz."),
    generator: list[str] = typer.Option(
        ["vae", "outline", "gap"], help="Without --generated: generators to draw from."
    ),
    out: Path = typer.Option(Path("shapes_validation"), help="Folder of the report."),
    part: str = typer.Option(
        "test", help="Compare with the test, validation or train part, or with all real masks."
    ),
    count: int = typer.Option(1000, "-n", "--count", min=10, help="Masks to draw."),
    seed: int = typer.Option(0, min=0, help="Of the drawn masks."),
    split_seed: int = typer.Option(0, help="Of the split; the bundled weights used 0."),
    workers: int = typer.Option(-1, help="Processes that draw; -1 takes every core."),
) -> None:
    """Compare generated with real outlines and with the paper's: tables, distances, figures."""
    import numpy as np

    from puzzleflow.core.errors import UnknownName
    from puzzleflow.evaluation.shape_report import (
        as_json,
        paper_table,
        validate_shapes,
        write_shape_report,
    )
    from puzzleflow.generation.fragments import sample_masks
    from puzzleflow.training.banks import split_masks

    folder = _read(real, stretch=True)
    masks = folder.masks
    if part == "all":
        chosen = training = np.arange(len(masks))
    else:
        split = split_masks(folder.names, split_seed)
        parts = {"train": split.train, "validation": split.validation, "test": split.test}
        if part not in parts:
            raise UnknownName("part", part, [*parts, "all"])
        chosen, training = np.array(parts[part]), np.array(split.train)
    sets: dict[str, BoolArray] = {}
    notes = {"part of the real masks": part}
    if generated is not None:
        sets["generated"] = _read(generated, stretch=False).masks
    else:
        for name in dict.fromkeys(generator):
            drawn = list(sample_masks(name, count, seed, num_workers=workers))
            sets[name] = np.concatenate([chunk for chunk, _ in drawn])
            notes[f"rejected samples of {name}"] = str(sum(again for _, again in drawn))
    report = validate_shapes(
        masks[chosen],
        sets,
        masks[training],
        real_name=f"{part} part of {len(masks)}",
        held_out=part in ("test", "validation"),
    )
    write_shape_report(out, report, {"real": masks[chosen], **sets}, notes)
    for name, group in as_json(report)["generated"].items():
        typer.echo(f"{name}: difference of means, KS distance")
        for feature, row in group["features"].items():
            typer.echo(f"  {feature:13} {row['difference_percent']:+6.1f} %  {row['ks']:.3f}")
    typer.echo("beside the paper's (mean ± sd)")
    rows = paper_table(report)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        typer.echo(f"  {line.rstrip()}")
    typer.echo(f"{out / 'validation.md'}")


def _read(folder: Path, *, stretch: bool) -> MaskSet:
    """Masks of a folder or a packed file; what was done to them is said on stderr."""
    from puzzleflow.masks import read_masks

    found = read_masks(folder, stretch=stretch)
    for note in found.notes():
        typer.echo(f"{folder}: {note}", err=True)
    return found
