"""``puzzleflow solvers``, ``models``, ``erosions``: what there is by name, with its options."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from puzzleflow.registry import Registry

Json = Annotated[bool, typer.Option("--json", help="As JSON, for programs.")]
Name = Annotated[str | None, typer.Argument(help="Only this one.")]


def register(app: typer.Typer) -> None:
    """Add the three lists."""
    for command in (solvers, models, erosions):
        app.command(command.__name__)(command)


def solvers(name: Name = None, json: Json = False) -> None:
    """List solvers: what each does, its options, what it needs and how well its weights did."""
    from puzzleflow.solvers.free_form.registry import FREE_FORM_SOLVERS
    from puzzleflow.solvers.registry import SOLVERS

    free_form = [each for each in FREE_FORM_SOLVERS.names() if name in (None, each)]
    on_grids = [] if name in free_form else _wanted(SOLVERS, name)
    found = {each: _described(SOLVERS, each) | _weights(SOLVERS, each) for each in on_grids}
    for each in free_form:
        found[each] = _described(FREE_FORM_SOLVERS, each) | {"for": "free-form fragments"}
    _show(found, json)


def models(name: Name = None, json: Json = False) -> None:
    """List trainable networks: presets, options, and the bundled weights of each."""
    from puzzleflow.cli._extras import check_extras
    from puzzleflow.training.registry import TRAINABLES

    check_extras(["train"])
    found = {}
    for each in _wanted(TRAINABLES, name):
        entry = _described(TRAINABLES, each)
        if "error" not in entry:
            factory = TRAINABLES.load(each)
            entry["presets"] = ", ".join(factory.presets)
            entry["weights"] = _told(f"{each}.safetensors")
        found[each] = entry
    _show(found, json)


def erosions(name: Name = None, json: Json = False) -> None:
    """List erosion models; NAME:OPTION gives one its option, NAME:shrink=PERCENT widens gaps."""
    from puzzleflow.generation.erosion import EROSIONS

    _show({each: _described(EROSIONS, each) for each in _wanted(EROSIONS, name)}, json)


def _wanted(registry: Registry, name: str | None) -> list[str]:
    if name is None:
        return registry.names()
    registry.target(name)  # or an error that lists the names
    return [name]


def _described(registry: Registry, name: str) -> dict[str, Any]:
    """First sentence and options; the reason where it cannot be loaded."""
    from puzzleflow.core.errors import InputError
    from puzzleflow.options import options_of

    try:
        factory = registry.load(name)
    except InputError as error:
        return {"error": str(error)}
    helps = _helps(factory)
    options = {
        option.name: {
            "expects": option.expected or "anything",
            "default": _plain(option.default),
            "help": option.help or helps.get(option.name, ""),
        }
        for option in options_of(factory).values()
    }
    return {"about": _about(factory), "options": options}


def _weights(registry: Registry, name: str) -> dict[str, str]:
    """What the solver needs beside this package, and how its weights did."""
    from puzzleflow.core.errors import InputError

    try:
        factory = registry.load(name)
    except InputError:  # told already
        return {}
    plain = getattr(factory, "func", factory)
    weights = getattr(plain, "bundled", getattr(sys.modules[plain.__module__], "WEIGHTS", None))
    return {"weights": _told(weights)} if isinstance(weights, str) else {}


def _told(file: str) -> str:
    """Size of bundled weights and the figures that they carry."""
    from puzzleflow.core.errors import InputError
    from puzzleflow.models.checkpoint import bundled_weights, load_weights

    try:
        path = Path(bundled_weights(file))
        figures = load_weights(path)[1].get("validation", {})
    except InputError:
        return "none bundled: give a file"
    scores = [
        f"{grid} " + " ".join(f"{key} {100 * each[key]:.1f}" for key in ("PA", "AA") if key in each)
        for grid, each in figures.items()
        if isinstance(each, dict) and "AA" in each
    ]
    size = f"{path.name}, {path.stat().st_size / 1e6:.1f} MB"
    return f"{size}; validation {', '.join(scores)}" if scores else size


def _about(factory: Any) -> str:
    """The first sentence of its documentation, and what a partial sets."""
    text = (inspect.getdoc(getattr(factory, "func", factory)) or "").partition("\n\n")[0]
    fixed = [str(value) for value in getattr(factory, "args", ())]
    fixed += [f"{key}={value}" for key, value in getattr(factory, "keywords", {}).items()]
    return " ".join(text.replace("`", "").split()) + (f" ({', '.join(fixed)})" if fixed else "")


def _helps(factory: Any) -> dict[str, str]:
    """``name  what it is`` lines of the documentation."""
    plain = getattr(factory, "func", factory)
    found: dict[str, str] = {}
    for kind in reversed(getattr(plain, "__mro__", [plain])):
        found |= re.findall(r"^(\w+) {2,}(\S.*)$", inspect.getdoc(kind) or "", re.MULTILINE)
    return found


def _plain(value: Any) -> Any:
    if value is inspect.Parameter.empty:
        return None
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def _show(found: dict[str, dict[str, Any]], as_json: bool) -> None:
    if as_json:
        import json

        print(json.dumps(found, indent=2, ensure_ascii=False))
        return
    for name, entry in found.items():
        print(f"{name}: {entry.get('about') or entry.get('error')}")
        for key in ("for", "presets", "weights"):
            if key in entry:
                print(f"    {key}: {entry[key]}")
        for option, told in entry.get("options", {}).items():
            default = "" if told["default"] is None else f" [{told['default']}]"
            help_text = f": {told['help']}" if told["help"] else ""
            print(f"    {option}={told['expects']}{default}{help_text}")
