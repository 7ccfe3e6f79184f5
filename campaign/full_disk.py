"""A disk of 8 MB that fills up under every writer: one line, and run again it goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from campaign.commands import LONGEST_S
from campaign.forked import begin
from campaign.interrupted import Known, compared, disturbed
from campaign.outcome import Budget, Outcome

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
        for one in disturbed(budget, place, outcome):
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


def _filled(one: Known, disk: Path, free: int) -> tuple[str, str]:
    """What is wrong, and how the first attempt ended."""
    for inside in disk.iterdir():
        shutil.rmtree(inside) if inside.is_dir() else inside.unlink()
    ballast, out, told = disk / "ballast", one.command.folder(disk), disk.with_suffix(".log")
    room = os.statvfs(disk)
    with ballast.open("wb") as stream:
        os.posix_fallocate(
            stream.fileno(), 0, max(4096, room.f_bavail * room.f_frsize - free) // 4096 * 4096
        )
    first = begin(one.command.call(out), told)
    code = first.finish(LONGEST_S)
    said = first.output()
    if orphans := first.orphans():
        return f"{orphans} processes outlive it", ""
    if code == 0:
        return "", "fitted"
    last = said.strip().splitlines()[-1] if said.strip() else ""
    if code != 2 or "Traceback" in said or not last.startswith("puzzleflow: error: "):
        return f"ended with {code}: {' '.join(said.split())[-600:]}", ""
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
