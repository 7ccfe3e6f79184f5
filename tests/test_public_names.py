from __future__ import annotations

import ast
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import puzzleflow

PUBLIC = {
    "Failure",
    "Grid",
    "Layout",
    "Puzzle",
    "PuzzleFlowError",
    "PuzzleSource",
    "Scores",
    "Solution",
    "build_puzzle",
    "contact_sheet",
    "cut_puzzle",
    "draw_masks",
    "erosion_model",
    "list_erosions",
    "list_solvers",
    "load_sample",
    "load_solver",
    "official_result",
    "open_puzzles",
    "open_source",
    "puzzle_figure",
    "read_layout",
    "read_picture",
    "read_predictions",
    "score",
    "write_folder",
    "write_layout",
    "write_picture",
    "write_predictions",
}


def test_exactly_these_names_are_public():
    """Adding or dropping a name is a decision: write it here and in the changelog."""
    assert set(puzzleflow.__all__) == PUBLIC


def test_the_lists_of_names_agree():
    assert set(puzzleflow._WHERE) == set(puzzleflow.__all__)
    tree = ast.parse(Path(puzzleflow.__file__).read_text())
    typed = {
        (alias.name, node.module)
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == set(puzzleflow._WHERE.items())


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_name_can_be_had_and_is_documented(name):
    value = getattr(puzzleflow, name)
    assert value.__name__ == name
    assert value.__doc__
    assert pickle.loads(pickle.dumps(value)) is value


def test_names_are_listed_and_others_refused():
    assert set(dir(puzzleflow)) >= PUBLIC
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = puzzleflow.nothing


def test_the_version_is_that_of_the_installed_package():
    assert puzzleflow.__version__.count(".") == 2


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
