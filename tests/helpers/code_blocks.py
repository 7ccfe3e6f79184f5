"""The code of the documentation, run: Python and shell blocks of a page, one after the other.

A block that cannot run stands below a comment ``<!-- not run: WHY -->``; such a comment in the
first lines of a page speaks of all its blocks. A Python block whose first line is ``# NAME.py``
is also written to that file.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from command_line import run

BLOCK = re.compile(
    r"(?:<!-- not run: (?P<why>[^\n]+) -->\n)?^```(?P<kind>sh|python)\n(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
WHOLE_PAGE = re.compile(r"\A(?:.*\n){0,4}?<!-- no block is run: ([^\n]+) -->")


@dataclass(frozen=True)
class Block:
    """One block of code; ``why`` it is not run, or nothing."""

    kind: str
    code: str
    why: str = ""


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a Markdown page, or the code cells of a notebook."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        return [Block("python", "".join(c["source"])) for c in cells if c["cell_type"] == "code"]
    whole = WHOLE_PAGE.match(text)
    return [
        Block(found["kind"], found["code"], found["why"] or (whole[1] if whole else ""))
        for found in BLOCK.finditer(text)
    ]


def run_blocks(page: Path, names: dict[str, object] | None = None) -> int:
    """Run a page's blocks in the present folder; how many there were."""
    names = {"__name__": page.stem} if names is None else names
    runnable = [block for block in blocks_of(page) if not block.why]
    for block in runnable:
        if block.kind == "python":
            if named := re.match(r"# (\w+\.py)\n", block.code):
                Path(named[1]).write_text(block.code, encoding="utf-8")
            exec(compile(block.code, str(page), "exec"), names)
            continue
        for line in block.code.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["puzzleflow"]:
                run(*words[1:])
            elif words:
                subprocess.run(words, check=True)
    return len(runnable)
