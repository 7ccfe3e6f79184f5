"""What tests of several commands share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from puzzleflow.pictures import write_picture


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty pictures of plain colour ramps, a few of them in the test split."""
    folder = tmp_path_factory.mktemp("pictures")
    y, x = np.mgrid[0:64, 0:64]
    for index in range(30):
        ramp = np.stack([4 * x, 4 * y, 8 * index + 0 * x], axis=-1)
        write_picture(folder / f"{index:02}.png", ramp.astype(np.uint8))
    return folder


@pytest.fixture(scope="session")
def discs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("masks")
    y, x = np.mgrid[-64:64, -64:64]
    for radius in (52, 60):
        disc = np.where(x**2 + y**2 < radius**2, 255, 0).astype(np.uint8)
        write_picture(folder / f"{radius}.png", disc)
    return folder
