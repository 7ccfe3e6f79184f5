"""The first look at a large set: who may lie beside whom, by colours along outlines."""

import numpy as np
import pytest

from puzzleflow.core.errors import InputError
from puzzleflow.core.fragments import FragmentSet
from puzzleflow.core.rng import child_rng
from puzzleflow.generation.fracture import Weathering
from puzzleflow.generation.free_form import FreeForm, break_picture
from puzzleflow.solvers.free_form.candidates import Prepared, Search, all_candidates
from puzzleflow.solvers.free_form.first_look import likings, partners


@pytest.fixture(scope="module")
def broken() -> FragmentSet:
    """A smooth colourful picture in two dozen parts."""
    from scipy import ndimage

    noise = child_rng(1, "picture").standard_normal((260, 260, 3))
    noise = ndimage.gaussian_filter(noise, (9, 9, 0))
    picture = np.clip(128 + 60 * noise / noise.std(), 0, 255).astype(np.uint8)
    return break_picture(picture, FreeForm((24, 24), weathering=Weathering(0.03)), seed=2)


@pytest.fixture(scope="module")
def prepared(broken: FragmentSet) -> Prepared:
    return Prepared.of(broken.fragments, Search(partners=8))


def test_most_neighbours_survive_where_most_pairs_do_not(
    broken: FragmentSet, prepared: Prepared
) -> None:
    pairs = [(i, j) for j, others in enumerate(prepared.others) for i in others]
    true = broken.true_neighbours
    share = len(pairs) / (24 * 23 / 2)
    survived = sum(true[pair] for pair in pairs) / np.triu(true, 1).sum()
    assert share < 0.6
    assert survived > share + 0.25


def test_what_is_liked_does_not_depend_on_the_order_of_fragments(prepared: Prepared) -> None:
    liked = likings(prepared.contours)
    assert (np.diag(liked) == -np.inf).all()
    assert (liked[~np.eye(len(liked), dtype=bool)] <= 0).all()
    order = np.random.default_rng(0).permutation(len(liked))
    turned = likings([prepared.contours[index] for index in order])
    np.testing.assert_allclose(turned, liked[np.ix_(order, order)], atol=1e-6)


def test_more_partners_hold_fewer_ones_and_at_last_all(prepared: Prepared) -> None:
    rings = prepared.contours
    few, more, every = (partners(rings, count) for count in (3, 9, len(rings)))
    assert all(set(a) <= set(b) for a, b in zip(few, more, strict=True))
    assert every == tuple(tuple(range(row)) for row in range(len(rings)))
    assert all(len(set(a)) == len(a) and all(i < row for i in a) for row, a in enumerate(more))


def test_only_chosen_pairs_are_searched(broken: FragmentSet) -> None:
    fragments = broken.fragments[:6]
    prepared = Prepared.of(fragments, Search(rotation="none", peaks=2, partners=1))
    counted: list[tuple[int, int]] = []
    found = all_candidates(
        fragments, prepared, on_progress=lambda _, done, total: counted.append((done, total))
    )
    chosen = {(i, j) for j, others in enumerate(prepared.others) for i in others}
    assert {(each.first, each.second) for each in found} <= chosen
    assert counted[-1] == (len(chosen), len(chosen))
    assert len(chosen) < 15


def test_small_sets_are_searched_in_whole(broken: FragmentSet) -> None:
    prepared = Prepared.of(broken.fragments[:5], Search())
    assert prepared.others == ((), (0,), (0, 1), (0, 1, 2), (0, 1, 2, 3))


def test_no_partners_are_refused() -> None:
    with pytest.raises(InputError, match="at least 1"):
        Search(partners=-1)
