"""The fragment generators: the fitted outline model, as real ones or as the paper's; the VAE."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import BoolArray, FloatArray
from puzzleflow.generation.fragments import draw_masks, finish, is_degenerate
from puzzleflow.generation.gap_model import load_gap_model
from puzzleflow.generation.outline_model import load_outline_model
from puzzleflow.generation.outlines import mask_of
from puzzleflow.models.checkpoint import bundled_weights
from puzzleflow.models.fragment_vae import load_decoder

WEIGHTS = "fragment_outline.safetensors"
MAX_DRAWS = 50
GAP_WEIGHTS = "fragment_gap.safetensors"
VAE_WEIGHTS = "fragment_vae.safetensors"
CHUNK = 16


class OutlineFragments:
    """Curves drawn one by one with NumPy, filled, stretched to the square and thinned."""

    name = "outline"

    def __init__(self, weights: str | Path | None = None) -> None:
        self.model, self.thinning = load_outline_model(weights or bundled_weights(WEIGHTS))
        self.rejected = 0
        self.thinned = 0  # whole fragments that the thinning passed over so far

    def masks(self, seeds: Sequence[int]) -> BoolArray:
        """(len(seeds), 128, 128) bool."""
        masks, rejected = draw_masks(seeds, self._draw)
        self.rejected += rejected
        return masks

    def _draw(self, seeds: list[int], attempt: int) -> BoolArray:
        return np.stack([self._one(child_rng(seed, self.name, attempt)) for seed in seeds])

    def _mask(self, rng: np.random.Generator) -> BoolArray:
        return mask_of(self.model.draw(rng))

    def _one(self, rng: np.random.Generator) -> BoolArray:
        for _ in range(MAX_DRAWS):
            mask = self._mask(rng)
            if is_degenerate(mask) or self.thinning.keeps(mask, rng):
                return mask  # a degenerate one is rejected and counted by the caller
            self.thinned += 1
        return mask


class GapFragments(OutlineFragments):
    """Features follow the paper's generated ones: settings and thinning of ``gap_model``."""

    name = "gap"

    def __init__(self, weights: str | Path | None = None) -> None:
        super().__init__()
        found = load_gap_model(weights or bundled_weights(GAP_WEIGHTS), self.model)
        self.gap, self.thinning = found

    def _mask(self, rng: np.random.Generator) -> BoolArray:
        return self.gap.draw(rng)


class VAEFragments:
    """Latents where the training masks lie, decoder, published post-processing.

    Latents come from one Gaussian with the mean and covariance of the training
    masks' codes; ``PriorFragments`` draws them from N(0, I) instead.

    Sums of floats depend on how the work is cut, so latents always go through
    the decoder in chunks of the same size, filled up with zeros, on one
    thread: a mask then does not depend on those decoded with it.
    """

    name = "vae"

    def __init__(self, weights: str | Path | None = None) -> None:
        self.decoder = load_decoder(weights or bundled_weights(VAE_WEIGHTS))
        self.decoder.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.latent_mean = self.decoder.latent_mean.double().numpy()
        self.latent_factor = self.decoder.latent_factor.double().numpy()
        self.rejected = 0

    def masks(self, seeds: Sequence[int]) -> BoolArray:
        """(len(seeds), 128, 128) bool."""
        masks, rejected = draw_masks(seeds, self._draw)
        self.rejected += rejected
        return masks

    def _draw(self, seeds: list[int], attempt: int) -> BoolArray:
        codes = np.stack([self.code(child_rng(seed, "fragment", attempt)) for seed in seeds])
        return np.stack([finish(output) for output in self.decode(codes.astype(np.float32))])

    def code(self, rng: np.random.Generator) -> FloatArray:
        """(D,) latent."""
        normal = rng.standard_normal(len(self.latent_mean))
        drawn: FloatArray = self.latent_mean + self.latent_factor @ normal
        return drawn

    def decode(self, codes: FloatArray) -> FloatArray:
        """(N, D) latents to (N, H, W) probabilities."""
        size = self.decoder.config.mask_px
        outputs = np.empty((len(codes), size, size), dtype=np.float32)
        padded = np.zeros((CHUNK, codes.shape[1]), dtype=np.float32)
        with _one_thread(), torch.inference_mode():
            for start in range(0, len(codes), CHUNK):
                part = codes[start : start + CHUNK]
                padded[:] = 0
                padded[: len(part)] = part
                logits = self.decoder(torch.from_numpy(padded))  # (CHUNK, 1, H, W)
                outputs[start : start + len(part)] = torch.sigmoid(logits)[: len(part), 0].numpy()
        return outputs


class PriorFragments(VAEFragments):
    """The same decoder with latents from N(0, I), for comparison."""

    name = "vae-prior"

    def code(self, rng: np.random.Generator) -> FloatArray:
        """(D,) latent."""
        return rng.standard_normal(len(self.latent_mean))


@contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
