import csv
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.masks import write_masks
from puzzleflow.training.banks import MaskBank, PictureBank, picture_split, split_pictures
from puzzleflow.training.stream import Batch, PuzzleStream, StreamConfig, stream_loader

CONFIG = StreamConfig(piece_px=32, pieces_per_batch=36, grids={"3x3": 1.0, "2x3": 1.0})


def assert_same(first: Batch, second: Batch) -> None:
    assert first.grid == second.grid
    assert torch.equal(first.pieces, second.pieces)
    assert torch.equal(first.position_of, second.position_of)


def test_a_batch_depends_on_seed_and_number_alone(pictures: PictureBank, masks: MaskBank) -> None:
    stream = PuzzleStream(pictures, masks, CONFIG, seed=1)
    later = PuzzleStream(pictures, masks, CONFIG, seed=1, first_batch=2)
    batches = list(islice(stream, 4))
    assert_same(batches[2], next(iter(later)))
    other = PuzzleStream(pictures, masks, CONFIG, seed=2).batch(2)
    assert other.grid != batches[2].grid or not torch.equal(other.pieces, batches[2].pieces)


def test_workers_yield_the_same_stream(pictures: PictureBank, masks: MaskBank) -> None:
    stream = PuzzleStream(pictures, masks, CONFIG, seed=4)
    alone = list(islice(stream_loader(stream), 5))
    shared = list(islice(stream_loader(stream, num_workers=2), 5))
    for one, other in zip(alone, shared, strict=True):
        assert_same(one, other)


def test_pieces_are_premultiplied_and_lie_where_the_truth_says(
    pictures: PictureBank, masks: MaskBank
) -> None:
    stream = PuzzleStream(pictures, masks, CONFIG, seed=1)
    batch = next(stream.validation(Grid(3, 3), 2))
    assert batch.pieces.shape == (2, 9, 4, 32, 32)
    assert torch.equal(batch.position_of.sort(dim=1).values[0], torch.arange(9))
    colour, alpha = batch.pieces[:, :, :3], batch.pieces[:, :, 3:]
    assert (colour <= alpha).all()  # premultiplied
    # laid out by the truth, the pieces show the picture itself
    by_position = torch.empty_like(batch.pieces[0])
    by_position[batch.position_of[0]] = batch.pieces[0]
    canvas = by_position.view(3, 3, 4, 32, 32).permute(0, 3, 1, 4, 2).reshape(96, 96, 4).numpy()
    solid = canvas[..., 3] == 255
    assert np.abs(canvas[solid][:, :3].astype(int) - pictures[0][solid]).max() <= 1


def test_grids_are_mixed(pictures: PictureBank, masks: MaskBank) -> None:
    stream = PuzzleStream(pictures, masks, CONFIG, seed=1)
    assert {batch.grid for batch in islice(stream, 12)} == {Grid(3, 3), Grid(2, 3)}


def test_splits_partition_the_pictures(picture_folder: Path) -> None:
    parts = [set(split_pictures(picture_folder, split)) for split in ("train", "val", "test")]
    assert set.union(*parts) == set(picture_folder.glob("*.png"))
    assert sum(map(len, parts)) == 12
    assert picture_split("a.png") == picture_split("a.png")


SPLIT_TABLE = """\
file,kind,original,object,split
0.png,lamps,source_assets_images_thumbs_7_a50526ab.jpg,,KEY lamp 7
1.png,lamps,source_assets_images_banners_7_8833169e.jpg,,KEY lamp 7
2.png,lamps,source_assets_images_7_8833169e.jpg,,KEY 2.png
3.png,paintings,Gustav_Klimt_Gustav_Klimt_84_7c24fac9.jpg,,KEY 3.png
4.png,ambers,thumbs_of_84.jpg,,KEY 4.png
5.png,ambers,static_img_objects_gm_1.jpg,GM 1,KEY GM 1
6.png,lamps,source_assets_images_thumbs_8_a50526ab.jpg,GM 1,KEY GM 1
"""


def test_what_a_table_says_of_objects_decides_the_split(tmp_path: Path) -> None:
    """Trained networks depend on these keys: a picture must never change its split."""
    (tmp_path / "images.csv").write_text(SPLIT_TABLE)
    for row in csv.DictReader(SPLIT_TABLE.splitlines()):
        (tmp_path / row["file"]).touch()
    for seed in range(20):
        found = {
            path.name: split
            for split in ("train", "val", "test")
            for path in split_pictures(tmp_path, split, seed)
        }
        for row in csv.DictReader(SPLIT_TABLE.splitlines()):
            key = row["split"].removeprefix("KEY ")
            assert found[row["file"]] == picture_split(key, seed), row


def test_two_views_of_one_object_share_a_split(tmp_path: Path) -> None:
    folder = tmp_path / "images"
    folder.mkdir()
    rows = ["file,kind,source,original,rights"]
    for number in range(40):
        for view in ("thumbs", "banners"):
            (folder / f"{view}{number}.png").touch()
            rows.append(f"{view}{number}.png,lamps,x,assets_{view}_{number}_0123abcd.jpg,cc")
    (tmp_path / "images.csv").write_text("\n".join(rows))
    for split in ("train", "val", "test"):
        names = {path.stem for path in split_pictures(folder, split)}
        assert all((f"thumbs{n}" in names) == (f"banners{n}" in names) for n in range(40))


def test_no_pictures_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no pictures"):
        PictureBank([], tmp_path)


@pytest.mark.parametrize("name", ["bank.npz", "bank"])
def test_written_masks_are_drawn(tmp_path: Path, name: str) -> None:
    masks = np.zeros((2, 128, 128), bool)
    masks[0, :10], masks[1, 30:90, 20:100] = True, True
    write_masks(tmp_path / name, [masks])
    bank = MaskBank.read({str(tmp_path / name): 1.0}, tmp_path / "cache")
    drawn = bank.draw(200, 128, np.random.default_rng(0))
    assert sorted({int(mask.sum()) for mask in drawn}) == [10 * 128 * 255, 60 * 80 * 255]
