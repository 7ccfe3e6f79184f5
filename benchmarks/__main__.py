"""``python -m benchmarks [NAME ...]``: run the ``main()`` of every module here, or those named."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path


def modules() -> list[str]:
    found = (info.name for info in pkgutil.iter_modules([str(Path(__file__).parent)]))
    return sorted(name for name in found if not name.startswith("_"))


def run(names: list[str]) -> int:
    known = modules()
    unknown = sorted(set(names) - set(known))
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; known: {', '.join(known)}", file=sys.stderr)
        return 2
    sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))
    for name in names or known:
        module = importlib.import_module(f"benchmarks.{name}")
        if hasattr(module, "main"):
            print(f"== {name}: {(module.__doc__ or '').strip().splitlines()[0]}", flush=True)
            module.main()
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
