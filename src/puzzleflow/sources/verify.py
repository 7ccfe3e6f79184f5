"""Is a downloaded file a whole picture? Asked before it takes its final name."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from puzzleflow.pictures import MAX_PIXELS
from puzzleflow.sources.fetch import BrokenBody

_FORMATS = ("JPEG", "PNG", "WEBP", "TIFF", "GIF", "BMP")
_END = {"JPEG": b"\xff\xd9", "PNG": b"IEND\xaeB`\x82"}  # decoders do without; we do not
_TAIL = 1 << 16


@dataclass(frozen=True)
class PictureFacts:
    """Size in pixels and bytes, and the SHA-256 of the file."""

    width: int
    height: int
    num_bytes: int
    sha256: str


def check_picture(path: Path) -> PictureFacts:
    """Decode the whole picture (JPEG at an eighth of its size) or raise BrokenBody."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(path, formats=_FORMATS) as image:
                width, height = image.size
                if width * height > MAX_PIXELS:
                    raise BrokenBody("too-large", f"{width}x{height} pixels")
                image.draft("RGB", (width // 8, height // 8))  # reads every byte all the same
                image.load()
                end = _END.get(image.format or "", b"")
    except BrokenBody:
        raise
    except UnidentifiedImageError as error:
        raise BrokenBody("not-an-image", "the answer is not a picture") from error
    except Image.DecompressionBombError as error:
        raise BrokenBody("too-large", str(error)) from error
    except Exception as error:  # PIL raises almost anything on damaged files
        raise BrokenBody("truncated", f"the picture is damaged ({error})") from error
    if end not in _tail(path):
        raise BrokenBody("truncated", "the picture has no end marker")
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return PictureFacts(width, height, path.stat().st_size, digest)


def _tail(path: Path) -> bytes:
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - _TAIL))
        return stream.read()
