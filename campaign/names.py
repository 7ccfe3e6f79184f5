"""Hostile file names for every command that takes files: done, or refused in one line."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np

from campaign.commands import prepared
from campaign.forked import begin
from campaign.outcome import Budget, Outcome
from puzzleflow.pictures import write_picture

COMMANDS = (
    "generate", "fracture", "solve", "inspect", "segment", "render", "publish", "jpwleg", "train",
)  # fmt: skip
OTHERS = ("1.png", "2.png", "7.png")  # pictures beside it, some of them for training
NAMES = (
    b"plain.png", b"with space.png", b"new\nline.png", b"carriage\rreturn.png", b"tab\t.png",
    "line\u2028end.png".encode(), "\u202ertl.png".encode(), "e\u0301.png".encode(),
    "\U0001f3fa.png".encode(), b"\xff\xfe.png", b"-rf.png", b"--out.png", b"a'b\"c.png",
    b"$(id).png", b"<b>&amp;.png", b"%2e%2e.png", b"a,b;c=d.png", b"[x]*?.png", b".hidden.png",
    b"CON.png", b"x" * 240 + b".png", b"\x1b[31mred.png", b"no suffix", b"images.csv.png", b"..png",
)  # fmt: skip


SHORT = 45  # cases of a short campaign: every command with five names


def run(budget: Budget, place: Path) -> Outcome:
    """Every name in a folder of pictures, and as a photograph, through every command."""
    outcome = Outcome("hostile file names")
    place.mkdir(parents=True)
    prepared(place.parent / "shared")
    pixels = np.random.default_rng(0).integers(0, 256, (70, 70, 3), dtype=np.uint8)
    write_picture(place / "picture.png", pixels)
    photo = np.full((120, 120, 3), 245, np.uint8)
    for top, left in ((10, 10), (10, 70), (70, 10), (70, 70)):
        photo[top : top + 40, left : left + 40] = pixels[:40, :40] // 2
    write_picture(place / "photo.png", photo)
    some = budget.rng.sample(NAMES[1:], 8)
    names = NAMES if not budget.quick else [NAMES[0], *some]
    for name in names:
        for command, words, folder in _calls(place, name):
            if budget.spent(outcome.cases, short=SHORT, whole=len(COMMANDS) * len(NAMES)):
                return outcome
            running = begin(tuple(map(str, words)), place / "told.log")
            code, said = running.finish(), running.output()
            failure = "" if code in (0, 2) else f"ended with {code}: {said[-500:]}"
            if "Traceback" in said or (code == 2 and "error: " not in said):
                failure = f"exit {code}: {said[-500:]}"
            if name == NAMES[0] and code != 0:
                failure = f"refused even so: {said[-500:]}"
            outcome.case(f"{command} with {name!r}", failure, kind=f"exit {code}")
            shutil.rmtree(place / "out", ignore_errors=True)
            shutil.rmtree(folder, ignore_errors=True)
    return outcome


def _calls(place: Path, name: bytes) -> list[tuple[str, tuple[object, ...], Path]]:
    """Command, its words, and the folder that was made for it."""
    out = ("--out", place / "out")
    cut = ("--piece-px", "16", "--erosion", "fixed:1", "--workers", "1")
    made = []
    for number, command in enumerate(COMMANDS):
        folder = place / f"names-{number}"
        folder.mkdir(exist_ok=True)
        for other in OTHERS:
            shutil.copy(place / "picture.png", folder / other)
        file = folder / os.fsdecode(name)
        shutil.copy(place / ("photo.png" if command == "segment" else "picture.png"), file)
        images = ("--images", folder)
        words: tuple[object, ...] = {
            "generate": (*images, "--grid", "2x2", *cut, "--splits", "100/0/0", *out),
            "fracture": (*images, "--sets", "4", "--side-px", "70", "--workers", "1", *out),
            "solve": (folder, "--solver", "random", *out),
            "inspect": (folder,),
            "segment": (file, *out),
            "render": (folder, "--out", place / "out" / os.fsdecode(name)),
            "publish": (folder, place / "out"),
            "jpwleg": (*images, "--held-out", "--sizes", "0/0/4", "--solvers", "random", *out),
            "train": (
                *("flow", "--preset", "tiny", "--data", folder, "--grids", "2x2"),
                *("--masks", place.parent / "shared" / "masks.npz", "--pieces-per-batch", "4"),
                *("--num-validation", "0", "--steps", "1", "--workers", "0", *out),
            ),
        }[command]
        made.append((command, (command, *words), folder))
    return made
