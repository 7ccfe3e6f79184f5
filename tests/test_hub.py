"""Data and weights by name from a hub, against one that runs on this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from command_line import run
from format_samples import GRID, small_puzzle
from hub_server import Hub, running_hub
from huggingface_hub import constants

from puzzleflow import Pretrained, load_solver, open_puzzles
from puzzleflow.addresses import address_of, located
from puzzleflow.core.errors import InputError, OutputError, UnknownName
from puzzleflow.formats.audit import inspect_path
from puzzleflow.formats.open import split_of
from puzzleflow.hub import HubAddress
from puzzleflow.models.checkpoint import bundled_weights
from puzzleflow.models.pretrained import weights_at
from puzzleflow.storage.gap import write_gap_split
from puzzleflow.training.data import TrainingData
from puzzleflow.training.stream import StreamConfig

GAP = "hf://museum/GAP/GAP-3"
MAIN = "from puzzleflow.cli.main import main; main()"
FILES = ["labels_coordinates.h5", "labels_indices.h5", "metadata.json", "puzzles.h5"]


def point_at(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What HF_ENDPOINT does where the library is not yet imported."""
    template = f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with GAP-3 in three splits, beside what is of no use to a reader of puzzles."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    data = tmp_path / "data"
    for first, split in enumerate(("train", "val", "test")):
        puzzles = [small_puzzle(3 * first + i, px=4) for i in range(3)]
        about = {"split": split}  # so that no two files are equal, which a hub keeps once
        write_gap_split(data / "GAP-3" / split, puzzles, 3, GRID, 4, metadata=about)
    (data / "fragment_generator").mkdir()
    (data / "fragment_generator" / "vae.pt").write_bytes(b"large")
    (data / "README.md").write_text("# GAP")
    with running_hub() as (hub, address):
        point_at(address, monkeypatch)
        hub.add("datasets/museum/GAP", data)
        yield hub


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An address at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    point_at(f"http://127.0.0.1:{port}", monkeypatch)


def test_one_split_is_fetched_once(hub: Hub, tmp_path: Path) -> None:
    with open_puzzles(GAP, split="test") as source:
        assert hub.take() == [f"GAP-3/test/{name}" for name in FILES]
        with open_puzzles(tmp_path / "data/GAP-3/test") as original:
            assert len(source) == len(original) == 3
            for ours, theirs in zip(source, original, strict=True):
                assert np.array_equal(ours.pieces, theirs.pieces)
                assert np.array_equal(ours.truth, theirs.truth)
    open_puzzles(GAP, split="test").close()
    assert hub.take() == []


def test_inspect_fetches_all_splits_and_names_the_address(hub: Hub) -> None:
    report = inspect_path(GAP)
    assert report["path"] == GAP
    assert list(report["splits"]) == ["train", "val", "test"]
    assert len(hub.take()) == 12
    assert inspect_path(Path(GAP), split="validation")["path"] == GAP  # a Path halves the slashes


def test_what_cannot_be_opened_is_told_before_anything_is_fetched(hub: Hub) -> None:
    for address, options, reason in (
        ("hf://museum/GAP", {}, "choose one of hf://museum/GAP/GAP-3"),
        (GAP, {}, "holds the splits train, val, test: choose one of them"),
        ("hf://museum/GAP/GAP-7", {}, "the repository holds GAP-3, README.md, fragment_generator"),
        ("hf://museum/none", {}, "the hub has no dataset museum/none"),
        ("hf://museum", {}, "expected hf://"),
    ):
        with pytest.raises(InputError, match=reason) as caught:
            open_puzzles(address, **options)
        assert str(caught.value).startswith(address)
        assert "\n" not in str(caught.value)
    assert hub.take() == []


def test_an_interrupted_fetch_goes_on_with_the_files_that_are_missing(hub: Hub) -> None:
    hub.refused = {"GAP-3/test/puzzles.h5"}
    with pytest.raises(InputError, match="refuses"):
        open_puzzles(GAP, split="test")
    hub.refused.clear()
    kept = hub.take()
    open_puzzles(GAP, split="test").close()
    again = hub.take()
    assert "GAP-3/test/puzzles.h5" in again
    assert sorted([*kept, *again]) == [f"GAP-3/test/{name}" for name in FILES]


def test_without_a_network_the_cache_answers(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    open_puzzles(GAP, split="test").close()
    hub.take()
    request.getfixturevalue("nowhere")
    with open_puzzles(GAP, split="test") as source:
        assert len(source) == 3
    with pytest.raises(InputError, match="cannot be reached, and not all files are in the cache"):
        open_puzzles(GAP, split="train")


@pytest.mark.usefixtures("nowhere")
def test_offline_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"^{GAP}: the hub cannot be reached, and nothing of it"):
        open_puzzles(GAP, split="test")
    with pytest.raises(OutputError, match=r"^hf://me/mine: the hub cannot be reached$"):
        Pretrained.from_pretrained(bundled_weights("rg_lns.safetensors")).push_to_hub("me/mine")


def test_training_data_are_fetched_without_the_test_split(hub: Hub, tmp_path: Path) -> None:
    stream = StreamConfig(piece_px=16)
    data = TrainingData(Path(GAP), stream, tmp_path / "cache2", batch=1)
    assert [len(source) for source in data.sources] == [3, 3]
    assert not [name for name in hub.take() if "/test/" in name]


def test_commands_take_addresses(hub: Hub, tmp_path: Path) -> None:
    assert f"{GAP}: gap" in run("inspect", GAP, "--split", "test")
    run("bench", GAP, "--split", "test", "--solvers", "random", "--out", tmp_path / "report")
    assert (tmp_path / "report" / "bench.json").exists()
    out = tmp_path / "solved"
    run("solve", GAP, "--split", "test", "--solver", "random", "--out", out)
    assert "AA" in run("evaluate", "--predictions", out, "--data", GAP, "--split", "test")
    run("render", GAP, "--split", "test", "--sheet", "--out", tmp_path / "sheet.png")
    assert hub.take() == [f"GAP-3/test/{name}" for name in FILES]


def test_the_endpoint_is_an_environment_variable(hub: Hub, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "HF_ENDPOINT": constants.ENDPOINT,
        "HF_HOME": str(tmp_path / "home"),
        "PYTHONPATH": str(Path(__file__).parents[1] / "src"),
    }
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "inspect", GAP, "--split", "test"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert hub.take() == [f"GAP-3/test/{name}" for name in FILES]


def test_weights_by_address(hub: Hub, tmp_path: Path) -> None:
    bundled = bundled_weights("rg_lns.safetensors")
    model = Pretrained.from_pretrained(bundled)
    assert "commit" in model.push_to_hub("museum/edges")
    sent = hub.repositories["models/museum/edges"]
    assert sent["model.safetensors"] == bundled.read_bytes()
    card = sent["README.md"].decode()
    assert card.startswith("---\nlibrary_name: puzzleflow\n")
    assert model.card.strip() in card
    assert 'load_solver("rg-lns", weights="hf://museum/edges")' in card
    solver = load_solver("rg-lns", weights="hf://museum/edges")
    assert solver.weights.read_bytes() == bundled.read_bytes()
    assert hub.take() == ["model.safetensors"]
    back = Pretrained.from_pretrained("hf://museum/edges/model.safetensors")
    assert (back.kind, back.config) == (model.kind, model.config)


def test_published_puzzles_come_back(hub: Hub, tmp_path: Path) -> None:
    original = tmp_path / "data" / "GAP-3"
    assert "3 train, 3 validation, 3 test puzzles" in run("publish", original, "hf://museum/tables")
    hub.take()
    with open_puzzles("hf://museum/tables", split="val") as source:
        assert source.kind == "parquet"
        fetched = hub.take()
        assert [name for name in fetched if "parquet" in name] == [
            "data/validation-00000-of-00001.parquet"
        ]
        with open_puzzles(original, split="val") as theirs:
            assert np.array_equal(source[2].pieces, theirs[2].pieces)
            assert np.array_equal(source.truths(), theirs.truths())
    run("publish", original, "hf://museum/files", "--as-it-is")
    assert hub.repositories["datasets/museum/files"].keys() == {
        f"{split}/{name}" for split in ("train", "val", "test") for name in FILES
    }


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("hf://a/b", ("dataset", "a/b", None, "")),
        ("hf://models/a/b.c@v1.0/x/y", ("model", "a/b.c", "v1.0", "x/y")),
        ("hf://datasets/a/b-c/", ("dataset", "a/b-c", None, "")),
    ],
)
def test_addresses(text: str, parts: tuple[str, str, str | None, str]) -> None:
    address = HubAddress.parse(text, "dataset")
    assert (address.kind, address.repository, address.revision, address.inside) == parts


@pytest.mark.parametrize("text", ["hf://a", "hf://a/b/../c", "hf:///a/b", "hf://a/b@x y", "hf://"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(InputError, match="expected hf://"):
        HubAddress.parse(text, "dataset")


def test_paths_stay_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert located(tmp_path) == tmp_path
    assert address_of("C:/pictures") is None
    assert address_of("plain") is None
    assert address_of(Path("hf://a/b")) == "hf://a/b"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hf:" / "a").mkdir(parents=True)
    assert address_of("hf://a") is None  # there is such a folder
    with pytest.raises(UnknownName, match="unknown kind of address 'ftp'"):
        located("ftp://somewhere/x")


def test_the_split_of_a_file() -> None:
    assert split_of("GAP-3/validation/puzzles.h5") == "val"
    assert split_of("data/train-00000-of-00002.parquet") == "train"
    assert split_of("test_img_48gap_33.npy") == "test"
    assert split_of("test_piece.png") is None
    assert split_of("README.md") is None


def test_weights_of_folders(tmp_path: Path) -> None:
    for name in ("state.safetensors", "state.previous.safetensors", "best.safetensors"):
        (tmp_path / name).touch()
    assert weights_at(tmp_path) == tmp_path
    (tmp_path / "flow.safetensors").touch()
    assert weights_at(tmp_path) == tmp_path / "flow.safetensors"
    (tmp_path / "edges.safetensors").touch()
    with pytest.raises(InputError, match=r"several weights.*edges.safetensors"):
        weights_at(tmp_path)
    (tmp_path / "model.safetensors").touch()
    assert weights_at(tmp_path) == tmp_path / "model.safetensors"
