"""``puzzleflow assemble``: what it writes, that it goes on, and what it says of bad input."""

from __future__ import annotations

import sys
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from puzzleflow.cli.assemble import _announcing, _forecast
from puzzleflow.cli.main import main
from puzzleflow.core.fragments import Fragment, FragmentSet
from puzzleflow.core.pose import Pose
from puzzleflow.formats.open import open_fragments
from puzzleflow.pictures import read_picture, write_picture
from puzzleflow.solvers.free_form.doubts import doubts
from puzzleflow.storage.free_form.answer import read_assembly
from puzzleflow.storage.free_form.own import write_fragments


def torn(count: int = 3, size: int = 60) -> FragmentSet:
    """A colourful strip torn across."""
    y, x = np.mgrid[:size, : size * count]
    planes = [128 + 100 * np.sin(x / 13 + y / 30), 128 + 100 * np.sin(y / 11), 60 + x % 180]
    image = np.stack([*planes, np.full(x.shape, 255)], axis=-1)
    fragments, poses = [], []
    for number in range(count):
        bend = 5 * np.sin(y / 6)
        inside = (x > size * number + bend + 2) & (x < size * (number + 1) + bend - 2)
        pixels = np.where(inside[..., None], image, 0).astype(np.uint8)
        whole = Fragment(pixels, f"part_{number}.png")
        part, offset = whole.cropped()
        fragments.append(part)
        poses.append(Pose(*(whole.centre + offset)))
    return FragmentSet(tuple(fragments), tuple(poses), name="strip")


@pytest.fixture
def run(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["puzzleflow", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, capsys.readouterr()

    return run


def test_all_results_are_written_and_a_second_run_needs_no_pairs(tmp_path, run, monkeypatch):
    write_fragments(tmp_path / "set", torn())
    out = tmp_path / "out"
    words = ("assemble", tmp_path / "set", "--out", out, "--rotation", "none", "--workers", 1)
    code, said = run(*words)
    assert code == 0, said.err
    assert "3 fragments" in said.out
    fragments = open_fragments(tmp_path / "set")[0]
    first = read_assembly(out / "assembly.json", fragments)
    assert read_picture(out / "assembly.png", "RGBA").any()
    groups = ET.parse(out / "assembly.svg").getroot().findall("{http://www.w3.org/2000/svg}g")
    assert len(groups) == 3
    page = (out / "suggestions.html").read_text()
    assert page.count("<section>") == 3
    assert "http" not in page.replace("https://", "http")  # nothing is fetched

    def nothing(*_):
        raise AssertionError("pairs were compared again")

    monkeypatch.setattr("puzzleflow.solvers.free_form.candidates.row_candidates", nothing)
    code, said = run(*words, "--never", "part_0,part_1")
    assert code == 0, said.err
    again = read_assembly(out / "assembly.json", fragments)
    assert again.num_fragments == first.num_fragments


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--solver", "magic"), "unknown free-form solver"),
        (("--rotation", "some"), "unknown rotation"),
        (("--never", "part_0"), "two names"),
        (("--together", "part_0,part_9"), "two names"),
        (("--index", "5"), "no set 5"),
    ],
)
def test_errors_are_one_line(tmp_path, run, words, message):
    write_fragments(tmp_path / "set", torn(2))
    code, said = run(
        "assemble", tmp_path / "set", "--out", tmp_path / "out", "--workers", 1,
        *(() if "--rotation" in words else ("--rotation", "none")), *words,
    )  # fmt: skip
    assert code == 2
    assert message in said.err
    assert len(said.err.splitlines()) == 1


def test_one_fragment_is_answered_with_a_warning(tmp_path, run):
    folder = tmp_path / "cut-outs"
    pixels = np.zeros((20, 20, 4), dtype=np.uint8)
    pixels[4:16, 4:16] = [200, 30, 30, 255]
    write_picture(folder / "alone.png", pixels)
    code, said = run("assemble", folder, "--out", tmp_path / "out", "--workers", 1)
    assert code == 0, said.err
    assert "alone" in said.err
    assert "1 not placed" in said.out


def test_doubts_are_told():
    def fragment(name: str, *boxes: tuple[int, int, int, int], colour: int = 0) -> Fragment:
        pixels = np.zeros((400, 400, 4), dtype=np.uint8)
        rng = np.random.default_rng(0)
        for top, left, height, width in boxes:
            box = np.s_[top : top + height, left : left + width]
            pixels[box] = 255
            if colour:
                pixels[box][..., :3] = rng.integers(0, colour, (height, width, 3))
        return Fragment(pixels, name)

    fine = [fragment("a", (0, 0, 50, 50), colour=200), fragment("b", (0, 0, 60, 60), colour=200)]
    assert doubts(FragmentSet(tuple(fine))) == []
    two = fragment("two", (0, 0, 50, 50), (100, 100, 50, 50), colour=200)
    assert "2 separate pieces" in doubts(FragmentSet((*fine, two)))[0]
    crumb = fragment("crumb", (0, 0, 50, 50), (100, 100, 5, 5), colour=200)
    assert doubts(FragmentSet((*fine, crumb))) == []
    huge = fragment("huge", (0, 0, 400, 400), colour=200)
    tiny = fragment("tiny", (0, 0, 9, 9), colour=200)
    assert "one scale" in doubts(FragmentSet((huge, tiny)))[0]
    plain = FragmentSet((fragment("p", (0, 0, 9, 9)), fragment("q", (0, 0, 8, 8))))
    assert "plain colour" in doubts(plain)[0]


def test_long_work_is_announced(monkeypatch, capsys):
    clock = iter([0.0, 0.0, 10.0, 10.0, 20.0, 20.0])
    monkeypatch.setattr("puzzleflow.cli.assemble.time.perf_counter", lambda: next(clock))
    announce = _announcing(lambda stage, done, total: None)
    announce("pairs", 0, 1000)
    announce("pairs", 50, 1000)
    assert "1000 pairs: about 3 minutes" in capsys.readouterr().err
    announce("pairs", 60, 1000)
    assert capsys.readouterr().err == ""


def test_many_fragments_are_told_before_the_work():
    assert _forecast(36) == ""
    assert "15000 pairs of 500 fragments: about 20 minutes" in _forecast(500)
