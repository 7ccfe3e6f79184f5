"""metadata.csv: one line per collected picture."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from puzzleflow.files import write_text
from puzzleflow.sources.ledger import Outcome
from puzzleflow.sources.met import MetRecord

COLUMNS = (
    *("object_id", "title", "artist", "date", "period", "department", "culture", "medium"),
    *("dimensions", "rights", "classification", "artist_nationality", "begin_year", "end_year"),
    *("object_url", "image_url", "file", "width", "height", "bytes", "sha256"),
)


@dataclass(frozen=True)
class Row:
    """A kept picture: the museum's record and our file."""

    record: MetRecord
    outcome: Outcome


def write_metadata(path: Path, rows: Sequence[Row]) -> None:
    """The table, with ``file`` relative to the folder of the table."""
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        facts = row.outcome.facts
        assert facts is not None
        writer.writerow(
            {
                **vars(row.record),
                "file": "/".join(Path(row.outcome.file).parts[1:]),
                "width": facts.width,
                "height": facts.height,
                "bytes": facts.num_bytes,
                "sha256": facts.sha256,
            }
        )
    write_text(path, stream.getvalue())
