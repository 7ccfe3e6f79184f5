from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from command_line import run

from puzzleflow.core.errors import InputError, OutputError, UnknownName
from puzzleflow.core.types import BoolArray
from puzzleflow.generation.fragments import fragment_generator, sample_seed
from puzzleflow.lock import LOCK
from puzzleflow.pictures import read_picture, write_picture


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of 60 masks of a generator, standing for real ones."""
    folder = tmp_path_factory.mktemp("real")
    for index, mask in enumerate(fragment_generator("outline").masks(range(500, 560))):
        write_picture(folder / f"{index:03d}.png", mask.astype(np.uint8) * np.uint8(255))
    return folder


def test_sample_writes_the_same_masks_as_pictures_and_as_one_file(tmp_path: Path) -> None:
    common = ["-n", 5, "--seed", 3, "--generator", "outline", "--workers", 1]
    said = run("shapes", "sample", "--out", tmp_path / "masks", *common)
    assert "0 degenerate samples were rejected" in said
    run("shapes", "sample", "--out", tmp_path / "masks.npz", *common)
    stored = np.load(tmp_path / "masks.npz")["masks"]
    assert stored.shape == (5, 128, 128)
    files = sorted((tmp_path / "masks").iterdir())
    assert [path.name for path in files] == [f"{index:06d}.png" for index in range(5)]
    for index, path in enumerate(files):
        assert np.array_equal(read_picture(path, "L") == 255, stored[index])
    alone = fragment_generator("outline").masks([sample_seed(3, 4)])[0]
    assert np.array_equal(stored[4], alone)


def test_sample_does_not_mix_with_other_files(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(OutputError, match="new or empty"):
        run("shapes", "sample", "--out", tmp_path, "-n", 1)
    with pytest.raises(UnknownName):
        run("shapes", "sample", "--out", tmp_path / "x.npz", "-n", 1, "--generator", "clay")


def test_sample_into_a_folder_that_is_removed_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "masks"

    def drawn(*_: object, **__: object) -> Iterator[tuple[BoolArray, int]]:
        yield np.ones((2, 128, 128), dtype=bool), 0
        assert len(list(out.glob("*.png"))) == 2
        shutil.rmtree(out)
        yield np.ones((2, 128, 128), dtype=bool), 0

    monkeypatch.setattr("puzzleflow.generation.fragments.sample_masks", drawn)
    with pytest.raises(OutputError, match="masks: was removed while it was being written"):
        run("shapes", "sample", "--out", out, "-n", 4)


def test_sample_that_was_killed_before_its_first_mask_goes_on(tmp_path: Path) -> None:
    (tmp_path / LOCK).write_text("process 1 on elsewhere")
    run("shapes", "sample", "--out", tmp_path, "-n", 1, "--generator", "outline", "--workers", 1)
    assert [path.name for path in tmp_path.iterdir()] == ["000000.png"]


def test_validate_writes_the_whole_report(tmp_path: Path, real: Path) -> None:
    out = tmp_path / "report"
    said = run(
        "shapes", "validate", "--real", real, "--out", out, "--part", "train", "-n", 12,
        "--workers", 1, "--generator", "vae", "--generator", "outline",
    )  # fmt: skip
    assert "perimeter" in said
    names = {path.name for path in out.iterdir()}
    assert names == {
        "validation.md", "validation.json", "boxplots.png", "pca.png", "memorisation.png",
        "samples_real.png", "samples_vae.png", "samples_outline.png",
    }  # fmt: skip
    found = json.loads((out / "validation.json").read_text())
    assert found["real"]["count"] == 48
    assert set(found["generated"]) == {"vae", "outline"}
    area = found["generated"]["vae"]["features"]["area"]
    expected = 100 * (area["mean"] / found["real"]["features"]["area"]["mean"] - 1)
    assert area["difference_percent"] == pytest.approx(expected)
    text = (out / "validation.md").read_text()
    assert "| KS vae | W vae | KS outline | W outline |" in text
    assert "| area | 10,617 ± 1,333 | 10,716 ± 863 |" in text
    printed = next(line for line in said.splitlines() if line.startswith("  vertices      9.73"))
    assert "9.73 ± 2.12" in printed
    assert "11.78 ± 2.03" in printed
    assert printed.count("±") == 5  # the paper's two, the real masks, two generators
    assert found["paper"]["synthetic"]["concavities"]["iqr"] == 5
    assert "![pca](pca.png)" in text


def test_fit_writes_weights_that_sample_takes(tmp_path: Path) -> None:
    said = run("shapes", "fit", "--out", tmp_path, "-n", 120)
    assert "% of the drawn masks are kept" in said
    out = tmp_path / "masks.npz"
    weights = tmp_path / "fragment_gap.safetensors"
    run(
        "shapes", "sample", "--out", out, "--generator", "gap", "--weights", weights, "-n", 3,
        "--workers", 1,
    )  # fmt: skip
    assert 0.4 < np.load(out)["masks"].mean() < 0.9


def test_validate_a_folder_against_itself_finds_no_difference(tmp_path: Path, real: Path) -> None:
    out = tmp_path / "report"
    run("shapes", "validate", "--real", real, "--generated", real, "--part", "all", "--out", out)
    group = json.loads((out / "validation.json").read_text())["generated"]["generated"]
    assert group["coverage"] == 1
    assert group["nearest_training_iou"]["median"] == pytest.approx(1)
    assert all(row["ks"] == 0 for row in group["features"].values())


def test_faults_of_mask_folders(tmp_path: Path, real: Path) -> None:
    with pytest.raises(InputError, match="no mask pictures"):
        run("shapes", "train", "--masks", tmp_path, "--out", tmp_path / "run")
    few = tmp_path / "few"
    write_picture(few / "one.png", np.full((128, 128), 255, dtype=np.uint8))
    with pytest.raises(InputError, match="at least 20 masks"):
        run("shapes", "train", "--masks", few, "--out", tmp_path / "run")
    with pytest.raises(UnknownName, match="part"):
        run("shapes", "validate", "--real", real, "--part", "most")
    with pytest.raises(UnknownName, match="generator"):
        run("shapes", "train", "--masks", real, "--out", tmp_path / "run", "--generator", "clay")


def test_train_says_where_it_stands_and_resumes(tmp_path: Path, real: Path) -> None:
    common = ["--masks", real, "--out", tmp_path, "--patience", 9, "--threads", 1]
    said = run("shapes", "train", *common, "--epochs", 1)
    assert "48 to train, 6 to choose, 6 held out" in said
    assert "epoch 1: train" in said
    assert (tmp_path / "losses.png").stat().st_size > 1000
    with pytest.raises(InputError, match="resume it"):
        run("shapes", "train", *common, "--epochs", 1)
    assert "1623.76" in run("shapes", "train", *common, "--epochs", 1, "--resume")
