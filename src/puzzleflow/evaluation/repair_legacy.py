"""The published RePAIR evaluation of 2D reconstructions, faults included.

For comparison with published figures; :mod:`puzzleflow.core.assembly_metrics` has
scores to believe. What ``2D_reconstruction_evaluation.py`` does (as read there, not
copied), for tables of x, y and rotation of square pictures, turned about their
centre, corner at (x, y):

- the largest fragment is the anchor; the whole answer is shifted by the whole number
  of pixels that brings the anchor's corner to its place, and turned about the middle of
  the anchor's *bounding box*, so that a turned anchor does not meet itself;
- Q_pos leaves the anchor out: Σ w · |answer ∩ truth| / |answer|, w = share of the area
  of the others; true angles lose their fraction; negative corners of the answer shift
  all of it, after the anchor's shift was measured; negative true corners become 0; what
  is turned out of the canvas is cut off and not counted;
- "RMSE_translation" is a mean of distances, in mm, over √2; corners are shifted with
  the anchor but not turned with it;
- "RMSE_rot" is a mean of differences of angles, over √2; 359 and 1 differ by 358;
- without the anchor in the answer all scores are 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from PIL import Image

from puzzleflow.core.assembly import Assembly
from puzzleflow.core.errors import InputError
from puzzleflow.core.fragments import Fragment, FragmentSet
from puzzleflow.core.pose import Pose
from puzzleflow.core.types import BoolArray
from puzzleflow.pictures import to_image

PIXELS_PER_MM = 7.369

Row = tuple[float, float, float]  # x and y of the corner, rotation in degrees
Size = tuple[int, int]  # width, height


def legacy_scores(fragments: FragmentSet, assembly: Assembly) -> dict[str, float]:
    """ "q_pos", "rmse_translation" (mm) and "rmse_rotation" (degrees) of the largest component.

    Fragments are laid on squares that hold them however they are turned, centred on the
    centres of their pictures. The published figures had squares of 2000 px with the
    centre of the render; where an answer is wrong by a turn the faults depend on it.
    """
    truth = {i: pose for i, pose in enumerate(fragments.poses) if pose is not None}
    if not truth:
        raise InputError(f"{fragments.name or 'the set'}: no fragment has a known pose")
    found = {i: p for i, p in assembly.largest(fragments.areas).items() if i in truth}
    side = max(map(_needed, fragments.fragments))
    pictures = {i: _squared(fragments.fragments[i], side) for i in truth}
    low = np.min([pose.xy for pose in truth.values()], axis=0) - side  # truth lies in a canvas
    rows = {i: _row(pose, side, *low) for i, pose in truth.items()}
    answer = {i: _row(pose, side, *low) for i, pose in found.items()}
    return score_tables(pictures.__getitem__, answer, rows)


def score_tables(
    picture: Callable[[int], Image.Image], answer: Mapping[int, Row], truth: Mapping[int, Row]
) -> dict[str, float]:
    """The published scores of an answer, by fragment, against the truth.

    picture  gives the RGBA picture of a fragment
    """
    pictures = {i: picture(i) for i in truth}
    areas = {i: int((np.asarray(p)[..., 3] > 0).sum()) for i, p in pictures.items()}
    anchor = max(truth, key=lambda i: areas[i])
    if anchor not in answer:
        return {"q_pos": 0.0, "rmse_translation": 0.0, "rmse_rotation": 0.0}
    shift = [int(truth[anchor][axis] - answer[anchor][axis]) for axis in (0, 1)]
    turn = (truth[anchor][2] - answer[anchor][2] + 360) % 360
    others = [i for i in answer if i != anchor]
    if not others:
        return {"q_pos": 0.0, "rmse_translation": 0.0, "rmse_rotation": 0.0}
    away, turned = [], []
    for i in others:
        x, y, rotation = answer[i]
        away.append(math.hypot(x + shift[0] - truth[i][0], y + shift[1] - truth[i][1]))
        turned.append(abs((rotation + turn) % 360 - truth[i][2] % 360))
    return {
        "q_pos": _q_pos(pictures, areas, answer, truth, anchor, shift, turn),
        "rmse_translation": float(np.mean(away)) / PIXELS_PER_MM / math.sqrt(2),
        "rmse_rotation": float(np.mean(turned)) / math.sqrt(2) % 360,
    }


def _q_pos(
    pictures: Mapping[int, Image.Image],
    areas: Mapping[int, int],
    answer: Mapping[int, Row],
    truth: Mapping[int, Row],
    anchor: int,
    shift: list[int],
    turn: float,
) -> float:
    size = _canvas_size(pictures, answer, truth)
    lift = [max(0.0, -min(row[axis] for row in answer.values())) for axis in (0, 1)]
    own = [max(0, shift[0]), max(0, shift[1])]
    other = [max(0, -shift[0]), max(0, -shift[1])]

    def drawn(i: int) -> Image.Image:
        x, y, rotation = answer[i]
        at = [max(0, int(x + lift[0])) + own[0], max(0, int(y + lift[1])) + own[1]]
        return _canvas(pictures[i], at, rotation, size)

    box = drawn(anchor).getchannel("A").getbbox()
    if box is None:
        return 0.0
    middle = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    total = sum(area for i, area in areas.items() if i != anchor)
    q_pos = 0.0
    for i in answer:
        if i == anchor:
            continue
        mine = _seen(drawn(i).rotate(turn, expand=False, center=middle))
        x, y, rotation = truth[i]
        at = [max(0, int(x)) + other[0], max(0, int(y)) + other[1]]
        true = _seen(_canvas(pictures[i], at, int(rotation), size))
        if mine.any():
            q_pos += areas[i] / total * float((mine & true).sum() / mine.sum())
    return q_pos


def _canvas_size(
    pictures: Mapping[int, Image.Image], answer: Mapping[int, Row], truth: Mapping[int, Row]
) -> Size:
    """Width and height that the script gives its canvas: the largest turned picture and shift."""
    width = height = 0
    for table in (answer, truth):
        for i, (x, y, rotation) in table.items():
            turned = Image.new("1", pictures[i].size).rotate(rotation, expand=True)
            width = max(width, turned.width + abs(int(x)))
            height = max(height, turned.height + abs(int(y)))
    return width, height


def _canvas(picture: Image.Image, at: list[int], rotation: float, size: Size) -> Image.Image:
    canvas = Image.new("RGBA", size)
    canvas.paste(picture.rotate(rotation, expand=False), (at[0], at[1]))
    return canvas


def _seen(canvas: Image.Image) -> BoolArray:
    return np.asarray(np.asarray(canvas)[..., 3] > 0)


def _needed(fragment: Fragment) -> int:
    """Side of a square that holds the fragment however it is turned about its centre."""
    return 2 * math.ceil(math.hypot(*fragment.centre)) + 2


def _squared(fragment: Fragment, side: int) -> Image.Image:
    """The fragment on a transparent square, centres together to half a pixel."""
    height, width = fragment.pixels.shape[:2]
    square = Image.new("RGBA", (side, side))
    square.paste(to_image(fragment.pixels), ((side - width) // 2, (side - height) // 2))
    return square


def _row(pose: Pose, side: int, left: float, top: float) -> Row:
    return pose.x - side / 2 - left, pose.y - side / 2 - top, pose.angle % 360
