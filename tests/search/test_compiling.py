"""Compiled functions where nothing may be written, and random numbers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import puzzleflow
from puzzleflow.search.compiling import below, random_state, uniform

CODE = """
import sys
import puzzleflow.search.growth, puzzleflow.search.mending, puzzleflow.search.metropolis
import puzzleflow.solvers.tabu, puzzleflow.solvers.genetic, puzzleflow.solvers.refill
from puzzleflow.search.compiling import random_state, uniform
print(puzzleflow.__file__)
print(uniform(random_state(0, "test")))
"""


@pytest.mark.parametrize("is_private", [True, False])
def test_without_numba_s_folders_machine_code_goes_to_a_private_one_or_nowhere(
    tmp_path: Path, is_private: bool
) -> None:
    """Root may write anywhere, so files lie where numba wants to make its folders."""
    temporary = tmp_path / "temporary"
    kept = temporary / f"puzzleflow-numba-{os.getuid()}"
    temporary.mkdir()
    if not is_private:  # somebody else could put code there
        kept.mkdir()
        kept.chmod(0o777)
    package = tmp_path / "puzzleflow"
    home = Path(puzzleflow.__file__).parent
    for part in ("core", "search", "solvers"):
        shutil.copytree(home / part, package / part, ignore=shutil.ignore_patterns("__pycache__"))
    for path in home.glob("*.py*"):
        shutil.copy(path, package)
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()
    (tmp_path / "file").touch()
    nowhere = str(tmp_path / "file" / "folder")
    environment = os.environ | {
        "PYTHONPATH": str(tmp_path),
        "HOME": nowhere,
        "XDG_CACHE_HOME": nowhere,
        "NUMBA_CACHE_DIR": nowhere,
        "TMPDIR": str(temporary),
    }
    done = subprocess.run(
        [sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    where, number = done.stdout.splitlines()
    assert Path(where).parent == package
    assert float(number) == uniform(random_state(0, "test"))
    assert any(kept.rglob("*.nbi")) == is_private


def test_random_numbers_lie_within_their_limits() -> None:
    state = random_state(7, "test")
    numbers = np.array([uniform(state) for _ in range(4000)])
    assert 0 <= numbers.min() < 0.01 < 0.99 < numbers.max() < 1
    assert {below(state, 5) for _ in range(200)} == set(range(5))
    assert random_state(7, "other")[0] != random_state(7, "test")[0]
