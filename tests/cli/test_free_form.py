"""The commands on free-form fragments: fracture, inspect, render, evaluate."""

from __future__ import annotations

import json
import sys
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from puzzleflow.cli.main import main
from puzzleflow.core.assembly import Assembly, truth_assembly
from puzzleflow.formats.open import open_fragments
from puzzleflow.pictures import read_picture, write_picture
from puzzleflow.storage.free_form.answer import write_assembly


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    y, x = np.mgrid[:150, :200]
    for number in range(2):
        planes = [40 + x, 60 + y, 90 + 60 * np.sin(x / 9 + number)]
        write_picture(folder / f"{number}.png", np.stack(planes, axis=-1).astype(np.uint8))
    return folder


@pytest.fixture
def run(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["puzzleflow", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, capsys.readouterr()

    return run


@pytest.fixture(scope="module")
def sets(images, tmp_path_factory):
    from puzzleflow.generation.free_form import FreeForm
    from puzzleflow.generation.free_form_sets import FreeFormRequest, generate_free_form

    out = tmp_path_factory.mktemp("sets") / "out"
    request = FreeFormRequest(3, FreeForm((5, 6), foreign=0.2), 160, 1)
    generate_free_form(images, out, request)
    return out


def fracture(images, out, *more):
    common = ["--sets", 2, "--fragments", "4-5", "--side-px", 160, "--workers", 1]
    return ("fracture", "--images", images, "--out", out, *common, *more)


def test_fracture_goes_on_and_repeats_itself(run, images, tmp_path):
    status, printed = run(*fracture(images, tmp_path / "a", "--missing", 0.2))
    assert status == 0, printed.err
    assert "2 sets of fragments" in printed.out
    first = open_fragments(tmp_path / "a")
    assert (first.kind, len(first), first[0].has_truth) == ("puzzleflow", 2, True)
    before = (tmp_path / "a/set_00001/fragments.json").read_bytes()
    for path in (tmp_path / "a/set_00001").iterdir():
        path.unlink()
    (tmp_path / "a/set_00001").rmdir()
    assert run(*fracture(images, tmp_path / "a", "--missing", 0.2))[0] == 0
    assert (tmp_path / "a/set_00001/fragments.json").read_bytes() == before
    status, printed = run(*fracture(images, tmp_path / "a", "--seed", 9))
    assert status == 2
    assert "another request" in printed.err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--fragments", "many"), "expected a number"),
        (("--gap", "wide"), "unknown gap"),
        (("--pattern", "glass"), "unknown fracture pattern"),
        (("--missing", "1"), "shares in"),
    ],
)
def test_fracture_says_what_is_wrong(run, images, tmp_path, more, words):
    status, printed = run(*fracture(images, tmp_path / "a", *more))
    assert status == 2
    assert words in printed.err
    assert not (tmp_path / "a").exists()


def test_inspect(run, sets):
    status, printed = run("inspect", sets)
    assert status == 0, printed.err
    assert "fragments known to be foreign" in printed.out
    assert "pairs of neighbours" in printed.out
    assert "no faults found" in printed.out
    status, printed = run("inspect", sets / "set_00000/fragments.json")
    assert (status, "1 sets of fragments" in printed.out) == (0, True)


def test_inspect_an_assembly(run, sets, tmp_path):
    fragments = open_fragments(sets)[0]
    write_assembly(tmp_path / "a.json", truth_assembly(fragments.poses), fragments, solver="x")
    status, printed = run("inspect", tmp_path / "a.json")
    assert status == 0, printed.err
    assert f"components: [{int(fragments.placed.sum())}]" in printed.out


def test_render_truth_and_answer(run, sets, tmp_path):
    fragments = open_fragments(sets)[1]
    write_assembly(tmp_path / "a.json", Assembly(len(fragments)), fragments)
    for number, more in enumerate([(), ("--sheet",), ("--layout", tmp_path / "a.json")]):
        out = tmp_path / f"{number}.png"
        status, printed = run("render", sets, "--index", 1, "--out", out, *more)
        assert status == 0, printed.err
        assert read_picture(out).std() > 5
    run("render", sets, "--index", 1, "--out", tmp_path / "a.svg", "--layout", tmp_path / "a.json")
    run("render", sets, "--index", 1, "--out", tmp_path / "truth.svg")
    groups = "{http://www.w3.org/2000/svg}g"
    assert len(ET.parse(tmp_path / "a.svg").getroot().findall(groups)) == len(fragments)
    placed = int(fragments.placed.sum())
    assert len(ET.parse(tmp_path / "truth.svg").getroot().findall(groups)) == placed


def test_evaluate(run, sets, tmp_path):
    source = open_fragments(sets)
    for index, fragments in enumerate(source):
        answer = truth_assembly(fragments.poses) if index else Assembly(len(fragments))
        write_assembly(tmp_path / f"answers/{fragments.name}/assembly.json", answer, fragments)
    common = ("evaluate", "--data", sets, "--predictions", tmp_path / "answers")
    status, printed = run(*common, "--json", tmp_path / "scores.json", "--repair-legacy")
    assert status == 0, printed.err
    assert "3 of 3 sets" in printed.out
    record = json.loads((tmp_path / "scores.json").read_text())
    assert record["means"]["q_pos"]["value"] == pytest.approx(2 / 3, abs=0.01)
    assert record["means"]["all_right"]["value"] == pytest.approx(2 / 3)
    assert record["sets"]["set_00002"]["foreign_f1"] == 1
    assert record["sets"]["set_00002"]["legacy_q_pos"] > 0.9
    one = tmp_path / "answers/set_00002/assembly.json"
    status, printed = run("evaluate", "--data", sets / "set_00002", "--predictions", one)
    assert status == 0, printed.err
    status, printed = run("evaluate", "--data", sets, "--predictions", one)
    assert (status, "holds 3 sets" in printed.err) == (2, True)
    status, printed = run("evaluate", "--data", sets, "--predictions", tmp_path)
    assert (status, "no answers in it" in printed.err) == (2, True)
