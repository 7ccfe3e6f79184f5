"""The documentation says what the program does; ``make docs`` repairs most of it."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from puzzleflow import Grid, build_puzzle, load_sample, write_folder

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    if ".venv" not in path.parts
)


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generate = _generator()
README = (ROOT / "README.md").read_text(encoding="utf-8")


def _tree_entries() -> set[str]:
    """Paths in README's file tree, rebuilt from its indentation."""
    block = README.split("<!-- tree -->")[1].split("<!-- end of tree -->")[0]
    entries, folders = set(), []
    for line in block.strip().strip("`").strip("\n").splitlines():
        name = line.split()[0]
        depth = (len(line) - len(line.lstrip())) // 2
        folders = [*folders[:depth], name.rstrip("/")]
        entries.add("/".join(folders))
    return entries


def test_every_module_is_in_the_tree() -> None:
    modules = {path.relative_to(ROOT).as_posix() for path in generate.modules()}
    missing = sorted(modules - _tree_entries())
    assert not missing, f"run `make docs`; missing from README's tree: {missing}"


def test_everything_in_the_tree_exists() -> None:
    gone = sorted(entry for entry in _tree_entries() if not (ROOT / entry).exists())
    assert not gone, f"run `make docs`; README's tree shows what is gone: {gone}"


def test_every_module_says_what_it_is() -> None:
    silent = [path.name for path in generate.modules() if not generate.first_line(path)]
    assert not silent


@pytest.mark.parametrize(("name", "command"), generate.commands())
def test_every_command_and_option_is_documented(name: str, command: Any) -> None:
    assert f"`puzzleflow {name}`" in README, "run `make docs`"
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    sections = re.split(r"^## ", page, flags=re.MULTILINE)
    section = next((s for s in sections if s.startswith(f"puzzleflow {name}\n")), "")
    assert section, f"run `make docs`; docs/cli.md lacks `puzzleflow {name}`"
    assert command.help, f"`puzzleflow {name}` has no help"
    for parameter in command.params:
        if parameter.name == "help" or parameter.hidden:
            continue
        spelled = parameter.opts[0]
        expected = spelled if spelled.startswith("-") else spelled.upper()
        assert f"`{expected}`" in section, f"run `make docs`; {name} {spelled} is undocumented"
        assert parameter.help, f"`puzzleflow {name}`: {spelled} has no help"


def test_no_documented_command_is_gone() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^## puzzleflow (.+)$", page, re.MULTILINE))
    assert documented == {name for name, _ in generate.commands()}, "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target or target.startswith(("#", "mailto:")):
            continue
        assert (page.parent / target.split("#")[0]).exists(), f"{page.name} links to {target}"


def test_the_readme_keeps_its_order() -> None:
    marks = [
        "](docs/images/",
        "make demo",
        "make test",
        "```python",
        "<!-- commands -->",
        "<!-- tree -->",
        "## Results",
        "## Citation",
    ]
    places = [README.index(mark) for mark in marks]
    assert places == sorted(places)


def test_the_python_of_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert sum(bool(line.strip()) for line in code.splitlines()) == 5
    picture = load_sample("irises")
    masks = np.ones((4, 32, 32), dtype=bool)
    puzzle = build_puzzle(picture, Grid(2, 2), masks, np.array([2, 0, 3, 1]))
    write_folder(tmp_path / "pieces", puzzle)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    assert (tmp_path / "solved.png").stat().st_size > 0
    assert capsys.readouterr().out


def test_the_citation_is_the_paper() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    title = re.search(r"^  title: (.+)$", citation, re.MULTILINE)
    assert title is not None
    assert json.loads(title[1]) in " ".join(README.replace(">", " ").split())
    for author in ("Shahar", "Elkin", "Ben-Shahar"):
        assert author in citation
        assert author in README


def test_no_address_of_a_machine_is_committed() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"(?<![\w.])/(?:home|root|work|Users)/", text), page.name
        assert "../shared" not in text, page.name
