"""Pictures in and out: one place that reads, checks, resizes and writes them."""

from __future__ import annotations

import io
import os
import re
import warnings
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from puzzleflow.core.ceiling import check_bytes, check_time, reading
from puzzleflow.core.errors import FormatError, InputError, OutputError, PuzzleFlowError
from puzzleflow.core.types import ByteArray
from puzzleflow.files import WatchedReader, atomic_path, open_regular, plain_text, write_bytes

MAX_PIXELS = 200_000_000  # larger pictures are refused before they are decoded
Image.MAX_IMAGE_PIXELS = MAX_PIXELS  # the library's own limit is lower
SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp", ".gif"})
_STORED_BYTES = {"1": 1, "L": 1, "P": 1, "I;16": 2, "I;16B": 2, "I;16L": 2}  # a pixel; else 4
_DECODER_BYTES = 6  # a pixel, which a progressive JPEG takes while it is decoded
_STEP_BYTES = 2048  # of a progressive JPEG between two looks at the clock: many scans fit into few
_STRIP_ROWS = 256
FORMATS = ("PNG", "JPEG", "WEBP", "TIFF", "BMP", "GIF")  # whatever the suffix says


def read_picture(
    source: str | Path | bytes,
    mode: str | None = "RGB",
    *,
    max_pixels: int = MAX_PIXELS,
    enough_px: int | None = None,
    keep_pixels: int | None = None,
) -> ByteArray:
    """(H, W, C) uint8 in PIL ``mode`` ("RGB", "RGBA"; "L" gives (H, W); None: RGBA where the
    picture has alpha, else RGB).

    Turned upright as its EXIF says, first frame of an animation, alpha dropped
    unless the mode has it, 16 bits a channel brought down to 8. A JPEG may be
    decoded at 1/2, 1/4 or 1/8 as long as both sides keep ``enough_px``: much
    less time and memory, and the file is still read to its end. A picture of more than
    ``keep_pixels`` is reduced to 1/2, 1/4, … while it is read. Errors name the
    file; those of ``bytes`` leave that to the caller.
    """
    name = "" if isinstance(source, bytes) else f"{source}: "
    try:
        with (
            reading("the picture" if isinstance(source, bytes) else source),
            warnings.catch_warnings(),
            _opened(source) as stream,
        ):
            warnings.simplefilter("ignore")  # size is checked here, not by a warning
            with Image.open(stream, formats=known_formats()) as image:
                if image.width * image.height > max_pixels:
                    raise FormatError(
                        f"{name}{image.width}x{image.height} pixels, "
                        f"more than the {max_pixels:,} allowed"
                    )
                decoding = 0
                if "progressive" in image.info:
                    decoding = _DECODER_BYTES * image.width * image.height
                    image.decodermaxblock = _STEP_BYTES
                if enough_px is not None:
                    image.draft(None, (enough_px, enough_px))
                mode = mode or ("RGBA" if image.has_transparency_data else "RGB")
                if keep_pixels is not None and image.width * image.height > keep_pixels:
                    return _array(_upright(_reduced(image, keep_pixels, name, decoding)), mode)
                _check_memory(image, mode, name, decoding)
                image.load()
                if _is_turned(image):
                    _check_memory(image, mode, name, image.width * image.height * 4)
                    return _array(_upright(image), mode)
                return _array(image, mode)
    except FileNotFoundError as error:
        raise InputError(f"{name}no such file") from error
    except Image.DecompressionBombError as error:
        raise FormatError(f"{name}too many pixels") from error
    except UnidentifiedImageError as error:
        known = ", ".join(known_formats())
        raise FormatError(f"{name}not a readable picture; expected one of {known}") from error
    except PuzzleFlowError:
        raise
    except MemoryError as error:
        raise FormatError(f"{name}too large for the memory of this machine") from error
    except PermissionError as error:
        raise InputError(f"{name}{error.strerror}") from error
    except IsADirectoryError as error:
        raise InputError(f"{name}expected a picture, found a folder") from error
    except Exception as error:  # PIL raises almost anything on damaged files
        raise FormatError(f"{name}not a readable picture ({error})") from error


def _opened(source: str | Path | bytes) -> BinaryIO:
    """The content as a stream; a file that is larger than any picture may be is refused."""
    if isinstance(source, bytes):
        return WatchedReader(io.BytesIO(source))
    stream = open_regular(source)
    try:
        check_bytes(os.fstat(stream.fileno()).st_size, f"{source}: its content")
    except BaseException:
        stream.close()
        raise
    return stream


def encoded(pixels: ByteArray, kind: str, **options: Any) -> bytes:
    """The content of a picture file of uint8 pixels: "PNG", "JPEG" or "WEBP"."""
    stream = io.BytesIO()
    to_image(pixels).save(stream, format=kind, **options)
    return stream.getvalue()


def has_heic() -> bool:
    """Whether HEIC photographs can be read: the package ``pillow-heif`` is installed."""
    return "HEIF" in known_formats()


@cache
def known_formats() -> tuple[str, ...]:
    """The formats that are read, HEIF among them where its library is installed."""
    try:
        from pillow_heif import register_heif_opener
    except ImportError:
        return FORMATS
    register_heif_opener()
    return (*FORMATS, "HEIF")


def _reduced(image: Image.Image, keep_pixels: int, name: str, decoding: int) -> Image.Image:
    """The picture at 1/2, 1/4, …; a JPEG is decoded so, others are reduced at once."""
    factor = 2
    while image.width * image.height > keep_pixels * factor**2:
        factor *= 2
    wanted = image.width // factor, image.height // factor
    draft = image.draft(None, wanted)
    num_bytes = image.width * image.height * _STORED_BYTES.get(image.mode, 4) + decoding
    check_bytes(
        num_bytes + wanted[0] * wanted[1] * 8, f"{name}{image.width:,}x{image.height:,} pixels"
    )
    exif = image.getexif()
    left = factor if draft is None else max(1, round(image.width / wanted[0]))
    small = image.reduce(left) if left > 1 else image
    if small is not image:
        small.info["exif"] = exif.tobytes()
        image.close()
    return small


def _check_memory(image: Image.Image, mode: str, name: str, besides: int) -> None:
    """Refuse a picture that would not fit under the ceiling; ``besides`` are further bytes."""
    per_pixel = _STORED_BYTES.get(image.mode, 4) + len(mode)
    check_bytes(
        image.width * image.height * per_pixel + besides,
        f"{name}{image.width:,}x{image.height:,} pixels",
    )


def _is_turned(image: Image.Image) -> bool:
    try:
        return bool(image.getexif().get(ExifTags.Base.Orientation, 1) != 1)
    except Exception:  # damaged EXIF does not make the pixels unreadable
        return False


def _array(image: Image.Image, mode: str) -> ByteArray:
    """The pixels in ``mode``, converted strip by strip: no second copy of the whole picture."""
    width, height = image.size
    pixels = np.empty((height, width) if mode == "L" else (height, width, len(mode)), np.uint8)
    for top in range(0, height, _STRIP_ROWS):
        check_time()
        strip = image.crop((0, top, width, min(height, top + _STRIP_ROWS)))
        pixels[top : top + _STRIP_ROWS] = np.asarray(_eight_bit(strip).convert(mode))
    return pixels


def _upright(image: Image.Image) -> Image.Image:
    try:
        return ImageOps.exif_transpose(image)
    except Exception:  # damaged EXIF does not make the pixels unreadable
        return image


def _eight_bit(image: Image.Image) -> Image.Image:
    """16-bit grey as 8-bit grey; PIL itself would cut all values above 255."""
    if not image.mode.startswith("I"):
        return image
    grey = np.asarray(image).astype(np.int64)
    return Image.fromarray((np.clip(grey, 0, 65535) >> 8).astype(np.uint8))


def to_image(pixels: ByteArray) -> Image.Image:
    """PIL image of (H, W), (H, W, 3) or (H, W, 4) uint8."""
    return Image.fromarray(np.ascontiguousarray(pixels))


def write_picture(path: str | Path, pixels: ByteArray) -> None:
    """PNG (or what the suffix says) of uint8 pixels, atomically."""
    image = to_image(pixels)
    with atomic_path(path) as temporary:
        _save(image, temporary, picture_format(path))


def picture_format(path: str | Path) -> str:
    """PIL name of the format that the suffix stands for; PNG without one."""
    suffix = Path(path).suffix.lower() or ".png"
    name = Image.registered_extensions().get(suffix)
    if name is None or name not in Image.SAVE:
        raise InputError(f"{path}: pictures cannot be written as {suffix!r}; use .png")
    return name


def _save(image: Image.Image, stream: Path | BinaryIO, name: str, **options: Any) -> None:
    try:
        image.save(stream, format=name, **options)
    except ValueError as error:  # for example more pixels a side than WebP holds
        raise OutputError(f"cannot write a picture as {name}: {error}") from error


def write_animation(path: str | Path, frames: list[ByteArray], frame_s: float = 0.4) -> None:
    """Animated PNG, WebP or GIF of equally large frames."""
    if not frames:
        raise InputError(f"{path}: an animation needs at least one frame")
    images = [to_image(frame) for frame in frames]
    suffix = Path(path).suffix.lower()
    formats = {".png": "PNG", ".apng": "PNG", ".webp": "WEBP", ".gif": "GIF"}
    if suffix not in formats:
        raise InputError(f"{path}: an animation ends in {', '.join(formats)}")
    stream = io.BytesIO()
    _save(
        images[0],
        stream,
        formats[suffix],
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


def fitted(picture: ByteArray, side_px: int, least_px: int = 1) -> ByteArray:
    """The picture with a longer side of ``side_px``, and no side below ``least_px``."""
    scale = side_px / max(picture.shape[:2])
    height, width = (max(least_px, round(scale * size)) for size in picture.shape[:2])
    return resize(picture, height, width)


def reduced(pixels: ByteArray, largest_px: int) -> ByteArray:
    """(h, w, C) with no side above ``largest_px``."""
    return fitted(pixels, min(largest_px, max(pixels.shape[:2])))


def natural_key(name: str) -> tuple[list[tuple[int, str]], str]:
    """Sorts names so that ``piece_2`` comes before ``Piece_10``."""
    return [(len(part), part) for part in re.split(r"(\d+)", name.lower())], name


def list_pictures(folder: str | Path) -> list[Path]:
    """Picture files below ``folder`` in a fixed order, hidden ones left out.

    What is made of them tells their names in UTF-8: other names are refused.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")

    def refuse(error: OSError) -> NoReturn:
        raise InputError(f"cannot read {error.filename}: {error.strerror}") from error

    found = []
    for place, subfolders, names in os.walk(folder, onerror=refuse):
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        paths = [Path(place, name) for name in names if not name.startswith(".")]
        found += [path for path in paths if path.suffix.lower() in SUFFIXES and path.is_file()]
    for path in found:
        name = path.relative_to(folder).as_posix()
        if plain_text(name) != name:
            raise InputError(f"{folder}: {name!r}: this file name is not UTF-8; rename the file")
    return sorted(found)
