from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.core.errors import InputError
from puzzleflow.core.rng import child_rng
from puzzleflow.generation import erosion_models
from puzzleflow.generation.erosion import (
    EROSIONS,
    LINEAR_MARGIN,
    erosion_label,
    erosion_model,
    fingerprint,
    list_erosions,
)
from puzzleflow.generation.erosion_models import GeneratedErosion
from puzzleflow.masks import each_mask, read_masks, resize_mask, write_masks
from puzzleflow.pictures import write_picture


class DiscGenerator:
    """Stands in for a learned generator: discs whose radius comes from the seed."""

    name = "disc"

    def masks(self, seeds: list[int]) -> np.ndarray:
        y, x = np.mgrid[:128, :128] - 63.5
        radii = [child_rng(seed, "disc").uniform(30, 60) for seed in seeds]
        return np.stack([x**2 + y**2 < r**2 for r in radii])


def disc() -> GeneratedErosion:
    return GeneratedErosion("disc", DiscGenerator())


@pytest.fixture
def disc_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EROSIONS.builtin, "disc", f"{__name__}:disc")


@pytest.fixture
def outlines(tmp_path: Path) -> Path:
    folder = tmp_path / "outlines"
    for index in range(3):
        mask = np.zeros((40, 40), np.uint8)
        mask[index * 4 :, 5:35] = 255
        write_picture(folder / f"{index}.png", mask)
    return folder


def test_none_keeps_everything() -> None:
    assert erosion_model("none").masks([1, 2], 3, 5).all()


@pytest.mark.parametrize(("gap", "first", "last"), [(0, 0, 9), (2, 1, 8), (3, 1, 7)])
def test_fixed_gap_between_neighbours(gap: int, first: int, last: int) -> None:
    masks = erosion_model(f"fixed:{gap}").masks([0, 1], 10, 10)
    material = np.flatnonzero(masks[0, 5])
    assert (material[0], material[-1]) == (first, last)
    # the gap between a piece and its right neighbour is what was asked for
    assert (9 - material[-1]) + material[0] == gap


def test_fixed_gap_that_leaves_nothing() -> None:
    with pytest.raises(InputError, match="leaves nothing"):
        erosion_model("fixed:16").masks([0], 16, 16)


@given(seed=st.integers(0, 2**63 - 1), height=st.integers(24, 160), width=st.integers(24, 160))
def test_linear_gaps_are_straight_and_within_their_range(
    seed: int, height: int, width: int
) -> None:
    mask = erosion_model("linear").masks([seed], height, width)[0]
    rows, cols = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    assert mask[rows[0] : rows[-1] + 1, cols[0] : cols[-1] + 1].all()
    low, high = LINEAR_MARGIN
    for margin, size in (
        (rows[0], height),
        (height - 1 - rows[-1], height),
        (cols[0], width),
        (width - 1 - cols[-1], width),
    ):
        assert low * size - 0.5 <= margin <= high * size + 0.5


def test_linear_differs_from_side_to_side_and_from_seed_to_seed() -> None:
    masks = erosion_model("linear").masks(range(50), 128, 128)
    areas = masks.sum(axis=(1, 2))
    assert len(set(areas.tolist())) > 40
    assert not np.array_equal(masks[0], masks[0, ::-1])


def test_outlines_are_the_given_ones(outlines: Path) -> None:
    model = erosion_model(f"outlines:{outlines}")
    known = {mask.tobytes() for _, mask, _ in each_mask(outlines)}
    drawn = {mask.tobytes() for mask in model.masks(range(60), 40, 40)}
    assert drawn == known


def test_other_outlines_have_another_fingerprint(outlines: Path) -> None:
    before = fingerprint(erosion_model(f"outlines:{outlines}"))
    write_picture(outlines / "3.png", np.full((40, 40), 255, np.uint8))
    assert fingerprint(erosion_model(f"outlines:{outlines}")) != before


def test_generated_masks_of_another_size_keep_their_share() -> None:
    mask = DiscGenerator().masks([1])[0]
    for size in (32, 100, 200):
        assert resize_mask(mask, size, size).mean() == pytest.approx(mask.mean(), abs=0.02)


@pytest.mark.usefixtures("disc_generator")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("square", "unknown erosion"),
        ("fixed", "'fixed'.*its options: px$"),
        ("fixed:-3", "'fixed': px=-3: expected a whole number from 0$"),
        ("none:shrink=x", "shrink=x: expected a number from -50 to 50$"),
        ("none:shrink=51", "shrink=51: expected a number from -50 to 50$"),
        ("outlines", "'outlines'.*its options: path$"),
        ("outlines:", "'outlines'.*its options: path$"),
        ("outlines:/nowhere/at/all", "no such folder"),
        ("none:3", "'none'.*its options: none$"),
    ],
)
def test_names_that_mean_nothing(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        erosion_model(name)


def test_an_empty_outline_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no mask pictures"):
        erosion_model(f"outlines:{tmp_path}")


def test_the_label_hides_the_folder() -> None:
    assert erosion_label("outlines:/some/where") == "outlines"
    assert erosion_label("fixed:3") == "fixed:3"


@pytest.mark.usefixtures("disc_generator")
def test_shrinking_moves_the_outline_by_percent_of_the_side() -> None:
    radii = [
        np.sqrt(erosion_model(name).masks([4], size, size)[0].sum() / np.pi) / size
        for size in (64, 128)
        for name in ("disc", "disc:shrink=10", "disc:shrink=-5")
    ]
    for whole, smaller, larger in (radii[:3], radii[3:]):
        assert whole - smaller == pytest.approx(0.10, abs=0.012)
        assert larger - whole == pytest.approx(0.05, abs=0.012)


@pytest.mark.usefixtures("disc_generator")
def test_the_share_that_is_kept_falls_as_outlines_shrink() -> None:
    names = [f"disc:shrink={percent}" for percent in (-12, -8, -4)]
    names += ["disc", *(f"disc:shrink={percent}" for percent in (2, 4, 7, 10))]
    shares = [erosion_model(name).masks(range(20), 64, 64).mean() for name in names]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] - shares[-1] > 0.3


@pytest.mark.parametrize("name", ["linear:shrink=", "none:shrink=x", "none:shrink=51", "nonsense"])
def test_shrinking_that_makes_no_sense(name: str) -> None:
    with pytest.raises(InputError, match=r"erosion|unknown"):
        erosion_model(name)


def test_shrunk_outlines_keep_their_checksum_and_label(outlines: Path) -> None:
    model = erosion_model(f"outlines:{outlines}:shrink=3")
    assert fingerprint(model) == fingerprint(erosion_model(f"outlines:{outlines}"))
    assert erosion_label(model.name) == "outlines:shrink=3"
    assert (
        model.masks([1], 40, 40).sum()
        < erosion_model(f"outlines:{outlines}").masks([1], 40, 40).sum()
    )


def test_remembered_masks_are_the_drawn_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []

    class CountingGenerator(DiscGenerator):
        def masks(self, seeds: list[int]) -> np.ndarray:
            drawn.extend(seeds)
            return super().masks(seeds)

    monkeypatch.setattr(erosion_models, "MOST_REMEMBERED", 3)
    model = GeneratedErosion("disc", CountingGenerator())
    for seeds in ([1, 2, 1], [2, 3], [3, 4, 5, 6, 7], [7, 1], []):
        expected = DiscGenerator().masks(seeds) if seeds else np.zeros((0, 128, 128), bool)
        assert np.array_equal(model.masks(seeds, 128, 128), expected)
    assert drawn == [1, 2, 3, 4, 5, 6, 7, 1]


def test_generators_are_loaded_once() -> None:
    assert erosion_model("outline") is erosion_model("outline")


def test_no_seeds_give_no_masks() -> None:
    for name in ("none", "outline", "outline:shrink=2"):
        assert erosion_model(name).masks([], 20, 30).shape == (0, 20, 30)


def test_outlines_may_be_packed(outlines: Path, tmp_path: Path) -> None:
    write_masks(tmp_path / "bank.npz", [read_masks(outlines).masks])
    write_masks(tmp_path / "bank", [read_masks(outlines).masks])
    packed, pictures = (
        erosion_model(f"outlines:{tmp_path / name}") for name in ("bank.npz", "bank")
    )
    assert np.array_equal(packed.masks(range(9), 64, 48), pictures.masks(range(9), 64, 48))
    assert fingerprint(packed) == fingerprint(pictures)


def test_listing_loads_no_model() -> None:
    code = (
        "import sys; from puzzleflow.generation.erosion import list_erosions; list_erosions();"
        "print([m for m in sys.modules if m in ('torch', 'numba', 'scipy', 'skimage', 'PIL')"
        " or m.startswith('puzzleflow.generation.') and m != 'puzzleflow.generation.erosion'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_plugin_adds_a_model(install, tmp_path: Path) -> None:
    (tmp_path / "half_plugin.py").write_text(
        "import numpy as np\n"
        "class Half:\n"
        "    def __init__(self, share='0.5'):\n"
        "        self.name, self.share = f'half:{share}', float(share)\n"
        "    def masks(self, seeds, height, width):\n"
        "        rows = np.arange(height)[:, None] < self.share * height\n"
        "        return np.repeat(np.repeat(rows, width, 1)[None], len(seeds), 0)\n"
    )
    install("half-plugin", EROSIONS.group, {"half": "half_plugin:Half"}, source=tmp_path)
    assert "half" in list_erosions()
    assert erosion_model("half").name == "half:0.5"
    assert erosion_model("half:0.25").masks([1], 8, 3)[0].sum() == 2 * 3
    assert erosion_model("half:0.25:shrink=0").name == "half:0.25:shrink=0"


def test_a_plugin_may_not_take_a_built_in_name(install) -> None:
    install("thief", EROSIONS.group, {"vae": "thief:Vae"})
    with pytest.raises(InputError, match=r"two erosions are called 'vae'"):
        erosion_model("none")


def test_what_is_no_erosion_is_refused(install) -> None:
    install("odd", EROSIONS.group, {"odd": "json:JSONDecoder"})
    with pytest.raises(InputError, match=r"'odd'.*no name and masks"):
        erosion_model("odd")
