"""What PuzzleFlow keeps for itself, by name: weights, training states, caches, journals, files."""

from __future__ import annotations

import inspect
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from command_line import run
from format_samples import small_puzzle

from campaign.targets import Target, digest
from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.rng import child_rng
from puzzleflow.journal import Journal
from puzzleflow.models.checkpoint import bundled_weights
from puzzleflow.pictures import write_picture
from puzzleflow.sources.ledger import Entry, Outcome
from puzzleflow.storage.gap import write_gap_split
from puzzleflow.training import banks
from puzzleflow.training.state import load_newest, save_newest

GENERATORS = ("fragment_vae", "fragment_outline", "fragment_gap")
GRID = Grid(3, 3)


def loaders() -> dict[str, tuple[Path, Any]]:
    """Name → weights of its own, and what loads them.

    Every registered solver that takes weights and has any, and the bundled generators.
    """
    from puzzleflow.generation.gap_model import load_gap_model
    from puzzleflow.generation.outline_model import load_outline_model
    from puzzleflow.models.fragment_vae import load_decoder
    from puzzleflow.solvers.registry import SOLVERS, load_solver

    found: dict[str, tuple[Path, Any]] = {}
    for name in SOLVERS.names():
        if "weights" in inspect.signature(SOLVERS.load(name)).parameters:
            with suppress(InputError):  # nobody has trained it yet
                own = Path(load_solver(name).weights)  # type: ignore[attr-defined]
                found[name] = own, partial(_solver, load_solver, name)
    outlines, _ = load_outline_model(bundled_weights("fragment_outline.safetensors"))
    for name, load in zip(
        GENERATORS,
        (load_decoder, load_outline_model, lambda path: load_gap_model(path, outlines)),
        strict=True,
    ):
        found[name] = bundled_weights(f"{name}.safetensors"), load
    return found


def _solver(load: Any, name: str, path: Path) -> Any:
    return load(name, weights=str(path))


def weights() -> Iterator[Target]:
    """Every solver and generator with its own weights."""

    def target(name: str, own: Path, load: Any) -> Target:
        def build(folder: Path) -> None:
            folder.mkdir()
            shutil.copy(own, folder / "w.safetensors")

        def read(folder: Path) -> str:
            load(folder / "w.safetensors")
            return ""

        return Target(f"weights {name}", build, read)

    for name, (own, load) in loaders().items():
        if own.is_file():
            yield target(name, own, load)


def states() -> Iterator[Target]:
    """Two states of a training run, and the run that goes on from them."""
    tensors = {"network.a": torch.arange(12.0).reshape(3, 4), "rng": torch.arange(9)}

    def build(folder: Path) -> None:
        for _ in range(2):
            save_newest(folder, tensors, {"step": 7, "settings": {"steps": 9}})

    def read(folder: Path) -> str:
        found, values, _ = load_newest(folder)
        return digest(*(found[name] for name in sorted(found)), sorted(values.items()))

    yield Target("training state", build, read, exact=True)


def caches() -> Iterator[Target]:
    """Decoded pictures and drawn masks of a training."""

    def pictures(folder: Path) -> banks.PictureBank:
        source = folder.parent / "bank pictures"
        if not source.exists():
            for number in range(3):
                pixels = child_rng(number, "bank").integers(0, 256, (24, 24, 3), dtype=np.uint8)
                write_picture(source / f"{number}.png", pixels)
        return banks.PictureBank(sorted(source.iterdir()), folder, size_px=24)

    def read_pictures(folder: Path) -> str:
        bank = pictures(folder)
        return digest(*(np.asarray(bank[index]) for index in range(3)))

    def masks(folder: Path) -> np.ndarray[Any, Any]:
        banks.NUM_GENERATED, banks.DRAWN_AT_ONCE = 6, 3
        return banks.draw_or_read("outline", folder)

    yield Target("picture cache", pictures, read_pictures, exact=True)
    yield Target("mask cache", masks, lambda folder: digest(masks(folder)), exact=True)


def journals() -> Iterator[Target]:
    """Work that is resumed from its journal, by the command that began it."""

    def data(folder: Path) -> Path:
        place = folder.parent / "journal data"
        if not place.exists():
            write_gap_split(place, [small_puzzle(i, px=8) for i in range(4)], 4, GRID, 8)
        return place

    def solve(folder: Path) -> str:
        run("solve", data(folder), "--solver", "random", "--out", folder, "--workers", 1)
        return ""

    def bench(folder: Path) -> str:
        run("bench", data(folder), "--solvers", "random", "--out", folder)
        return ""

    def broken(folder: Path) -> Path:
        place = folder.parent / "journal pictures"
        if not place.exists():
            for number in range(3):
                pixels = child_rng(number, "work").integers(0, 256, (70, 70, 3), dtype=np.uint8)
                write_picture(place / f"{number}.png", pixels)
        return place

    def fracture(folder: Path) -> str:
        sizes = ("--sets", 2, "--side-px", 70, "--fragments", 4, "--workers", 1)
        run("fracture", "--images", broken(folder), "--out", folder, *sizes)
        return ""

    def generate(folder: Path) -> str:
        cut = ("--grid", "2x2", "--piece-px", 16, "--erosion", "none", "--workers", 1)
        run("generate", "--images", broken(folder), "--out", folder, *cut)
        return ""

    def jpwleg(folder: Path) -> str:
        few = ("--held-out", "--sizes", "0/0/1", "--solvers", "random")
        run("jpwleg", "--images", broken(folder), "--out", folder, *few)
        return ""

    def limits(folder: Path) -> str:
        few = ("--solvers", "random", "--sections", "gap", "--puzzles", 1, "--base-grids", "2x2")
        cut = ("--erosion", "fixed:1", "--piece-px", 16)
        run("limits", "--images", broken(folder), "--out", folder, *few, *cut)
        return ""

    def ablate(folder: Path) -> str:
        place = folder.parent / "ablation data"
        for split in ("train", "test") if not place.exists() else ():
            write_gap_split(place / split, [small_puzzle(i, px=8) for i in range(2)], 2, GRID, 8)
        tiny = ("--preset", "tiny", "--steps", 1, "--batch", 1, "--puzzles", 1, "--vit", "none")
        run("ablate", "--data", place, "--out", folder, *tiny, "--variants", "rgb", "--workers", 0)
        return ""

    def collected(folder: Path) -> Journal[Entry]:
        return Journal(folder / "journal.jsonl", "collect", {"seed": 1}, Entry)

    def collect(folder: Path) -> None:
        with collected(folder) as journal:
            for draw in range(3):
                journal.append(Entry(draw, outcome=Outcome(draw, 7 + draw, "kept", f"{draw}.jpg")))

    yield Target("solutions that go on", solve, solve)
    yield Target("benchmark that goes on", bench, bench)
    yield Target("fracture that goes on", fracture, fracture)
    yield Target("generate that goes on", generate, generate)
    yield Target("sets like JPwLEG that go on", jpwleg, jpwleg)
    yield Target("limits that go on", limits, limits)
    yield Target("ablation that goes on", ablate, ablate)
    yield Target("collection journal", collect, lambda f: digest(collected(f).read()))


def workbench_files() -> Iterator[Target]:
    """The file that the workbench saves."""
    from puzzleflow.web.archive import pack, unpack
    from puzzleflow.web.limits import Limits
    from puzzleflow.web.workbench import Workbench

    limits = Limits()

    def build(folder: Path) -> None:
        (folder / "bench").mkdir(parents=True)
        workbench = Workbench(folder / "bench", limits, "title", "pieces")
        pieces = small_puzzle(0, px=8).pieces[:4]
        workbench.set_pieces([(f"{i}.png", pixels) for i, pixels in enumerate(pieces)])
        (folder / "w.zip").write_bytes(pack(workbench))
        shutil.rmtree(folder / "bench")

    def read(folder: Path) -> str:
        content = b""
        if (folder / "w.zip").is_file():
            with (folder / "w.zip").open("rb") as stream:  # no request is longer
                content = stream.read(limits.max_request_bytes)
        with tempfile.TemporaryDirectory() as new:
            unpack(content, Workbench(Path(new), limits, "t", "saved"))
        return ""

    yield Target("workbench file", build, read)


def exported() -> Iterator[Target]:
    """A folder of ONNX graphs."""
    from puzzleflow.models.export import export_flow
    from puzzleflow.models.flow_engine import OnnxEngine
    from puzzleflow.models.puzzleflow import build_puzzleflow, flow_preset

    def build(folder: Path) -> None:
        tiny = replace(flow_preset("tiny"), flow=False, num_layers=0)
        export_flow(build_puzzleflow(tiny), folder)

    def read(folder: Path) -> str:
        OnnxEngine(folder)
        return ""

    yield Target("ONNX graphs", build, read)
