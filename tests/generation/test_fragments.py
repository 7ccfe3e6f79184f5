from __future__ import annotations

import zlib

import numpy as np
import pytest
import torch

from puzzleflow.core.errors import InputError, PuzzleFlowError, UnknownName
from puzzleflow.generation.fragments import (
    FragmentGenerator,
    draw_masks,
    fill_holes,
    fragment_generator,
    is_degenerate,
    largest_component,
    list_fragment_generators,
    sample_masks,
    sample_seed,
)
from puzzleflow.generation.generators import VAEFragments

SEEDS = [3, 14, 15, 92, 65, 35, 89]


@pytest.fixture(scope="module", params=list_fragment_generators())
def generator(request: pytest.FixtureRequest) -> FragmentGenerator:
    return fragment_generator(request.param)


def test_names() -> None:
    assert {"vae", "outline"} <= set(list_fragment_generators())
    with pytest.raises(UnknownName, match="outline"):
        fragment_generator("plaster")


def test_masks_are_single_whole_fragments(generator: FragmentGenerator) -> None:
    masks = generator.masks(SEEDS)
    assert masks.shape == (7, 128, 128)
    assert masks.dtype == bool
    for mask in masks:
        assert not is_degenerate(mask)
        assert np.array_equal(largest_component(mask), mask)
        if generator.name == "outline":
            assert np.array_equal(fill_holes(mask), mask)
            assert mask.any(axis=0).all()
            assert mask.any(axis=1).all()


def test_a_mask_depends_on_its_seed_alone(generator: FragmentGenerator) -> None:
    together = generator.masks(SEEDS)
    alone = np.concatenate([generator.masks([seed]) for seed in SEEDS])
    assert np.array_equal(together, alone)
    turned = generator.masks(SEEDS[::-1])[::-1]
    assert np.array_equal(together, turned)
    among_others = generator.masks([*range(200, 213), *SEEDS])[13:]
    assert np.array_equal(together, among_others)
    assert len({mask.tobytes() for mask in together}) == len(SEEDS)


def test_threads_change_nothing_and_are_given_back() -> None:
    vae = VAEFragments()
    before = torch.get_num_threads()
    expected = vae.masks(SEEDS)
    try:
        torch.set_num_threads(2)
        assert np.array_equal(vae.masks(SEEDS), expected)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_decoded_values_are_bit_identical_at_any_place_in_a_chunk() -> None:
    vae = VAEFragments()
    codes = np.random.default_rng(0).standard_normal((21, 64)).astype(np.float32)
    outputs = vae.decode(codes)
    order = np.random.default_rng(1).permutation(21)
    assert np.array_equal(vae.decode(codes[order]), outputs[order])


def test_workers_change_nothing() -> None:
    def drawn(num_workers: int) -> np.ndarray:
        chunks = sample_masks("outline", 70, 5, num_workers=num_workers)
        return np.concatenate([masks for masks, _ in chunks])

    one = drawn(1)
    assert len(one) == 70
    assert np.array_equal(one, drawn(2))
    assert np.array_equal(one[69], fragment_generator("outline").masks([sample_seed(5, 69)])[0])


def test_degenerate_samples_are_drawn_again_and_counted() -> None:
    def draw(seeds: list[int], attempt: int) -> np.ndarray:
        masks = np.zeros((len(seeds), 128, 128), dtype=bool)
        for index, seed in enumerate(seeds):
            masks[index] = attempt >= seed  # seed s needs attempt number s
        return masks

    masks, rejected = draw_masks([0, 2, 1], draw)
    assert masks.all()
    assert rejected == 3


def test_a_hopeless_seed_is_an_error() -> None:
    with pytest.raises(PuzzleFlowError, match="seed 7"):
        draw_masks([7], lambda seeds, attempt: np.zeros((len(seeds), 128, 128), dtype=bool))
    with pytest.raises(InputError, match="from 0"):
        draw_masks([-1], lambda seeds, attempt: np.zeros((1, 128, 128), dtype=bool))


def test_no_seeds_give_no_masks() -> None:
    assert VAEFragments().masks([]).shape == (0, 128, 128)
    with pytest.raises(InputError, match="0 masks"):
        next(sample_masks("vae", 0, 0))


@pytest.mark.parametrize(("name", "expected"), [("gap", 0xDB96CD96), ("outline", 0x320C952D)])
def test_recipes_of_earlier_versions_give_the_same_masks(name: str, expected: int) -> None:
    """Numbers of 2026-11-17, before the loops were compiled."""
    assert zlib.crc32(np.packbits(fragment_generator(name).masks(range(24))).data) == expected
