"""A disk of 8 MB that fills up under every writer: one line, and run again it goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
from official_checkpoint import save_official

from campaign.commands import LONGEST_S, prepared
from campaign.forked import Command, begin
from campaign.interrupted import Known, compared, disturbed
from campaign.outcome import Budget, Outcome
from puzzleflow.core.grid import Grid
from puzzleflow.pictures import write_picture
from puzzleflow.storage.predictions import write_predictions

SIZE = 8 << 20


def run(budget: Budget, place: Path) -> Outcome:
    """Each command on a disk with little room left, then again with room."""
    outcome = Outcome("a disk of 8 MB that fills up")
    disk = place / "disk"
    disk.mkdir(parents=True)
    if why := _mount(disk, SIZE):
        outcome.skipped = why
        return outcome
    try:
        for name, words in _writers(place):
            for free in (0, 4096)[: 1 if budget.quick else 2]:
                failure, kind = _written(words, disk, free)
                outcome.case(f"{name}, {free:,} bytes free", failure, kind=kind)
        one_step = outcome.cases
        outcome.notes.append(f"{one_step} of them commands of one step")
        for one in disturbed(budget, place, outcome, one_step):
            # from nothing to all that the command needs
            needed = max(1, sum(map(len, one.essence.values())))
            free = int(budget.rng.choice([0, 4096, needed * budget.rng.random(), SIZE]))
            failure, kind = _filled(one, disk, min(free, SIZE))
            outcome.case(f"{one.command.name}, {free:,} bytes free", failure, kind=kind)
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False, capture_output=True)
    return outcome


def _mount(disk: Path, size: int) -> str:
    """Why there is no such disk, "" if there is one."""
    if os.geteuid() != 0:
        return "only root may mount a small disk"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "puzzleflow", str(disk)],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    return f"no small disk here: {mounted.stderr.strip()}" if mounted.returncode else ""


def _writers(place: Path) -> list[tuple[str, tuple[str, ...]]]:
    """Commands that write and are not long, without where they write."""
    shared = place.parent / "shared"
    prepared(shared)
    save_official(place / "official.pt")
    photo = np.full((120, 120, 3), 245, np.uint8)
    photo[10:50, 10:50] = photo[70:110, 70:110] = np.random.default_rng(0).integers(
        0, 128, (40, 40, 3)
    )
    write_picture(place / "photo.png", photo)
    rows = np.tile(np.arange(9), (3, 1))
    write_predictions(place / "p.npz", rows, targets=rows, grid=Grid(3, 3))
    small = ("--grid", "2x2", "--erosion", "fixed:4", "--piece-px", "32")
    return [
        ("demo", ("demo", *small, "--out", "{}/demo")),
        ("render", ("render", str(shared / "gap" / "train"), "--out", "{}/puzzle.png")),
        ("segment", ("segment", str(place / "photo.png"), "--out", "{}/found")),
        ("convert", ("convert", str(place / "official.pt"), "--out", "{}/w.safetensors")),
        ("shapes sample", ("shapes", "sample", "-n", "4", "--workers", "1", "--out", "{}/shapes")),
        (
            "shapes validate",
            (
                *("shapes", "validate", "--real", str(shared / "masks.npz"), "--part", "all"),
                *("-n", "10", "--workers", "1", "--out", "{}/validated"),
            ),
        ),
        ("export", ("export", "--out", "{}/graphs")),
        ("evaluate", ("evaluate", "--predictions", str(place / "p.npz"), "--json", "{}/e.json")),
    ]


def _written(words: tuple[str, ...], disk: Path, free: int) -> tuple[str, str]:
    """What is wrong with a command of one step, and how it ended."""
    _fill(disk, free)
    call = tuple(word.format(disk) for word in words)
    failure, fitted = _refused(begin(call, disk.with_suffix(".log")))
    left = [path.name for path in disk.rglob(".*")]
    if not failure and left:
        failure = f"left behind: {', '.join(left[:5])}"
    return failure, "fitted" if fitted else "one line"


def _fill(disk: Path, free: int) -> Path:
    """Nothing on the disk but a file that leaves so many bytes free."""
    for inside in disk.iterdir():
        shutil.rmtree(inside) if inside.is_dir() else inside.unlink()
    ballast, room = disk / "ballast", os.statvfs(disk)
    with ballast.open("wb") as stream:
        os.posix_fallocate(
            stream.fileno(), 0, max(4096, room.f_bavail * room.f_frsize - free) // 4096 * 4096
        )
    return ballast


def _refused(running: Command) -> tuple[str, bool]:
    """What is wrong with how a command met the full disk, and whether there was room for it."""
    code, said = running.finish(LONGEST_S), running.output()
    if orphans := running.orphans():
        return f"{orphans} processes outlive it", False
    last = said.strip().splitlines()[-1] if said.strip() else ""
    one_line = code == 2 and "Traceback" not in said and last.startswith("puzzleflow: error: ")
    if code != 0 and not one_line:
        return f"ended with {code}: {' '.join(said.split())[-600:]}", False
    return "", code == 0


def _filled(one: Known, disk: Path, free: int) -> tuple[str, str]:
    """What is wrong with a long command, and how the first attempt ended."""
    ballast, out, told = _fill(disk, free), one.command.folder(disk), disk.with_suffix(".log")
    failure, fitted = _refused(begin(one.command.call(out), told))
    if failure or fitted:
        return failure, "fitted"
    ballast.unlink()
    resized = subprocess.run(
        ["mount", "-o", "remount,size=256m", str(disk)], check=False, capture_output=True
    )
    again = begin(one.command.call(out), told)
    code = again.finish(LONGEST_S)
    failure = compared(one, out) if code == 0 else f"with room: {code}: {again.output()[-600:]}"
    shutil.rmtree(out, ignore_errors=True)
    subprocess.run(["mount", "-o", f"remount,size={SIZE}", str(disk)], check=False)
    return (failure if resized.returncode == 0 else ""), "one line, then went on"
