"""constraints.txt, the versions that ``make`` installs, allows what pyproject.toml asks for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent


def test_every_requirement_is_locked_to_a_version_that_it_allows() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    locked = {canonicalize_name(name): version for name, version in (x.split("==") for x in lines)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [
        Requirement(text)
        for texts in (project["dependencies"], *project["optional-dependencies"].values())
        for text in texts
        if not text.startswith("puzzleflow[")
    ]
    missing = [r.name for r in asked if canonicalize_name(r.name) not in locked]
    assert not missing, f"run `make lock`; not in constraints.txt: {missing}"
    wrong = [str(r) for r in asked if locked[canonicalize_name(r.name)] not in r.specifier]
    assert not wrong, f"run `make lock`; constraints.txt has other versions than {wrong}"


def test_versions_fit_any_build() -> None:
    """No local label such as torch's ``+cpu``, which the package index does not have."""
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        assert re.fullmatch(r"[\w.-]+==[\w.]+", line), line
