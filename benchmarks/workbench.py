"""Twenty people on one workbench server for a minute: no request lost, memory flat.

A server of its own process on the loopback; every client opens a sample, solves it, moves,
pins, solves again, undoes, exports and closes, over and over; with ``WORKBENCH_PHOTO_MP`` it
also brings a photograph of so many megapixels and moves the slider. ``WORKBENCH_LEAVE=1``
leaves every workbench open, as people do; ``WORKBENCH_PAUSE`` is how many seconds each of them
thinks before going on. Printed: the server's memory at twelve moments, as they come; then
requests, failures, seconds of "solve again" and of the slider (median and 95th percentile), and
the server's memory after a third of the time, at the end, and at its height.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
from PIL import Image

from puzzleflow.pictures import resize
from puzzleflow.samples import load_sample

CLIENTS = int(os.environ.get("WORKBENCH_CLIENTS", "20"))
SECONDS = float(os.environ.get("WORKBENCH_SECONDS", "60"))
SOLVER = os.environ.get("WORKBENCH_SOLVER")  # the default one unless named
SIDE = int(os.environ.get("WORKBENCH_SIDE", "3"))
PHOTO_MP = float(os.environ.get("WORKBENCH_PHOTO_MP", "0"))
LEAVE = os.environ.get("WORKBENCH_LEAVE") == "1"
PAUSE_S = float(os.environ.get("WORKBENCH_PAUSE", "0"))
MOMENTS = 12  # at which memory is looked at


def photograph(megapixels: float) -> bytes:
    """JPEG of nine round fragments on a plain ground."""
    side = int((megapixels * 1e6) ** 0.5)
    y, x = np.ogrid[:side, :side]
    step = side / 3
    inside = ((y % step - step / 2) ** 2 + (x % step - step / 2) ** 2) < (0.38 * step) ** 2
    photo = np.full((side, side, 3), (205, 200, 188), np.uint8)
    photo[inside] = resize(load_sample("irises"), side, side)[inside]
    stream = io.BytesIO()
    Image.fromarray(photo).save(stream, "JPEG", quality=90)
    return stream.getvalue()


class Client(threading.Thread):
    """One person; everything that is not as it should be goes to ``failures``."""

    def __init__(self, address: str, number: int, until: float) -> None:
        super().__init__()
        self.address = address
        self.number = number
        self.until = until
        self.requests = 0
        self.rounds = 0
        self.again_s: list[float] = []
        self.slider_s: list[float] = []
        self.photo = b""
        self.failures: list[str] = []

    def run(self) -> None:
        with httpx2.Client(base_url=self.address, timeout=120) as self.http:
            while time.monotonic() < self.until:
                try:
                    self.work()
                    self.rounds += 1
                except Exception as error:  # counted, never hidden
                    self.failures.append(f"{type(error).__name__}: {error}")
                time.sleep(max(0.0, min(PAUSE_S, self.until - time.monotonic())))

    def ask(self, method: str, path: str, **options: object) -> httpx2.Response:
        self.requests += 1
        answer = self.http.request(method, path, **options)  # type: ignore[arg-type]
        answer.raise_for_status()
        return answer

    def solve(self, path: str) -> float:
        begun = time.perf_counter()
        grid = {"rows": SIDE, "cols": SIDE}
        body = {"solver": SOLVER, "grid": grid}
        self.follow(path, self.ask("POST", f"{path}/solve", json=body).json())
        return time.perf_counter() - begun

    def follow(self, path: str, job: Any) -> None:
        while job["status"] in ("waiting", "running"):
            query = {"after": job["changes"], "wait": 20}
            job = self.ask("GET", f"{path}/job", params=query).json()
        if job["status"] != "done":
            raise RuntimeError(job["message"])

    def find(self) -> None:
        """Bring a photograph, move the slider, forget it."""
        files = {"file": ("table.jpg", self.photo)}
        state = self.ask("POST", "/api/workbenches/photo", files=files).json()
        path = f"/api/workbenches/{state['id']}"
        self.follow(path, state["job"])
        begun = time.perf_counter()
        self.follow(path, self.ask("PUT", f"{path}/threshold", json={"threshold": 30}).json())
        self.slider_s.append(time.perf_counter() - begun)
        if not LEAVE:
            self.ask("DELETE", path)

    def work(self) -> None:
        body = {
            "sample": "irises",
            "erosion": "linear",
            "seed": self.number + 100 * self.rounds,
            "grid": {"rows": SIDE, "cols": SIDE},
        }
        state = self.ask("POST", "/api/workbenches/sample", json=body).json()
        path = f"/api/workbenches/{state['id']}"
        self.solve(path)
        self.ask("POST", f"{path}/place", json={"piece": 0, "position": 2, "pin": True})
        self.again_s.append(self.solve(path))
        board = self.ask("POST", f"{path}/undo").json()["board"]
        if sorted(board["piece_at"]) != list(range(SIDE * SIDE)):
            raise RuntimeError("a piece was lost")
        for piece in state["pieces"][:3]:
            self.ask("GET", f"/{piece['picture']}")
        for kind in ("picture.png", "workbench.zip"):
            self.ask("GET", f"{path}/export/{kind}")
        if not LEAVE:
            self.ask("DELETE", path)
        if self.photo:
            self.find()


def memory_mb(pid: int, what: str = "VmRSS") -> float:
    """Resident memory of a process; ``VmHWM`` is its height."""
    found = re.search(rf"{what}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else float("nan")


def main() -> None:
    code = "from puzzleflow.cli.main import main; main()"
    server = subprocess.Popen(
        [sys.executable, "-c", code, "serve", "--port", "0", "--no-browser", "--keep-nothing"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert server.stdout is not None
    try:
        address = server.stdout.readline().split()[4]
        begun = time.monotonic()
        clients = [Client(address, number, begun + SECONDS) for number in range(CLIENTS)]
        content = photograph(PHOTO_MP) if PHOTO_MP else b""
        for client in clients:
            client.photo = content
            client.start()
        seen_mb = []
        for moment in range(1, MOMENTS + 1):
            time.sleep(max(0.0, begun + SECONDS * moment / MOMENTS - time.monotonic()))
            seen_mb.append(memory_mb(server.pid))
            print(f"{SECONDS * moment / MOMENTS:7.0f} s  {seen_mb[-1]:6.0f} MB", flush=True)
        early_mb = seen_mb[MOMENTS // 3 - 1]
        for client in clients:
            client.join()
        late_mb, most_mb = memory_mb(server.pid), memory_mb(server.pid, "VmHWM")
        took_s = time.monotonic() - begun
    finally:
        server.terminate()
        server.wait(300)
    again = sorted(second for client in clients for second in client.again_s)
    failures = [failure for client in clients for failure in client.failures]
    requests = sum(client.requests for client in clients)
    print(f"{CLIENTS} clients, {took_s:.0f} s, {SIDE}x{SIDE}, solver {SOLVER or 'default'}")
    print(f"requests        {requests:8,}   ({requests / took_s:.0f} a second)")
    print(f"failures        {len(failures):8,}   {failures[:2] or ''}")
    moved = sorted(second for client in clients for second in client.slider_s)
    for name, seconds in (("solve again", again), ("slider", moved)):
        if seconds:
            middle, late = seconds[len(seconds) // 2], seconds[int(0.95 * len(seconds))]
            print(f"{name:15} {middle:8.3f} s median, {late:.3f} s 95th percentile")
    print(
        f"server memory   {early_mb:8.0f} MB after a third, {late_mb:.0f} MB at the end, "
        f"{most_mb:.0f} MB at its height"
    )
