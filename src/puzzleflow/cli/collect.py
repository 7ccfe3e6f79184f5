"""``puzzleflow collect met``: pictures for GAP data sets from the Met's open collection."""

from __future__ import annotations

from pathlib import Path

import typer

from puzzleflow.cli._options import Cluster, sent


def register(app: typer.Typer) -> None:
    """Add ``collect`` and its sources."""
    sources = typer.Typer(no_args_is_help=True)
    sources.command("met")(collect_met)
    sources.callback()(_group)  # keeps "met" a word of its own while it is the only source
    app.add_typer(sources, name="collect", help="Collect open pictures to cut puzzles from.")


def _group() -> None:
    pass


def collect_met(
    out: Path = typer.Option(
        ..., "--out", callback=sent, help="Folder to fill, or to go on filling."
    ),
    num: int = typer.Option(20_000, "--num", min=1, help="Pictures for each set."),
    sets: str = typer.Option("GAP-3,GAP-5", "--sets", help="Disjoint sets, comma-separated."),
    seed: int = typer.Option(0, "--seed", help="Seed of the draw."),
    base_url: str | None = typer.Option(
        None, "--base-url", help="Address of the collection API; the museum's own by default."
    ),
    query: str | None = typer.Option(
        None, "--query", help="Search text; without it every object may be drawn."
    ),
    departments: str = typer.Option("", "--departments", help="Department numbers, 6,11,…"),
    concurrency: int = typer.Option(20, "--concurrency", min=1, help="Downloads at once."),
    rate: float = typer.Option(80.0, "--rate", min=0.01, help="Requests a second at most."),
    timeout: float = typer.Option(30.0, "--timeout", min=0.01, help="Seconds of silence."),
    tries: int = typer.Option(8, "--tries", min=1, help="Tries of a request."),
    backoff: float = typer.Option(1.0, "--backoff", min=0.0, help="First wait, then doubled."),
    give_up_after: int = typer.Option(
        60, "--give-up-after", min=1, help="Failed objects in a row before stopping."
    ),
    cluster: Cluster = None,
) -> None:
    """Draw public-domain objects, download their full-resolution pictures and describe them.

    Run it again after an interruption: nothing that arrived is asked for again.
    """
    from puzzleflow.cli._talk import stage_progress
    from puzzleflow.core.errors import InputError
    from puzzleflow.sources.collect import CollectSettings, collect
    from puzzleflow.sources.fetch import FetchSettings
    from puzzleflow.sources.met import MET_API

    try:
        numbers = tuple(int(part) for part in departments.split(",") if part.strip())
    except ValueError as error:
        raise InputError(f"--departments {departments}: expected numbers, 6,11") from error
    names = tuple(name.strip() for name in sets.split(",") if name.strip())
    settings = CollectSettings(
        num=num,
        sets=names,
        seed=seed,
        base_url=base_url or MET_API,
        query=query,
        departments=numbers,
        give_up_after=give_up_after,
        fetch=FetchSettings(
            rate_per_s=rate,
            concurrency=concurrency,
            timeout_s=timeout,
            tries=tries,
            backoff_s=backoff,
        ),
    )
    with stage_progress() as report:
        collected = collect(
            out,
            settings,
            on_progress=lambda progress: report("pictures", progress.num_kept, progress.num_wanted),
        )
    for name, num_kept in collected.num_kept.items():
        print(f"{name}: {num_kept} pictures, {out / name / 'metadata.csv'}")
    rest = [f"{count} {outcome}" for outcome, count in collected.counts.items()]
    print(f"drawn: {', '.join(rest)}; report: {out / 'diversity.md'}")
