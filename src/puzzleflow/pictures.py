"""Pictures in and out: one place that reads, checks, resizes and writes them."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.types import ByteArray
from puzzleflow.files import atomic_path, write_bytes

MAX_PIXELS = 200_000_000  # larger pictures are refused before they are decoded
SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp", ".gif"})


def read_picture(
    source: str | Path | bytes, mode: str = "RGB", *, max_pixels: int = MAX_PIXELS
) -> ByteArray:
    """(H, W, C) uint8 in PIL ``mode`` ("RGB", "RGBA"; "L" gives (H, W))."""
    name = "picture" if isinstance(source, bytes) else str(source)
    stream = io.BytesIO(source) if isinstance(source, bytes) else source
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # size is checked here, not by a warning
            with Image.open(stream) as image:
                if image.width * image.height > max_pixels:
                    raise FormatError(
                        f"{name}: {image.width}x{image.height} pixels, "
                        f"more than the {max_pixels:,} allowed"
                    )
                image.load()
                upright = ImageOps.exif_transpose(image)
                return np.array(upright.convert(mode))
    except FileNotFoundError as error:
        raise InputError(f"{name}: no such file") from error
    except Image.DecompressionBombError as error:
        raise FormatError(f"{name}: too many pixels ({error})") from error
    except (FormatError, MemoryError):
        raise
    except PermissionError as error:
        raise InputError(f"{name}: {error.strerror}") from error
    except Exception as error:  # PIL raises almost anything on damaged files
        raise FormatError(f"{name}: not a readable picture ({error})") from error


def to_image(pixels: ByteArray) -> Image.Image:
    """PIL image of (H, W), (H, W, 3) or (H, W, 4) uint8."""
    return Image.fromarray(np.ascontiguousarray(pixels))


def write_picture(path: str | Path, pixels: ByteArray) -> None:
    """PNG (or what the suffix says) of uint8 pixels, atomically."""
    image = to_image(pixels)
    suffix = Path(path).suffix.lower() or ".png"
    formats = Image.registered_extensions()
    if suffix not in formats:
        raise InputError(f"{path}: no picture format has the suffix {suffix!r}")
    with atomic_path(path) as temporary:
        image.save(temporary, format=formats[suffix])


def write_animation(path: str | Path, frames: list[ByteArray], frame_s: float = 0.4) -> None:
    """Animated PNG, WebP or GIF of equally large frames."""
    images = [to_image(frame) for frame in frames]
    suffix = Path(path).suffix.lower()
    formats = {".png": "PNG", ".apng": "PNG", ".webp": "WEBP", ".gif": "GIF"}
    if suffix not in formats:
        raise InputError(f"{path}: an animation ends in {', '.join(formats)}")
    stream = io.BytesIO()
    images[0].save(
        stream,
        format=formats[suffix],
        save_all=True,
        append_images=images[1:],
        duration=int(frame_s * 1000),
        loop=0,
    )
    write_bytes(path, stream.getvalue())


def square_crop(pixels: ByteArray) -> ByteArray:
    """The largest centred square."""
    height, width = pixels.shape[:2]
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    return pixels[top : top + side, left : left + side]


def resize(pixels: ByteArray, height: int, width: int) -> ByteArray:
    """Antialiased bilinear resize."""
    if pixels.shape[:2] == (height, width):
        return pixels
    return np.array(to_image(pixels).resize((width, height), Image.Resampling.BILINEAR))


def list_pictures(folder: str | Path) -> list[Path]:
    """Picture files below ``folder`` in a fixed order, hidden ones left out."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    return sorted(
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in SUFFIXES
        and path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
