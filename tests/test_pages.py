from __future__ import annotations

import base64
from importlib.resources import files

import pytest
from jinja2 import UndefinedError

from puzzleflow.pages import data_uri, render

TABLES = {"accuracy": [["solver"], ["<b>&"]]}


def test_html_is_escaped() -> None:
    report = {"facts": {"<i>": '"x"'}, "results": [], "estimates": {}, "published_table": "T"}
    page = render(
        "bench.html", report=report, tables=TABLES, cases={}, metrics=["PA"], classes=["solved"]
    )
    assert "&lt;b&gt;&amp;" in page
    assert "&lt;i&gt;" in page
    assert "<b>" not in page


def test_what_a_template_asks_for_must_be_given() -> None:
    with pytest.raises(UndefinedError):
        render("ablation.md")


def test_a_page_carries_its_pictures() -> None:
    address = data_uri(b"\x00\xff", "image/webp")
    head, content = address.split(",")
    assert head == "data:image/webp;base64"
    assert base64.b64decode(content) == b"\x00\xff"


def test_every_page_is_built_on_the_base() -> None:
    folder = files("puzzleflow") / "templates"
    pages = [entry for entry in folder.iterdir() if entry.name.endswith(".html")]
    for entry in pages:
        if entry.name not in ("base.html", "macros.html"):
            assert entry.read_text(encoding="utf-8").startswith('{% extends "base.html" %}')
        assert "http" not in entry.read_text(encoding="utf-8"), "nothing from elsewhere"
    assert len(pages) > 3
