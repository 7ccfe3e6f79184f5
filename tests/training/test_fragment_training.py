from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from puzzleflow.core.errors import InputError
from puzzleflow.models.checkpoint import load_weights
from puzzleflow.models.fragment_vae import FragmentVAEConfig, load_decoder
from puzzleflow.training.banks import split_masks
from puzzleflow.training.fragment_training import (
    DECODER,
    WEIGHTS,
    FragmentRun,
    FragmentTraining,
)
from puzzleflow.training.state import STATE, load_state

TINY = FragmentVAEConfig(channels=(4, 8), latent=3, mask_px=16)


def data(count: int = 41) -> tuple[np.ndarray, list[str]]:
    rng = np.random.default_rng(0)
    rows, cols = np.mgrid[:16, :16] - 7.5
    sizes = rng.uniform(4, 8, (count, 2))
    masks = [(rows / high) ** 2 + (cols / wide) ** 2 < 1 for high, wide in sizes]
    return np.stack(masks), [f"source{index % 2}/{index:03d}.png" for index in range(count)]


def make(folder: Path, epochs: int, *, resume: bool = False, patience: int = 50) -> FragmentRun:
    masks, names = data()
    recipe = FragmentTraining(
        max_epochs=epochs, patience=patience, batch=8, learning_rate=3e-3, seed=4
    )
    return FragmentRun(folder, masks, names, recipe, TINY, resume=resume)


def test_training_improves_and_leaves_everything_behind(tmp_path: Path) -> None:
    run = make(tmp_path, 12)
    seen: list[int] = []
    progress = run.run(lambda row: seen.append(int(row["epoch"])))
    assert seen == list(range(1, 13))
    rows = run.history
    assert [row["epoch"] for row in rows] == seen
    assert rows[-1]["train_loss"] < 0.85 * rows[0]["train_loss"]
    assert progress["best_validation"] == min(row["validation_loss"] for row in rows)
    for row in rows:
        parts = row["train_reconstruction"] + row["train_divergence"]
        assert row["train_loss"] == pytest.approx(parts, abs=1e-4)
    assert list((tmp_path / "events").iterdir())
    split = json.loads((tmp_path / "split.json").read_text())
    assert sum(len(part) for part in split.values()) == 41
    _, config = load_weights(tmp_path / WEIGHTS)
    assert config["training"]["best_epoch"] == progress["best_epoch"]
    decoder = load_decoder(tmp_path / DECODER)
    assert not torch.equal(decoder.latent_factor, torch.eye(3))


@pytest.mark.parametrize("stop_at", [3, 6, 8])  # 4 batches an epoch
def test_a_stopped_run_goes_on_exactly(tmp_path: Path, stop_at: int) -> None:
    whole, parts = make(tmp_path / "whole", 5), make(tmp_path / "parts", 5)
    assert whole.batches_per_epoch == 4
    whole.run()

    def stop(row: dict[str, object]) -> None:
        if row["step"] == stop_at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        parts.trainer.fit(parts._batches, report=stop)
    torch.manual_seed(999)  # the caller's random state plays no part
    again = make(tmp_path / "parts", 5, resume=True)
    again.run()
    assert again.progress == whole.progress
    for name in (WEIGHTS, DECODER):
        assert (whole.folder / name).read_bytes() == (again.folder / name).read_bytes()
    assert again.history == whole.history
    for tensors in zip(
        *(load_state(r.folder / STATE)[0].items() for r in (whole, again)), strict=True
    ):
        assert tensors[0][0] == tensors[1][0]
        assert torch.equal(tensors[0][1], tensors[1][1]), tensors[0][0]


def test_killed_after_the_last_state_the_weights_are_still_written(tmp_path: Path) -> None:
    make(tmp_path, 3).run()
    finished = [(tmp_path / name).read_bytes() for name in (WEIGHTS, DECODER)]
    (tmp_path / WEIGHTS).unlink()
    (tmp_path / DECODER).write_bytes(b"of an earlier epoch")
    make(tmp_path, 3, resume=True).run()
    assert [(tmp_path / name).read_bytes() for name in (WEIGHTS, DECODER)] == finished


def test_a_run_is_not_overwritten_or_mixed(tmp_path: Path) -> None:
    make(tmp_path, 1).run()
    with pytest.raises(InputError, match="holds a run already"):
        make(tmp_path, 1)
    with pytest.raises(
        InputError, match=r"this run has recipe .*'patience': 50.* not .*'patience': 3"
    ):
        make(tmp_path, 1, resume=True, patience=3)
    with pytest.raises(InputError, match="no such file"):
        make(tmp_path / "absent", 1, resume=True)
    masks, names = data()
    masks[0] = ~masks[0]
    recipe = FragmentTraining(max_epochs=1, patience=50, batch=8, learning_rate=3e-3, seed=4)
    with pytest.raises(InputError, match="masks_sha256"):
        FragmentRun(tmp_path, masks, names, recipe, TINY, resume=True)


def test_early_stopping(tmp_path: Path) -> None:
    masks, names = data()
    fast = FragmentTraining(max_epochs=100, patience=1, batch=8, learning_rate=0.1, seed=4)
    progress = FragmentRun(tmp_path, masks, names, fast, TINY).run()
    assert progress["finished"]
    assert progress["epoch"] == progress["best_epoch"] + 1 < 100


def test_no_batch_holds_a_single_mask(tmp_path: Path) -> None:
    """33 training masks in batches of 8: the one that is left over waits for another epoch."""
    run = make(tmp_path, 1)
    assert len(run.split.train) == 33
    assert run.batches_per_epoch == 4
    batches = run._batches(0)
    assert [len(next(batches)) for _ in range(9)] == [8] * 9


def test_split_is_a_partition_within_every_source() -> None:
    names = [f"{source}/{index}.png" for source in "ab" for index in range(50)]
    split = split_masks(names, 7)
    assert sorted(split.train + split.validation + split.test) == list(range(100))
    assert (len(split.train), len(split.validation), len(split.test)) == (80, 10, 10)
    assert sum(index < 50 for index in split.test) == 5
    assert split == split_masks(names, 7)
    assert split != split_masks(names, 8)


def test_a_source_added_later_does_not_move_the_others() -> None:
    names = [f"a/{index}.png" for index in range(50)]
    more = names + [f"b/{index}.png" for index in range(30)]
    assert split_masks(names).test == [i for i in split_masks(more).test if i < 50]


def test_too_few_masks_for_a_split() -> None:
    with pytest.raises(InputError, match="at least 20 masks, there are 19"):
        split_masks([f"{index}.png" for index in range(19)])
    with pytest.raises(InputError, match="too few"):
        split_masks([f"{index}/mask.png" for index in range(30)])
