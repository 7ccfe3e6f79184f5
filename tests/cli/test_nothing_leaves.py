"""Nothing leaves the machine: no connection outward, and no record kept to be sent later."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from watching import DEMO, ONNX, SOURCE, CannotWatch, outward_calls

CONNECT = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    try:
        s.connect(("192.0.2.1", 9))
    except OSError:
        pass
"""


def outward(home: Path, code: str, *words: object) -> list[str]:
    try:
        return outward_calls(home, code, *words)
    except CannotWatch as why:
        pytest.skip(str(why))


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
    assert found == ["flow_engine.py"]


@pytest.mark.slow
def test_the_demo_stays_at_home(tmp_path: Path) -> None:
    words = ("demo", "--grid", "2x2", "--erosion", "fixed:4", "--piece-px", 32)
    assert outward(tmp_path / "home", DEMO, *words, "--out", tmp_path / "demo") == []
