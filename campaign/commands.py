"""The long commands in small: what they are called with, and what their results are.

Each goes on where it was when it is run again. What is compared afterwards leaves out what
tells the time or how fast the machine was.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from campaign.forked import begin
from puzzleflow.core.rng import child_rng
from puzzleflow.masks import write_masks
from puzzleflow.pictures import write_picture
from puzzleflow.training.banks import picture_split
from puzzleflow.training.state import has_state

Essence = dict[str, bytes]
LONGEST_S = 900.0  # what takes longer hangs, however busy the machine
_WEIGHTS = re.compile(r"weights=.*_(?=[^_]+_flow\.)")  # they lie in a folder of the run's own
_FAR = re.compile(rb'[\w./-]*/(pictures|recipe)\b|[\d,]+( bytes in all)|("recipe_bytes": )\d+')


def everything(out: Path) -> Essence:
    """Every file; how far it is from there to the pictures, and how long that is, is left out."""
    found: Essence = {}
    for path in sorted(out.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            if path.suffix in (".json", ".md"):
                content = _FAR.sub(rb"\1\2\3", content)
            found[path.relative_to(out).as_posix()] = content
    return found


def weights(name: str) -> Callable[[Path], Essence]:
    """A weights file without the minutes that its training took."""

    def essence(out: Path) -> Essence:
        if not (out / name).is_file():
            return {}
        content = (out / name).read_bytes()
        end = 8 + int.from_bytes(content[:8], "little")
        head = re.sub(rb'training_minutes\\*": [\d.]+', b"", content[8:end]).rstrip()
        return {name: head + content[end:]}

    return essence


def layouts(out: Path) -> Essence:
    """What every line of every journal of a benchmark says that took no time."""
    found: Essence = {}
    for path in sorted(out.rglob("journal/*.jsonl")):
        lines = [json.loads(line) for line in path.read_bytes().splitlines()[1:]]
        told = sorted((line["index"], line["position_of"]) for line in lines)
        name = _WEIGHTS.sub("", path.relative_to(out).as_posix())
        found[name] = repr(told).encode()
    return found


def puzzles(out: Path) -> Essence:
    """Files of puzzles."""
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for pattern in ("*.h5", "*.npy")
        for path in out.rglob(pattern)
        if "cache" not in path.parts
    }


def joined(*essences: Callable[[Path], Essence]) -> Callable[[Path], Essence]:
    """All of these."""

    def essence(out: Path) -> Essence:
        return {name: content for one in essences for name, content in one(out).items()}

    return essence


@dataclass(frozen=True)
class LongCommand:
    """``words`` without where it writes; ``resuming`` are further ones where a run has begun."""

    name: str
    words: tuple[str, ...]
    essence: Callable[[Path], Essence] = everything
    out: tuple[str, ...] = ("--out",)  # before the folder
    resuming: tuple[str, ...] = ()
    in_quick: bool = True

    def folder(self, place: Path) -> Path:
        """Where it writes; some results tell the name of their folder."""
        return place / self.name.replace(" ", "-")

    def call(self, out: Path) -> tuple[str, ...]:
        """All words."""
        return (*self.words, *self.out, str(out), *(self.resuming if has_state(out) else ()))


@cache
def prepared(place: Path) -> None:
    """Make, once, pictures, masks, a data set, a recipe and fragments to work on."""
    pictures = place / "pictures"
    names = [f"{number:02}.png" for number in range(60)]
    held_out = [name for name in names if picture_split(name) == "val"][:2]
    for number, name in enumerate(sorted({*names[:12], *held_out})):
        rng = child_rng(number, "campaign")
        y, x = np.mgrid[0:96, 0:96] / 96
        phases = rng.uniform(1, 9, (3, 2))
        colour = [np.sin(a * x + b * y) * 100 + 128 for a, b in phases]
        write_picture(pictures / name, np.stack(colour, -1).astype(np.uint8))
    y, x = np.mgrid[-64:64, -64:64]
    discs = [np.hypot(x, y * (1 + k / 40)) < 40 + k for k in range(20)]
    write_masks(place / "masks.npz", [np.stack(discs)])
    cut = ("--images", str(pictures), "--grid", "3x3", "--piece-px", "16", "--erosion", "fixed:1")
    for words in (
        ("generate", *cut, "--per-picture", "2", "--workers", "1", "--out", str(place / "gap")),
        ("generate", *cut, "--recipe", "--workers", "1", "--out", str(place / "recipe")),
        (
            *("fracture", "--images", str(pictures), "--sets", "1", "--side-px", "80"),
            *("--fragments", "4", "--workers", "1", "--out", str(place / "fragments")),
        ),
    ):
        command = begin(words, place / "inputs.log")
        if command.finish(LONGEST_S) != 0:
            raise RuntimeError(f"{' '.join(words)}: {command.output()[-2000:]}")


def long_commands(place: Path) -> list[LongCommand]:
    """All of them, on what :func:`prepared` made in ``place``."""
    pictures, masks = ("--images", str(place / "pictures")), str(place / "masks.npz")
    training = (
        *("--data", str(place / "pictures"), "--masks", masks, "--grids", "2x2"),
        *("--pieces-per-batch", "8", "--num-validation", "2", "--set", "save_every=2"),
        *("--set", "validate_every=4", "--set", "log_every=2"),
    )
    cut = ("--piece-px", "16", "--erosion", "fixed:1")
    gap, recipe = str(place / "gap" / "train"), str(place / "recipe")
    return [
        LongCommand(
            "generate",
            ("generate", *pictures, "--grid", "3x3", *cut, "--per-picture", "8", "--workers", "1"),
        ),
        LongCommand(
            "generate with workers",
            ("generate", *pictures, "--grid", "3x3", *cut, "--per-picture", "8", "--workers", "2"),
            in_quick=False,
        ),
        LongCommand("materialise", ("materialise", recipe, "--workers", "1")),
        LongCommand(
            "solve",
            ("solve", gap, "--solver", "greedy", "--workers", "1", "--pictures"),
        ),
        LongCommand("bench", ("bench", gap, "--solvers", "greedy,random"), essence=layouts),
        LongCommand(
            "limits",
            (
                *("limits", *pictures, "--solvers", "greedy", "--sections", "gap"),
                *("--puzzles", "3", "--base-grids", "2x2", "--erosion", "fixed:1"),
                *("--piece-px", "16"),
            ),
            essence=layouts,
            in_quick=False,
        ),
        LongCommand(
            "train flow",
            ("train", "flow", "--preset", "tiny", *training, "--steps", "12", "--workers", "0"),
            essence=weights("flow.safetensors"),
        ),
        LongCommand(
            "train edges with a worker",
            ("train", "edges", *training, "--steps", "6", "--workers", "1"),
            essence=weights("edges.safetensors"),
            in_quick=False,
        ),
        LongCommand(
            "shapes train",
            ("shapes", "train", "--masks", masks, "--epochs", "3"),
            essence=weights("fragment_vae_decoder.safetensors"),
            resuming=("--resume",),
            in_quick=False,
        ),
        LongCommand(
            "fracture",
            (
                *("fracture", *pictures, "--sets", "4", "--side-px", "90"),
                *("--fragments", "4", "--workers", "1"),
            ),
        ),
        LongCommand(
            "assemble",
            ("assemble", str(place / "fragments"), "--workers", "1", "--no-pictures"),
            in_quick=False,
        ),
        LongCommand("publish", ("publish", str(place / "gap")), out=()),
        LongCommand(
            "jpwleg",
            (
                *("jpwleg", *pictures, "--held-out", "--sizes", "0/0/3"),
                *("--solvers", "random,greedy"),
            ),
            essence=joined(puzzles, layouts),
        ),
        LongCommand(
            "ablate",
            (
                *("ablate", *training[:6], "--preset", "tiny", "--pieces-per-batch", "8"),
                *("--steps", "2", "--puzzles", "2", "--split", "val", "--vit", "none"),
                *("--variants", "direct,rgb", "--workers", "0"),
            ),
            essence=joined(
                weights("full/flow.safetensors"),
                weights("direct/flow.safetensors"),
                puzzles,
                layouts,
            ),
            in_quick=False,
        ),
        LongCommand(
            "reproduce",
            ("reproduce", "--scale", "tiny", *pictures, "--workers", "1"),
            essence=joined(
                weights("train-gap-3/flow.safetensors"),
                weights("train-gap-5/flow.safetensors"),
                puzzles,
                layouts,
            ),
            in_quick=False,
        ),
    ]
