"""The slider of the photograph page at 8 megapixels: seconds from moving it to other fragments.

A server in this process; a composed photograph of ``SLIDER_MP`` megapixels is brought once, then
the threshold is moved nine times. Printed for every move, and as a median: seconds on the clock
and processor seconds, which other programs on the machine do not change much.
"""

from __future__ import annotations

import io
import os
import statistics
import time

import httpx2
from museum_table import photographed_table
from PIL import Image

from puzzleflow.web.server import running

MEGAPIXELS = float(os.environ.get("SLIDER_MP", "8"))
THRESHOLDS = (12, 20, 28, 16, 24, 10, 30, 14, 22)


def photograph() -> bytes:
    """JPEG of nine fragments, a ruler, a colour card and a label on felt."""
    picture = Image.fromarray(photographed_table(seed=3).pixels)
    factor = (MEGAPIXELS * 1e6 / (picture.width * picture.height)) ** 0.5
    large = picture.resize((round(picture.width * factor), round(picture.height * factor)))
    stream = io.BytesIO()
    large.save(stream, "JPEG", quality=92)
    return stream.getvalue()


def main() -> None:
    with running() as address, httpx2.Client(base_url=address, timeout=300) as client:

        def finished(path: str, job: dict) -> None:  # type: ignore[type-arg]
            while job["status"] in ("waiting", "running"):
                query = {"after": job["changes"], "wait": 20}
                job = client.get(f"{path}/job", params=query).json()
            if job["status"] != "done":
                raise RuntimeError(job["message"])

        begun = time.perf_counter()
        files = {"file": ("table.jpg", photograph())}
        state = client.post("/api/workbenches/photo", files=files).json()
        path = f"/api/workbenches/{state['id']}"
        finished(path, state["job"])
        print(f"{'brought and searched':24} {time.perf_counter() - begun:8.2f} s")
        clock, work = [], []
        for threshold in THRESHOLDS:
            begun, used = time.perf_counter(), time.process_time()
            finished(path, client.put(f"{path}/threshold", json={"threshold": threshold}).json())
            clock.append(time.perf_counter() - begun)
            work.append(time.process_time() - used)
            found = len(client.get(path).json()["pieces"])
            told = f"threshold {threshold}, {found} found"
            print(f"{told:24} {clock[-1]:8.2f} s, {work[-1]:.2f} s of work", flush=True)
    middle = statistics.median(clock), statistics.median(work)
    print(f"{'median':24} {middle[0]:8.2f} s, {middle[1]:.2f} s of work")
