from __future__ import annotations

import ast
import pickle
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import puzzleflow

ROOT = Path(__file__).resolve().parent.parent
PUBLIC = {
    "Assembly",
    "Batch",
    "Candidate",
    "CannotSolve",
    "Conditions",
    "Energy",
    "EnergySession",
    "Failure",
    "FormatError",
    "Fragment",
    "FragmentSet",
    "Grid",
    "InputError",
    "Layout",
    "LoopSettings",
    "Pose",
    "Pretrained",
    "Puzzle",
    "PuzzleFlowError",
    "PuzzleSource",
    "Scores",
    "Session",
    "Snap",
    "Solution",
    "Solver",
    "StreamConfig",
    "Together",
    "Trainable",
    "allowed_placements",
    "build_puzzle",
    "check_cancelled",
    "contact_sheet",
    "cut_puzzle",
    "draw_masks",
    "erosion_model",
    "list_erosions",
    "list_solvers",
    "load_free_form_solver",
    "load_sample",
    "load_solver",
    "load_weights",
    "nearest_allowed",
    "official_result",
    "open_fragments",
    "open_puzzles",
    "open_source",
    "puzzle_figure",
    "read_assembly",
    "read_layout",
    "read_picture",
    "read_predictions",
    "restore",
    "score",
    "score_assembly",
    "to_tensor",
    "write_assembly",
    "write_folder",
    "write_fragments",
    "write_layout",
    "write_picture",
    "write_predictions",
}


def test_exactly_these_names_are_public():
    """Adding or dropping a name is a decision: write it here and in the changelog."""
    assert set(puzzleflow.__all__) == PUBLIC


def test_type_checkers_see_every_name():
    stub = ast.parse(Path(puzzleflow.__file__).with_suffix(".pyi").read_text())
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    assert all(alias.name == alias.asname for node in imports for alias in node.names)
    assert len(puzzleflow.__all__) == sum(len(node.names) for node in imports)


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_name_can_be_had_and_is_documented(name):
    value = getattr(puzzleflow, name)
    assert value.__name__ == name
    assert value.__doc__
    assert pickle.loads(pickle.dumps(value)) is value


@pytest.mark.parametrize(
    "file", sorted((ROOT / "docs" / "example_plugin" / "src").glob("*.py")), ids=lambda p: p.name
)
def test_the_example_plugin_needs_public_names_only(file):
    imports = [
        (getattr(node, "module", None), alias.name)
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    ]
    ours = [(module, name) for module, name in imports if "puzzleflow" in (module or name)]
    assert ours
    assert {(module, name) for module, name in ours} <= {("puzzleflow", name) for name in PUBLIC}


def test_names_are_listed_and_others_refused():
    assert set(dir(puzzleflow)) >= PUBLIC
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = puzzleflow.nothing


def test_the_version_is_that_of_the_installed_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert puzzleflow.__version__ == project["version"]


def test_importing_the_package_loads_nothing():
    code = "import sys, puzzleflow; print({'numpy', 'PIL', 'torch', 'h5py'} & set(sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "set()"


def test_the_domain_core_loads_numpy_only():
    code = (
        "import sys, puzzleflow\n"
        "puzzleflow.Grid, puzzleflow.score, puzzleflow.Puzzle\n"
        "import puzzleflow.core.canvas\n"
        "print({'PIL', 'torch', 'h5py', 'scipy', 'joblib'} & set(sys.modules))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "set()"
