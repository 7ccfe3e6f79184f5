from __future__ import annotations

import numpy as np

from puzzleflow.core.arrangement import arrange
from puzzleflow.core.assembly import Assembly
from puzzleflow.core.fragments import Fragment
from puzzleflow.core.plane import draw
from puzzleflow.core.pose import Pose


def squares(count, side=10):
    return [Fragment(np.full((side, side, 4), 255, np.uint8), str(i)) for i in range(count)]


def test_components_and_the_rest_lie_apart():
    fragments = squares(6)
    assembly = Assembly(
        6,
        ({5: Pose(0, 0)}, {0: Pose(900, 50, 30), 1: Pose(900, 61, 30), 2: Pose(900, 72, 75)}),
    )
    poses = arrange(fragments, assembly)
    assert all(pose is not None for pose in poses)
    drawn = draw(fragments, poses)
    assert abs((drawn[..., 3] / 255).sum() - 600) < 12  # nothing covers anything
    relative = assembly.components[1][2].relative_to(assembly.components[1][0])
    found = poses[2].relative_to(poses[0])
    assert np.allclose([relative.x, relative.y, relative.angle], [found.x, found.y, found.angle])
    assert max(p.y for p in poses[:3]) < min(p.y for p in poses[3:5])  # the rest is below


def test_the_rest_may_be_left_out():
    poses = arrange(squares(3), Assembly(3, ({1: Pose(4, 4)},)), with_rest=False)
    assert poses[0] is poses[2] is None
    assert poses[1] is not None
    assert all(p is None for p in arrange(squares(3), Assembly(3), with_rest=False))
