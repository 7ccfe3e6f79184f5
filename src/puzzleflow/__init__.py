"""Put broken pictures back together.

The public names are those of ``__init__.pyi``; each is imported when it is first used,
so ``import puzzleflow`` costs nothing.
"""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any


@cache
def _where() -> dict[str, str]:
    """Public name → module, as the stub says it to type checkers."""
    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = (statement for statement in stub.body if isinstance(statement, ast.ImportFrom))
    return {name.name: str(each.module) for each in imports for name in each.names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("puzzleflow")
    if name == "__all__":
        return sorted(_where())
    if name not in _where():
        raise AttributeError(f"module 'puzzleflow' has no attribute {name!r}")
    value = getattr(import_module(_where()[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_where()})
