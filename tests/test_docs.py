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
FILES = (ROOT / "docs" / "FILES.md").read_text(encoding="utf-8")
CLI = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
MAX_README_BYTES = 8000
FENCED = re.DOTALL | re.MULTILINE


def _tree_entries() -> set[str]:
    """Paths in the tree of docs/FILES.md, rebuilt from its indentation."""
    (block,) = re.findall(r"```\n(.*?)```", FILES, re.DOTALL)
    entries, folders = set(), []
    for line in block.splitlines():
        name = line.split()[0]
        depth = (len(line) - len(line.lstrip())) // 2
        folders = [*folders[:depth], name.rstrip("/")]
        entries.add("/".join(folders))
    return entries


def test_every_module_is_in_the_tree() -> None:
    modules = {
        path.relative_to(ROOT).as_posix().removesuffix("/__init__.py")
        for path in (ROOT / "src" / "puzzleflow").rglob("*.py")
    }
    missing = sorted(modules - _tree_entries())
    assert not missing, f"run `make docs`; missing from docs/FILES.md: {missing}"


def test_everything_in_the_tree_exists() -> None:
    gone = sorted(entry for entry in _tree_entries() if not (ROOT / entry).exists())
    assert not gone, f"run `make docs`; docs/FILES.md shows what is gone: {gone}"


def test_every_module_says_what_it_is() -> None:
    everything = (ROOT / "src" / "puzzleflow").rglob("*.py")
    silent = [path for path in everything if not generate.first_line(path)]
    assert not silent, f"no docstring at the top of {silent}"


@pytest.mark.parametrize("package", generate.packages(), ids=lambda path: path.name)
def test_every_package_has_its_line_in_the_readme(package: Path) -> None:
    block = README.split("<!-- packages -->")[1].split("<!-- end of packages -->")[0]
    line = generate.first_line(package / "__init__.py")
    assert re.search(rf"^{package.name}/ +{re.escape(line)}$", block, re.MULTILINE), "`make docs`"


def test_what_is_generated_is_up_to_date() -> None:
    assert generate.files_page() == FILES, "run `make docs`"
    assert generate.cli_page() == CLI, "run `make docs`"
    assert generate.api_page() == (ROOT / "docs" / "api.md").read_text("utf-8"), "run `make docs`"
    assert generate.replace_block(README, "packages", generate.package_table()) == README


@pytest.mark.parametrize(("name", "command"), generate.commands())
def test_every_command_and_option_is_documented(name: str, command: Any) -> None:
    assert f"| [`puzzleflow {name}`](#puzzleflow-" in CLI, "run `make docs`"
    sections = re.split(r"^## ", CLI, flags=re.MULTILINE)
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
    documented = set(re.findall(r"^## puzzleflow (.+)$", CLI, re.MULTILINE))
    assert documented == {name for name, _ in generate.commands()}, "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target or target.startswith(("#", "mailto:")):
            continue
        assert (page.parent / target.split("#")[0]).exists(), f"{page.name} links to {target}"


def test_the_readme_fits_on_one_screen_and_keeps_its_order() -> None:
    assert len(README.encode()) <= MAX_README_BYTES
    marks = [
        "](docs/images/",
        "**What it is for:**",
        "**What it is not yet for:**",
        "pip install",
        "make demo",
        "make test",
        "```python",
        "## Six commands",
        "## Results",
        "docs/ARCHITECTURE.md",
        "docs/FILES.md",
        "<!-- packages -->",
        "## Citation",
    ]
    places = [README.index(mark) for mark in marks]
    assert places == sorted(places)


def test_the_commands_of_the_pages_exist() -> None:
    """Every ``puzzleflow`` line in a shell block names a command and options that it has."""
    known = {
        name: {spelled for p in command.params for spelled in [*p.opts, *p.secondary_opts]}
        for name, command in generate.commands()
    }
    checked = 0
    for page in PAGES:
        if page.name in ("LOG.md", "CHANGELOG.md"):
            continue  # what was once so
        blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text("utf-8"), FENCED)
        for line in (x for kind, text in blocks if kind in ("", "sh") for x in _joined(text)):
            words = line.split("#")[0].split()
            if words[:1] != ["puzzleflow"]:
                continue
            checked += 1
            name = next((n for n in (" ".join(words[1:3]), words[1]) if n in known), None)
            assert name, f"{page.name}: {line}"
            options = {word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)}
            assert options <= known[name] | {"--help"}, f"{page.name}: {line}"
    assert checked > 20


def _joined(text: str) -> list[str]:
    return text.replace("\\\n", " ").splitlines()


def test_the_readme_has_six_commands() -> None:
    section = README.split("## Six commands")[1].split("## ")[0]
    assert len(re.findall(r"^puzzleflow ", section, re.MULTILINE)) == 6


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


def test_every_promise_names_tests_that_exist() -> None:
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/\S+\.py)::(\w+)`", page)
    assert len(named) > 30
    for path, test in named:
        assert re.search(rf"^def {test}\(", (ROOT / path).read_text("utf-8"), re.M), (
            f"{path}::{test}"
        )
    promises = re.findall(r"^- .*?(?=^- |^\*\*|^## )", page, FENCED)
    assert all("`tests/" in promise for promise in promises if "campaign" not in promise)
