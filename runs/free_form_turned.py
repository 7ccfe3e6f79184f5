"""Sets whose files show every fragment upright, written anew with each fragment turned.

``python runs/free_form_turned.py derech OUT [SEED]``: one folder a set, in our own format.
"""

from __future__ import annotations

import sys
from pathlib import Path

from puzzleflow.formats.open import open_fragments
from puzzleflow.generation.free_form import turn_fragments
from puzzleflow.storage.free_form.own import DATA, write_fragments


def main(path: str, out: str, seed: str = "0") -> None:
    """Sets that are there already are kept."""
    source = open_fragments(path)
    for name, fragments in zip(source.names, source, strict=True):
        if not (Path(out) / name / DATA).exists():
            write_fragments(Path(out) / name, turn_fragments(fragments, int(seed)))
            print(f"{out}/{name}: {len(fragments)} fragments")


if __name__ == "__main__":
    main(*sys.argv[1:])
