from pathlib import Path

import numpy as np
import pytest

from puzzleflow.pictures import write_picture
from puzzleflow.training.banks import MaskBank, PictureBank


@pytest.fixture(scope="session")
def picture_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve smooth random pictures."""
    folder = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(5)
    y, x = np.mgrid[0:96, 0:96] / 96
    for index in range(12):
        phases = rng.uniform(1, 5, size=(3, 2))
        colour = [np.sin(a * x + b * y * 2) * 100 + 128 for a, b in phases]
        write_picture(folder / f"{index:02}.png", np.stack(colour, -1).astype(np.uint8))
    return folder


@pytest.fixture
def pictures(picture_folder: Path, tmp_path: Path) -> PictureBank:
    return PictureBank(sorted(picture_folder.glob("*.png")), tmp_path / "cache", size_px=96)


@pytest.fixture
def masks() -> MaskBank:
    y, x = np.mgrid[-64:64, -64:64]
    discs = np.stack([x**2 + y**2 < r**2 for r in (50, 56, 62)])
    return MaskBank([(1.0, discs)])
