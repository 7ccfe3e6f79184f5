"""``puzzleflow ablate``: the paper's Table 2 at a chosen budget, with deltas and intervals."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from puzzleflow.cli import _training as common
from puzzleflow.cli._talk import is_quiet, note

if TYPE_CHECKING:
    from puzzleflow.training.ablation import Variant


def ablate(
    data: common.Data,
    out: Annotated[Path, typer.Option(help="Folder for runs and report; goes on there.")],
    preset: common.Preset = "compact",
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
            "rgb-trained, no-time, no-seams, one-step, one-step-t1, before, hungarian; or all. The "
            "full model is always there."
        ),
    ] = "all",
    initial: common.Initial = None,
    vit: Annotated[
        str, typer.Option(help="ViT weights: a hub name, a local folder, or none for random ones.")
    ] = "google/vit-base-patch16-224-in21k",
    masks: common.Masks = None,
    rate: common.Rate = None,
    batch: common.BatchSize = None,
    grids: common.Grids = "3x3",
    pieces_per_batch: common.PiecesPerBatch = None,
    states: Annotated[
        int | None,
        typer.Option(
            help="States of the flow asked of every puzzle, which is encoded once (default: the "
            "preset's)."
        ),
    ] = None,
    grid: Annotated[
        str | None, typer.Option(help="Grid of the held-out puzzles (default: the first trained).")
    ] = None,
    puzzles: Annotated[int, typer.Option(help="Held-out puzzles.", min=1)] = 400,
    split: Annotated[str, typer.Option(help="test or val: where they come from.")] = "test",
    accelerator: common.Accelerator = "cpu",
    threads: common.Threads = 0,
    seed: common.Seed = 0,
    cache: common.Cache = None,
    workers: common.Workers = 1,
    settings: common.Set = None,
) -> None:
    """Train the variants of Table 2 alike; stop with Ctrl-C, run again to go on."""
    from dataclasses import replace

    from puzzleflow.core.errors import InputError, check_known
    from puzzleflow.core.grid import Grid
    from puzzleflow.files import write_json
    from puzzleflow.lock import locked
    from puzzleflow.models.puzzleflow import flow_preset
    from puzzleflow.training import ablation
    from puzzleflow.training.data import TrainingData, held_out_batches, store_puzzles
    from puzzleflow.training.flow import FlowTraining, SeamFlowTraining
    from puzzleflow.training.log import drawing_progress

    if (steps > 0) == (minutes > 0):
        raise InputError("give either --steps or --minutes: the budget of every variant")
    check_known("split", split, ("test", "val"))
    config, recipe = flow_preset(preset), FlowTraining().recipe(preset)
    drawn = common.shares(masks) if masks else dict(recipe.masks)
    rate, states = rate or recipe.settings.learning_rate, states or recipe.states
    batch, pieces_per_batch = batch or recipe.batch, pieces_per_batch or recipe.pieces_per_batch
    names = ablation.VARIANTS if variants == "all" else map(str.strip, variants.split(","))
    chosen = ablation.chosen_variants(names, config)
    asked = {
        "data": str(data.resolve()), "preset": preset, "steps": steps, "minutes": minutes,
        "initial": initial, "vit": vit, "masks": drawn, "rate": rate, "batch": batch,
        "grids": grids, "pieces-per-batch": pieces_per_batch, "states": states, "seed": seed,
        "set": sorted(settings or []),
    }  # fmt: skip
    agreed = ablation.agreed_steps(out, asked)
    due = ablation.due(out, chosen)
    flow = FlowTraining()
    stream = replace(
        flow.wants(config), grids=common.shares(grids.split(",")), pieces_per_batch=pieces_per_batch
    )
    loop, stream = common.changed(
        settings, replace(recipe.settings, steps=steps, learning_rate=rate, seed=seed), stream
    )
    source = TrainingData(
        data, stream, cache or out / "cache", drawn,
        batch=batch, seed=seed, held_out=split,
    )  # fmt: skip
    shape = Grid.parse(grid) if grid else source.grids[0]
    held_out = out / "held-out" / f"{split}-{shape}-{puzzles}"
    common.fabric_for(
        accelerator, threads=threads
    )  # what is not there is said before anything is made
    with locked(out):
        if due or not held_out.exists():
            train, other = source.open(drawing_progress(is_quiet()))
        if not held_out.exists():
            batches = held_out_batches(other, [shape], puzzles)
            if not batches:
                raise InputError(f"{data}: no held-out puzzles of {shape} in split {split!r}")
            store_puzzles(held_out, batches)
        hidden = {"pieces-per-batch", "grids", "masks"} if source.stored else {"batch"}
        facts = {key: value for key, value in asked.items() if key not in hidden | {"minutes"}}
        facts |= {"data": str(data), "steps": agreed, "split": split}
        if due:
            job = ablation.Ablation(
                out,
                flow.fitted(config, source.grids),
                loop,
                train,
                states=states,
                num_workers=workers,
                vit_weights=vit,
                initial=common.weights_to_start_from(initial, SeamFlowTraining.bundled),
                fabric=lambda: common.fabric_for(accelerator),
            )
            facts["steps"] = agreed = agreed or steps or job.steps_within(minutes)
            job = replace(job, settings=replace(loop, steps=agreed))
            write_json(out / ablation.PLAN, {"asked": asked, "steps": agreed})
            for number, name in enumerate(due, start=1):
                said = f"{number} of {len(due)}: {chosen[name].label}, {agreed} steps"
                note(said)
                job.run(name, chosen[name])
                _report(out, held_out, chosen, facts, workers)
        for path in _report(out, held_out, chosen, facts, workers):
            typer.echo(path)


def _report(
    out: Path, held_out: Path, chosen: Mapping[str, Variant], facts: dict[str, Any], workers: int
) -> list[Path]:
    """Bench the variants that are trained; the full model is the first of them."""
    from puzzleflow.evaluation.ablation import AblationReport, Row, write_ablation
    from puzzleflow.evaluation.runner import Bench
    from puzzleflow.evaluation.spec import SolverSpec
    from puzzleflow.formats.open import open_puzzles
    from puzzleflow.models.checkpoint import load_weights
    from puzzleflow.training.ablation import weights_of

    done = {name: weights for name in chosen if (weights := weights_of(out, name)).exists()}
    specs = [
        SolverSpec.of("flow", weights=str(weights), **chosen[name].options)
        for name, weights in done.items()
    ]
    rows = []
    with open_puzzles(held_out) as source:
        found = Bench(source, specs, held_out / "bench").run(num_workers=max(1, workers))
    for (name, weights), results in zip(done.items(), found, strict=True):
        variant, minutes, parameters = chosen[name], None, None
        if variant.trains:
            tensors, described = load_weights(weights)
            told = described.get("training_minutes")
            minutes = float(told) if isinstance(told, int | float) else None
            parameters = sum(tensor.numel() for tensor in tensors.values())
        rows.append(Row(name, variant.label, variant.group, results, minutes, parameters))
    shown = {
        name: ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in facts.items()
        if value not in (None, [])
    }
    shown["held out"] = f"{len(rows[0].results)} puzzles of split {shown.pop('split')}"
    return write_ablation(out, AblationReport(shown, rows))
