"""The paper's collection of pictures: draw, filter, download, describe, resume.

Folder:

    collection.json        settings, counts
    objects.json           the object numbers that were drawn from
    journal.jsonl          every record and outcome, the memory of a killed run
    diversity.md, .json    departments, centuries, media, cultures
    GAP-3/metadata.csv     one line per picture
    GAP-3/images/ID.jpg    full-resolution primary images
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import httpx2

from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.rng import child_rng
from puzzleflow.files import read_json, write_json
from puzzleflow.journal import Journal
from puzzleflow.lock import locked
from puzzleflow.parallel import apart
from puzzleflow.pictures import SUFFIXES
from puzzleflow.sources.diversity import write_diversity
from puzzleflow.sources.fetch import BrokenBody, Fetcher, FetchSettings, RequestFailed
from puzzleflow.sources.ledger import (
    KEPT,
    Entry,
    Ledger,
    Outcome,
    PictureFacts,
    Row,
    check_picture,
    write_metadata,
)
from puzzleflow.sources.met import MET_API, MetClient, MetRecord, is_web_address


@dataclass
class SetDraws:
    """One set's share of the draws: ``first``, ``first + step``, … below ``end``."""

    name: str
    first: int
    step: int
    end: int
    num_drawn: int = 0
    num_rejected: int = 0

    @property
    def num_held(self) -> int:
        """Kept, or still on the way."""
        return self.num_drawn - self.num_rejected

    @property
    def next_draw(self) -> int | None:
        draw = self.first + self.num_drawn * self.step
        return draw if draw < self.end else None


class Draws:
    """Draw ``k`` is ``object_of[k]``; the sets take turns, so they can never overlap.

    A set draws again only for an object that was rejected. So it ends with the first
    ``num`` suitable objects of its share, whatever the order in which answers arrive.
    """

    def __init__(self, pool: Sequence[int], seed: int, sets: Sequence[str], num: int) -> None:
        order = child_rng(seed, "draws").permutation(len(pool))
        self.object_of = [int(pool[i]) for i in order]
        self.num = num
        self.sets = [SetDraws(name, i, len(sets), len(pool)) for i, name in enumerate(sets)]

    def set_of(self, draw: int) -> SetDraws:
        return self.sets[draw % len(self.sets)]

    def reject(self, draw: int) -> None:
        self.set_of(draw).num_rejected += 1

    def take(self, known: Callable[[int], bool | None]) -> int | None:
        """The next draw to ask for, or None while no set needs one.

        ``known`` says of a draw whether an earlier run kept it (True) or rejected it
        (False); those are counted here without being asked for again.
        """
        while True:
            needy = [s for s in self.sets if s.num_held < self.num and s.next_draw is not None]
            if not needy:
                return None
            chosen = min(needy, key=lambda s: s.num_drawn)
            draw = chosen.next_draw
            assert draw is not None
            chosen.num_drawn += 1
            kept = known(draw)
            if kept is None:
                return draw
            if not kept:
                chosen.num_rejected += 1


@dataclass(frozen=True)
class CollectSettings:
    """What to collect: ``num`` pictures for each of ``sets``, drawn with ``seed``."""

    num: int = 20_000
    sets: tuple[str, ...] = ("GAP-3", "GAP-5")
    seed: int = 0
    base_url: str = MET_API
    query: str | None = None
    departments: tuple[int, ...] = ()
    give_up_after: int = 60  # failed requests in a row without one picture between them
    fetch: FetchSettings = field(default_factory=FetchSettings)

    def identity(self) -> dict[str, Any]:
        """What must not change when a folder is continued."""
        return {
            "base_url": self.base_url,
            "query": self.query,
            "departments": list(self.departments),
            "seed": self.seed,
            "sets": list(self.sets),
        }


@dataclass(frozen=True)
class Progress:
    """Sent after every draw: pictures kept of those wanted, and objects drawn for them."""

    num_kept: int
    num_wanted: int
    num_drawn: int


@dataclass(frozen=True)
class Collected:
    """Pictures kept by set, and every outcome counted."""

    num_kept: dict[str, int]
    counts: dict[str, int]


def collect(
    out: Path,
    settings: CollectSettings,
    *,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> Collected:
    """Fill ``out``, or go on filling it. Pictures that are there are not asked for again."""
    _check(settings)
    path = out / "journal.jsonl"
    with locked(out), Journal(path, "collect", settings.identity(), Entry) as journal:
        _agree(out, settings)
        ledger = Ledger(journal, out)
        collector = _Collector(out, settings, ledger, on_progress)
        try:
            asyncio.run(collector.run(transport))
        finally:
            collected = _describe(out, settings, ledger)
    for name, num_kept in collected.num_kept.items():
        if num_kept < settings.num:
            raise InputError(
                f"{out}: every object was drawn, but {name} got only {num_kept} of "
                f"{settings.num} pictures; ask for fewer or widen the query"
            )
    return collected


def _check(settings: CollectSettings) -> None:
    if settings.num < 1 or not settings.sets or len(set(settings.sets)) < len(settings.sets):
        raise InputError("a collection needs at least one picture and differently named sets")
    for name in settings.sets:
        if re.fullmatch(r"\w[\w.-]*", name) is None:
            raise InputError(f"{name!r}: the name of a set is a folder: letters, digits, . - _")
    if not is_web_address(settings.base_url):
        raise InputError(f"{settings.base_url}: expected an address that begins with https://")


def _agree(out: Path, settings: CollectSettings) -> None:
    """Refuse to continue a collection that was begun with more pictures."""
    path = out / "collection.json"
    if path.exists():
        before = read_json(path)
        if not isinstance(before, dict) or not isinstance(before.get("num"), int):
            raise FormatError(f"{path}: expected the settings of a collection")
        if before["num"] > settings.num:
            raise InputError(f"{path}: begun with {before['num']} pictures a set, not fewer")
    write_json(path, {**settings.identity(), "num": settings.num})


def _describe(out: Path, settings: CollectSettings, ledger: Ledger) -> Collected:
    """Write the tables and the report of what is there now."""
    rows: dict[str, list[Row]] = {name: [] for name in settings.sets}
    for outcome in ledger.kept():
        name = settings.sets[outcome.draw % len(settings.sets)]
        rows[name].append(Row(ledger.records[outcome.draw], outcome))
    for name, of_set in rows.items():
        write_metadata(out / name / "metadata.csv", of_set)
    write_diversity(out, {name: [row.record for row in of_set] for name, of_set in rows.items()})
    collected = Collected({name: len(of_set) for name, of_set in rows.items()}, ledger.counts())
    told = {"num": settings.num, "num_kept": collected.num_kept, "outcomes": collected.counts}
    write_json(out / "collection.json", settings.identity() | told)
    return collected


class _Collector:
    """The loop: at most ``concurrency`` draws on the way, one place where results settle."""

    def __init__(
        self,
        out: Path,
        settings: CollectSettings,
        ledger: Ledger,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self._out = out
        self._settings = settings
        self._ledger = ledger
        self._on_progress = on_progress

    async def run(self, transport: httpx2.AsyncBaseTransport | None) -> None:
        settings = self._settings
        async with Fetcher(settings.fetch, transport) as fetch:
            client = MetClient(fetch, settings.base_url)
            draws = Draws(await self._pool(client), settings.seed, settings.sets, settings.num)
            running: set[asyncio.Task[tuple[Outcome, bool]]] = set()
            try:
                while True:
                    while len(running) < settings.fetch.concurrency:
                        draw = draws.take(self._ledger.known)
                        if draw is None:
                            break
                        running.add(asyncio.create_task(self._draw(client, fetch, draws, draw)))
                    self._report(draws)
                    if not running:
                        return
                    done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                    errors = [task.exception() for task in done]
                    for task, error in zip(done, errors, strict=True):
                        if error is None:
                            self._settle(draws, *task.result())
                    for error in filter(None, errors):
                        raise error
            finally:
                for task in running:
                    task.cancel()
                await asyncio.gather(*running, return_exceptions=True)

    async def _pool(self, client: MetClient) -> list[int]:
        """The object numbers, asked for once and then kept, so that the draws stay the same."""
        path = self._out / "objects.json"
        if not path.exists():
            pool = await client.object_ids(
                query=self._settings.query, departments=self._settings.departments
            )
            write_json(path, pool)
        pool = read_json(path)
        if not isinstance(pool, list) or not all(type(number) is int for number in pool):
            raise FormatError(f"{path}: expected a list of object numbers")
        return pool

    async def _draw(
        self, client: MetClient, fetch: Fetcher, draws: Draws, draw: int
    ) -> tuple[Outcome, bool]:
        """The outcome of one draw, and whether it is a failed request."""
        object_id = draws.object_of[draw]
        try:
            record = self._ledger.records.get(draw)
            if record is None:
                try:
                    record = await client.record(object_id)
                except FormatError:
                    return Outcome(draw, object_id, "bad-record"), True
                reason = record.unsuitable()
                if reason is not None:
                    return Outcome(draw, object_id, reason), False
                self._ledger.add_record(draw, record)
            file = f"{draws.set_of(draw).name}/images/{object_id}{_suffix(record)}"
            facts = await self._picture(fetch, record, self._out / file)
        except RequestFailed as failure:
            return Outcome(draw, object_id, failure.reason), True
        return Outcome(draw, object_id, KEPT, file, facts), False

    async def _picture(self, fetch: Fetcher, record: MetRecord, path: Path) -> PictureFacts:
        if path.exists():  # killed between the picture's arrival and its line in the journal
            try:
                return await apart(check_picture, path)
            except BrokenBody:
                path.unlink()
        return await fetch.download(record.image_url, path, check_picture)

    def _settle(self, draws: Draws, outcome: Outcome, is_failure: bool) -> None:
        if not outcome.is_kept:
            draws.reject(outcome.draw)
        if not is_failure:
            self._ledger.add_outcome(outcome)
            return
        self._ledger.hold_back(outcome)
        if len(self._ledger.held_back) >= self._settings.give_up_after:
            raise InputError(
                f"{self._settings.base_url}: {len(self._ledger.held_back)} objects in a row "
                f"failed (last: {outcome.outcome}, object {outcome.object_id}); "
                "run the same command again to go on"
            )

    def _report(self, draws: Draws) -> None:
        ledger = self._ledger
        num_drawn = len(ledger.outcomes) + len(ledger.held_back)
        wanted = self._settings.num * len(draws.sets)
        self._on_progress(Progress(ledger.num_kept, wanted, num_drawn))


def _suffix(record: MetRecord) -> str:
    suffix = PurePosixPath(urlsplit(record.image_url).path).suffix.lower()
    return suffix if suffix in SUFFIXES else ".jpg"
