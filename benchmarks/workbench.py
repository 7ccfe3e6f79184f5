"""Twenty people on one workbench server for a minute: no request lost, memory flat.

A server of its own process on the loopback; every client opens a sample, solves it, moves,
pins, solves again, undoes, exports and closes, over and over. Printed: requests, failures,
seconds of "solve again" (median and 95th percentile), and the server's memory after a third
of the time and at the end.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx2

CLIENTS = int(os.environ.get("WORKBENCH_CLIENTS", "20"))
SECONDS = float(os.environ.get("WORKBENCH_SECONDS", "60"))
SOLVER = os.environ.get("WORKBENCH_SOLVER")  # the default one unless named
SIDE = int(os.environ.get("WORKBENCH_SIDE", "3"))


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
        self.failures: list[str] = []

    def run(self) -> None:
        with httpx2.Client(base_url=self.address, timeout=120) as self.http:
            while time.monotonic() < self.until:
                try:
                    self.work()
                    self.rounds += 1
                except Exception as error:  # counted, never hidden
                    self.failures.append(f"{type(error).__name__}: {error}")

    def ask(self, method: str, path: str, **options: object) -> httpx2.Response:
        self.requests += 1
        answer = self.http.request(method, path, **options)  # type: ignore[arg-type]
        answer.raise_for_status()
        return answer

    def solve(self, path: str) -> float:
        begun = time.perf_counter()
        grid = {"rows": SIDE, "cols": SIDE}
        body = {"solver": SOLVER, "grid": grid}
        job = self.ask("POST", f"{path}/solve", json=body).json()
        while job["status"] in ("waiting", "running"):
            query = {"after": job["changes"], "wait": 20}
            job = self.ask("GET", f"{path}/job", params=query).json()
        if job["status"] != "done":
            raise RuntimeError(job["message"])
        return time.perf_counter() - begun

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
        self.ask("DELETE", path)


def memory_mb(pid: int) -> float:
    """Resident memory of a process."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else float("nan")


def main() -> None:
    code = "from puzzleflow.cli.main import main; main()"
    server = subprocess.Popen(
        [sys.executable, "-c", code, "serve", "--port", "0", "--no-browser"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert server.stdout is not None
    try:
        address = server.stdout.readline().split()[4]
        begun = time.monotonic()
        clients = [Client(address, number, begun + SECONDS) for number in range(CLIENTS)]
        for client in clients:
            client.start()
        time.sleep(SECONDS / 3)
        early_mb = memory_mb(server.pid)
        for client in clients:
            client.join()
        late_mb = memory_mb(server.pid)
        took_s = time.monotonic() - begun
    finally:
        server.terminate()
        server.wait(30)
    again = sorted(second for client in clients for second in client.again_s)
    failures = [failure for client in clients for failure in client.failures]
    requests = sum(client.requests for client in clients)
    print(f"{CLIENTS} clients, {took_s:.0f} s, {SIDE}x{SIDE}, solver {SOLVER or 'default'}")
    print(f"requests        {requests:8,}   ({requests / took_s:.0f} a second)")
    print(f"failures        {len(failures):8,}   {failures[:2] or ''}")
    if again:
        middle, late = again[len(again) // 2], again[int(0.95 * len(again))]
        print(f"solve again     {middle:8.3f} s median, {late:.3f} s 95th percentile")
    print(f"server memory   {early_mb:8.0f} MB after a third, {late_mb:.0f} MB at the end")
