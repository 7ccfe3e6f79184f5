"""Photographs of fragments on a plain ground, composed with their truth.

They stand for the real thing where a segmentation is tested or measured: uneven
light, soft shadows, noise of the camera, dust, and JPEG. Everything depends
on one seed.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import ByteArray, FloatArray, IntArray
from puzzleflow.generation.builder import build_puzzle, mask_seeds
from puzzleflow.generation.erosion import ErosionModel
from puzzleflow.pictures import read_picture
from puzzleflow.samples import list_samples, load_sample

GROUNDS: dict[str, tuple[int, int, int]] = {
    "white card": (244, 243, 239),
    "light grey": (200, 201, 203),
    "mid grey": (128, 128, 130),
    "slate": (78, 84, 92),
    "black cloth": (26, 26, 28),
    "sand": (214, 198, 166),
    "linen": (231, 224, 208),
    "wood": (150, 108, 70),
    "green felt": (38, 110, 66),
    "blue felt": (38, 74, 140),
    "sky blue": (152, 196, 226),
    "red felt": (160, 36, 44),
    "magenta": (190, 60, 150),
    "chroma green": (60, 200, 80),
}


@dataclass(frozen=True)
class Conditions:
    """How a photograph was taken.

    ground         colour of the ground
    light          fall of the light over the picture, 0.2 = 20 % from end to end
    vignette       darkening of the corners, as a part
    shadow         darkening in the core of a shadow, as a part
    shadow_blur    softness of the shadows, as a part of a piece's side
    noise          standard deviation of the noise, in levels
    blur_px        of the lens
    dust           specks for each piece
    jpeg_quality   0 keeps the pixels as they are
    gap_px         least distance of neighbouring pieces' cells
    grain          pattern of a wooden ground, in levels
    """

    ground: tuple[int, int, int] = GROUNDS["light grey"]
    light: float = 0.15
    vignette: float = 0.08
    shadow: float = 0.3
    shadow_blur: float = 0.04
    noise: float = 2.0
    blur_px: float = 0.6
    dust: float = 3.0
    jpeg_quality: int = 85
    gap_px: int = 12
    grain: float = 0.0


@dataclass(frozen=True, eq=False)
class Photograph:
    """A composed photograph and what it shows.

    pixels    (H, W, 3) uint8
    piece_of  (H, W) int32, 0 on the ground and i + 1 on piece i
    """

    pixels: ByteArray
    piece_of: NDArray[np.int32]


def draw_conditions(seed: int) -> Conditions:
    """Conditions at random, over the whole range that a careful amateur meets.

    The ground is any of :data:`GROUNDS`, whether it contrasts with the pieces or not.
    """
    rng = child_rng(seed, "conditions")
    ground = list(GROUNDS.values())[rng.integers(len(GROUNDS))]
    tinted = np.clip(np.array(ground) + rng.integers(-10, 11, 3), 12, 248)
    return Conditions(
        ground=(int(tinted[0]), int(tinted[1]), int(tinted[2])),
        light=float(rng.uniform(0.0, 0.3)),
        vignette=float(rng.uniform(0.0, 0.15)),
        shadow=float(rng.uniform(0.0, 0.5)),
        shadow_blur=float(rng.uniform(0.02, 0.08)),
        noise=float(rng.uniform(0.5, 4.0)),
        blur_px=float(rng.uniform(0.3, 1.0)),
        dust=float(rng.uniform(0.0, 6.0)),
        jpeg_quality=int(rng.integers(60, 96)),
        gap_px=int(rng.integers(4, 40)),
    )


def sample_photograph(
    seed: int, erosion: ErosionModel, grid: Grid, conditions: Conditions | None = None
) -> tuple[Puzzle, Photograph]:
    """A bundled picture, broken and photographed; picture, sizes and conditions at random."""
    rng = child_rng(seed, "sample")
    samples = list_samples()
    picture = load_sample(samples[rng.integers(len(samples))].name)
    side = int(rng.integers(96, 200))
    masks = erosion.masks(mask_seeds(seed, grid), side, side)
    puzzle = build_puzzle(picture, grid, masks, rng.permutation(grid.num_pieces))
    taken = compose_photograph(
        puzzle.pieces, conditions or draw_conditions(seed), seed=seed, columns=grid.cols
    )
    return puzzle, taken


def compose_photograph(
    pieces: ByteArray, conditions: Conditions, *, seed: int, columns: int | None = None
) -> Photograph:
    """Lay (N, h, w, 4) ``pieces`` out in rows and take their picture.

    Pieces keep their size and stay upright; each is moved a little at random.
    They lie row by row in their own order, ``columns`` to a row, so that a
    segmentation in reading order finds them in that order.
    """
    if pieces.ndim != 4 or pieces.shape[-1] != 4 or not len(pieces):
        raise InputError(f"pieces must have shape (N, H, W, 4), not {pieces.shape}")
    rng = child_rng(seed, "photograph")
    columns = columns or int(np.ceil(np.sqrt(len(pieces))))
    colour, piece_of = _lay_out(pieces, conditions, rng, columns)
    owned = piece_of > 0
    side = max(pieces.shape[1:3])
    y, x = np.mgrid[: owned.shape[0], : owned.shape[1]]
    wood = np.sin(x / 9 + 3 * np.sin(y / 120)) + 0.4 * np.sin(x / 2.5)  # (H, W)
    ground = np.array(conditions.ground, np.float32) + (conditions.grain * wood)[..., None]
    shade = 1 - conditions.shadow * _shadow(owned, conditions.shadow_blur * side, rng)
    scene = np.where(owned[..., None], colour, ground * shade[..., None])  # (H, W, 3)
    scene = _with_dust(scene, round(conditions.dust * len(pieces)), rng)
    scene = scene * _light(owned.shape, conditions, rng)[..., None]
    scene = ndimage.gaussian_filter(scene, (conditions.blur_px, conditions.blur_px, 0))
    scene = scene + rng.normal(0, conditions.noise, scene.shape)
    pixels = np.clip(np.rint(scene), 0, 255).astype(np.uint8)
    if conditions.jpeg_quality:
        stream = io.BytesIO()
        Image.fromarray(pixels).save(stream, "JPEG", quality=conditions.jpeg_quality)
        pixels = read_picture(stream.getvalue())
    return Photograph(pixels, piece_of)


def _lay_out(
    pieces: ByteArray, conditions: Conditions, rng: np.random.Generator, columns: int
) -> tuple[FloatArray, NDArray[np.int32]]:
    """(H, W, 3) colours of the pieces and (H, W) their numbers from 1."""
    count, height, width, _ = pieces.shape
    rows = -(-count // columns)
    slack = max(height, width) // 12  # room to move in
    step_y, step_x = (
        height + slack + conditions.gap_px,
        width + slack + conditions.gap_px,
    )
    margin = max(height, width) // 5 + conditions.gap_px
    shape = (rows * step_y + 2 * margin, columns * step_x + 2 * margin)
    colour = np.zeros((*shape, 3), np.float32)
    piece_of = np.zeros(shape, np.int32)
    for index, piece in enumerate(pieces):
        row, col = divmod(index, columns)
        top = margin + row * step_y + int(rng.integers(slack + 1))
        left = margin + col * step_x + int(rng.integers(slack + 1))
        mask = piece[..., 3] > 127
        place = np.s_[top : top + height, left : left + width]
        colour[place][mask] = piece[..., :3][mask]
        piece_of[place][mask] = index + 1
    return colour, piece_of


def _shadow(owned: NDArray[np.bool_], blur_px: float, rng: np.random.Generator) -> FloatArray:
    """(H, W) 0 … 1: the pieces, moved away from the light and blurred."""
    angle = rng.uniform(0, 2 * np.pi)
    offset = blur_px * np.array([np.sin(angle), np.cos(angle)])
    moved = ndimage.shift(owned.astype(np.float32), offset, order=1)
    return np.asarray(ndimage.gaussian_filter(moved, blur_px))


def _light(shape: tuple[int, ...], conditions: Conditions, rng: np.random.Generator) -> FloatArray:
    """(H, W) factors about 1: a fall across the picture and darker corners."""
    y, x = np.meshgrid(
        np.linspace(-1, 1, shape[0], dtype=np.float32),
        np.linspace(-1, 1, shape[1], dtype=np.float32),
        indexing="ij",
    )
    angle = rng.uniform(0, 2 * np.pi)
    fall = 1 + conditions.light / 2 * (np.cos(angle) * x + np.sin(angle) * y)
    return np.asarray(fall * (1 - conditions.vignette * (x**2 + y**2) / 2))


def _with_dust(scene: FloatArray, specks: int, rng: np.random.Generator) -> FloatArray:
    """Small round spots, lighter or darker than what they lie on."""
    for _ in range(specks):
        row, col = rng.integers(scene.shape[0]), rng.integers(scene.shape[1])
        radius = rng.uniform(0.7, 3.0)
        reach = int(np.ceil(radius))
        top, left = max(0, row - reach), max(0, col - reach)
        window = scene[top : row + reach + 1, left : col + reach + 1]
        y, x = np.ogrid[top : top + window.shape[0], left : left + window.shape[1]]
        inside = (y - row) ** 2 + (x - col) ** 2 <= radius**2
        window[inside] = np.clip(window[inside] + rng.choice([-90, 90]), 0, 255)
    return scene


def found_iou(piece_of: NDArray[np.int32], labels: NDArray[np.int32]) -> FloatArray:
    """(N,) for every piece of ``piece_of`` the largest IoU with a label of ``labels``."""
    count, found = int(piece_of.max()), int(labels.max())
    pairs: IntArray = piece_of.astype(np.int64) * (found + 1) + labels
    common = np.bincount(pairs.ravel(), minlength=(count + 1) * (found + 1))
    common = common.reshape(count + 1, found + 1)  # pixels of piece (row) with label (column)
    union = common.sum(1, keepdims=True) + common.sum(0, keepdims=True) - common
    if not found:
        return np.zeros(count)
    return np.asarray((common[1:, 1:] / np.maximum(union[1:, 1:], 1)).max(axis=1))
