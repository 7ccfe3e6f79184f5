"""The workbench under many clients: no broken answer, flat memory, few descriptors, no patience.

The server is a process of its own, limited to 1,024 descriptors; the clients are another.
"""

from __future__ import annotations

import io
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from PIL import Image

from campaign.forked import Command, begin
from campaign.outcome import Budget, Outcome

CLIENTS = 20
DESCRIPTORS = 1024
SLOW = 300  # half-open connections
WHOLE_S = (600.0, 60.0, 20.0)  # of a whole campaign: crowd, opening and closing, slow clients
LARGE_MIB = 2048  # more than the server had, while twenty send large pictures
JUDGED_S = 240.0  # memory is judged of runs that are at least so long
FLAT = 1.10
HUNG_S = 1800.0  # a server that does not start, clients that take so much longer are given up
SHORT = 4  # rounds of every client in a short campaign


@dataclass(frozen=True)
class Shift:
    """How long clients go on: so many rounds each, or so many seconds."""

    seconds: float
    rounds: int | None = None

    def turns(self) -> Iterator[int]:
        """0, 1, 2 … until it is over."""
        until = time.monotonic() + self.seconds
        number = 0
        while number < self.rounds if self.rounds else time.monotonic() < until:
            yield number
            number += 1


def run(budget: Budget, place: Path) -> Outcome:
    """Crowd, race of opening and closing, many pieces, slow clients, made-up requests."""
    outcome = Outcome("workbench under 20 clients")
    place.mkdir(parents=True)
    rounds = SHORT if budget.extent == "short" else None
    crowd_s, race_s, slow_s = (
        (max(3.0, budget.seconds * share) for share in (0.6, 0.1, 0.1)) if budget.quick else WHOLE_S
    )
    with _served(place) as (server, address):
        for name, work, seconds in (
            ("crowd", _crowd, crowd_s),
            ("open and close", _race, race_s),
            ("48 workbenches of 100 pieces", _many_pieces, 0 if budget.quick else 1),
            ("slow clients", _slow, slow_s),
            ("20 pictures of 48 megapixels", _large, 0 if budget.quick else 1),
        ):
            if seconds:
                _phase(outcome, name, work, server, address, Shift(seconds, rounds))
        stderr = len(server.output())
        if stderr > 1 << 20:
            outcome.case("what the server prints", f"{stderr:,} bytes")
    if not budget.quick:
        _made_up(outcome)
    return outcome


@contextmanager
def _served(place: Path) -> Iterator[tuple[Command, str]]:
    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))

    server = begin(
        ("serve", "--port", "0", "--no-browser", "--keep-nothing"), place / "server.log", before=few
    )
    try:
        until = time.monotonic() + HUNG_S
        while not (found := re.search(r"http://\S+", server.output())):
            if time.monotonic() > until or server.wait(0) is not None:
                raise RuntimeError(f"the workbench did not start: {server.output()[-2000:]}")
            time.sleep(0.05)
        yield server, found[0]
    finally:
        server.send(signal.SIGTERM)
        server.finish(30)


def _phase(
    outcome: Outcome,
    name: str,
    work: Callable[[str, Shift, Counter[str]], None],
    server: Command,
    address: str,
    shift: Shift,
) -> None:
    """One kind of load from a process of its own, while the server's memory is watched."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        counts: Counter[str] = Counter()
        try:
            work(address, shift, counts)
        except BaseException as error:
            counts[f"broke: {error!r}"[:300]] += 1
        os.write(writer, json.dumps(counts).encode()[:60_000])
        os._exit(0)
    os.close(writer)
    memory = [(0.0, _resident(server.process))]
    began = time.monotonic()
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        time.sleep(0.5)
        memory.append((time.monotonic() - began, _resident(server.process)))
        if time.monotonic() - began > shift.seconds + HUNG_S:
            os.kill(child, signal.SIGKILL)
    with os.fdopen(reader, "rb") as stream:
        counts = Counter(json.loads(stream.read() or b'{"broke: no answer": 1}'))
    bad = {kind: n for kind, n in counts.items() if kind.startswith(("5", "broke"))}
    took = memory[-1][0]
    if name == "crowd":
        outcome.notes.append(_told(memory))
        if took >= JUDGED_S and (rise := _growth(memory)) > FLAT:
            bad[f"memory grew to {rise:.2f} of what it was"] = 1
    grown = max(m for _, m in memory) - memory[0][1]
    if work is _large:
        outcome.notes.append(f"at most {grown:.0f} MiB more with 20 pictures of 48 megapixels")
        if grown > LARGE_MIB:
            bad[f"took {grown:.0f} MiB more"] = 1
    for kind, number in bad.items():
        outcome.failures.append(f"{name}: {number} × {kind}")
    outcome.cases += sum(counts.values())
    outcome.told[name] += sum(counts.values())


def _resident(process: int) -> float:
    """MiB, or 0 where it has ended."""
    with suppress(OSError, ValueError):
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        return pages * resource.getpagesize() / (1 << 20)
    return 0.0


def _growth(memory: list[tuple[float, float]]) -> float:
    """Mean of the last fifth over the mean of the second, when all is warm."""
    fifth = max(1, len(memory) // 5)
    early, late = memory[fifth : 2 * fifth], memory[-fifth:]
    return float(np.mean([m for _, m in late]) / max(1.0, np.mean([m for _, m in early])))


def _told(memory: list[tuple[float, float]]) -> str:
    most = max(m for _, m in memory)
    return (
        f"server {memory[0][1]:.0f} MiB at first, at most {most:.0f}, {memory[-1][1]:.0f} "
        f"after {memory[-1][0]:.0f} s of crowd, last fifth over second {_growth(memory):.2f}"
    )


def _picture(side: int, seed: int = 0) -> bytes:
    stream = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 256, (side, side, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def _threads(work: Callable[[int], None], count: int = CLIENTS) -> None:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class _Client:
    """One client, which counts the answers that it gets."""

    def __init__(self, address: str, counts: Counter[str], timeout_s: float = 300) -> None:
        import httpx2

        self.http = httpx2.Client(base_url=address, timeout=timeout_s)
        self.counts = counts

    def ask(self, method: str, path: str, **more: Any) -> Any:
        try:
            answer = self.http.request(method, path, **more)
        except Exception as error:
            self.counts[f"broke: {type(error).__name__} {error}"[:120]] += 1
            return None
        self.counts[str(answer.status_code)] += 1
        return answer

    def opened(self, side: int = 48, rows: int = 2) -> str | None:
        answer = self.ask(
            "POST",
            "api/workbenches/cut",
            files={"file": ("a.png", _picture(side))},
            params={"rows": rows, "cols": rows, "erosion": "none"},
        )
        good = answer is not None and answer.status_code == 201
        return f"api/workbenches/{answer.json()['id']}" if good else None


def _crowd(address: str, shift: Shift, counts: Counter[str]) -> None:
    """Twenty people: open, solve, look, save, close; some only look; some send nonsense."""

    def person(number: int) -> None:
        client = _Client(address, counts)
        for _ in shift.turns():
            if number % 5 == 4:
                client.ask("POST", "api/workbenches/photo", files={"file": ("x", b"\x89PNG" * 99)})
                client.ask("GET", "api/workbenches/none")
                client.ask("GET", "")
                time.sleep(0.05)
                continue
            path = client.opened()
            if path is None:
                time.sleep(0.1)
                continue
            client.ask("POST", f"{path}/solve", json={"solver": "greedy"})
            for _ in range(20):
                job = client.ask("GET", f"{path}/job", params={"wait": 1})
                if job is None or job.status_code != 200 or job.json()["status"] == "done":
                    break
            client.ask("GET", path)
            client.ask("GET", f"{path}/export/workbench.zip")
            client.ask("DELETE", path)

    _threads(person)


def _race(address: str, shift: Shift, counts: Counter[str]) -> None:
    """Everybody opens and closes, also what others have just opened."""
    known: list[str] = []

    def person(number: int) -> None:
        client = _Client(address, counts)
        for _ in shift.turns():
            if number % 2 and known:
                path = known[-1 - number % min(len(known), 20)]
                client.ask("GET", path)
                client.ask("DELETE", path)
            elif path := client.opened(24):
                known.append(path)

    _threads(person)
    client = _Client(address, counts)
    for path in known:
        client.ask("DELETE", path)


def _many_pieces(address: str, shift: Shift, counts: Counter[str]) -> None:
    """As many workbenches of as many pieces as are allowed, all open at once."""
    client = _Client(address, counts)
    for _ in range(48):
        path = client.opened(200, 10)
        if path is None:
            counts["broke: no room for 48 workbenches of 100 pieces"] += 1
        else:
            client.ask("GET", path)


def _slow(address: str, shift: Shift, counts: Counter[str]) -> None:
    """Connections that never finish a request, while somebody else works."""
    place = urlsplit(address)
    half: list[socket.socket] = []
    for number in range(SLOW):
        with suppress(OSError):
            line = socket.create_connection((place.hostname, place.port or 80), timeout=5)
            line.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "[: 5 + number % 40])
            half.append(line)
    client = _Client(address, counts)
    for _ in shift.turns():
        for line in half[::9]:
            with suppress(OSError):
                line.sendall(b"x")
        if (path := client.opened(24)) is not None:
            client.ask("DELETE", path)
        client.ask("GET", "api/about")
        time.sleep(0.2)
    for line in half:
        line.close()


def _large(address: str, shift: Shift, counts: Counter[str]) -> None:
    """Everybody sends a small file that is a picture of 48 megapixels."""
    photo = np.full((6000, 8000, 3), 245, np.uint8)
    photo[500:2500, 500:2500] = photo[3500:5500, 3500:5500] = (90, 60, 40)
    stream = io.BytesIO()
    Image.fromarray(photo).save(stream, "PNG")

    def person(number: int) -> None:
        client, how = _Client(address, counts, timeout_s=1800), ("photo", "cut")[number % 2]
        params = {"rows": 3, "cols": 3} if how == "cut" else {}
        files = {"file": ("a.png", stream.getvalue())}
        client.ask("POST", f"api/workbenches/{how}", files=files, params=params)

    _threads(person)


def _made_up(outcome: Outcome) -> None:
    """Requests made up from the OpenAPI document by schemathesis."""
    root = Path(__file__).parents[1]
    words = ("-m", "pytest", "-q", "-n", "0", "-m", "slow", "tests/web/test_fuzz.py")
    done = subprocess.run(
        [sys.executable, *words], cwd=root, capture_output=True, text=True, check=False
    )
    found = re.search(r"(\d+) passed", done.stdout)
    outcome.case(
        "schemathesis", "" if done.returncode == 0 else done.stdout[-1500:], kind="schemathesis"
    )
    outcome.notes.append(f"schemathesis: {found[1] if found else 0} operations, 40 requests each")
