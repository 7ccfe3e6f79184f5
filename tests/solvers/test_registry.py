import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from puzzleflow.core.errors import CannotSolve, InputError, UnknownName
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.solvers import registry
from puzzleflow.solvers.base import allowed_placements, nearest_allowed
from puzzleflow.solvers.registry import SOLVERS, list_solvers, load_solver

EXAMPLE = Path(__file__).parents[2] / "docs" / "example_plugin"


def puzzle_of_greys(*greys: int) -> Puzzle:
    pieces = np.full((len(greys), 4, 4, 4), 255, np.uint8)
    pieces[..., :3] = np.array(greys)[:, None, None, None]
    return Puzzle(pieces, Grid(1, len(greys)))


@pytest.mark.usefixtures("tiny_rivals", "flow_has_weights")
def test_every_import_string_resolves() -> None:
    for name in list_solvers():
        assert load_solver(name).name == name


def test_listing_loads_no_solver() -> None:
    code = (
        "import sys; from puzzleflow.solvers.registry import list_solvers; list_solvers();"
        "print([m for m in sys.modules if m in ('torch', 'numba', 'scipy', 'skimage')"
        " or m.startswith('puzzleflow.solvers.') and m.split('.')[-1] not in ('base', 'registry')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_rivals_are_there_for_comparison_alone() -> None:
    offered = registry.offered_solvers()
    assert {"relational", "flow", "random"} <= set(offered)
    assert not {"fcvit", "fcvit+", "puzlm", "sd2rl"} & set(offered)
    assert set(offered) < set(list_solvers())


def test_unknown_name_lists_the_known() -> None:
    with pytest.raises(UnknownName, match=r"no-such.*known: .*random"):
        load_solver("no-such")


def test_unknown_option_names_the_solver() -> None:
    with pytest.raises(InputError, match=r"'random'.*'colour'"):
        load_solver("random", colour=3)


def test_the_example_plugin_works(install) -> None:
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    entries = project["entry-points"][SOLVERS.group]
    install(project["name"], SOLVERS.group, entries, source=EXAMPLE / "src")
    assert "brightness" in list_solvers()
    puzzle = puzzle_of_greys(10, 200, 90)
    session = load_solver("brightness").prepare(puzzle)
    assert session.solve(seed=0).position_of.tolist() == [2, 0, 1]
    assert session.solve(seed=0, pinned={0: 0}).position_of[0] == 0
    assert session.solve(seed=0, forbidden=[(1, 0)]).position_of[1] != 0
    dark = load_solver("brightness", brightest_first=False).prepare(puzzle)
    assert dark.solve(seed=0).position_of.tolist() == [0, 2, 1]


def test_what_is_no_solver_is_refused(install) -> None:
    install("odd", SOLVERS.group, {"odd": "json:JSONDecoder"})
    with pytest.raises(InputError, match=r"'odd'.*prepare"):
        load_solver("odd")


def test_allowed_placements_by_hand() -> None:
    allowed = allowed_placements(3, {0: 2}, [(1, 0)])
    assert allowed.astype(int).tolist() == [[0, 0, 1], [0, 1, 0], [1, 1, 0]]


def test_allowed_placements_refuses_what_cannot_be() -> None:
    with pytest.raises(CannotSolve):
        allowed_placements(3, {}, [(0, 0), (0, 1), (0, 2)])
    with pytest.raises(CannotSolve):  # pieces 0 and 1 fight for position 2
        allowed_placements(3, {}, [(0, 0), (0, 1), (1, 0), (1, 1)])
    with pytest.raises(InputError, match="0→7"):
        allowed_placements(3, {}, [(0, 7)])


def test_nearest_allowed_moves_as_few_as_possible() -> None:
    start = np.array([0, 1, 2, 3])
    assert nearest_allowed(start, allowed_placements(4)).tolist() == [0, 1, 2, 3]
    assert nearest_allowed(start, allowed_placements(4, {3: 1})).tolist() == [0, 3, 2, 1]
    with pytest.raises(CannotSolve):
        nearest_allowed(start, np.zeros((4, 4), bool))
