"""What happened to every draw, kept in the journal so that a killed run goes on."""

from __future__ import annotations

import csv
import hashlib
import io
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from puzzleflow.files import write_text
from puzzleflow.journal import Journal
from puzzleflow.pictures import MAX_PIXELS
from puzzleflow.sources.fetch import BrokenBody
from puzzleflow.sources.met import MetRecord

_FORMATS = ("JPEG", "PNG", "WEBP", "TIFF", "GIF", "BMP")
_END = {"JPEG": b"\xff\xd9", "PNG": b"IEND\xaeB`\x82"}  # decoders do without; we do not
_TAIL = 1 << 16
KEPT = "kept"
COLUMNS = (
    *("object_id", "title", "artist", "date", "period", "department", "culture", "medium"),
    *("dimensions", "rights", "classification", "artist_nationality", "begin_year", "end_year"),
    *("object_url", "image_url", "file", "width", "height", "bytes", "sha256"),
)


@dataclass(frozen=True)
class PictureFacts:
    """Size in pixels and bytes, and the SHA-256 of the file."""

    width: int
    height: int
    num_bytes: int
    sha256: str


def check_picture(path: Path) -> PictureFacts:
    """Decode the whole picture (JPEG at an eighth of its size) or raise BrokenBody."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(path, formats=_FORMATS) as image:
                width, height = image.size
                if width * height > MAX_PIXELS:
                    raise BrokenBody("too-large", f"{width}x{height} pixels")
                image.draft("RGB", (width // 8, height // 8))  # reads every byte all the same
                image.load()
                end = _END.get(image.format or "", b"")
    except BrokenBody:
        raise
    except UnidentifiedImageError as error:
        raise BrokenBody("not-an-image", "the answer is not a picture") from error
    except Image.DecompressionBombError as error:
        raise BrokenBody("too-large", str(error)) from error
    except Exception as error:  # PIL raises almost anything on damaged files
        raise BrokenBody("truncated", f"the picture is damaged ({error})") from error
    if end not in _tail(path):
        raise BrokenBody("truncated", "the picture has no end marker")
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return PictureFacts(width, height, path.stat().st_size, digest)


def _tail(path: Path) -> bytes:
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - _TAIL))
        return stream.read()


@dataclass(frozen=True)
class Outcome:
    """The end of one draw: "kept" with its file and facts, or why it was left out."""

    draw: int
    object_id: int
    outcome: str
    file: str = ""
    facts: PictureFacts | None = None

    @property
    def is_kept(self) -> bool:
        return self.outcome == KEPT


@dataclass(frozen=True)
class Entry:
    """One line of the journal: the record of a draw, or its outcome."""

    draw: int
    record: MetRecord | None = None
    outcome: Outcome | None = None


class Ledger:
    """Records and outcomes by draw; everything written goes to the journal first.

    Failed requests are held back until the next picture arrives: only then is it
    certain that the object and not the server was at fault. A run that stops before
    asks for them again.
    """

    def __init__(self, journal: Journal[Entry], folder: Path) -> None:
        self._journal = journal
        self.records: dict[int, MetRecord] = {}
        self.outcomes: dict[int, Outcome] = {}
        self.held_back: list[Outcome] = []
        for entry in journal.entries:
            if entry.record is not None:
                self.records[entry.draw] = entry.record
            if entry.outcome is not None:
                self.outcomes[entry.draw] = entry.outcome
        for draw, outcome in list(self.outcomes.items()):
            if outcome.is_kept and not (draw in self.records and _is_there(folder, outcome)):
                del self.outcomes[draw]  # the file was taken away: bring it again
        self.num_kept = sum(outcome.is_kept for outcome in self.outcomes.values())

    def known(self, draw: int) -> bool | None:
        """Kept, rejected, or None when it still has to be asked for."""
        outcome = self.outcomes.get(draw)
        return None if outcome is None else outcome.is_kept

    def add_record(self, draw: int, record: MetRecord) -> None:
        self.records[draw] = record
        self._journal.append(Entry(draw, record=record))

    def add_outcome(self, outcome: Outcome) -> None:
        if outcome.is_kept:
            for failure in self.held_back:
                self._write(failure)
            self.held_back.clear()
            self.num_kept += 1
        self._write(outcome)

    def hold_back(self, failure: Outcome) -> None:
        """A request that failed: an outcome of this run, not yet of the journal."""
        self.held_back.append(failure)

    def _write(self, outcome: Outcome) -> None:
        self.outcomes[outcome.draw] = outcome
        self._journal.append(Entry(outcome.draw, outcome=outcome))

    def kept(self) -> list[Outcome]:
        """Everything kept, in the order of the draws."""
        return sorted((o for o in self.outcomes.values() if o.is_kept), key=lambda o: o.draw)

    def counts(self) -> dict[str, int]:
        """How often each outcome occurred, the most frequent first."""
        every = [*self.outcomes.values(), *self.held_back]
        return dict(Counter(outcome.outcome for outcome in every).most_common())


def _is_there(folder: Path, outcome: Outcome) -> bool:
    path = folder / outcome.file
    facts = outcome.facts
    return facts is not None and path.is_file() and path.stat().st_size == facts.num_bytes


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
