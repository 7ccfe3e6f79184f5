"""``puzzleflow inspect``: what a file or folder holds, and whether it is sound."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from puzzleflow.cli._talk import STDOUT, put_json


def inspect(
    path: Annotated[
        Path,
        typer.Argument(
            help="Puzzles (GAP, JPwLEG, recipe, pictures), free-form fragments (RePAIR and "
            "others), predictions, a layout or an assembly."
        ),
    ],
    split: Annotated[str | None, typer.Option(help="Only train, val or test.")] = None,
    grid: Annotated[str | None, typer.Option(help="ROWSxCOLS, where no file says it.")] = None,
    limit: Annotated[
        int, typer.Option(min=0, help="Puzzles to look at per split, spread evenly; 0 for all.")
    ] = 2000,
    workers: Annotated[int, typer.Option(help="Processes; -1 takes every core.")] = -1,
    json: Annotated[
        Path | None, typer.Option(help="Write the whole report here; - prints it, and only it.")
    ] = None,
) -> None:
    """Tell what it is, how it is stored, and audit it. Exit status 1 if there are faults."""
    from rich.console import Console

    from puzzleflow.cli._talk import stage_progress
    from puzzleflow.core.grid import Grid
    from puzzleflow.formats.audit import inspect_path

    with stage_progress() as progress:
        report = inspect_path(
            path,
            split=split,
            grid=Grid.parse(grid) if grid else None,
            limit=limit or None,
            num_workers=workers,
            report=progress,
        )
    if json is not None:
        put_json(json, report)
    console = Console(highlight=False, soft_wrap=True, stderr=json == STDOUT)
    console.print(f"{report['path']}: {report['kind']}", markup=False)
    for line in _lines(report):
        console.print(line, markup=False)
    for fault in report["faults"]:
        console.print(f"fault: {fault}", markup=False)
    if report["faults"]:
        raise typer.Exit(1)
    if report["splits"]:
        console.print("no faults found")


def _lines(report: dict[str, Any]) -> list[str]:
    if not report["splits"]:
        shown = ("path", "kind", "splits", "repeats", "faults")
        return [f"  {key}: {value}" for key, value in report.items() if key not in shown]
    lines = []
    for name, facts in report["splits"].items():
        lines += [f"{name or 'puzzles'}:", *(f"  {line}" for line in _split_lines(facts))]
    return lines


def _split_lines(facts: dict[str, Any]) -> list[str]:
    audit, stored = facts["audit"], facts["facts"]
    truth = "with truth" if facts["has_truth"] else "without truth"
    grid = f" of {facts['grid']} pieces" if facts["grid"] else ""
    what = "sets of fragments" if "fragments" in audit else "puzzles"
    lines = [
        f"{facts['puzzles']:,} {what}{grid}, {truth}",
        f"{facts['num_files']:,} files, {_size(facts['bytes'])}",
    ]
    if "conditions" in facts:
        lines.append(f"open: {facts['conditions']}")
    if "shape" in stored:
        lines.append(f"array {stored['dtype']} {'x'.join(map(str, stored['shape']))}")
    if "chunks" in stored:
        lines.append(_storage_line(stored))
    unpacked = stored.get("bytes_per_random_read", 0)
    if unpacked * facts["puzzles"] > 16 * stored.get("raw_bytes", 0):
        lines.append(f"slow at random: one puzzle alone unpacks {_size(unpacked)}; read in order")
    if "centre" in stored:
        lines.append(f"the centre piece is {stored['centre']}")
    if "versions" in stored:
        lines.append(f"RePAIR {', '.join(stored['versions'])}")
    if "fragments" in audit:
        low, high = ("x".join(map(str, audit[key])) for key in ("smallest_px", "largest_px"))
        lines.append(f"{audit['fragments']:,} fragments, {audit['placed']:,} with a pose")
        if audit["foreign"]:
            lines.append(f"{audit['foreign']:,} fragments known to be foreign")
        if audit["placed"]:
            lines.append(f"{audit['neighbours']:,} pairs of neighbours")
        lines.append(f"fragments from {low} to {high} px (height x width)")
    else:
        sizes = ", ".join(f"{height}x{width}" for height, width in audit["piece_px"]) or "unknown"
        lines.append(f"pieces of {sizes} px (height x width)")
        if audit["material"] is not None:
            lines.append(f"{100 * audit['material']:.1f} % of the pixels are material")
    lines.append(f"{audit['checked']:,} of {facts['puzzles']:,} {what} looked at")
    return lines


def _storage_line(stored: dict[str, Any]) -> str:
    chunks = stored["chunks"]
    layout = "contiguous" if chunks is None else f"chunks of {'x'.join(map(str, chunks))}"
    filters = ", ".join(stored["filters"]) or "not compressed"
    if stored["compression_level"] is not None:
        filters += f" level {stored['compression_level']}"
    ratio = stored["stored_bytes"] / max(1, stored["raw_bytes"])
    return f"{layout}, {filters}, {_size(stored['stored_bytes'])} stored ({100 * ratio:.1f} %)"


def _size(num_bytes: float) -> str:
    for unit in ("bytes", "KB", "MB", "GB"):
        if num_bytes < 1000 or unit == "GB":
            break
        num_bytes /= 1000
    return f"{num_bytes:,.0f} {unit}" if unit == "bytes" else f"{num_bytes:,.2f} {unit}"
