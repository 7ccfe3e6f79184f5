"""``puzzleflow ablate``: the paper's Table 2 at a chosen budget, with deltas and intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from puzzleflow.cli._training import (
    Accelerator,
    BatchSize,
    Cache,
    Data,
    Grids,
    Initial,
    Masks,
    PiecesPerBatch,
    Preset,
    Rate,
    Seed,
    Set,
    Workers,
    changed,
    fabric_for,
    shares,
    weights_to_start_from,
)

if TYPE_CHECKING:
    from puzzleflow.training.ablation import Variant


def register(app: typer.Typer) -> None:
    """Add the ``ablate`` command."""
    app.command("ablate")(ablate)


def ablate(
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder for runs and report; goes on there.")],
    preset: Preset = "small",
    steps: Annotated[int, typer.Option(help="Training steps of every variant.", min=0)] = 0,
    minutes: Annotated[
        float,
        typer.Option(
            help="Instead of --steps: as many as the full model does in this time.", min=0
        ),
    ] = 0.0,
    variants: Annotated[
        str,
        typer.Option(
            help="Comma-separated: direct, frozen, layers-0, layers-2, layers-4, layers-6, rgb, "
            "no-seams, one-step, one-step-t1, before, hungarian; or all. The full model is always "
            "there."
        ),
    ] = "all",
    initial: Initial = None,
    vit: Annotated[
        str, typer.Option(help="ViT weights: a hub name, a local folder, or none for random ones.")
    ] = "google/vit-base-patch16-224-in21k",
    masks: Masks = None,
    rate: Rate = 1e-5,
    batch: BatchSize = 8,
    grids: Grids = "3x3",
    pieces_per_batch: PiecesPerBatch = 144,
    states: Annotated[
        int,
        typer.Option(help="States of the flow asked of every puzzle, which is encoded once."),
    ] = 1,
    grid: Annotated[
        str | None, typer.Option(help="Grid of the held-out puzzles (default: the first trained).")
    ] = None,
    puzzles: Annotated[int, typer.Option(help="Held-out puzzles.", min=1)] = 400,
    split: Annotated[str, typer.Option(help="test or val: where they come from.")] = "test",
    accelerator: Accelerator = "cpu",
    seed: Seed = 0,
    cache: Cache = None,
    workers: Workers = 1,
    settings: Set = None,
) -> None:
    """Train the variants of Table 2 alike; stop with Ctrl-C, run again to go on."""
    from dataclasses import replace

    from puzzleflow.core.errors import InputError, UnknownName
    from puzzleflow.core.grid import Grid
    from puzzleflow.lock import locked
    from puzzleflow.models.puzzleflow import flow_preset
    from puzzleflow.training import ablation
    from puzzleflow.training.data import TrainingData, held_out_batches
    from puzzleflow.training.flow import FlowTraining
    from puzzleflow.training.progress import drawing_progress
    from puzzleflow.training.stored import is_stored

    if (steps > 0) == (minutes > 0):
        raise InputError("give either --steps or --minutes: the budget of every variant")
    if split not in ("test", "val"):
        raise UnknownName("split", split, ("test", "val"))
    config = flow_preset(preset)
    names = ablation.VARIANTS if variants == "all" else map(str.strip, variants.split(","))
    chosen = ablation.chosen_variants(names, config)
    asked = {
        "data": str(data.resolve()), "preset": preset, "steps": steps, "minutes": minutes,
        "initial": initial, "vit": vit, "masks": masks or ["vae"], "rate": rate, "batch": batch,
        "grids": grids, "pieces-per-batch": pieces_per_batch, "states": states, "seed": seed,
        "set": sorted(settings or []),
    }  # fmt: skip
    held_out_key = {"split": split, "grid": grid, "puzzles": puzzles}
    hidden = {"pieces-per-batch", "grids", "masks"} if is_stored(data) else {"batch"}
    facts = {name: value for name, value in asked.items() if name not in hidden | {"minutes"}}
    facts["data"] = str(data)
    agreed = ablation.agreed_steps(out, asked)
    due = ablation.due(out, chosen, held_out_key)
    if due:
        flow = FlowTraining()
        stream = replace(
            flow.wants(config), grids=shares(grids.split(",")), pieces_per_batch=pieces_per_batch
        )
        loop, stream = changed(
            settings, replace(flow.settings, steps=steps, learning_rate=rate, seed=seed), stream
        )
        source = TrainingData(
            data, stream, cache or out / "cache", shares(masks or ["vae"]),
            batch=batch, seed=seed, held_out=split,
        )  # fmt: skip
        config = flow.fitted(config, source.grids)
        fabric_for(accelerator)  # what is not there is said before anything is made
        train, held_out = source.open(drawing_progress())
        job = ablation.Ablation(
            out,
            config,
            loop,
            train,
            held_out_batches(held_out, [Grid.parse(grid) if grid else source.grids[0]], puzzles),
            held_out_key,
            states=states,
            num_workers=workers,
            vit_weights=vit,
            initial=weights_to_start_from(initial, flow.bundled),
            fabric=lambda: fabric_for(accelerator),
        )
        agreed = agreed or steps or job.steps_within(minutes)
        job = replace(job, settings=replace(loop, steps=agreed))
        with locked(out):
            ablation.agree_on(out, asked, agreed)
            for number, name in enumerate(due, start=1):
                said = f"{number} of {len(due)}: {chosen[name].label}, {agreed} steps"
                typer.echo(said, err=True)
                job.run(name, chosen)
                _write(out, chosen, held_out_key, facts | {"steps": agreed})
    for path in _write(out, chosen, held_out_key, facts | {"steps": agreed}):
        typer.echo(path)


def _write(
    out: Path, chosen: dict[str, Variant], held_out_key: dict[str, Any], facts: dict[str, Any]
) -> list[Path]:
    """The report on the variants that are finished; the full model is the first of them."""
    from puzzleflow.core.grid import Grid
    from puzzleflow.evaluation.ablation import AblationReport, Row, score_layouts, write_ablation
    from puzzleflow.training.ablation import finished

    kept = {name: finished(out, name, held_out_key) for name in chosen}
    rows = [
        Row(
            chosen[name].label,
            chosen[name].group,
            score_layouts(name, stored["position_of"], stored["truth"], Grid.parse(stored["grid"])),
            minutes=stored["minutes"] if chosen[name].trains else None,
            parameters=stored["parameters"] if chosen[name].trains else None,
        )
        for name, stored in kept.items()
        if stored is not None
    ]
    shown = {
        name: ", ".join(value) if isinstance(value, list) else str(value)
        for name, value in facts.items()
        if value not in (None, [])
    }
    shown["held out"] = f"{len(rows[0].results)} puzzles of split {held_out_key['split']}"
    return write_ablation(out, AblationReport(shown, rows))
