"""Assembly from candidates: hand-made boards of squares, pins, pose graphs."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from puzzleflow.core.errors import CannotSolve, InputError
from puzzleflow.core.fragments import Fragment, FragmentSet
from puzzleflow.core.pose import Pose
from puzzleflow.solvers.free_form.base import FreeFormSession, FreeFormSolver, Together
from puzzleflow.solvers.free_form.pose_graph import Join, adjusted
from puzzleflow.solvers.free_form.registry import FREE_FORM_SOLVERS, load_free_form_solver
from puzzleflow.solvers.free_form.session import AssembleSession, AssembleSolver


def quarters(size: int = 96, gap: int = 4) -> FragmentSet:
    """A colourful picture in four, along bent lines, some of it lost."""
    from scipy import ndimage

    rng = np.random.default_rng(4)
    noise = ndimage.gaussian_filter(rng.standard_normal((size, size, 3)), (7, 7, 0))
    image = np.clip(128 + 60 * noise / noise.std(), 0, 255).astype(np.uint8)
    rows, cols = np.indices((size, size))
    across = cols - size / 2 - 6 * np.sin(rows / 8)
    down = rows - size / 2 - 6 * np.sin(cols / 7)
    fragments, poses = [], []
    for number, (x, y) in enumerate([(-1, -1), (1, -1), (-1, 1), (1, 1)]):
        mask = (x * across > gap / 2) & (y * down > gap / 2)
        pixels = np.concatenate([image, np.where(mask, 255, 0)[..., None]], axis=2)
        whole = Fragment(pixels.astype(np.uint8), f"{number}.png")
        part, offset = whole.cropped()
        fragments.append(part)
        poses.append(Pose(*(whole.centre + offset)))
    return FragmentSet(tuple(fragments), tuple(poses), name="quarters")


@pytest.fixture(scope="module")
def session() -> AssembleSession:
    return AssembleSolver(rotation="none", gap=0.06).prepare(quarters().without_truth())


def assert_close(found: Pose, true: Pose, px: float = 5.0, degrees: float = 3.0) -> None:
    assert math.hypot(found.x - true.x, found.y - true.y) < px
    assert abs(math.remainder(found.angle - true.angle, 360)) < degrees


def test_a_picture_in_four_is_put_together(session: AssembleSession) -> None:
    true = quarters().poses
    answer = session.solve(seed=0)
    assert [len(component) for component in answer.components] == [4]
    (poses,) = answer.components
    for index in range(1, 4):
        assert_close(poses[index].relative_to(poses[0]), true[index].relative_to(true[0]))
    assert np.isfinite(answer.confidence).all()


def test_the_same_seed_gives_the_same_answer(session: AssembleSession) -> None:
    one, two = session.solve(seed=3), session.solve(seed=3)
    assert list(map(dict, one.components)) == list(map(dict, two.components))


def test_pinned_fragments_stay_where_they_are(session: AssembleSession) -> None:
    true = quarters().poses
    pins = {0: Pose(true[0].x + 1000, true[0].y), 3: Pose(true[3].x + 1000, true[3].y)}
    answer = session.solve(pinned=pins)
    component = next(c for c in answer.components if 0 in c)
    for index, pose in pins.items():
        assert_close(component[index], pose, 1e-6, 1e-6)
        assert answer.confidence[index] == 1.0
    assert_close(component[1], Pose(true[1].x + 1000, true[1].y))


def test_what_belongs_together_lies_so(session: AssembleSession) -> None:
    wish = Together(0, 1, Pose(0, 150))
    answer = session.solve(together=[wish])
    component = next(c for c in answer.components if 0 in c)
    assert_close(component[1].relative_to(component[0]), wish.pose, 6.0)


def test_what_never_belongs_together_does_not_touch(session: AssembleSession) -> None:
    answer = session.solve(never=[(1, 0)])
    for component in answer.components:
        if 0 in component and 1 in component:
            found = session.board.fit(
                0,
                component[0] @ session.offsets[0],
                1,
                component[1] @ session.offsets[1],
            )
            assert found.contact <= 0.1


@pytest.mark.parametrize(
    "wishes",
    [
        {"pinned": {7: Pose(0, 0)}},
        {"never": [(0, 0)]},
        {"together": [Together(0, 9)]},
        {"together": [Together(0, 1)], "never": [(1, 0)]},
    ],
)
def test_wishes_that_make_no_sense(session: AssembleSession, wishes: dict) -> None:
    with pytest.raises(InputError):
        session.solve(**wishes)


def test_ranking_lists_each_partner_once(session: AssembleSession) -> None:
    ranked = session.rank(0, 3)
    assert 0 < len(ranked) <= 3
    assert all(each.first == 0 for each in ranked)
    assert len({each.second for each in ranked}) == len(ranked)
    scores = [each.score for each in ranked]
    assert scores == sorted(scores, reverse=True)
    assert {each.second for each in ranked[:2]} <= {1, 2, 3}


def test_a_dropped_fragment_snaps_to_its_place(session: AssembleSession) -> None:
    true = quarters().poses
    placed = {0: true[0], 2: true[2]}
    dropped = Pose(true[1].x + 9, true[1].y - 7, 0)
    best = session.fits(1, dropped, placed)[0]
    assert_close(best.pose, true[1])
    assert 0 in best.beside
    assert best.gain > 0


def test_nothing_fits_far_from_all_others(session: AssembleSession) -> None:
    assert session.fits(1, Pose(5000, 0), {0: Pose(0, 0)}) == []
    assert session.fits(1, Pose(0, 0), {}) == []
    with pytest.raises(InputError):
        session.fits(9, Pose(0, 0), {0: Pose(0, 0)})


def test_one_fragment_is_left_alone() -> None:
    alone = FragmentSet(quarters().fragments[:1])
    session = AssembleSolver().prepare(alone)
    answer = session.solve()
    assert answer.unplaced == (0,)
    assert session.rank(0) == []


def test_blank_fragments_give_an_answer() -> None:
    pixels = np.full((30, 30, 4), 255, dtype=np.uint8)
    blank = FragmentSet(tuple(Fragment(pixels, str(i)) for i in range(3)))
    answer = AssembleSolver(rotation="none").prepare(blank).solve()
    assert answer.num_fragments == 3


@pytest.mark.parametrize("name", FREE_FORM_SOLVERS.names())
def test_every_solver_keeps_the_contract(name: str) -> None:
    solver = load_free_form_solver(name, rotation="none")
    assert isinstance(solver, FreeFormSolver)
    assert solver.name == name
    session = solver.prepare(quarters().without_truth())
    assert isinstance(session, FreeFormSession)
    answer = session.solve(seed=0, never=[(0, 3)])
    assert answer.num_fragments == 4
    assert max(map(len, answer.components)) >= 2


def test_the_greedy_solver_refuses_pins() -> None:
    solver = load_free_form_solver("extrapolate-greedy", rotation="none")
    with pytest.raises(CannotSolve):
        solver.prepare(quarters().without_truth()).solve(pinned={0: Pose(0, 0)})


def test_options_are_checked() -> None:
    with pytest.raises(InputError, match="its options"):
        load_free_form_solver("assemble", colour="red")
    with pytest.raises(InputError, match="rotation"):
        load_free_form_solver("assemble", rotation="some")
    with pytest.raises(InputError, match="free-form solver"):
        load_free_form_solver("magic")


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_a_pose_graph_repairs_noise_and_survives_a_false_join(seed: int) -> None:
    rng = np.random.default_rng(seed)
    true = {i: Pose(*rng.uniform(-300, 300, 2), rng.uniform(-180, 180)) for i in range(5)}
    joins = [
        Join(i, j, true[j].relative_to(true[i]), 1.0, 100.0)
        for i in range(5)
        for j in range(i + 1, 5)
    ]
    joins.append(Join(1, 2, Pose(40, 40, 30) @ joins[4].pose, 0.5, 100.0))
    noisy = {
        i: p if i == 0 else Pose(*(p.xy + rng.normal(0, 4, 2)), p.angle + rng.normal(0, 2))
        for i, p in true.items()
    }
    better = adjusted(noisy, joins, {0})
    assert better[0] == noisy[0]
    for index, pose in true.items():
        assert_close(better[index], pose, 6.0, 3.0)


def test_a_pose_graph_without_joins_changes_nothing() -> None:
    poses = {0: Pose(0, 0), 1: Pose(5, 5, 20)}
    assert adjusted(poses, [], {0}) == poses
