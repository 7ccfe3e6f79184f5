from __future__ import annotations

import inspect
import re

from puzzleflow.core import errors


def test_the_tree_in_the_docstring_is_the_tree():
    classes = {name for name, _ in inspect.getmembers(errors, inspect.isclass)}
    assert set(re.findall(r"^[ │├└─]*([A-Z]\w+)", errors.__doc__, re.MULTILINE)) >= classes
    assert all(issubclass(getattr(errors, name), errors.PuzzleFlowError) for name in classes)


def test_an_unknown_name_lists_the_known_ones():
    error = errors.UnknownName("solver", "magic", {"greedy": 1, "flow": 2})
    assert str(error) == "unknown solver 'magic'; known: flow, greedy"
