"""Rewrite what the documentation can take from the code: files, packages, commands, options.

``make docs`` runs it. FILES.md, cli.md and api.md are written whole; in README.md the lines
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
    "docs/tutorials/": "five tutorials, whose blocks of code are run by the tests",
    "docs/notebooks/": "a quick tour, and the paper's tables at small scale",
    "docs/example_plugin/": "two complete solvers in a package of their own, one of them trained",
    "runs/": "scripts that made what is bundled",
    "tests/": "mirrors src/; `make test`",
    "recipe/": "a recipe in the manner of conda-forge",
    "CHANGELOG.md": "what changed, for users",
    "CONTRIBUTING.md": "house rules, and the ideal commit",
    "Dockerfile": "the workbench in a container",
    "LOG.md": "experiments with dates, also those that failed",
    "SECURITY.md": "what is promised, and where to report",
    "Makefile": "`make help` lists its targets",
    "constraints.txt": "the versions that `make` installs",
    "mkdocs.yml": "the site: `make site`",
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
        anchor = _anchor(name)
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
        mark = (
            f'<a id="puzzleflow-{_anchor(name)}"></a>' if "+" in name else ""
        )  # no heading has it
        parts += [*([mark] if mark else []), f"## puzzleflow {name}", (command.help or "").strip()]
        rows = [row for parameter in command.params if (row := _parameter_row(parameter))]
        if rows:
            parts.append("\n".join(["| | | default |", "|---|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def _anchor(name: str) -> str:
    return name.replace(" ", "-").replace("+", "-plus")


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


def api_page() -> str:
    """docs/api.md: every public name with its signature and docstring, read without importing."""
    parts = [
        "# Python",
        "Written by `make docs` from the source. `import puzzleflow` costs nothing: a name is "
        "imported when it is first used. What is not listed here may change without notice.",
    ]
    for package, names in sorted(_public_names().items()):
        parts.append(f"## {package}")
        for name, module in sorted(names.items(), key=lambda item: item[0].lower()):
            parts += _described(name, module)
    return "\n\n".join(part for part in parts if part) + "\n"


def _public_names() -> dict[str, dict[str, str]]:
    """Name → module, by the package that it comes from; what ``__init__.pyi`` says."""
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    found: dict[str, dict[str, str]] = {}
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom):
            module = str(statement.module)
            names = {alias.name: module for alias in statement.names}
            found.setdefault(module.split(".")[1], {}).update(names)
    return found


def _described(name: str, module: str) -> list[str]:
    path = PACKAGE.joinpath(*module.split(".")[1:])
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    (found,) = (
        node
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name
    )
    parts = [f"### {name}", f"`{module}`", *_docstring(found)]
    if isinstance(found, ast.FunctionDef):
        return [parts[0], parts[1], _signature(found), *parts[2:]]
    fields = [
        ast.unparse(node) for node in found.body
        if isinstance(node, ast.AnnAssign) and not ast.unparse(node.target).startswith("_")
    ]  # fmt: skip
    if fields:
        parts.append("```py\n" + "\n".join(fields) + "\n```")
    for node in found.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            first = (ast.get_docstring(node) or "").split("\n\n")[0]
            about = " ".join(first.split()).replace("``", "`")
            parts.append(f"- `{node.name}`{': ' + _plain(about) if about else ''}")
    return parts


def _signature(function: ast.FunctionDef) -> str:
    returns = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    whole = f"{function.name}({ast.unparse(function.args)}){returns}"
    if len(whole) > 90:
        whole = whole.replace("(", "(\n    ", 1).replace(", *, ", ",\n    *,\n    ")
    return f"```py\n{whole}\n```"


def _docstring(node: ast.FunctionDef | ast.ClassDef) -> list[str]:
    """The first paragraph as text, the rest, which is often a table, as it stands."""
    first, _, rest = (ast.get_docstring(node) or "").partition("\n\n")
    return [_plain(first), f"```text\n{rest}\n```" if rest else ""]


def _plain(text: str) -> str:
    return re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", text).replace("``", "`")


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
    (ROOT / "docs" / "api.md").write_text(api_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
