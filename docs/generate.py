"""Rewrite what the documentation can take from the code: files, packages, commands, options.

``make docs`` runs it. docs/FILES.md and docs/cli.md are written whole; in README.md the lines
between ``<!-- packages -->`` and its end are replaced. ``tests/test_docs.py`` fails while
something is missing. With ``--picture`` the README's picture is drawn, too: the figure of
``puzzleflow demo``, with the further arguments given here.
"""

from __future__ import annotations

import ast
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import typer

from puzzleflow.cli.main import build_app
from puzzleflow.pictures import read_picture, write_picture

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "puzzleflow"
OTHER_FILES = {
    "benchmarks/": "speed and memory, measured: `make bench`",
    "campaign/": "damaged files, kills, full disks, hostile clients: `make campaign`",
    "docs/": "architecture, glossary, decisions, measurements, commands, responsible use",
    "docs/example_plugin/": "two complete solvers in a package of their own, one of them trained",
    "runs/": "scripts that made what is bundled",
    "tests/": "mirrors src/; `make test`",
    "CHANGELOG.md": "what changed, for users",
    "CONTRIBUTING.md": "house rules, and the ideal commit",
    "LOG.md": "experiments with dates, also those that failed",
    "SECURITY.md": "what is promised, and where to report",
    "Makefile": "`make help` lists its targets",
    "constraints.txt": "the versions that `make` installs",
}


def modules() -> list[Path]:
    """Every module of the package, in reading order; not ``__init__.py`` without code."""
    found = (path for path in PACKAGE.rglob("*.py") if _has_code(path))
    return sorted(found, key=lambda path: (path.parent.relative_to(PACKAGE).parts, path.name))


def packages() -> list[Path]:
    """The folders of ``src/puzzleflow`` that hold code, in alphabetical order."""
    return sorted(path.parent for path in PACKAGE.glob("*/__init__.py"))


def _has_code(path: Path) -> bool:
    statements = ast.parse(path.read_text(encoding="utf-8")).body
    return path.name != "__init__.py" or len(statements) > 1


def first_line(path: Path) -> str:
    """The first sentence of a module's docstring, on one line."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(text.split("\n\n")[0].split())
    sentence = re.split(r"(?<=[.])\s", paragraph)[0]
    return sentence.rstrip(".").replace("``", "")


def tree() -> str:
    """The annotated file tree."""
    lines = ["src/puzzleflow/"]
    shown: set[Path] = {Path()}
    for path in modules():
        relative = path.relative_to(PACKAGE)
        for folder in [*reversed(relative.parents[:-1])]:
            if folder not in shown:
                shown.add(folder)
                name = f"{'  ' * len(folder.parts)}{folder.name}/"
                lines.append(f"{name:<30}{first_line(PACKAGE / folder / '__init__.py')}")
        if relative.name != "__init__.py":
            name = f"{'  ' * len(relative.parts)}{relative.name}"
            lines.append(f"{name:<30}{first_line(path)}")
    lines += [f"{name:<30}{text}" for name, text in OTHER_FILES.items() if (ROOT / name).exists()]
    return "\n".join(lines)


def files_page() -> str:
    """docs/FILES.md: the tree with a line on every file."""
    about = "Written by `make docs` from the first sentence of every file."
    return f"# Files\n\n{about}\n\n```\n{tree()}\n```\n"


def package_table() -> str:
    """One line per package, and one for the modules beside them."""
    beside = [path.name for path in sorted(PACKAGE.glob("*.py")) if path.name != "__init__.py"]
    lines = [f"{path.name + '/':<14}{first_line(path / '__init__.py')}" for path in packages()]
    lines.append(f"{'beside them':<14}{', '.join(beside)}")
    return "```\n" + "\n".join(lines) + "\n```"


def commands() -> list[tuple[str, Any]]:
    """Every command with its words, for example ``("train flow", command)``."""
    return _walk(typer.main.get_command(build_app()), [])


def _walk(command: Any, path: list[str]) -> list[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        return [(" ".join(path), command)]
    context = command.make_context("puzzleflow", [], resilient_parsing=True)
    return [
        found
        for name in sorted(command.list_commands(context))
        for found in _walk(command.get_command(context, name), [*path, name])
    ]


def command_table() -> str:
    """One line per command."""
    rows = ["| command | what it does |", "|---|---|"]
    for name, command in commands():
        anchor = name.replace(" ", "-")
        help_line = " ".join((command.help or "").split("\n\n")[0].split())
        rows.append(f"| [`puzzleflow {name}`](#puzzleflow-{anchor}) | {help_line} |")
    return "\n".join(rows)


def cli_page() -> str:
    """docs/cli.md: every command with its arguments and options."""
    parts = [
        "# Commands",
        "Written by `make docs` from the program itself. Every command has `--help`. An expected "
        "error is one line on stderr and exit status 2; `--debug` shows its traceback.",
        command_table(),
    ]
    for name, command in commands():
        parts += [f"## puzzleflow {name}", (command.help or "").strip()]
        rows = [row for parameter in command.params if (row := _parameter_row(parameter))]
        if rows:
            parts.append("\n".join(["| | | default |", "|---|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def _parameter_row(parameter: Any) -> str:
    if parameter.hidden or parameter.name == "help":
        return ""
    is_option = parameter.opts[0].startswith("-")
    spelled = [*parameter.opts, *parameter.secondary_opts]
    name = ", ".join(f"`{s if is_option else s.upper()}`" for s in spelled)
    default = "required" if parameter.required else _default(parameter.default)
    help_text = " ".join((parameter.help or "").split()).replace("|", "\\|")
    return f"| {name} | {help_text} | {default} |"


def _default(value: Any) -> str:
    """A default as text; nothing for none, for functions and for paths of this machine."""
    if value is None or callable(value) or (isinstance(value, Path) and value.is_absolute()):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"`{value}`" if str(value) else ""


def replace_block(text: str, name: str, content: str) -> str:
    """``text`` with the lines between the marks of ``name`` replaced."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    if len(pattern.findall(text)) != 1:
        raise ValueError(f"expected one block <!-- {name} --> … <!-- end of {name} -->")
    return pattern.sub(lambda match: f"{match[1]}{content}\n{match[2]}", text)


def draw_picture(arguments: list[str]) -> None:
    """docs/images/demo.webp: what ``puzzleflow demo`` draws."""
    with tempfile.TemporaryDirectory() as folder:
        build_app()(["demo", "--out", folder, *arguments], standalone_mode=False)
        figure = read_picture(Path(folder) / "figure.png")
    write_picture(ROOT / "docs" / "images" / "demo.webp", figure)


def main() -> None:
    """Rewrite the files in place."""
    if sys.argv[1:2] == ["--picture"]:
        draw_picture(sys.argv[2:])
    readme = ROOT / "README.md"
    text = replace_block(readme.read_text(encoding="utf-8"), "packages", package_table())
    readme.write_text(text, encoding="utf-8")
    (ROOT / "docs" / "FILES.md").write_text(files_page(), encoding="utf-8")
    (ROOT / "docs" / "cli.md").write_text(cli_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
