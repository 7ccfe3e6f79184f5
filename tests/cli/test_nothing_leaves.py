"""Nothing leaves the machine: no connection outward, and no record kept to be sent later."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
CALLS = "trace=connect,sendto,sendmsg,sendmmsg"
OUTWARD = re.compile(r"AF_INET6?\b")
LOOPBACK = re.compile(r'inet_addr\("127\.|"::1"')
ONNX = """
import numpy as np
from onnx import TensorProto, helper
from puzzleflow.models.onnx_runtime import onnx_runtime
x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy")
graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [x], [y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
session = onnx_runtime().InferenceSession(
    model.SerializeToString(), providers=["CPUExecutionProvider"]
)
session.run(None, {"x": np.zeros(1, np.float32)})
"""
DEMO = "from puzzleflow.cli.main import main; main()"
CONNECT = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    try:
        s.connect(("192.0.2.1", 9))
    except OSError:
        pass
"""


def outward(home: Path, code: str, *words: object) -> list[str]:
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
        pytest.skip("this machine lets nobody watch")
    assert done.returncode == 0, done.stderr
    lines = trace.read_text(errors="replace").splitlines() if trace.exists() else []
    return [line for line in lines if OUTWARD.search(line) and not LOOPBACK.search(line)]


def test_the_watcher_sees(tmp_path: Path) -> None:
    """Else the tests below would say nothing."""
    if not shutil.which("strace"):
        pytest.skip("no strace")
    assert len(outward(tmp_path / "home", CONNECT)) == 1


def test_onnx_runtime_reports_to_nobody(tmp_path: Path) -> None:
    """Left to itself it writes an event database, which it sends a minute later."""
    pytest.importorskip("onnxruntime")
    assert outward(tmp_path / "home", ONNX) == []
    assert [path for path in (tmp_path / "home").rglob("*") if path.is_file()] == []


def test_onnx_runtime_is_imported_in_one_place() -> None:
    importing = re.compile(r"^\s*(import|from) onnxruntime|import_module\(.onnxruntime", re.M)
    found = [p.name for p in SOURCE.rglob("*.py") if importing.search(p.read_text("utf-8"))]
    assert found == ["onnx_runtime.py"]


@pytest.mark.slow
def test_the_demo_stays_at_home(tmp_path: Path) -> None:
    words = ("demo", "--grid", "2x2", "--erosion", "fixed:4", "--piece-px", 32)
    assert outward(tmp_path / "home", DEMO, *words, "--out", tmp_path / "demo") == []
