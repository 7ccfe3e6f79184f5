"""Programs watched while they run: every attempt to reach another machine is written down."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
CALLS = "trace=connect,sendto,sendmsg,sendmmsg"
OUTWARD = re.compile(r"AF_INET6?\b")
LOOPBACK = re.compile(r'inet_addr\("127\.|"::1"')
NAMES = re.compile(r"port=htons\(53\)")  # a name is looked up elsewhere, also by way of here
ONNX = """
import numpy as np
from onnx import TensorProto, helper
from puzzleflow.models.flow_engine import onnx_runtime
x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy")
graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [x], [y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
session = onnx_runtime().InferenceSession(
    model.SerializeToString(), providers=["CPUExecutionProvider"]
)
session.run(None, {"x": np.zeros(1, np.float32)})
"""
DEMO = "from puzzleflow.cli.main import main; main()"


class CannotWatch(Exception):
    """No rights to trace a process or to give it a network of its own."""


def outward_calls(home: Path, code: str, *words: object) -> list[str]:
    """Run code with an empty home, in a network of its own; its attempts to get out of it."""
    home.mkdir()
    trace = home.with_suffix(".trace")
    command = [sys.executable, "-c", code, *map(str, words)]
    if shutil.which("strace"):
        watch = ["strace", "-f", "--seccomp-bpf", "-qq", "-e", CALLS, "-o", str(trace)]
        command = [*watch, *command]
    if os.geteuid() == 0 and shutil.which("unshare"):
        command = ["unshare", "--net", *command]
    unset = ("ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME")
    environ = {key: value for key, value in os.environ.items() if key not in unset}
    environ |= {"HOME": str(home), "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    if re.search(r"^(strace|unshare): ", done.stderr, re.MULTILINE):
        raise CannotWatch("this machine lets nobody watch")
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    lines = trace.read_text(errors="replace").splitlines() if trace.exists() else []
    return [
        line
        for line in lines
        if OUTWARD.search(line) and (NAMES.search(line) or not LOOPBACK.search(line))
    ]
