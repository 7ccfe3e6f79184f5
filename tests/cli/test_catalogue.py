"""Lists of what there is by name, and what a command says before it begins."""

from __future__ import annotations

import json
import sys
from importlib.metadata import PackageNotFoundError

import pytest
from command_line import run

from puzzleflow.cli import _extras, _talk
from puzzleflow.cli.main import main
from puzzleflow.core.errors import InputError, UnknownName


def test_solvers_tell_options_and_weights() -> None:
    told = json.loads(run("solvers", "flow-seams", "--json"))["flow-seams"]
    assert told["options"]["steps"] == {
        "expects": "a whole number from 1",
        "default": 20,
        "help": 'S; assign "greedy" (paper) or "hungarian"; clock "paper" or "before"',
    }
    assert told["weights"].startswith("flow_seams.safetensors, ")
    text = run("solvers", "tabu-alpha")
    assert "compatibility=text [alpha]" in text
    assert "(compatibility=alpha)" in text
    assert "    for: free-form fragments" in run("solvers", "assemble")
    with pytest.raises(UnknownName, match="unknown solver 'nobody'; known: "):
        run("solvers", "nobody")


def test_models_and_erosions(install) -> None:
    told = json.loads(run("models", "flow", "--json"))["flow"]
    assert "paper" in told["presets"].split(", ")
    assert told["options"]["states"]["help"].startswith("States of the flow")
    install("broken", "puzzleflow.erosions", {"broken": "nowhere_at_all:Thing"})
    text = run("erosions")
    assert "fixed: " in text
    assert "    px=a whole number from 0" in text
    assert "broken: erosion 'broken' cannot be loaded from nowhere_at_all" in text


def test_a_missing_extra_is_one_line_before_any_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = ["lightning-fabric>=2.5; extra == 'train'", "matplotlib>=3; extra == 'report'"]
    monkeypatch.setattr(_extras, "requires", lambda name: [*listed, "numpy>=2"])

    def none_is_there(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(_extras, "distribution", none_is_there)
    for words, names, extras in (
        (["ablate", "--data", "x"], "lightning-fabric, matplotlib", "train,report"),
        (["train", "relational"], "lightning-fabric", "train"),
        (["limits"], "matplotlib", "report"),
        (["shapes", "validate"], "matplotlib", "report"),
    ):
        monkeypatch.setattr(sys, "argv", ["puzzleflow", *words])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == 2
        expected = f"{words[0]} needs {names}: pip install 'puzzleflow[{extras}]'"
        assert capsys.readouterr().err == f"puzzleflow: error: {expected}\n"
    _extras.check_extras(["train", "held-out"])
    _extras.check_extras(["shapes", "sample"])
    error = _extras.lacking_module(ModuleNotFoundError(name="lightning_fabric.loggers"))
    assert "puzzleflow[train]" in str(error)
    assert _extras.lacking_module(ModuleNotFoundError(name="my_own")) is None


@pytest.mark.parametrize(("words", "level"), [("-q", -1), ("--verbose", 1), ("-v -q", -1), ("", 0)])
def test_how_much_is_told(words: str, level: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert _talk.take_level(["bench", *words.split(), "data"]) == ["bench", "data"]
    assert _talk._level == level
    _talk.note("a note")
    _talk.tell_cost(0.0)
    told = capsys.readouterr().err
    assert ("a note" in told) == (level >= 0)
    assert (" s, " in told) == (level > 0)
    _talk.take_level([])


def test_python_m_and_completion(monkeypatch: pytest.MonkeyPatch) -> None:
    import puzzleflow.__main__ as module

    assert module.main is main
    assert "--show-completion" in run("--help")


def test_unknown_device_is_refused() -> None:
    from puzzleflow.models.device import find_device

    with pytest.raises(InputError, match="unknown device 'tpu'"):
        find_device("tpu")
