"""Tests share two cores: numeric libraries get one thread each, and no test a deadline."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import settings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

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

    monkeypatch.setattr(base, "WEIGHTS", tiny_rival_weights)
    return tiny_rival_weights
