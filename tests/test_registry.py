"""Names → import strings, for whatever kind of thing."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from puzzleflow.core.errors import InputError, UnknownName
from puzzleflow.registry import Registry

GROUP = "puzzleflow.test_things"


@pytest.fixture
def things() -> Registry:
    return Registry(
        "thing", GROUP, {"path": "os.path:join", "deep": "pathlib:Path.exists"}, files=True
    )


def test_an_import_string_may_go_below_a_class(things: Registry) -> None:
    import os.path

    assert things.load("path") is os.path.join
    assert things.load("deep") is Path.exists


def test_plugins_are_listed_without_being_imported(things: Registry, install) -> None:
    install("plugin", GROUP, {"other": "colorsys:rgb_to_hls"})
    sys.modules.pop("colorsys", None)
    assert things.names() == ["deep", "other", "path"]
    assert things.target("other") == "colorsys:rgb_to_hls"
    assert "colorsys" not in sys.modules
    assert things.load("other")(0.0, 1.0, 0.0) == (1 / 3, 0.5, 1.0)


def test_another_group_is_not_read(things: Registry, install) -> None:
    install("elsewhere", "puzzleflow.other_things", {"other": "json:loads"})
    assert things.names() == ["deep", "path"]


def test_unknown_name_lists_the_known(things: Registry) -> None:
    with pytest.raises(UnknownName, match=r"unknown thing 'no-such'; known: deep, path"):
        things.load("no-such")


def test_a_plugin_may_not_take_a_built_in_name(things: Registry, install) -> None:
    install("thief", GROUP, {"path": "thief:Thing"})
    with pytest.raises(InputError, match=r"two things are called 'path'.*package thief"):
        things.names()


def test_two_plugins_may_not_share_a_name(things: Registry, install) -> None:
    install("one", GROUP, {"same": "one:Thing"})
    install("two", GROUP, {"same": "two:Thing"})
    with pytest.raises(InputError, match="two things are called 'same'"):
        things.load("path")


@pytest.mark.parametrize("target", ["nowhere_at_all:Thing", "json:NoSuchThing", "json"])
def test_a_broken_plugin_is_named(things: Registry, install, target: str) -> None:
    install("broken", GROUP, {"broken": target})
    with pytest.raises(InputError, match=r"thing 'broken' cannot be loaded from"):
        things.load("broken")


def test_a_file_of_ones_own_is_run_as_it_is_now(things: Registry, tmp_path: Path) -> None:
    file = tmp_path / "my thing.py"
    name = f"{file}:Thing"
    for value in (1, 2):
        file.write_text(f"class Thing:\n    value = {value}\n")
        assert things.load(name).value == value
        assert sys.modules[things.load(name).__module__].__file__ == str(file)
    assert name not in things.names()
    file.write_text("raise AssertionError('names that come from data run no files')")
    with pytest.raises(UnknownName):
        replace(things, files=False).load(name)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "No such file"),
        ("class Thing(", "was never closed"),
        ("import nowhere_at_all", "nowhere_at_all"),
        ("other = 1", "has no attribute 'Thing'"),
    ],
)
def test_a_broken_file_is_named(things: Registry, tmp_path: Path, content, reason: str) -> None:
    file = tmp_path / "broken.py"
    if content is not None:
        file.write_text(content)
    with pytest.raises(InputError, match=rf"broken\.py:Thing' cannot be loaded .*{reason}"):
        things.load(f"{file}:Thing")
