"""``puzzleflow reproduce``: its plan, and the whole way at the smallest scale."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import run

from puzzleflow.cli.main import build_app
from puzzleflow.cli.reproduce import SCALES, planned
from puzzleflow.core.errors import FormatError, InputError, UnknownName
from puzzleflow.core.grid import Grid
from puzzleflow.evaluation.reproduction import markdown_tables, pipeline_figure
from puzzleflow.samples import list_samples, load_sample


def options_of(words: list[str]) -> tuple[set[str], set[str]]:
    """The options that a command line has, and those that the command knows."""
    import typer

    command = typer.main.get_command(build_app())
    rest = list(words)
    while hasattr(command, "get_command"):
        command = command.get_command(None, rest.pop(0))
    known = {name for parameter in command.params for name in parameter.opts}
    return {word for word in rest if word.startswith("-")}, known


@pytest.mark.parametrize("scale", SCALES)
def test_every_stage_is_a_command_with_options_that_exist(scale: str, tmp_path: Path) -> None:
    stages = planned(tmp_path, SCALES[scale], None, None, 2)
    assert len({stage.name for stage in stages}) == len(stages)
    for stage in stages:
        asked, known = options_of(stage.words)
        assert asked <= known, (stage.line, asked - known)
    assert (stages[0].words[0] == "collect") == (scale == "paper")


def test_tables_are_read_back_by_heading(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One\n\n| a | `b` |\n|---|---|\n| **1** | 2 |\n\ntext\n\n| c |\n|---|\n| 3 |\n"
    )
    assert markdown_tables(page) == {
        "One": [["a", "b"], ["1", "2"]], "One (2)": [["c"], ["3"]]
    }  # fmt: skip
    assert markdown_tables(tmp_path / "nothing.md") == {}


def test_the_pipeline_has_four_panels() -> None:
    figure = pipeline_figure(load_sample(list_samples()[0].name), Grid(2, 3), "none")
    assert figure.shape[2] == 3
    assert figure.shape[1] > 4 * 3 * 96


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    (tmp_path / "stages.json").write_text("[]")
    with pytest.raises(FormatError, match=r"stages\.json: expected the stages"):
        run("reproduce", "--scale", "tiny", "--out", tmp_path)


def test_an_unknown_scale_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="unknown scale 'huge'"):
        run("reproduce", "--scale", "huge", "--out", tmp_path)


@pytest.mark.slow
def test_the_whole_way_ends_in_one_page_and_goes_on(tmp_path: Path) -> None:
    said = run("reproduce", "--scale", "tiny", "--out", tmp_path, "--workers", 1)
    page = (tmp_path / "index.html").read_text()
    for text in ("Table 1: GAP-3", "Table 1: GAP-5", "Table 2", "JPwLEG-3 AA %", "PC1", "Pipeline"):
        assert text in page
    assert page.count("data:image/") >= 8
    assert "of 11, " in said or "of 10, " in said
    ended = json.loads((tmp_path / "stages.json").read_text())
    assert set(ended) == {s.name for s in planned(tmp_path, SCALES["tiny"], None, None, 1)}
    assert " of " not in run("reproduce", "--scale", "tiny", "--out", tmp_path, "--workers", 1)
    with pytest.raises(InputError, match="was made otherwise; choose another folder"):
        run("reproduce", "--scale", "small", "--out", tmp_path)
