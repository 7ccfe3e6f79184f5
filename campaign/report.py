"""The outcomes as a table, on the screen and in docs/reliability.md."""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from campaign.outcome import Outcome

BEGIN, END = "<!-- campaign: begin -->", "<!-- campaign: end -->"


def table(outcomes: Sequence[Outcome]) -> str:
    """Markdown: one row a part; seconds of parts that ran side by side are added up, too."""
    rows = ["| part | cases | failures | seconds | of these |", "|---|---:|---:|---:|---|"]
    for one in outcomes:
        cells = (one.part, f"{one.cases:,}", len(one.failures), f"{one.seconds:.0f}", one.summary())
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    cases, failures, seconds = (
        sum(one.cases for one in outcomes),
        sum(len(one.failures) for one in outcomes),
        sum(one.seconds for one in outcomes),
    )
    rows.append(f"| **all** | **{cases:,}** | **{failures}** | **{seconds:.0f}** | |")
    return "\n".join(rows)


def write(path: Path, outcomes: Sequence[Outcome], command: str) -> None:
    """Put the table between the marks of the page."""
    failures = [f"- {failure.splitlines()[0]}" for one in outcomes for failure in one.failures]
    text = "\n\n".join(
        [
            f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, "
            f"{platform.system()}: `{command}`",
            table(outcomes),
            *(["Failures:\n\n" + "\n".join(failures)] if failures else []),
        ]
    )
    page = path.read_text()
    new = re.sub(rf"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n\n{text}\n\n{END}", page, flags=re.DOTALL)
    path.write_text(new)
