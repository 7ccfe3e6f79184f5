import csv
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.masks import write_masks
from puzzleflow.training.banks import MaskBank, PictureBank, picture_split, split_pictures
from puzzleflow.training.stream import (
    Batch,
    PuzzleStream,
    StreamConfig,
    _moved_inward,
    in_all_turns,
    stream_loader,
)

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


def test_a_name_keeps_its_split_for_ever() -> None:
    """Weights were trained on these: another rule would show them pictures of the test."""
    found = {name: picture_split(f"{name}.png") for name in range(40)}
    assert [name for name in found if found[name] == "val"] == [3, 6, 14, 19, 32]
    assert [name for name in found if found[name] == "test"] == [11, 26, 30]


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


def test_missing_and_foreign_pieces(pictures: PictureBank, masks: MaskBank) -> None:
    config = replace(CONFIG, open_share=1.0, hidden_share=0.5, grids={"3x3": 1.0})
    batches = [PuzzleStream(pictures, masks, config, seed=3).batch(b) for b in range(12)]
    assert {batch.hidden for batch in batches} == {False, True}
    assert any((batch.position_of < 0).any() for batch in batches)
    for batch in batches:
        B, N = batch.position_of.shape
        assert batch.pieces.shape[:2] == (B, N)
        for truth in batch.position_of:
            placed = truth[truth >= 0].tolist()
            assert len(set(placed)) == len(placed) <= 9
        if batch.closed:
            assert (batch.position_of.sort(dim=1).values == torch.arange(9)).all()
        assert batch.world.grid == (None if batch.hidden else Grid(3, 3))


def test_strangers_by_kind(pictures: PictureBank, masks: MaskBank) -> None:
    kinds = ["odd" if index % 2 else "even" for index in range(len(pictures))]
    rng = np.random.default_rng(0)
    for wanted in ("same", "other"):
        config = replace(CONFIG, foreign_kind=wanted, open_share=1.0)
        stream = PuzzleStream(pictures, masks, config, seed=3, kinds=kinds)
        drawn = [stream._stranger(1, rng) for _ in range(20)]
        assert 1 not in drawn
        assert {kinds[index] == "odd" for index in drawn} == {wanted == "same"}
        assert_same(stream.batch(2), stream.batch(2))
    lonely = PuzzleStream(pictures, masks, config, seed=3, kinds=["one"] * len(pictures))
    with pytest.raises(InputError, match="of other kind"):
        lonely._stranger(1, rng)
    with pytest.raises(InputError, match="kind of strangers"):
        PuzzleStream(pictures, masks, replace(CONFIG, foreign_kind="odd"), seed=3)


def test_in_all_turns_the_puzzle_is_there_four_times(
    pictures: PictureBank, masks: MaskBank
) -> None:
    stream = PuzzleStream(pictures, masks, CONFIG, seed=1)
    grid = Grid(2, 3)
    pieces, truth = stream._puzzle(grid, np.random.default_rng(5), 0)
    turned, at = in_all_turns((pieces, truth), grid)
    upright = _laid(pieces, truth, grid)
    for turn in range(4):
        laid = _laid(turned[turn::4], at[turn::4], grid.turned(turn))
        assert (laid == np.rot90(upright, turn)).all()
    _, at = in_all_turns((pieces, np.where(truth == 2, -1, truth)), grid)
    assert (at.reshape(-1, 4)[truth == 2] == -1).all()


def _laid(pieces: np.ndarray, truth: np.ndarray, grid: Grid) -> np.ndarray:
    px = pieces.shape[-1]
    cells = pieces[np.argsort(truth)].reshape(*grid.shape, 4, px, px)
    return cells.transpose(0, 3, 1, 4, 2).reshape(grid.rows * px, grid.cols * px, 4)


def test_turned_batches_tell_no_grid(pictures: PictureBank, masks: MaskBank) -> None:
    config = replace(CONFIG, turned_share=1.0, open_share=0.5, grids={"2x3": 1.0})
    for number in range(6):
        batch = PuzzleStream(pictures, masks, config, seed=3).batch(number)
        assert batch.num_turns == 4
        assert batch.world.grid is None
        assert batch.pieces.shape[1] == batch.position_of.shape[1]
        assert batch.pieces.shape[1] % 4 == 0


def test_puzzles_whose_turns_do_not_fit_into_a_batch_stay_upright(
    pictures: PictureBank, masks: MaskBank
) -> None:
    config = replace(CONFIG, turned_share=1.0, grids={"3x3": 0.5, "3x4": 0.5}, pieces_per_batch=36)
    stream = PuzzleStream(pictures, masks, config, seed=3)
    turns = {str(batch.grid): batch.num_turns for batch in map(stream.batch, range(12))}
    assert turns == {"3x3": 4, "3x4": 1}


def test_outlines_move_inward_but_a_quarter_stays() -> None:
    alpha = np.zeros((2, 32, 32), np.uint8)
    alpha[:, 2:30, 2:30] = 255
    narrow = _moved_inward(alpha, 3.0, np.random.default_rng(0))
    assert (narrow <= alpha).all()
    assert (narrow > 127).sum() < (alpha > 127).sum()
    deep = _moved_inward(alpha, 30.0, np.random.default_rng(0))
    assert ((deep > 0).mean(axis=(1, 2)) > 0.2).all()


def test_pieces_cut_larger_are_the_same_puzzle_with_a_closer_prior(
    pictures: PictureBank, masks: MaskBank
) -> None:
    config = StreamConfig(
        piece_px=32, pieces_per_batch=18, grids={"3x3": 1.0}, with_prior=True, plain_share=1.0,
        square_share=0.0,
    )  # fmt: skip
    small, larger = (
        PuzzleStream(pictures, masks, replace(config, cut_larger=times), seed=3).batch(0)
        for times in (1, 2)
    )
    whole = PuzzleStream(pictures, masks, replace(config, piece_px=64), seed=3).batch(0)
    assert larger.pieces.shape == small.pieces.shape
    assert torch.equal(larger.position_of, small.position_of)
    assert (larger.pixels() - small.pixels()).abs().mean() < 0.03
    assert torch.equal(larger.prior, whole.prior)
    halved = whole.pieces.float().unflatten(4, (32, 2)).unflatten(3, (32, 2)).mean((4, 6))
    assert torch.equal(larger.pieces, halved.round().to(torch.uint8))
    with pytest.raises(InputError, match="cut_larger"):
        replace(config, cut_larger=0)
