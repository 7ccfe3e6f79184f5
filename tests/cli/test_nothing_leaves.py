"""Nothing leaves the machine: no connection outward, and no record kept to be sent later."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path

import pytest
from campaign.outcome import Budget
from campaign.outward import run
from watching import ONNX, SOURCE, CannotWatch, outward_calls

CONNECT = """
import socket
for address in (("192.0.2.1", 9), ("127.0.0.53", 53), ("127.0.0.1", 9)):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(address)
        except OSError:
            pass
"""


def outward(home: Path, code: str, *words: object) -> list[str]:
    try:
        return outward_calls(home, code, *words)
    except CannotWatch as why:
        pytest.skip(str(why))


def test_the_watcher_sees(tmp_path: Path) -> None:
    """Else the tests below would say nothing. A name that is looked up leaves, by way of here."""
    if not shutil.which("strace"):
        pytest.skip("no strace")
    seen = outward(tmp_path / "home", CONNECT)
    assert [re.findall(r'"([\d.]+)"', line) for line in seen] == [["192.0.2.1"], ["127.0.0.53"]]


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
def test_demo_solving_training_and_serving_stay_at_home(tmp_path: Path) -> None:
    outcome = run(Budget(0, random.Random(0), "whole"), tmp_path / "outward")
    if outcome.skipped:
        pytest.skip(outcome.skipped)
    assert outcome.failures == []
    assert outcome.told["no attempt"] == 6
