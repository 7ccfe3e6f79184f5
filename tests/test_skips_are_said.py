"""``make test`` says plainly that the page was not tried in a browser."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace


def test_skipped_browser_tests_are_said_at_the_end() -> None:
    path = Path(__file__).parent / "conftest.py"
    spec = importlib.util.spec_from_file_location("shared_conftest", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    said: list[str] = []

    def report(nodeid: str) -> SimpleNamespace:
        return SimpleNamespace(nodeid=nodeid, keywords={}, longrepr=("f", 1, "no chromium"))

    def told(*nodes: str) -> list[str]:
        said.clear()
        module.pytest_terminal_summary(
            SimpleNamespace(
                stats={"skipped": [report(node) for node in nodes]},
                section=lambda text, sep: said.append(text),
                line=said.append,
            )
        )
        return said

    assert told("tests/web/test_x.py::test") == []
    assert told("tests/browser/a.py::one", "tests/browser/a.py::two") == [
        "the workbench was NOT tried in a browser",
        "2 browser tests were skipped: no chromium",
    ]
