from __future__ import annotations

import base64
import io
import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from PIL import Image

from puzzleflow.core.errors import InputError
from puzzleflow.core.fragments import Fragment
from puzzleflow.core.pose import Pose
from puzzleflow.storage.free_form.svg import svg_of, write_svg

SPACE = "{http://www.w3.org/2000/svg}"


def test_one_group_a_fragment_with_its_pose_and_picture(tmp_path):
    pixels = np.full((6, 10, 4), 255, np.uint8)
    pixels[0, 0] = (1, 2, 3, 4)
    fragments = [Fragment(pixels, '<a> & "b"'), Fragment(pixels, "c"), Fragment(pixels, "d")]
    write_svg(tmp_path / "a.svg", fragments, [Pose(20, 30, 90), None, Pose(5, 3)])
    root = ET.parse(tmp_path / "a.svg").getroot()
    groups = root.findall(f"{SPACE}g")
    assert [g.get("data-name") for g in groups] == ['<a> & "b"', "d"]
    assert groups[0].get("transform") == "translate(20.000 30.000) rotate(-90.0000)"
    assert groups[1].get("transform") == "translate(5.000 3.000)"
    image = groups[1].find(f"{SPACE}image")
    assert (image.get("x"), image.get("y"), image.get("width")) == ("-5", "-3", "10")
    content = base64.b64decode(re.sub("^data:image/png;base64,", "", image.get("href")))
    assert np.array_equal(np.array(Image.open(io.BytesIO(content))), pixels)
    left, top, width, height = map(float, root.get("viewBox").split())
    assert left <= 0
    assert top <= 0
    assert left + width >= 23
    assert top + height >= 35


def test_nothing_to_draw():
    with pytest.raises(InputError, match="known pose"):
        svg_of([Fragment(np.full((3, 3, 4), 255, np.uint8), "a")], [None])
