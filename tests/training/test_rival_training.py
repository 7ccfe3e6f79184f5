"""Training of the rivals: it goes on exactly, its weights solve, and the published sizes work."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_rivals import RIVALS, tiny_config, trainable

from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.models.checkpoint import bundled_weights, load_weights, restore
from puzzleflow.models.pixels import standardised
from puzzleflow.models.relational import RelationalNet
from puzzleflow.solvers.registry import load_solver
from puzzleflow.training.banks import MaskBank, PictureBank
from puzzleflow.training.loop import LoopSettings, Trainer
from puzzleflow.training.stream import Batch, PuzzleStream, StreamConfig
from puzzleflow.training.trainable import batches_of, save_trained, trainer_of

SETTINGS = LoopSettings(steps=4, warmup=0.3, validate_every=4, log_every=1)
STREAM = StreamConfig(piece_px=16, pieces_per_batch=18, grids={"3x3": 1.0})


@pytest.fixture
def stream(pictures: PictureBank, masks: MaskBank) -> PuzzleStream:
    return PuzzleStream(pictures, masks, STREAM, seed=0)


def trainer_in(folder: Path, name: str, stream: PuzzleStream) -> Trainer[Batch]:
    config = replace(tiny_config(name), grids=("3x3",))
    held_out = list(stream.validation(Grid(3, 3), 2))
    return trainer_of(trainable(name), config, SETTINGS, folder, validation=lambda: held_out)


def batches(name: str, stream: PuzzleStream) -> Callable[[int], Iterable[Batch]]:
    return batches_of(stream, trainable(name), tiny_config(name), SETTINGS)


@pytest.mark.parametrize("name", ["puzlm", "sd2rl"])  # a codebook; many random numbers
def test_resumed_training_equals_uninterrupted_training(
    name: str, stream: PuzzleStream, tmp_path: Path
) -> None:
    whole = trainer_in(tmp_path / "whole", name, stream)
    whole.fit(batches(name, stream))
    for stop in (1, 4):
        parts = trainer_in(tmp_path / "parts", name, stream)
        torch.rand(stop)  # whatever else draws numbers must not matter
        parts.fit(batches(name, stream), until=stop)
    for key, tensor in whole.plain.state_dict().items():
        assert torch.equal(tensor, parts.plain.state_dict()[key]), key


@pytest.mark.parametrize("name", ["fcvit+", "pdn-ga"])
def test_trained_weights_solve_as_they_were_validated(
    name: str, stream: PuzzleStream, tmp_path: Path
) -> None:
    trainer = trainer_in(tmp_path, name, stream)
    trainer.fit(batches(name, stream))
    held_out = list(stream.validation(Grid(3, 3), 2))
    described = save_trained(trainable(name), trainer, lambda: held_out)
    assert set(described["validation"]) == {"3x3", "score"}
    solver = load_solver(name, weights=tmp_path / f"{name}.safetensors")
    pieces = np.full((9, 20, 20, 4), 255, np.uint8)
    solution = solver.prepare(Puzzle(pieces, Grid(3, 3))).solve(seed=0, pinned={2: 7})
    assert solution.position_of[2] == 7


@pytest.mark.parametrize("name", ["diffassemble", "diffassemble+"])
def test_a_trunk_of_the_relational_network_sees_what_it_saw(name: str) -> None:
    rival = trainable(name)
    started = rival.started_from(rival.presets["small"], bundled_weights("relational.safetensors"))
    assert started.trunk is not None
    tensors, _ = load_weights(bundled_weights("relational.safetensors"))
    seven = RelationalNet().encoder
    restore(seven, {k[8:]: t for k, t in tensors.items() if k.startswith("encoder.")}, "test")
    pixels = torch.rand(1, 2, 4, 32, 32, generator=torch.Generator().manual_seed(0))
    pixels[:, :, 3] = 1.0  # material everywhere, of the usual mean and deviation
    deviation, mean = torch.std_mean(pixels[:, :, :3], correction=0)
    pixels[:, :, :3] = (pixels[:, :, :3] - mean) * (0.18 / deviation) + 0.45
    seen = started.seen(pixels).flatten(0, 1) - 0.5
    one = seven.stages[0](standardised(pixels).flatten(0, 1))[:, :, 1:-1, 1:-1]
    other = started.trunk.stages[0](seen)[:, :, 1:-1, 1:-1]
    apart = one - other  # (2, W, 14, 14), the same everywhere but for half precision
    assert apart.std(dim=(0, 2, 3)).max() < 0.02 * one.std(dim=(0, 2, 3)).max()


def test_a_start_of_another_kind_is_refused() -> None:
    rival = trainable("puzlm")  # sees words: nothing to take over
    path = bundled_weights("relational.safetensors")
    assert rival.started_from(rival.presets["small"], path).trunk is None
    with pytest.raises(FormatError, match="weights of another model"):
        rival.started_from(rival.presets["small"], bundled_weights("rg_lns.safetensors"))


def test_outputs_follow_the_grids_that_are_trained() -> None:
    small = trainable("fcvit").presets["small"]
    assert trainable("fcvit").fitted(small, [Grid(2, 3), Grid(2, 3)]).grids == ("2x3",)
    with pytest.raises(InputError, match="deepzzle: 2x2 has no central cell"):
        trainable("deepzzle").fitted(trainable("deepzzle").presets["small"], [Grid(2, 2)])


def test_mended_rows_differ_in_that_alone() -> None:
    for name in RIVALS:
        if name.endswith("+"):
            mended, published = (trainable(n).presets["small"] for n in (name, name[:-1]))
            assert replace(mended, mended=False) == published
            assert mended.mended


@pytest.mark.parametrize("name", RIVALS)
def test_small_presets_have_one_to_four_million_weights(name: str) -> None:
    with torch.device("meta"):
        network = trainable(name).network(trainable(name).presets["small"])
    count = sum(weight.numel() for weight in network.parameters())
    assert 1e6 <= count <= 2e6  # 4 MB in half precision


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in RIVALS if not n.endswith("+")])
def test_published_sizes_train_a_step_and_solve(name: str, tmp_path: Path) -> None:
    """Sizes as published; only the number of steps of searches is cut down."""
    config = replace(trainable(name).presets["paper"], grids=("3x3",))
    fewer = {"steps": 2, "population": 8, "generations": 1, "starts": 1, "swaps": 0.3, "states": 1}
    known = {field.name for field in fields(config)}
    config = replace(config, **{key: n for key, n in fewer.items() if key in known})
    network = trainable(name).network(config)
    torch.manual_seed(0)
    px = config.piece_px
    batch = Batch(
        torch.randint(0, 256, (2, 9, 4, px, px), dtype=torch.uint8),
        torch.stack([torch.randperm(9), torch.randperm(9)]),
        Grid(3, 3),
    )
    before = {key: tensor.clone() for key, tensor in network.state_dict().items()}
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3)
    loss = trainable(name).objective(network.train(), batch)["loss"]
    loss.backward()
    optimizer.step()
    assert torch.isfinite(loss)
    changed = [k for k, tensor in network.state_dict().items() if not tensor.equal(before[k])]
    assert changed
    figures = trainable(name).validate(network.eval(), [batch])
    assert 0 <= figures["3x3"]["AA"] <= 1
