"""Kills, signals and rivals: long commands ended at random moments, and two in one folder."""

from __future__ import annotations

import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path

from campaign.commands import LONGEST_S, Essence, LongCommand, long_commands, prepared
from campaign.forked import Command, begin
from campaign.outcome import Budget, Outcome

KILLS = 50  # of every command in a whole campaign
ROW = 5  # signals in a row before the command may end
ROUNDS = 2  # of every command, of a whole campaign: rivals, full disks
SHORT = 3  # commands of a short one
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


def known_commands(budget: Budget, place: Path, outcome: Outcome) -> list[Known]:
    """The long commands, each run once without disturbance; what fails even so is a failure."""
    shared = place.parent / "shared"
    place.mkdir(parents=True, exist_ok=True)
    prepared(shared)
    found = []
    for command in long_commands(shared):
        if command.in_quick or not budget.quick:
            known = reference(shared, command)
            if isinstance(known, Known):
                found.append(known)
            else:
                outcome.case(f"{command.name}, undisturbed", known)
    return found


def disturbed(budget: Budget, place: Path, outcome: Outcome, before: int = 0) -> Iterator[Known]:
    """Commands to disturb, each as often as any other, until it is enough.

    before  cases of ``outcome`` that were something else
    """
    commands = known_commands(budget, place, outcome)
    for number in count():
        for one in budget.rng.sample(commands, len(commands)):
            whole = ROUNDS * len(commands)
            done = outcome.cases - before
            if budget.spent(done, short=SHORT, whole=whole) or number > KILLS:
                return
            yield one


def kills(budget: Budget, place: Path) -> Outcome:
    """Each long command is ended at random moments, run again, and gives the same bytes."""
    outcome = Outcome("long commands ended at random moments")
    commands = known_commands(budget, place, outcome)
    by_name = {one.command.name: one for one in commands}
    killed, rounds = Counter[str](), Counter[str]()
    done = rounds if budget.extent == "short" else killed
    for number in count() if commands else ():
        name = min(by_name, key=lambda each: (done[each], rounds[each]))
        if done[name] >= KILLS or budget.spent(done[name], short=1, whole=KILLS):
            break
        one = by_name[name]
        rounds[name] += 1
        out = one.command.folder(place / str(number))
        signals = [
            "SIGKILL" if budget.rng.random() < 0.8 else budget.rng.choice(list(SIGNALS))
            for _ in range(ROW)
        ]
        moments = [budget.rng.uniform(0.03, max(0.1, one.seconds)) for _ in signals]
        sent, failure = _ended(one, list(zip(signals, moments, strict=True)), out)
        killed[name] += sent.count("SIGKILL")
        told = ", ".join(f"{s} after {m:.2f} s" for s, m in zip(sent, moments, strict=False))
        outcome.case(f"{name}, {told}", failure)
        outcome.cases += len(sent) - 1
        outcome.told.update(sent)
        shutil.rmtree(out.parent)
    fewest = min((killed[name] for name in by_name), default=0)
    outcome.notes.append(f"{len(commands)} commands, SIGKILL at least {fewest} times each")
    return outcome


def _ended(one: Known, planned: list[tuple[str, float]], out: Path) -> tuple[list[str], str]:
    """The signals that met a running command, and what is wrong."""
    told, sent = out.parent / "told.log", []
    out.parent.mkdir()
    for name, moment in planned:
        running, began = begin(one.command.call(out), told), time.monotonic()
        if running.wait(moment) is None:
            running.send(SIGNALS[name])
        code = running.finish(LONGEST_S)
        if orphans := running.orphans():
            return sent, f"{orphans} processes outlive it"
        if code == 0:  # it was done before
            if not sent:  # faster than it was at first, when code was compiled
                one.seconds = min(one.seconds, time.monotonic() - began)
            break
        sent.append(name)
        if failure := _graceful(code, SIGNALS[name], running):
            return sent, failure
    finished = begin(one.command.call(out), told)
    if (code := finished.finish(LONGEST_S)) != 0:
        return sent, f"run again it ended with {code}: {_tail(finished)}"
    return sent, compared(one, out)


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
