"""Does anything leave the machine? Whole programs, traced, in a network of their own."""

from __future__ import annotations

import shutil
from pathlib import Path

from watching import DEMO, ONNX, CannotWatch, outward_calls

from campaign.commands import prepared
from campaign.outcome import Budget, Outcome

SERVE = """
import contextlib, fcntl, socket, struct
with contextlib.suppress(OSError), socket.socket() as s:  # a network of its own is down at first
    fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 0x41))
import httpx2
from puzzleflow.web.server import running
with running() as address, httpx2.Client(base_url=address, timeout=60) as client:
    assert client.get("").status_code == 200
    grid = {"rows": 2, "cols": 2}
    made = client.post("api/workbenches/sample", json={"sample": "harvesters", "grid": grid})
    assert made.status_code == 201, made.text
    path = f"api/workbenches/{made.json()['id']}"
    client.post(f"{path}/solve", json={"solver": "relational"})
    while client.get(f"{path}/job", params={"wait": 5}).json()["status"] not in ("done", "failed"):
        pass
"""
ONNX_SOLVE = """
import sys
from dataclasses import replace
from pathlib import Path
from puzzleflow.models.export import export_flow
from puzzleflow.models.puzzleflow import build_puzzleflow, flow_preset
data, out = sys.argv[1:]
export_flow(build_puzzleflow(replace(flow_preset("tiny"), num_positions=9)), Path(out) / "graphs")
sys.argv = ["puzzleflow", "solve", data, "--limit", "2", "--out", f"{out}/solved",
            "--solver", f"flow:weights={out}/graphs", "--workers", "1"]
from puzzleflow.cli.main import main
main()
"""


def run(budget: Budget, place: Path) -> Outcome:
    """Demo, solving, training, exported models and the workbench."""
    outcome = Outcome("outward connections")
    if not shutil.which("strace"):
        outcome.skipped = "no strace here"
        return outcome
    place.mkdir(parents=True)
    shared = place.parent / "shared"
    prepared(shared)
    small = ("--grid", "2x2", "--erosion", "fixed:4", "--piece-px", 32)
    cases = [
        ("serve", SERVE, ()),
        ("ONNX solving", ONNX_SOLVE, (shared / "gap" / "train", place / "onnx")),
        ("ONNX Runtime", ONNX, ()),
        ("demo", DEMO, ("demo", *small, "--out", place / "demo")),
        ("solve", DEMO, ("solve", shared / "gap" / "train", "--limit", 2, "--out", place / "out")),
        (
            "train",
            DEMO,
            (
                *("train", "flow", "--preset", "tiny", "--data", shared / "pictures"),
                *("--masks", shared / "masks.npz", "--grids", "2x2", "--pieces-per-batch", 8),
                *("--num-validation", 0, "--steps", 2, "--out", place / "run"),
            ),
        ),
    ]
    for number, (name, code, words) in enumerate(cases):
        if budget.spent(number, short=2, whole=len(cases)):
            outcome.notes.append(f"left out: {', '.join(case[0] for case in cases[number:])}")
            break
        try:
            calls = outward_calls(place / f"home-{number}", code, *words)
        except CannotWatch as why:
            outcome.skipped = str(why)
            return outcome
        except RuntimeError as error:
            outcome.case(name, f"did not run: {error}")
            continue
        outcome.case(name, "; ".join(calls[:3]), kind="no attempt")
    return outcome
