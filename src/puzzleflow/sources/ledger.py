"""What happened to every draw, kept in the journal so that a killed run goes on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from puzzleflow.journal import Journal
from puzzleflow.sources.met import MetRecord
from puzzleflow.sources.verify import PictureFacts

KEPT = "kept"


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
