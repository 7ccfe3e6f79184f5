"""Everything that a benchmark leaves behind, written into one folder."""

from __future__ import annotations

import io
import os
import platform
import re
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from puzzleflow.core.types import ByteArray
from puzzleflow.evaluation.comparison import compare_all
from puzzleflow.evaluation.page import as_html
from puzzleflow.evaluation.published import table_for
from puzzleflow.evaluation.report import as_json, as_markdown, puzzles_csv, summary_csv
from puzzleflow.evaluation.results import Results
from puzzleflow.evaluation.runner import Bench
from puzzleflow.evaluation.sheets import case_sheet, pick_cases
from puzzleflow.evaluation.tables import Report
from puzzleflow.files import write_bytes, write_json, write_text
from puzzleflow.pictures import to_image


def make_report(bench: Bench, results: Sequence[Results], *, num_workers: int) -> Report:
    """The report of finished results."""
    grids = {truth.grid for truth in bench.truths}
    facts = {
        "data": str(bench.source.path),
        "format": bench.source.kind,
        "split": bench.source.split or "–",
        "puzzles": f"{bench.num_puzzles} of {len(bench.source)}",
        "grid": ", ".join(str(grid) for grid in sorted(grids)),
        "data digest": bench.fingerprint,
        "seed": str(bench.seed),
        "workers": str(num_workers),
        "machine": machine(),
        "puzzleflow": version("puzzleflow"),
    }
    return Report(
        facts,
        results,
        compare_all(results, seed=bench.seed),
        bench.seed,
        table_for(grids, bench.source.kind),
    )


def write_report(bench: Bench, report: Report) -> list[Path]:
    """Write ``bench.md``, ``.json``, ``.csv``, ``puzzles.csv``, ``index.html`` and sheets."""
    out = bench.out
    sheets: dict[str, dict[str, bytes]] = {}
    captions: dict[str, dict[str, list[str]]] = {}
    written = []
    for spec, results in zip(bench.specs, report.results, strict=True):
        for kind, cases in pick_cases(results, seed=bench.seed).items():
            webp = _webp(case_sheet(bench.source, results, cases))
            path = out / "sheets" / f"{spec.file_stem}-{kind}.webp"
            write_bytes(path, webp)
            written.append(path)
            sheets.setdefault(spec.label, {})[kind] = webp
            captions.setdefault(spec.label, {})[kind] = [case.caption for case in cases]
    write_text(out / "bench.md", as_markdown(report))
    write_json(out / "bench.json", as_json(report))
    write_text(out / "bench.csv", summary_csv(report))
    write_text(out / "puzzles.csv", puzzles_csv(report))
    write_text(out / "index.html", as_html(report, sheets, captions))
    names = ("index.html", "bench.md", "bench.json", "bench.csv", "puzzles.csv")
    return [*(out / name for name in names), *written]


def machine() -> str:
    """Processor, cores and Python, in words."""
    name = platform.processor() or platform.machine()
    try:
        match = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.M)
        name = match[1].strip() if match else name
    except OSError:
        pass
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}"


def _webp(pixels: ByteArray) -> bytes:
    stream = io.BytesIO()
    to_image(pixels).save(stream, format="WEBP", quality=85)
    return stream.getvalue()
