"""One command for every trainable network, built from what the network says of itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import asdict, replace
from functools import cache as cached
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer

from puzzleflow.cli import _training as common
from puzzleflow.cli._talk import is_quiet, note

if TYPE_CHECKING:
    from puzzleflow.core.grid import Grid
    from puzzleflow.training.loop import Trainer
    from puzzleflow.training.trainable import Trainable

Out = Annotated[Path, typer.Option(help="Folder for state, log and weights; goes on there.")]
CHECKED_FIRST = ("3x3", "5x5")  # grids to validate on, where they are trained


def train_network(
    network: Any,  # a Trainable; the signature is read while the program runs
    data: common.Data,
    out: Out,
    preset: common.Preset = "",
    masks: common.Masks = None,
    initial: common.Initial = None,
    epochs: Annotated[int, typer.Option(help="Epochs of stored puzzles.", min=1)] = 30,
    steps: Annotated[int, typer.Option(help="Length of the whole run.", min=0)] = 0,
    minutes: Annotated[float, typer.Option(help="Stop after this long (0: never).", min=0)] = 0.0,
    rate: common.Rate = None,
    batch: common.BatchSize = None,
    grids: common.Grids = "",
    pieces_per_batch: common.PiecesPerBatch = None,
    validation_grids: Annotated[
        str | None,
        typer.Option(
            help="Grids to validate on, comma-separated (default: 3x3 and 5x5 where they are "
            "trained, else all that are)."
        ),
    ] = None,
    num_validation: Annotated[
        int, typer.Option(help="Held-out puzzles of each grid.", min=0)
    ] = 200,
    devices: Annotated[
        int, typer.Option(help="Processes (CPU) or GPUs; below torchrun those that it says.", min=1)
    ] = 1,
    compile_by: Annotated[
        str | None,
        typer.Option("--compile", help="Compile the network by this backend of torch: inductor."),
    ] = None,
    accelerator: common.Accelerator = "cpu",
    threads: common.Threads = 0,
    logger: common.Logger = None,
    seed: common.Seed = 0,
    cache: common.Cache = None,
    workers: Annotated[
        int | None,
        typer.Option(help="Processes that prepare puzzles (default: the preset's).", min=0),
    ] = None,
    settings: common.Set = None,
) -> None:
    """Everything is checked first, then puzzles are made ready, then the loop runs."""
    from puzzleflow.core.grid import Grid
    from puzzleflow.lock import locked
    from puzzleflow.parallel import end_with_parent
    from puzzleflow.training import trainable as training
    from puzzleflow.training.data import TrainingData, held_out_batches
    from puzzleflow.training.log import drawing_progress, training_progress

    config = training.preset(network, preset)
    recipe, network = network.recipe(preset), network.under(preset)
    stream = replace(
        network.wants(config),
        grids=common.shares(grids.split(",")),
        pieces_per_batch=pieces_per_batch or recipe.pieces_per_batch,
    )
    rate = recipe.settings.learning_rate if rate is None else rate
    loop = replace(recipe.settings, learning_rate=rate, seed=seed)
    loop, stream = common.changed(settings, loop, stream)
    drawn = common.shares(masks) if masks else recipe.masks
    puzzles = TrainingData(
        data, stream, cache or out / "cache", drawn, batch=batch or recipe.batch, seed=seed
    )
    checked = [Grid.parse(text) for text in (validation_grids or "").split(",") if text]
    checked = checked or _checked(puzzles.grids)
    config = network.fitted(config, [*puzzles.grids, *checked])
    in_epochs = epochs * (puzzles.batches_per_epoch or 0)
    loop = replace(loop, steps=steps or in_epochs or loop.steps)
    start = common.weights_to_start_from(initial, network.bundled)
    fabric = common.fabric_for(accelerator, devices, threads=threads, loggers=logger)
    fabric.launch()
    if not fabric.is_global_zero:
        end_with_parent()

    opened = cached(lambda: puzzles.open(drawing_progress(is_quiet())))

    @cached
    def held_out() -> list[Any]:
        return held_out_batches(opened()[1], checked, num_validation, recipe.validation_batch)

    validation = held_out if num_validation else None
    asked = {"network": network.name, "preset": preset, "initial": initial, **asdict(network)}
    with ExitStack() as held:
        if fabric.is_global_zero:
            held.enter_context(locked(out))
        trainer = training.trainer_of(
            network, config, loop, out,
            initial=start, validation=validation, fabric=fabric, facts=asked | puzzles.facts,
        )  # fmt: skip
        if compile_by is not None:
            trainer.plain.compile(backend=compile_by)
        with saying_how_to_go_on(trainer):
            with fabric.rank_zero_first():  # it fills the cache for all
                opened()
            batches = training.batches_of(
                opened()[0], network, config, loop, recipe.workers if workers is None else workers,
                prefetch=recipe.prefetch, pinned=recipe.pinned and fabric.device.type == "cuda",
            )  # fmt: skip
            with training_progress(trainer.step, loop.steps, is_quiet()) as report:
                trainer.fit(batches, minutes=minutes, report=report)
            if fabric.is_global_zero:
                figures = training.save_trained(network, trainer, validation)["validation"]
                seen = f"step {trainer.step}, {trainer.puzzles_seen} puzzles seen"
                typer.echo(f"{out / network.name}.safetensors: {seen}, {figures}")
    if trainer.step < loop.steps and not trainer.out_of_patience:
        note(f"{out}: {loop.steps} steps are the whole run; run again to go on")


@contextmanager
def saying_how_to_go_on(trainer: Trainer[Any], how: str = "run again") -> Iterator[None]:
    """Notes on the state that was found, and a last sentence if the run is interrupted."""
    if trainer.note:
        typer.echo(trainer.note, err=True)
    try:
        yield
    except KeyboardInterrupt:
        where = f"{trainer.folder}: stopped at step {trainer.step}"
        typer.echo(f"{where}; {how} to go on", err=True)
        raise typer.Exit(130) from None


def _checked(grids: list[Grid]) -> list[Grid]:
    """Of the trained grids those that are usual, or all."""
    return [grid for grid in grids if str(grid) in CHECKED_FIRST] or grids


def command_of(name: str) -> Any:
    """The command that trains the network called ``name``: common options, then its own."""
    from puzzleflow.training.registry import TRAINABLES
    from puzzleflow.training.trainable import preset

    factory: type[Trainable] = TRAINABLES.load(name)
    wanted = factory().wants(preset(factory(), None)).grids
    defaults = {
        "preset": next(iter(factory.presets)),
        "grids": ",".join(f"{grid}={share:g}" for grid, share in wanted.items()),
    }
    helps = {
        "preset": f"One of: {', '.join(factory.presets)}.",
        "steps": f"Length of the whole run (0: --epochs of stored puzzles, "
        f"{factory.settings.steps} of fresh ones).",
    }
    common = inspect.signature(train_network, eval_str=True).parameters
    parameters = [
        parameter.replace(
            default=defaults.get(key, parameter.default),
            annotation=_with_help(parameter.annotation, helps.get(key)),
        )
        for key, parameter in common.items()
        if key != "network"
    ]
    hints = get_type_hints(factory, include_extras=True)
    own = [
        option.replace(annotation=_with_help(hints[key], None))
        for key, option in inspect.signature(factory).parameters.items()
    ]

    def command(**values: Any) -> None:
        options = {option.name: values.pop(option.name) for option in own}
        train_network(TRAINABLES.build(name, **options), **values)

    command.__doc__ = factory.__doc__
    every = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in (*parameters, *own)
    ]
    command.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command(name)(command)
    return typer.main.get_command(app)


def _with_help(annotation: Any, text: str | None) -> Any:
    """``Annotated[type, "help"]`` as an option, any option with another help if given."""
    if get_origin(annotation) is not Annotated:
        return annotation
    kind, note, *bounds = get_args(annotation)
    if text is None and not isinstance(note, str):
        return annotation
    option = typer.Option() if isinstance(note, str) else copy(note)
    option.help = text or note
    for within in bounds:
        option.min, option.max = within.least, within.most
    return Annotated[kind, option]
