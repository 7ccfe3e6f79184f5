from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.core.errors import InputError, UnknownName
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.models.flow_engine import TorchEngine
from puzzleflow.models.flow_path import FlowPath, SamplerConfig, greedy_in_piece_order, refine, vote
from puzzleflow.models.piece_encoder import RGBAProjection, ViTEncoder
from puzzleflow.models.puzzleflow import FlowConfig, PuzzleFlow, build_puzzleflow, flow_preset
from puzzleflow.solvers.flow import without_shape

TINY_VIT = {
    "hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2,
    "intermediate_size": 32, "image_size": 32, "patch_size": 16,
}  # fmt: skip
SIZES = {"dim": 24, "num_heads": 2, "num_layers": 1, "feed_forward": 32, "piece_px": 16}


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@given(st.integers(1, 30), st.integers(0, 1000))
def test_the_path_begins_random_and_ends_true(num_pieces: int, seed: int) -> None:
    x_1 = torch.rand(3, num_pieces, generator=generator(seed)).argsort(dim=1)
    for schedule in ("linear", "cosine"):
        path = FlowPath(schedule)
        begin = path.sample(x_1, generator(seed), t=torch.zeros(3))
        end = path.sample(x_1, generator(seed), t=torch.ones(3))
        assert torch.equal(begin.x_t, begin.x_0)
        assert torch.equal(end.x_t, x_1)
        assert torch.equal(begin.x_0.sort(dim=1).values[0], torch.arange(num_pieces))


def test_each_piece_has_arrived_with_probability_alpha() -> None:
    x_1 = torch.arange(25).expand(4000, 25)
    sample = FlowPath().sample(x_1, generator(), t=torch.full((4000,), 0.3))
    share = (sample.x_t == x_1).float().mean()
    assert share == pytest.approx(0.3 + 0.7 / 25, abs=0.01)  # some were right from the start
    late = FlowPath("cosine").sample(x_1, generator(), t=torch.full((4000,), 0.3))
    assert (late.x_t == x_1).float().mean() < share


def test_unknown_names_are_refused() -> None:
    for make in (
        lambda: FlowPath("steep"),
        lambda: SamplerConfig(assign="lucky"),
        lambda: SamplerConfig(clock="late"),
        lambda: flow_preset("huge"),
        lambda: build_puzzleflow(FlowConfig(encoder="mlp")),
    ):
        with pytest.raises(UnknownName):
            make()


def test_the_projection_starts_by_dropping_alpha() -> None:
    rgba = torch.rand(2, 4, 5, 5)
    torch.testing.assert_close(RGBAProjection()(rgba), rgba[:, :3])


@pytest.mark.parametrize("preset", ["paper", "paper-supplement"])
def test_published_readings(preset: str) -> None:
    config = replace(flow_preset(preset), vit=TINY_VIT, **SIZES)
    network = build_puzzleflow(config).eval()
    pixels, x_t = torch.rand(2, 9, 4, 16, 16), torch.arange(9).expand(2, 9)
    logits = network(pixels, x_t, torch.tensor([0.1, 0.9]), Grid(3, 3))
    assert logits.shape == (2, 9, 9)
    assert network.time.mlp[0].in_features == (192 if preset == "paper" else 768)
    with pytest.raises(InputError, match="9 pieces"):
        network.check(Grid(5, 5))


def test_the_full_size_is_the_published_one() -> None:
    with torch.device("meta"):
        network = build_puzzleflow(flow_preset("paper"))
    millions = sum(p.numel() for p in network.parameters()) / 1e6
    assert 85.6 + 4 * 7.0 < millions < 120  # ViT-B, four layers of 7.1 M, head and embeddings
    assert len(network.layers.layers) == 4
    assert network.layers.layers[0].linear1.out_features == 3072
    assert isinstance(network.encoder, ViTEncoder)
    assert network.encoder.vit.config.num_hidden_layers == 12


def test_small_preset_takes_any_grid() -> None:
    network = build_puzzleflow(flow_preset("tiny")).eval()
    for grid in (Grid(1, 1), Grid(2, 3), Grid(5, 5)):
        N = grid.num_pieces
        pixels = torch.rand(1, N, 4, 32, 32)
        logits = network(pixels, torch.arange(N)[None], torch.tensor([0.5]), grid)
        assert logits.shape == (1, N, N)


def test_state_and_time_matter_unless_prediction_is_direct() -> None:
    torch.manual_seed(0)
    grid, features = Grid(2, 2), torch.randn(1, 4, 48)
    states = [(torch.tensor([[0, 1, 2, 3]]), 0.2), (torch.tensor([[1, 0, 2, 3]]), 0.2)]
    states.append((states[0][0], 0.9))
    for flow in (True, False):
        network = build_puzzleflow(replace(flow_preset("tiny"), flow=flow)).eval()
        with torch.no_grad():
            logits = [network.step(features, x, torch.tensor([t]), grid) for x, t in states]
        for other in logits[1:]:
            assert torch.allclose(logits[0], other) != flow


def related(prior: torch.Tensor, seed: int = 0) -> tuple[PuzzleFlow, torch.Tensor]:
    """A network that relates pieces, and its features of four pieces with this prior."""
    torch.manual_seed(seed)
    network = build_puzzleflow(replace(flow_preset("tiny"), relates=True)).eval()
    with torch.no_grad():
        return network, network.encode(torch.rand(1, 4, 4, 32, 32), prior)


def test_related_features_carry_who_lies_beyond_each_side() -> None:
    prior = torch.zeros(1, 2, 4, 4, 3)
    prior[0, 0, 0, 1, :2] = 40.0  # piece 1 right of piece 0, beyond doubt
    prior[0, 1, 2, 3, :2] = 40.0  # piece 3 below piece 2
    _, features = related(prior)
    beyond = features[0, :, 48:].reshape(4, 4, 4)  # piece, side, piece beyond
    assert beyond[0, Direction.RIGHT].argmax() == 1
    assert beyond[1, Direction.LEFT].argmax() == 0
    assert beyond[2, Direction.DOWN].argmax() == 3
    assert beyond[3, Direction.UP].argmax() == 2
    assert (beyond.exp().sum(dim=2) >= 1 - 1e-5).all()  # log-probabilities, cut off below


def test_seams_steer_attention_and_cost_nothing_where_unused() -> None:
    plain, sure = torch.zeros(1, 2, 4, 4, 3), torch.zeros(1, 2, 4, 4, 3)
    sure[0, 0, 0, 1, :2] = 40.0
    x_t, t, grid = torch.arange(4)[None], torch.tensor([0.5]), Grid(2, 2)
    network, features = related(plain)
    _, other = related(sure)
    with torch.no_grad():
        before, after = (network.step(f, x_t, t, grid) for f in (features, other))
        assert not torch.allclose(before, after)
        network.of_seam.zero_()  # type: ignore[union-attr]
        before, after = (network.step(f, x_t, t, grid) for f in (features, other))
    assert torch.allclose(before, after, atol=1e-6)


def test_seams_mean_the_same_with_and_without_gradients() -> None:
    network, features = related(torch.randn(1, 2, 4, 4, 3))
    asked = (features.clone(), torch.arange(4)[None], torch.tensor([0.5]), Grid(2, 2))
    with_gradients = network.step(*asked)
    with torch.no_grad():
        assert torch.allclose(network.step(*asked), with_gradients, atol=1e-5)


def test_a_model_that_relates_needs_the_prior_and_the_right_encoder() -> None:
    network, _ = related(torch.zeros(1, 2, 4, 4, 3))
    with pytest.raises(InputError, match="seam prior"):
        network.encode(torch.rand(1, 4, 4, 32, 32))
    with pytest.raises(InputError, match="convolutional"):
        build_puzzleflow(replace(flow_preset("paper"), relates=True))


def test_greedy_goes_in_piece_order() -> None:
    logits = np.array([[1.0, 5.0, 0.0], [0.0, 9.0, 1.0], [3.0, 2.0, 1.0]])
    assert greedy_in_piece_order(logits).tolist() == [1, 2, 0]  # piece 0 takes what 1 wants most


def test_paper_time_reaches_one() -> None:
    assert [SamplerConfig(steps=4).time(s) for s in (1, 2, 3, 4)] == [0.25, 0.5, 0.75, 1.0]
    assert SamplerConfig(steps=4, clock="before").time(4) == 0.75


def test_refinement_follows_the_logits_and_keeps_every_layout() -> None:
    target = np.array([2, 0, 1])
    wanted = np.zeros((3, 3))
    wanted[np.arange(3), target] = 1.0
    seen: list[float] = []

    def step(x_t: np.ndarray, t: float) -> np.ndarray:
        seen.append(t)
        return np.repeat(wanted[None], len(x_t), axis=0)

    starts = np.array([[0, 1, 2], [1, 0, 2]])
    found = refine(step, starts, SamplerConfig(steps=5))
    assert found.layouts.shape == (6, 2, 3)
    assert (found.layouts[0] == starts).all()
    assert (found.layouts[1:] == target).all()
    assert seen == [0.2, 0.4, 0.6, 0.8, 1.0]
    layout, prob = vote(found.logits)
    assert (layout == target).all()
    assert prob.sum(axis=1) == pytest.approx(1)


@given(st.integers(2, 6), st.integers(0, 10_000))
def test_refinement_stays_within_what_is_allowed(num_pieces: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pinned = {0: int(rng.integers(num_pieces))}
    allowed = np.ones((num_pieces, num_pieces), bool)
    allowed[0, :] = False
    allowed[:, pinned[0]] = False
    allowed[0, pinned[0]] = True
    logits = rng.normal(size=(2, num_pieces, num_pieces))
    starts = np.stack([rng.permutation(num_pieces) for _ in range(2)])
    for assign in ("greedy", "hungarian"):
        config = SamplerConfig(steps=2, assign=assign)
        found = refine(lambda x, t: logits, starts, config, allowed)
        assert (found.layouts[:, :, 0] == pinned[0]).all()
        assert (np.sort(found.layouts, axis=2) == np.arange(num_pieces)).all()


def test_a_flow_without_time_or_alpha_does_not_feel_them() -> None:
    torch.manual_seed(0)
    config = replace(flow_preset("tiny"), timed=False, alpha=False)
    network = build_puzzleflow(config).eval()
    pixels, grid = torch.rand(1, 4, 4, 32, 32), Grid(2, 2)
    shaped = pixels.clone()
    shaped[:, :, 3] = (shaped[:, :, 3] > 0.5).float()
    x_t = torch.tensor([[2, 0, 1, 3]])
    early, late = torch.tensor([0.1]), torch.tensor([0.9])
    first = network(pixels, x_t, early, grid)
    assert torch.equal(first, network(shaped, x_t, late, grid))
    told = build_puzzleflow(replace(config, timed=True, alpha=True)).eval()
    told.load_state_dict(network.state_dict())
    assert not torch.allclose(told(pixels, x_t, early, grid), told(pixels, x_t, late, grid))
    assert not torch.allclose(told(pixels, x_t, early, grid), told(shaped, x_t, early, grid))


def test_a_pin_leaves_the_decoding_rule_alone() -> None:
    logits = np.array([[3.0, 2.9, 0.0], [3.0, 0.0, -1.0], [0.0, 0.0, 9.0]])
    allowed = np.ones((3, 3), bool)
    allowed[2] = allowed[:, 2] = False
    allowed[2, 2] = True  # where piece 2 would lie anyway
    starts = np.array([[1, 0, 2]])
    for assign, expected in (("greedy", [0, 1, 2]), ("hungarian", [1, 0, 2])):
        config = SamplerConfig(steps=1, assign=assign)
        for given_ in (None, allowed):
            found = refine(lambda x, t: logits[None], starts, config, given_).layouts[-1, 0]
            assert found.tolist() == expected, (assign, given_ is None)


def test_greedy_never_takes_the_last_place_of_another_piece() -> None:
    logits = np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0], [1.0, 2.0, 3.0]])
    allowed = np.ones((3, 3), bool)
    allowed[2, 1:] = False  # forbidden by hand, so no other piece knows of it
    assert greedy_in_piece_order(logits, allowed).tolist() == [1, 2, 0]


@given(st.integers(1, 6), st.integers(0, 200))
def test_greedy_finds_a_layout_wherever_there_is_one(num_pieces: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    allowed = rng.random((num_pieces, num_pieces)) < 0.4
    allowed[np.arange(num_pieces), rng.permutation(num_pieces)] = True
    found = greedy_in_piece_order(rng.normal(size=allowed.shape), allowed)
    assert allowed[np.arange(num_pieces), found].all()
    assert sorted(found) == list(range(num_pieces))


def test_missing_vit_weights_are_named() -> None:
    with pytest.raises(InputError, match=r"no ViT weights at /nowhere .*local folder.* none"):
        ViTEncoder.pretrained("/nowhere")


def test_vit_weights_load_from_a_folder(tmp_path: object) -> None:
    first = ViTEncoder.blank(16, **TINY_VIT)
    first.vit.save_pretrained(str(tmp_path))
    second = ViTEncoder.pretrained(str(tmp_path), 16)
    pixels = torch.rand(1, 2, 4, 16, 16)
    torch.testing.assert_close(first.eval()(pixels), second.eval()(pixels))


def test_without_shape_pieces_are_squares_black_where_there_was_nothing() -> None:
    pieces = np.full((1, 2, 2, 4), 9, np.uint8)
    pieces[0, 0, 0, 3] = 0
    squares = without_shape(pieces)
    assert squares[0, 0].tolist() == [[0, 0, 0, 255], [9, 9, 9, 255]]
    assert pieces[0, 0, 0].tolist() == [9, 9, 9, 0]


def test_slicing_to_rgb_hides_alpha_from_a_vit() -> None:
    network = build_puzzleflow(FlowConfig(**SIZES, head=(32,), num_positions=4, vit=TINY_VIT))
    with torch.no_grad():
        network.encoder.projection.weight[:, 3] = 0.7  # type: ignore[union-attr, index]
    engine = TorchEngine(network)
    pixels = np.random.default_rng(0).random((1, 4, 4, 16, 16), np.float32)
    shapeless = pixels.copy()
    shapeless[:, :, 3] = 0.25
    before = engine.encode(pixels)
    assert not np.allclose(before, engine.encode(shapeless))
    engine.slice_to_rgb()
    assert np.array_equal(engine.encode(pixels), engine.encode(shapeless))
    assert not np.allclose(engine.encode(pixels), before)
