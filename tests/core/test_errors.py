from __future__ import annotations

import inspect
import re

import pytest

from puzzleflow.core import errors


def test_the_tree_in_the_docstring_is_the_tree():
    classes = {
        name
        for name, value in inspect.getmembers(errors, inspect.isclass)
        if value.__module__ == errors.__name__
    }
    assert set(re.findall(r"^[ │├└─]*([A-Z]\w+)", errors.__doc__, re.MULTILINE)) >= classes
    assert all(issubclass(getattr(errors, name), errors.PuzzleFlowError) for name in classes)


def test_an_unknown_name_lists_the_known_ones():
    error = errors.UnknownName("solver", "magic", {"greedy": 1, "flow": 2})
    assert str(error) == "unknown solver 'magic'; known: flow, greedy"


@pytest.mark.parametrize(
    "error", [errors.InputError("bad"), errors.UnknownName("split", "x", ["y"])]
)
def test_naming_puts_the_file_before_the_message_once(error):
    message = str(error)
    with pytest.raises(type(error)) as caught, errors.naming("a.npz"), errors.naming("a.npz"):
        raise error
    assert str(caught.value) == f"a.npz: {message}"


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("/d/a/data.json: no list", "/d/a/data.json: no list"),
        ("cannot read /d/a/x.png: gone", "cannot read /d/a/x.png: gone"),
        ("/d/a, line 3: no number", "/d/a, line 3: no number"),
        ("/d/ab: another folder", "/d/a: /d/ab: another folder"),
        ("a layout was expected", "/d/a: a layout was expected"),
    ],
)
def test_naming_knows_a_folder_by_what_lies_in_it(message, told):
    with pytest.raises(errors.FormatError) as caught, errors.naming("/d/a"):
        raise errors.FormatError(message)
    assert str(caught.value) == told


def test_naming_leaves_other_errors_alone():
    with pytest.raises(errors.OutputError, match=r"^full$"), errors.naming("a.npz"):
        raise errors.OutputError("full")


def test_an_unknown_name_survives_a_worker() -> None:
    import pickle

    error = errors.UnknownName("solver", "x", {"b": 1, "a": 2})
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "unknown solver 'x'; known: a, b"
