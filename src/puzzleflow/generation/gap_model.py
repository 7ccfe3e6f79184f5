"""Outlines as eroded as the paper's generated ones: the outline model, set otherwise.

The paper's fragments keep 65 % of a cell and do not fill its box; their borders
are smoother than real ones and yet bend inward more often. So the bundled outline
model draws the curves, with bands of other strength and weaker bursts, the
coarse shape of each mask made deeper or flatter as a whole, and each is set into
a box that gives it an area drawn beforehand, as far as the cell has room.
``training.gap_fit`` has the settings and fits the thinning.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.errors import FormatError
from puzzleflow.core.types import BoolArray
from puzzleflow.generation.fidelity import SYNTHETIC
from puzzleflow.generation.outline_model import BANDS, COARSE, Floats, OutlineModel, coarse_vector
from puzzleflow.generation.outlines import POINTS, filled_share, framed_mask
from puzzleflow.generation.quick_geometry import hull_features
from puzzleflow.generation.thinning import Thinning
from puzzleflow.masks import MASK_PX

KIND = "gap_model"
FIRST_DEEPENED = 3  # harmonic: below it lie place, size and elongation
REACH = 4.0  # standard deviations: the paper's 958 masks lie within 3.5
_ASPECT = SYNTHETIC["aspect ratio"]
_SHARE = SYNTHETIC["area"].mean / MASK_PX**2


@dataclass(frozen=True)
class GapSettings:
    """How the outline model is changed; factors are logarithms where so said."""

    gains: tuple[float, ...]  # log factor on each band
    bursts: float  # factor on the log envelopes
    depth: float  # log factor on the coarse shape, its mean
    depth_sd: float  # and how it varies from mask to mask
    roughness_sd: float  # of a log factor that all bands of a mask share
    size: float  # log factor on the side of the box that gives the published area, its mean
    size_sd: float


@dataclass(frozen=True)
class GapModel:
    """``outlines`` with the gains and bursts of ``settings``."""

    outlines: OutlineModel
    settings: GapSettings

    @classmethod
    def of(cls, outlines: OutlineModel, settings: GapSettings) -> GapModel:
        """From the outline model as it was fitted."""
        if len(settings.gains) != len(BANDS):
            raise ValueError(f"{len(settings.gains)} gains, expected {len(BANDS)}")
        changed = replace(
            outlines,
            gains=outlines.gains * np.exp(settings.gains),
            envelopes=outlines.envelopes * settings.bursts,
        )
        return cls(changed, settings)

    def draw(self, rng: np.random.Generator) -> BoolArray:
        """(128, 128) bool: one mask, as yet unjudged."""
        settings = self.settings
        coarse, roughness = self.outlines.numbers(rng)
        normal = rng.standard_normal(4)
        depth = np.exp(settings.depth + settings.depth_sd * normal[0])
        rougher = roughness + settings.roughness_sd * normal[1]  # (B,)
        deeper = np.where(_DEEPENED, coarse * depth, coarse)
        curve = self.outlines.curve(deeper, rougher, rng)
        return framed_mask(curve, *self._box(filled_share(curve), normal[2:]))

    def _box(self, share: float, normal: Floats) -> tuple[float, float]:
        """Height and width in pixels, at most the cell's, of two standard normal numbers."""
        half = (np.log(_ASPECT.mean) + _ASPECT.sd * normal[0]) / 2
        side = np.log(_SHARE / share) / 2 + self.settings.size + self.settings.size_sd * normal[1]
        height, width = np.exp(side - half), np.exp(side + half)
        largest = max(height, width, 1.0)
        return float(height / largest * MASK_PX), float(width / largest * MASK_PX)


def _deepened() -> BoolArray:
    """(50,) which coarse numbers belong to harmonics that ``depth`` scales."""
    harmonics = np.zeros((2, POINTS // 2 + 1), dtype=np.complex128)
    harmonics[:, FIRST_DEEPENED : COARSE + 1] = 1 + 1j
    return np.asarray(coarse_vector(harmonics) > 0)


_DEEPENED = _deepened()


def save_gap_model(
    path: str | Path, settings: GapSettings, thinning: Thinning, training: dict[str, Any]
) -> None:
    """Settings and thinning; the outline model itself lies in a file of its own."""
    import torch

    from puzzleflow.models.checkpoint import save_weights

    tensors = {name: torch.from_numpy(array.copy()) for name, array in thinning.arrays().items()}
    save_weights(path, tensors, {"kind": KIND, "settings": asdict(settings), "training": training})


def load_gap_model(path: str | Path, outlines: OutlineModel) -> tuple[GapModel, Thinning]:
    """What ``save_gap_model`` wrote, on ``outlines``; anything else is a ``FormatError``."""
    from puzzleflow.models.checkpoint import load_weights

    tensors, config = load_weights(path)
    if config.get("kind") != KIND:
        raise FormatError(f"{path}: weights of {config.get('kind')!r}, expected {KIND!r}")
    try:
        stored = dict(config["settings"])
        settings = GapSettings(**stored | {"gains": tuple(stored["gains"])})
        model = GapModel.of(outlines, settings)
        arrays = {name: tensor.double().numpy() for name, tensor in tensors.items()}
        return model, Thinning.of_arrays(arrays, hull_features, REACH)
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{path}: not the settings of a {KIND} ({error})") from error
