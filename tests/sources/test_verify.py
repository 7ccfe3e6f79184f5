from __future__ import annotations

import io
import pickle
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from puzzleflow.core.rng import child_rng
from puzzleflow.sources.fetch import BrokenBody
from puzzleflow.sources.ledger import check_picture

shared_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def encoded(kind: str, height: int = 40, width: int = 60) -> bytes:
    pixels = child_rng(0, "noise").integers(0, 256, (height, width, 3), dtype=np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, format=kind)
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_facts_of_whole_pictures(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    content = encoded(kind)
    path.write_bytes(content)
    facts = check_picture(path)
    assert (facts.width, facts.height, facts.num_bytes) == (60, 40, len(content))
    assert len(facts.sha256) == 64


@shared_folder
@given(share=st.floats(0, 1, exclude_max=True))
@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_no_beginning_of_a_picture_passes_for_one(tmp_path: Path, kind: str, share: float) -> None:
    content = encoded(kind)
    (tmp_path / "x").write_bytes(content[: int(share * len(content))])
    with pytest.raises(BrokenBody) as caught:
        check_picture(tmp_path / "x")
    assert caught.value.reason in ("truncated", "not-an-image")


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_the_last_byte_counts(tmp_path: Path, kind: str) -> None:
    (tmp_path / "x").write_bytes(encoded(kind)[:-1])
    with pytest.raises(BrokenBody):
        check_picture(tmp_path / "x")


@pytest.mark.parametrize(
    "content", [b"", b"<html>no</html>", b"%!PS-Adobe-3.0 EPSF-3.0\n", b"\x00" * 100]
)
def test_other_things_are_not_pictures(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(BrokenBody) as caught:
        check_picture(tmp_path / "x")
    assert caught.value.reason == "not-an-image"


def test_gigantic_pictures_are_refused_before_they_are_decoded(tmp_path: Path) -> None:
    content = bytearray(encoded("PNG"))
    content[16:24] = (60_000).to_bytes(4, "big") * 2  # width and height of the header
    content[29:33] = zlib.crc32(content[12:29]).to_bytes(4, "big")
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(BrokenBody) as caught:
        check_picture(tmp_path / "x")
    assert caught.value.reason == "too-large"


def test_a_verdict_comes_back_from_a_worker() -> None:
    verdict = pickle.loads(pickle.dumps(BrokenBody("truncated", "no end")))
    assert (verdict.reason, str(verdict)) == ("truncated", "no end")
