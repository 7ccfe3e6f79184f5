"""Kills, signals and rivals: long commands ended at random moments, and two in one folder."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from campaign.commands import LONGEST_S, Essence, LongCommand, long_commands, prepared
from campaign.forked import Command, begin
from campaign.outcome import Budget, Outcome

MOST_ROUNDS = 50  # of every command
FEWEST = 3  # cases of every part, however little time there is
SIGNALS = {
    "SIGKILL": signal.SIGKILL,
    "SIGTERM": signal.SIGTERM,
    "SIGINT": signal.SIGINT,
}


@dataclass
class Known:
    """A command that was run once to its end."""

    command: LongCommand
    essence: Essence
    seconds: float


@cache
def reference(place: Path, command: LongCommand) -> Known | str:
    """The command run once without disturbance, or what was wrong even then."""
    out, began = command.folder(place / "whole"), time.monotonic()
    running = begin(command.call(out), place / "told.log")
    if (code := running.finish(LONGEST_S)) != 0:
        return f"exit {code}: {_tail(running)}"
    return Known(command, command.essence(out), time.monotonic() - began)


def disturbed(budget: Budget, place: Path, outcome: Outcome) -> Iterator[Known]:
    """Commands to disturb, each as often as any other, until the time is over."""
    shared = place.parent / "shared"
    place.mkdir(parents=True, exist_ok=True)
    prepared(shared)
    commands = [one for one in long_commands(shared) if one.in_quick or not budget.quick]
    for _ in range(MOST_ROUNDS):
        for command in budget.rng.sample(commands, len(commands)):
            if budget.left < 0 and outcome.cases >= FEWEST:
                return
            known = reference(shared, command)
            if isinstance(known, Known):
                yield known
            else:
                outcome.case(f"{command.name}, undisturbed", known)
                commands.remove(command)


def kills(budget: Budget, place: Path) -> Outcome:
    """Each long command is ended at random moments, run again, and gives the same bytes."""
    outcome = Outcome("long commands ended at random moments")
    for number, one in enumerate(disturbed(budget, place, outcome)):
        name = "SIGKILL" if budget.rng.random() < 0.7 else budget.rng.choice(list(SIGNALS))
        moments = [
            budget.rng.uniform(0.03, max(0.1, one.seconds))
            for _ in range(budget.rng.choice([1, 1, 2]))
        ]
        what = f"{one.command.name}, {name} after {', '.join(f'{m:.2f} s' for m in moments)}"
        out = one.command.folder(place / str(number))
        failure = _ended(one, SIGNALS[name], moments, out, outcome)
        outcome.case(what, failure, kind=name)
        shutil.rmtree(out.parent)
    return outcome


def _ended(one: Known, number: int, moments: list[float], out: Path, outcome: Outcome) -> str:
    told = out.parent / "told.log"
    out.parent.mkdir()
    for moment in moments:
        running = begin(one.command.call(out), told)
        if running.wait(moment) is None:
            running.send(number)
        code = running.finish(60)
        if orphans := running.orphans():
            return f"{orphans} processes outlive it"
        if code == 0:
            outcome.told["ended before"] += 1
        elif (failure := _graceful(code, number, running)) != "":
            return failure
    finished = begin(one.command.call(out), told)
    if (code := finished.finish(LONGEST_S)) != 0:
        return f"run again it ended with {code}: {_tail(finished)}"
    return compared(one, out)


def _graceful(code: int, number: int, running: Command) -> str:
    if code == -number and number != signal.SIGINT:
        return ""
    if number != signal.SIGKILL and code == 130 and "Traceback" not in running.output():
        return ""
    return f"ended with {code}: {_tail(running)}"


def compared(one: Known, out: Path) -> str:
    """What is wrong with the result: other bytes, or something left behind."""
    left = [path for path in out.rglob(".*") if path.name != "."]
    if left:
        return f"left behind: {', '.join(str(path.relative_to(out)) for path in left[:5])}"
    found = one.command.essence(out)
    if found.keys() != one.essence.keys():
        return f"other files: {sorted(found.keys() ^ one.essence.keys())[:5]}"
    differing = [name for name, content in found.items() if content != one.essence[name]]
    return f"other bytes in {', '.join(differing[:5])}" if differing else ""


def rivals(budget: Budget, place: Path) -> Outcome:
    """Two processes in one output folder: one works, the other says so or finds it done."""
    outcome = Outcome("two processes in one output folder")
    for number, one in enumerate(disturbed(budget, place, outcome)):
        out = one.command.folder(place / str(number))
        pair = [begin(one.command.call(out), place / f"told-{k}.log") for k in range(2)]
        codes = [running.finish(LONGEST_S) for running in pair]
        outputs = [running.output() for running in pair]
        outcome.case(one.command.name, _both(codes, outputs, one, out), kind=str(sorted(codes)))
        shutil.rmtree(out.parent, ignore_errors=True)
    return outcome


def _both(codes: list[int], outputs: list[str], one: Known, out: Path) -> str:
    if sorted(codes) not in ([0, 0], [0, 2]):
        return f"ended with {codes}: {' / '.join(text[-400:] for text in outputs)}"
    refused = [text for code, text in zip(codes, outputs, strict=True) if code == 2]
    if refused and "is writing here" not in refused[0] and "holds a run" not in refused[0]:
        return f"refused with other words: {refused[0][-400:]}"
    return compared(one, out)


def _tail(running: Command) -> str:
    return " ".join(running.output().split())[-600:]
