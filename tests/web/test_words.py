"""The page in two languages: the same keys, and every key that the page uses."""

from __future__ import annotations

import json
import re
from pathlib import Path

from puzzleflow.segmentation import find
from puzzleflow.solvers.registry import DEFAULT_SOLVER
from puzzleflow.web import history
from puzzleflow.web.app import STATIC
from puzzleflow.web.report import BANDS
from puzzleflow.web.routes_export import KINDS
from puzzleflow.web.routes_intake import EROSIONS
from puzzleflow.web.solving import SolverShelf

TEXTS = {path.stem: json.loads(path.read_text()) for path in (STATIC / "lang").glob("*.json")}
SCRIPTS = "\n".join(path.read_text() for path in sorted((STATIC / "js").glob("*.js")))


def test_both_languages_have_the_same_keys_and_places() -> None:
    assert set(TEXTS) == {"en", "it"}
    assert set(TEXTS["en"]) == set(TEXTS["it"])
    for key, text in TEXTS["en"].items():
        other = TEXTS["it"][key]
        for places in (r"\{\w+\}", "#"):
            assert sorted(re.findall(places, text)) == sorted(re.findall(places, other)), key


def test_every_word_of_the_page_is_there() -> None:
    page = (STATIC / "index.html").read_text()
    used = set(re.findall(r'\bt\("([^"]+)"', SCRIPTS))
    used |= set(re.findall(r'data-t(?:-label)?="([^"]+)"', page))
    counted = re.findall(r'\bcount\("([^"]+)"', SCRIPTS)
    used |= {f"{key}.{number}" for key in counted for number in ("one", "other")}
    for condition in re.findall(r"\bt\(([^()`]*\?[^()`]*)[,)]", SCRIPTS):
        used |= set(re.findall(r'"([a-z][\w-]+)"', condition.partition("?")[2]))
    used |= {f"file-{kind}" for kind in KINDS} | {f"edges-{name}" for name in EROSIONS}
    used |= {f"band-{index}" for index in range(len(BANDS))}
    used |= {f"kind-{kind}" for kind in ("ruler", "colour card", "label", "other")}
    assert used - set(TEXTS["en"]) == set()


def test_steps_of_the_board_are_translated() -> None:
    source = Path(history.__file__).read_text()
    labels = set(re.findall(r'label=f?"([^"]+)"', source))
    labels |= {f"{verb} piece {{n}}" for verb in re.findall(r'several\("(\w+)"', source)}
    for label in labels:
        pattern = re.sub(r"\{[^}]+\}", "#", label)
        assert f"said:{pattern}" in TEXTS["it"], label


def test_what_is_said_of_a_photograph_is_translated() -> None:
    source = Path(find.__file__).read_text()
    for sentence in (
        "fragment # cut off by the margin of the photograph",
        "fragments # cut off by the margin of the photograph",
        "the ground is not plain: what was found may be wrong; photograph on card or felt",
    ):
        assert TEXTS["it"][f"said:{sentence}"] != sentence
        assert sentence.rpartition("# ")[2] in source  # as the program says it


def test_the_default_method_comes_first_and_is_explained() -> None:
    assert SolverShelf().names()[0] == DEFAULT_SOLVER
    assert f"method-{DEFAULT_SOLVER}" in TEXTS["en"]
