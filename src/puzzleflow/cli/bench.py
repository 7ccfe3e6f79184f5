"""``puzzleflow bench``: several solvers on the same puzzles, with a report."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from puzzleflow.cli._options import Centre, Cluster, Protocol, sent

if TYPE_CHECKING:
    from rich.table import Table

    from puzzleflow.evaluation.runner import Standing
    from puzzleflow.evaluation.spec import SolverSpec


def bench(
    data: Path = typer.Argument(..., help="Puzzles in any format that `inspect` knows."),
    solvers: str = typer.Option(
        ...,
        "--solvers",
        help="Names, FILE.py:CLASS or the groups @table1, @jpwleg, @learned, @all, "
        "comma-separated; options as NAME:KEY=VALUE+KEY=VALUE.",
    ),
    out: Path = typer.Option(
        Path("bench"), "--out", callback=sent, help="Folder of the report; resumable."
    ),
    split: str | None = typer.Option(None, "--split", help="train, val or test."),
    grid: str | None = typer.Option(None, "--grid", help="ROWSxCOLS where the data do not say."),
    centre: Centre = Protocol.GIVEN,
    limit: int | None = typer.Option(None, "--limit", min=1, help="Only the first so many."),
    seed: int = typer.Option(0, "--seed", help="Root of every puzzle's own seed."),
    workers: int = typer.Option(1, "--workers", min=1, help="Processes, one thread each."),
    cluster: Cluster = None,
    device: str | None = typer.Option(
        None, "--device", help="Of networks: cpu, cuda, mps or auto; part of a solver's name then."
    ),
    threads: int = typer.Option(1, "--threads", min=1, help="Threads of PyTorch in a process."),
    fresh: bool = typer.Option(False, "--fresh", help="Forget the results already in --out."),
    strict: bool = typer.Option(
        False, "--strict", help="Exit with status 1 if a puzzle got no answer."
    ),
) -> None:
    """Run solvers over a data set and report accuracy, failures, time and memory.

    Sets of free-form fragments are scored as `evaluate` does. Stopped at any moment, the same
    command goes on where it was; a solver whose code or weights have changed since is run again.
    """
    from rich.console import Console
    from rich.live import Live

    from puzzleflow.core.grid import Grid
    from puzzleflow.evaluation.report import make_report, write_report
    from puzzleflow.evaluation.runner import Bench, Standings
    from puzzleflow.evaluation.spec import parse_solvers
    from puzzleflow.evaluation.tables import failure_lines
    from puzzleflow.formats.open import is_free_form, open_puzzles

    chosen = parse_solvers(solvers, lambda why: typer.echo(f"left out: {why}", err=True))
    shape = Grid.parse(grid) if grid else None
    console = Console()
    if is_free_form(data):
        failures = _bench_fragments(data, chosen, out, seed, limit, workers, fresh)
        if strict and failures:
            raise typer.Exit(1)
        return
    specs = [spec.on(device) for spec in chosen]
    free = centre is Protocol.FREE
    with open_puzzles(data, split=split, grid=shape, centre_free=free) as source:
        run = Bench(source, specs, out, seed=seed, limit=limit, threads=threads)
        run.check()
        for label, changed in run.outdated().items():
            console.print(f"{label} runs again: its {changed} changed", soft_wrap=True)
        standings = Standings([spec.label for spec in specs], run.truths)
        with ExitStack() as shown:
            if not console.is_terminal:
                shown.callback(console.line)  # the table ends without one, also after an error
            live = shown.enter_context(
                Live(_table(standings.rows()), console=console, refresh_per_second=4)
            )
            for spec, record in run.stream(num_workers=workers, fresh=fresh):
                standings.add(spec.label, record)
                live.update(_table(standings.rows()))
            live.update(_table(standings.rows(), "result"))
        report = make_report(run, run.results(), num_workers=cluster or workers)
        written = write_report(run, report)
    for line in (failed := failure_lines(report.results)):
        typer.echo(f"warning: {line}", err=True)
    console.print(f"wrote {written[0]} and {len(written) - 1} more files", soft_wrap=True)
    if strict and failed:
        raise typer.Exit(1)


def _bench_fragments(
    data: Path,
    specs: Sequence[SolverSpec],
    out: Path,
    seed: int,
    limit: int | None,
    workers: int,
    fresh: bool,
) -> int:
    """The same for free-form sets; returns how many got no answer."""
    from puzzleflow.evaluation.assembly_bench import AssemblyBench, write_assembly_report
    from puzzleflow.formats.open import open_fragments

    run = AssemblyBench(open_fragments(data), specs, out, seed=seed, limit=limit)
    failures = 0
    for done, (spec, record) in enumerate(run.stream(num_workers=workers, fresh=fresh), start=1):
        failures += bool(record.refusal)
        said = record.refusal or ", ".join(
            f"{name} {record.scores[name]:.2f}"
            for name in ("neighbour_f1", "right", "q_pos")
            if name in record.scores
        )
        typer.echo(
            f"{done}/{run.num_sets * len(specs)} {spec.label} {record.name}: {said}, "
            f"{record.seconds:.0f} s"
        )
    written = write_assembly_report(run)
    typer.echo(f"wrote {' and '.join(map(str, written))}")
    return failures


def _table(rows: list[Standing], title: str = "so far") -> Table:
    from rich.table import Table

    table = Table(title=title)
    for head in ("solver", "done", "PA %", "AA %", "SRA %", "failed", "s/puzzle", "left"):
        table.add_column(head, justify="left" if head == "solver" else "right")
    for row in rows:
        table.add_row(
            row.solver,
            f"{row.done}/{row.total}",
            *(f"{value:.1f}" if row.done else "–" for value in (row.pa, row.aa, row.sra)),
            str(row.failed),
            f"{row.seconds:.3g}" if row.done else "–",
            f"{row.left_s:.0f} s" if row.left_s is not None else "–",
        )
    return table
