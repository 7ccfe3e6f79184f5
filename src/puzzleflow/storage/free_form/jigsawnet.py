"""JigsawNet's folders: scans on a plain ground, poses as matrices.

``fragmentList.txt``  file names, one a line; the first is fragment 1
``bg_color.txt``      the ground, three levels
``groundTruth.txt``   for every fragment its number on one line and a rigid 3 x 3
                      matrix on the next, row by row; it takes (row, column, 1)
                      of a pixel of the fragment to those of the whole
``bg_color.txt`` and ``groundTruth.txt`` may be missing.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from puzzleflow.core.errors import FormatError, naming
from puzzleflow.core.fragments import Fragment, FragmentSet
from puzzleflow.core.pose import Pose
from puzzleflow.core.types import FloatArray
from puzzleflow.pictures import read_picture
from puzzleflow.storage.free_form.ground import cut_out
from puzzleflow.storage.free_form.source import FragmentSource, here_or_below
from puzzleflow.storage.free_form.text import number, plain_name, read_lines, whole

NAMES, GROUND, TRUTH = "fragmentList.txt", "bg_color.txt", "groundTruth.txt"


class JigsawNetSource(FragmentSource):
    """One set a folder."""

    kind = "jigsawnet"
    looks_like = "a JigsawNet folder (fragmentList.txt)"

    @classmethod
    def find(cls, path: Path) -> list[Path]:
        return here_or_below(path, NAMES)

    def read(self, folder: Path) -> FragmentSet:
        names = [
            plain_name(" ".join(words), folder / NAMES) for words in read_lines(folder / NAMES)
        ]
        colour = _ground(folder / GROUND) if (folder / GROUND).exists() else None
        matrices = _matrices(folder / TRUTH) if (folder / TRUTH).exists() else {}
        fragments, poses = [], []
        for index, name in enumerate(names):
            with naming(folder / name):
                pixels = cut_out(read_picture(folder / name), colour)
            fragments.append(Fragment(pixels, name))
            matrix = matrices.get(index + 1)
            poses.append(None if matrix is None else _pose(matrix, fragments[-1]))
        return FragmentSet(tuple(fragments), tuple(poses), name=folder.name)


def _pose(matrix: FloatArray, fragment: Fragment) -> Pose:
    """The pose of the picture's centre, from a matrix that takes (row, column) of pixels."""
    swap = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    motion = Pose.of_matrix(swap @ matrix @ swap)  # of (x, y); pixel (0, 0) is its own middle
    middle = motion.apply(fragment.centre - 0.5) + 0.5
    return Pose(float(middle[0]), float(middle[1]), motion.angle)


def _ground(path: Path) -> tuple[int, int, int]:
    words = [word for line in read_lines(path) for word in line]
    if len(words) != 3:
        raise FormatError(f"{path}: expected three levels of the ground, got {len(words)} words")
    red, green, blue = (whole(word, path) for word in words)
    return red, green, blue


def _matrices(path: Path) -> dict[int, FloatArray]:
    """(3, 3) by number of the fragment."""
    words = [word for line in read_lines(path) for word in line]
    if len(words) % 10:
        raise FormatError(f"{path}: expected a number and a 3x3 matrix for every fragment")
    matrices = {}
    for start in range(0, len(words), 10):
        values = [number(word, path) for word in words[start + 1 : start + 10]]
        matrix = np.array(values).reshape(3, 3)
        if abs(np.linalg.det(matrix[:2, :2]) - 1) > 0.05:
            raise FormatError(f"{path}: the matrix of fragment {words[start]} is not rigid")
        matrices[whole(words[start], path)] = matrix
    return matrices
