"""Networks trained as a user does it, from pictures or stored puzzles to weights that solve."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command_line import run

from puzzleflow.core.errors import InputError, OutputError, UnknownName
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.lock import locked
from puzzleflow.models.checkpoint import bundled_weights, load_weights
from puzzleflow.models.relational import RelationalConfig
from puzzleflow.solvers.registry import SOLVERS
from puzzleflow.storage.folder import write_folder
from puzzleflow.storage.gap_writer import write_gap_split
from puzzleflow.training import banks
from puzzleflow.training.banks import picture_split
from puzzleflow.training.registry import TRAINABLES
from puzzleflow.training.relational import RelationalTraining
from puzzleflow.training.state import STATE, load_state

EXAMPLE = Path(__file__).parents[2] / "docs" / "example_plugin"
SMALL = ["--grids", "2x2", "--pieces-per-batch", 8, "--num-validation", 2, "--workers", 0]
TINY = RelationalConfig(
    piece_px=32, widths=(8, 12, 16), blocks=(0, 0, 0), side_hidden=16, side_dim=8, dim=24,
    num_heads=3, num_layers=1,
)  # fmt: skip


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """The relational network in a size for tests."""
    monkeypatch.setattr(RelationalTraining, "presets", {"default": TINY})


def puzzles(count: int, px: int = 32) -> list[Puzzle]:
    rng = np.random.default_rng(0)
    found = []
    for _ in range(count):
        pieces = rng.integers(0, 256, (4, px, px, 4), dtype=np.uint8)
        pieces[..., 3] = 255
        found.append(Puzzle(pieces, Grid(2, 2), rng.permutation(4)))
    return found


def solves(solver: str, folder: Path) -> None:
    write_folder(folder / "puzzle", puzzles(1)[0])
    run("solve", folder / "puzzle", "--solver", solver, "--out", folder / "solved")


def test_relational_from_pictures_to_packed_weights(
    tiny: None, pictures: Path, discs: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    words: list[object] = [
        "train", "relational", "--data", pictures, "--out", out, "--masks", discs, *SMALL,
        "--steps", 2,
    ]  # fmt: skip
    said = run(*words, "--logger", f"csv:root_dir={tmp_path / 'logs'}", "--threads", 1)
    assert "step 2, 4 puzzles seen" in said
    (table,) = (tmp_path / "logs").rglob("metrics.csv")
    assert "loss" in table.read_text()
    solves(f"relational:weights={out / 'relational.safetensors'}", tmp_path)

    before = load_state(out / STATE)
    assert "step 2, 4 puzzles seen" in run(*words)  # finished: nothing is trained again
    assert load_state(out / STATE)[1]["step"] == before[1]["step"] == 2

    packed = tmp_path / "packed.safetensors"
    said = run("train", "pack", out, "--data", pictures, "--out", packed,
               "--erosion", "none", "--grids", "2x2=4")  # fmt: skip
    assert "PA" in said
    described = load_weights(packed)[1]
    assert described["kind"] == "relational"
    known = load_weights(bundled_weights("relational.safetensors"))[1]["energy"]
    for world, fitted in described["energy"].items():
        assert fitted == {**known[world], "2x2": fitted["2x2"]}  # other grids as bundled
    again = tmp_path / "again.safetensors"
    run("train", "pack", packed, "--data", pictures, "--out", again,
        "--mean-with", packed, "--erosion", "none", "--grids", "3x3=4")  # fmt: skip
    renewed = load_weights(again)[1]["energy"]["closed"]
    assert renewed == {**described["energy"]["closed"], "3x3": renewed["3x3"]}
    for name, tensor in load_weights(packed)[0].items():
        assert torch.equal(tensor, load_weights(again)[0][name]), name  # the mean of one
    assert load_weights(again)[1]["puzzles_seen"] == described["puzzles_seen"] == 4

    looking = tmp_path / "looking.safetensors"
    said = run("train", "pack", packed, "--data", pictures, "--out", looking,
               "--erosion", "none", "--grids", "2x2=4,3x3=2", "--look-only")  # fmt: skip
    assert "2x2: upright" in said
    assert "3x3: upright" in said
    found = load_weights(looking)[1]
    assert found["validation"] == described["validation"]
    for world, grids in found["energy"].items():
        assert set(grids) == {"2x2", *known[world]}
        for grid, weights in grids.items():
            before = described["energy"][world][grid]
            assert {**weights, "look": 0, "upright": 0} == {**before, "look": 0, "upright": 0}


def test_other_settings_are_named_and_refused(
    tiny: None, pictures: Path, discs: Path, tmp_path: Path
) -> None:
    words: list[object] = [
        "train", "relational", "--data", pictures, "--out", tmp_path, "--masks", discs, *SMALL,
    ]  # fmt: skip
    run(*words, "--steps", 1)
    for changes, name in (
        (["--steps", 2], "steps"),
        (["--steps", 1, "--rate", 0.5], "learning_rate"),
        (["--steps", 1, "--seed", 3], "seed"),
        (["--steps", 1, "--grids", "3x3"], "grids"),
        (["--steps", 1, "--set", "widest_gap=0.3"], "widest_gap"),
        (["--steps", 1, "--masks", "vae"], "masks"),
    ):
        with pytest.raises(InputError, match=f"this run has {name} "):
            run(*words, *changes)
    with pytest.raises(InputError, match="this run has network 'relational', not 'flow'"):
        run("train", "flow", *words[2:], "--preset", "tiny", "--steps", 1)


def test_flow_writes_weights_that_a_solver_loads(
    pictures: Path, discs: Path, tmp_path: Path
) -> None:
    said = run("train", "flow", "--data", pictures, "--out", tmp_path, "--masks", discs, *SMALL,
               "--preset", "tiny", "--steps", 2, "--states", 2, "--frozen-encoder")  # fmt: skip
    assert "step 2" in said
    weights = tmp_path / "flow.safetensors"
    assert {"2x2", "score"} == set(load_weights(weights)[1]["validation"])
    solves(f"flow:weights={weights}", tmp_path)


def test_edges_write_weights_that_a_solver_loads(
    pictures: Path, discs: Path, tmp_path: Path
) -> None:
    run("train", "edges", "--data", pictures, "--out", tmp_path, "--masks", discs, *SMALL,
        "--steps", 2, "--hard-from", 0.5)  # fmt: skip
    solves(f"rg-lns:weights={tmp_path / 'edges.safetensors'}", tmp_path)


def gap(folder: Path) -> Path:
    for split in ("train", "val"):
        write_gap_split(folder / split, puzzles(4), 4, Grid(2, 2), 32)
    return folder


def jpwleg(folder: Path) -> Path:
    folder.mkdir()
    rng = np.random.default_rng(0)
    for split in ("train", "valid"):
        images = rng.integers(0, 256, (4, 96, 96, 3), dtype=np.uint8)
        labels = np.stack([np.eye(8)[rng.permutation(8)] for _ in range(4)])
        np.save(folder / f"{split}_img_48gap_33.npy", images)
        np.save(folder / f"{split}_label_48gap_33.npy", labels)
    return folder


def folders(folder: Path) -> Path:
    for split in ("train", "val"):
        for index, puzzle in enumerate(puzzles(4)):
            write_folder(folder / split / str(index), puzzle)
    return folder


@pytest.mark.parametrize("stored", [gap, jpwleg, folders])
@pytest.mark.parametrize("name", ["relational", "flow", "edges"])
def test_every_network_takes_stored_puzzles(
    tiny: None, stored: Any, name: str, tmp_path: Path
) -> None:
    words = ["--preset", "tiny"] if name == "flow" else []
    said = run("train", name, "--data", stored(tmp_path / "data"), "--out", tmp_path / "run",
               "--batch", 2, "--epochs", 1, "--workers", 0, *words)  # fmt: skip
    assert "step 2, 4 puzzles seen" in said
    if name == "relational" and stored is gap:
        with pytest.raises(InputError, match=r"4 puzzles fill no batch of 5"):
            run("train", name, "--data", tmp_path / "data", "--out", tmp_path / "new",
                "--batch", 5)  # fmt: skip


def test_what_cannot_be_is_said_before_anything_is_made(
    pictures: Path, discs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("masks were drawn")

    monkeypatch.setattr(banks, "draw_or_read", refuse)
    out = tmp_path / "out"
    words: list[object] = ["train", "relational", "--data", pictures, "--out", out]
    cases: list[tuple[list[object], type[Exception], str]] = [
        (["--device", "cuda"], InputError, "no device 'cuda'"),
        (["--accelerator", "abacus"], InputError, "unknown device 'abacus'"),
        (["--preset", "huge"], UnknownName, "unknown preset 'huge'"),
        (["--grids", "3x"], InputError, "3x"),
        (["--validation-grids", "axb"], InputError, "axb"),
        (["--masks", "no-such"], InputError, "no-such: no masks there"),
        (["--masks", tmp_path], InputError, "no mask pictures in this folder"),
        (["--set", "speed=3"], UnknownName, "unknown setting 'speed'"),
        (["--set", "decay_all=perhaps"], InputError, "expected true or false"),
        (["--initial", tmp_path / "none.safetensors"], InputError, "no such weights file"),
        (["--data", tmp_path / "absent"], InputError, "no such file or folder"),
        (["--data", discs], InputError, "no pictures of split"),
    ]
    for changes, error, text in cases:
        if text == "no device 'cuda'":
            monkeypatch.setattr("torch.cuda.is_available", lambda: False)
        with pytest.raises(error, match=text):
            run(*words, *changes)
    assert not out.exists()
    with locked(out), pytest.raises(OutputError, match="is writing here"):
        run(*words)


def test_masks_of_a_generator_are_drawn_once(
    tiny: None, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(banks, "NUM_GENERATED", 6)
    monkeypatch.setattr(banks, "DRAWN_AT_ONCE", 2)
    words: list[object] = [
        "train", "relational", "--data", pictures, "--masks", "outline", *SMALL, "--steps", 1,
        "--cache", tmp_path / "cache",
    ]  # fmt: skip
    assert "masks of 'outline': 6 of 6" in run(*words, "--out", tmp_path / "one")
    (kept,) = (tmp_path / "cache").glob("masks-outline-*.npz")
    assert "masks of" not in run(*words, "--out", tmp_path / "two")
    states = [load_state(tmp_path / name / STATE)[0] for name in ("one", "two")]
    assert all(np.array_equal(states[0][name], states[1][name]) for name in states[0])
    kept.write_bytes(b"damaged")
    assert "masks of 'outline': 6 of 6" in run(*words, "--out", tmp_path / "three")  # drawn anew


def test_sigterm_saves_and_says_how_to_go_on(pictures: Path, discs: Path, tmp_path: Path) -> None:
    words = [
        "train", "flow", "--data", pictures, "--out", tmp_path, "--masks", discs, *SMALL,
        "--preset", "tiny", "--steps", 100_000, "--set", "save_every=1",
    ]  # fmt: skip
    code = "from puzzleflow.cli.main import main; main()"
    child = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)], stderr=subprocess.PIPE, text=True
    )
    while not (tmp_path / STATE).exists() and child.poll() is None:
        time.sleep(0.05)
    child.send_signal(signal.SIGTERM)
    _, said = child.communicate(timeout=120)
    step = load_state(tmp_path / STATE)[1]["step"]
    assert f"stopped at step {step}; run again to go on" in said
    assert child.returncode == 130
    assert step > 0


def test_held_out_links_the_pictures_that_training_never_saw(
    pictures: Path, tmp_path: Path
) -> None:
    said = run("train", "held-out", pictures, "--out", tmp_path / "test")
    linked = sorted(path.name for path in (tmp_path / "test").iterdir())
    names = (path.name for path in pictures.iterdir())
    assert linked == sorted(name for name in names if picture_split(name) == "test")
    assert f"{len(linked)} pictures of split test" in said
    run("train", "held-out", pictures, "--out", tmp_path / "test")  # links are made anew
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / linked[0]).write_text("mine")
    with pytest.raises(OutputError, match="no link"):
        run("train", "held-out", pictures, "--out", tmp_path / "mine")
    assert (tmp_path / "mine" / linked[0]).read_text() == "mine"
    with pytest.raises(UnknownName, match="split"):
        run("train", "held-out", pictures, "--out", tmp_path / "x", "--split", "most")


def test_pack_reads_the_run_before_it_cuts_puzzles(pictures: Path, tmp_path: Path) -> None:
    words: list[object] = ["train", "pack", tmp_path, "--out", tmp_path / "w.safetensors"]
    with pytest.raises(InputError, match="no such file"):
        run(*words, "--data", pictures, "--erosion", "no-such")
    with pytest.raises(InputError, match="share above 0"):
        run(*words, "--data", pictures, "--grids", "3x3=0")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no pictures of split 'val'"):
        run(*words, "--data", tmp_path / "empty")


def test_a_trainable_solver_in_one_file(
    install: Any, pictures: Path, discs: Path, tmp_path: Path
) -> None:
    groups = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]["entry-points"]
    for registry in (SOLVERS, TRAINABLES):
        package = registry.group.replace(".", "_")
        install(package, registry.group, groups[registry.group], source=EXAMPLE / "src")
    out = tmp_path / "run"
    words: list[object] = [
        "train", "places", "--data", pictures, "--out", out, "--masks", discs, "--steps", 60,
        "--pieces-per-batch", 72, "--num-validation", 4, "--workers", 0, "--smoothing", 0.01,
        "--rate", 0.003, "--set", "smallest_crop=0.9",
    ]  # fmt: skip
    said = run(*words)
    assert "step 60" in said
    weights = out / "places.safetensors"
    described = load_weights(weights)[1]
    assert described["kind"] == "places"
    assert described["validation"]["score"] > 2 / 9  # of ramps it learns quickly
    solves(f"places:weights={weights}", tmp_path)
    run("bench", gap(tmp_path / "gap") / "val", "--solvers", f"random,places:weights={weights}",
        "--out", tmp_path / "bench", "--workers", 1)  # fmt: skip
    logged = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    assert logged[-1]["val"]["score"] == pytest.approx(described["validation"]["score"], abs=0.02)
