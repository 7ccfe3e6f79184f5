"""Run the notebooks of this folder and keep what they show: ``make notebooks``."""

from __future__ import annotations

import tempfile
from pathlib import Path

import nbclient
import nbformat


def main() -> None:
    """Run each in an empty folder and write it back with its outputs."""
    for path in sorted(Path(__file__).resolve().parent.glob("*.ipynb")):
        book = nbformat.read(path, as_version=4)
        with tempfile.TemporaryDirectory() as folder:
            resources = {"metadata": {"path": folder}}
            nbclient.NotebookClient(book, timeout=600, resources=resources).execute()
        for cell in book.cells:
            cell.metadata.pop("execution", None)  # times, which differ from run to run
            for output in cell.get("outputs", ()):
                if "image/jpeg" in output.get("data", {}):
                    output["data"].pop("image/png", None)  # ten times as large
        nbformat.write(book, path)
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
