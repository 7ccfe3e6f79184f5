"""Tests share two cores: numeric libraries get one thread each, and no test a deadline."""

import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell that started them in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("shared machine", deadline=None)
settings.load_profile("shared machine")


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make entry points known as an installed package would."""

    def add(
        package: str, group: str, entries: Mapping[str, str], *, source: Path | None = None
    ) -> None:
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = "\n".join(f"{name} = {value}" for name, value in entries.items())
        (info / "entry_points.txt").write_text(f"[{group}]\n{lines}\n")
        monkeypatch.syspath_prepend(tmp_path)
        if source is not None:
            monkeypatch.syspath_prepend(source)

    return add


@pytest.fixture(scope="session")
def tiny_rival_weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Untrained weights of every rival, in a folder."""
    from tiny_rivals import RIVALS, write_tiny_weights

    folder = tmp_path_factory.mktemp("rivals")
    for name in RIVALS:
        write_tiny_weights(folder, name)
    return folder


@pytest.fixture
def tiny_rivals(tiny_rival_weights: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let rivals find tiny weights in place of bundled ones, which may be large or missing."""
    from puzzleflow.solvers.rivals import base

    def found(solver: str, _: str) -> Path:
        return tiny_rival_weights / f"{solver}.safetensors"

    monkeypatch.setattr(base, "solver_weights", found)
    return tiny_rival_weights


@pytest.fixture
def no_rival_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is bundled, no rival finds it."""
    from puzzleflow.models import checkpoint
    from puzzleflow.solvers.rivals import base

    monkeypatch.setattr(
        base, "solver_weights", lambda solver, _: checkpoint.solver_weights(solver, "none")
    )


@pytest.fixture(scope="session")
def tiny_flow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights of a small flow that was never trained."""
    import torch

    from puzzleflow.models.checkpoint import save_weights
    from puzzleflow.models.puzzleflow import build_puzzleflow, flow_preset

    path = tmp_path_factory.mktemp("flow") / "flow.safetensors"
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = build_puzzleflow(flow_preset("tiny"))
    described = {"kind": "flow", "network": network.config.to_dict()}
    save_weights(path, network.state_dict(), described)
    return path


@pytest.fixture
def flow_has_weights(tiny_flow: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ``flow`` find weights where none are bundled."""
    from puzzleflow.core.errors import NoWeights
    from puzzleflow.models.checkpoint import solver_weights
    from puzzleflow.solvers import flow

    def found(solver: str, name: str) -> Path:
        try:
            return solver_weights(solver, name)
        except NoWeights:
            return tiny_flow

    monkeypatch.setattr(flow, "solver_weights", found)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say plainly that the page was not tried in a browser."""
    skipped = [
        report
        for report in terminalreporter.stats.get("skipped", [])
        if "browser" in report.keywords or "tests/browser/" in report.nodeid
    ]
    if skipped:
        reason = str(skipped[0].longrepr[2]) if isinstance(skipped[0].longrepr, tuple) else ""
        terminalreporter.section("the workbench was NOT tried in a browser", sep="!")
        terminalreporter.line(f"{len(skipped)} browser tests were skipped: {reason}")
