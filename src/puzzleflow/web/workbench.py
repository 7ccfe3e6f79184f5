"""One person's work: pieces, the photograph they came from, the boards and their history."""

from __future__ import annotations

import secrets
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from puzzleflow.core.canvas import equal_cells, squared
from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.types import BoolArray, ByteArray, IntArray
from puzzleflow.pictures import reduced
from puzzleflow.solvers.base import for_solver
from puzzleflow.web.history import Arrangement, History
from puzzleflow.web.jobs import Job, JobRunner
from puzzleflow.web.kept import Kept, keep
from puzzleflow.web.limits import Conflict, Limits, NotFound, TooMuch
from puzzleflow.web.photo import Box, Photo, Report
from puzzleflow.web.solving import Sessions
from puzzleflow.web.stock import Piece, Sheet, Stock, Stocks, plain_names

Cut = tuple[str, ByteArray]
OUTLINE_PX = 160


class Workbench:
    """State behind one page; every change happens under ``lock`` and ends with :meth:`changed`.

    origin    "photo", "pieces", "sample", "cut" or "saved"
    sheet     title, author, date and scale
    revision  counts the changes
    save      writes the workbench to disk; set by whoever keeps it
    """

    def __init__(self, folder: Path, limits: Limits, title: str, origin: str) -> None:
        self.id = folder.name
        self.folder = folder
        self.limits = limits
        self.sheet = Sheet(title=title[:120])
        self.origin = origin
        self.lock = threading.RLock()
        self.used_at = time.monotonic()
        self.changed_at = time.time()
        self.stocks = Stocks()
        self.job: Job | None = None
        self.revision = 0
        self.save: Callable[[Workbench], None] = lambda _: None
        self._cells: tuple[tuple[int, ...], Kept] | None = None
        self._outlines: tuple[tuple[int, ...], BoolArray] | None = None
        self._sessions: dict[tuple[int, ...], Sessions] = {}
        self.free_session: object | None = None  # see free_solving.py

    # -- what is at hand --------------------------------------------------------

    @property
    def stock(self) -> Stock:
        return self.stocks.now

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return self.stock.pieces if self.stocks.steps else ()

    @property
    def photo(self) -> Photo | None:
        return self.stock.photo if self.stocks.steps else None

    @property
    def history(self) -> History:
        return self.stock.history

    @property
    def turns(self) -> IntArray:
        return self.stock.turns

    def piece(self, index: int) -> Piece:
        return self.pieces[self.checked(index)]

    def checked(self, index: int) -> int:
        if not 0 <= index < len(self.pieces):
            raise NotFound(f"no piece {index}")
        return index

    def changed(self) -> None:
        """Save, drop files that nothing needs, and let other pages know."""
        self.revision += 1
        self.changed_at = time.time()
        self.save(self)
        needed = {kept.path for stock in self.stocks.steps for kept in stock.files()}
        if self._cells is not None:
            needed.add(self._cells[1].path)
        for path in self.folder.glob("*.npy"):
            if path not in needed:
                path.unlink(missing_ok=True)

    # -- pieces ---------------------------------------------------------------

    def set_pieces(
        self,
        cuts: Sequence[Cut],
        grid: Grid | None = None,
        truth: IntArray | None = None,
    ) -> None:
        """Other pieces: nothing that lay on the board holds any more."""
        if not cuts:
            raise InputError("no fragments found; move the threshold or try another picture")
        self._check_number(len(cuts))
        if grid is not None and grid.num_pieces != len(cuts):
            raise InputError(f"{len(cuts)} pieces do not fill a {grid} grid")
        with self.lock:
            names = plain_names([name for name, _ in cuts])
            pieces = tuple(
                Piece(name, keep(self.folder, pixels))
                for name, (_, pixels) in zip(names, cuts, strict=True)
            )
            truth_grid = None if truth is None else grid
            self._add(Stock(pieces, "begin", None, grid, truth, truth_grid))

    def set_photo(self, photo: Photo, label: str, by: Job | None = None) -> None:
        """Another division of the photograph; fragments that stayed the same keep what is known.

        by  the job that found it, if one did
        """
        self._check_number(len(photo.members))
        with self.lock:
            known: dict[int, Piece] = {}  # by the very cut-out, which corrections elsewhere keep
            near: dict[Box, Piece] = {}
            if self.photo is not None and self.pieces:
                cut = self.photo.segmentation.fragments
                known = {
                    id(cut[n - 1]): p for n, p in zip(self.photo.members, self.pieces, strict=True)
                }
                near = dict(zip(self.photo.boxes(), self.pieces, strict=True))
            pieces = []
            for index, number in enumerate(photo.members):
                fragment = photo.segmentation.fragments[number - 1]
                piece = known.get(id(fragment))
                if piece is None:
                    kept = keep(self.folder, fragment.pixels)
                    old = near.get(photo.box(number), Piece("", kept))
                    piece = replace(old, kept=kept, sharp=photo.is_sharp)
                pieces.append(replace(piece, name=f"fragment_{index + 1:02d}.png"))
            self._add(Stock(tuple(pieces), label, photo), by)

    def _check_number(self, count: int) -> None:
        if count > self.limits.max_pieces:
            raise TooMuch(f"{count} pieces; at most {self.limits.max_pieces} are possible")

    def _add(self, stock: Stock, by: Job | None = None) -> None:
        self.refuse_while_working(by)
        self.stocks.add(stock)
        self._forget_sessions()
        self._forget_divisions(self.stocks.steps[-2:])
        self.changed()

    def _forget_sessions(self) -> None:
        self._cells, self._outlines = None, None
        self._sessions, self.free_session = {}, None

    def forget_sessions(self) -> None:
        """Let go of the memory that only makes solving again quicker."""
        with self.lock:
            if self.job is None or self.job.finished:
                self._sessions, self.free_session = {}, None
                self._forget_divisions()

    def _forget_divisions(self, but: Sequence[Stock] = ()) -> None:
        """Of photographs: they are cut again when somebody goes back to them."""
        needed = [stock.photo for stock in but]
        for stock in self.stocks.steps:
            if stock.photo is not None and stock.photo not in needed:
                stock.photo.forget()

    def turn(self, chosen: Sequence[int], quarter_turns: int) -> None:
        """Turn pieces to the left by 90° a step; board, pins and moves stay."""
        with self.lock:
            turned = {self.checked(index) for index in chosen}
            if self.history.steps:
                self.change(lambda now: now.turn(turned, quarter_turns))
                return
            pieces = tuple(
                replace(piece, quarter_turns=(piece.quarter_turns + quarter_turns) % 4)
                if index in turned
                else piece
                for index, piece in enumerate(self.pieces)
            )
            self._add(replace(self.stock, pieces=pieces, truth=None, label="turn"))

    def delete(self, chosen: Sequence[int]) -> None:
        """Take pieces away."""
        with self.lock:
            gone = {self.checked(index) for index in chosen}
            if len(gone) == len(self.pieces):
                raise InputError("at least one piece must stay")
            if self.photo is not None:
                self.set_photo(self.photo.without(sorted(gone)), "remove")
                return
            pieces = tuple(
                replace(piece, quarter_turns=int(turns))
                for index, (piece, turns) in enumerate(zip(self.pieces, self.turns, strict=True))
                if index not in gone
            )
            self._add(Stock(pieces, "remove"))

    def paint(self, area: BoolArray, piece: int | None, *, add: bool) -> None:
        """Mend an outline over a part of the photograph's copy."""
        with self.lock:
            if self.photo is None:
                raise Conflict("these pieces do not come from a photograph")
            if piece is not None:
                self.checked(piece)
            self.set_photo(self.photo.painted(area, piece, add=add), "mend")

    def describe(self, index: int, *, inventory: str, note: str) -> None:
        """Note something about a piece; no step of the history."""
        with self.lock:
            told = replace(self.piece(index), inventory=inventory[:80], note=note[:2000])
            pieces = list(self.pieces)
            pieces[index] = told
            self.stocks.change(replace(self.stock, pieces=tuple(pieces)))
            self.changed()

    def set_sheet(self, sheet: Sheet) -> None:
        with self.lock:
            self.sheet = sheet
            self.changed()

    def sharpen(self, report: Report) -> None:
        """Cut every fragment from the photograph itself, once its outline is settled."""
        with self.lock:
            stock = self.stock
        if stock.photo is None or all(piece.sharp for piece in stock.pieces):
            return
        pieces = []
        for index, (number, piece) in enumerate(
            zip(stock.photo.members, stock.pieces, strict=True)
        ):
            report("Drawing outlines", index / len(stock.pieces))
            if not piece.sharp:
                kept = keep(self.folder, stock.photo.sharp(number))
                piece = replace(piece, kept=kept, sharp=True)
            pieces.append(piece)
        with self.lock:
            if self.stock is stock:
                self.stocks.change(replace(stock, pieces=tuple(pieces)))
                self._forget_sessions()
                self.changed()

    def cells(self) -> ByteArray:
        """(N, H, W, 4) every piece upright on the common cell, at full resolution."""
        with self.lock:
            turns = tuple(int(turn) for turn in self.turns)
            if self._cells is None or self._cells[0] != turns:
                upright = [p.turned(t) for p, t in zip(self.pieces, turns, strict=True)]
                cells = equal_cells(upright, self.limits.max_total_pixels)
                if self._cells is not None:
                    self._cells[1].path.unlink(missing_ok=True)
                self._cells = turns, keep(self.folder, cells)
                return cells
            return self._cells[1].load()

    def outlines(self) -> BoolArray:
        """(N, h, w) the material of every cell, reduced: how near pieces can come."""
        with self.lock:
            turns = tuple(int(turn) for turn in self.turns)
            if self._outlines is None or self._outlines[0] != turns:
                small = [reduced(cell, OUTLINE_PX)[..., 3] > 127 for cell in self.cells()]
                self._outlines = turns, np.stack(small)
            return self._outlines[1]

    @property
    def cell_px(self) -> tuple[int, int]:
        """(height, width) of the common cell."""
        sizes = {p.size(int(turn)) for p, turn in zip(self.pieces, self.turns, strict=True)}
        if len(sizes) == 1:
            return sizes.pop()
        side = max(side for size in sizes for side in size)
        return side, side

    def sessions(self, *, square: bool = False) -> Sessions:
        """Prepared solver sessions of the pieces as they are turned now."""
        with self.lock:
            key = (int(square), *(int(turn) for turn in self.turns))
            if key not in self._sessions:
                cells = for_solver(self.cells())
                if square:
                    cells = squared(cells)
                self._sessions = {**dict(list(self._sessions.items())[-1:]), key: Sessions(cells)}
            return self._sessions[key]

    # -- board ----------------------------------------------------------------

    def change(self, step: Callable[[Arrangement], Arrangement]) -> None:
        """Make a new arrangement from the present one."""
        with self.lock:
            self.refuse_while_working()
            self.history.add(step(self.history.now))
            self.changed()

    def walk(self, step: Callable[[History], None]) -> None:
        """Undo or redo on the board."""
        with self.lock:
            self.refuse_while_working()
            step(self.history)
            self.stocks.change(replace(self.stock, grid=self.history.now.grid))
            self.changed()

    def walk_stocks(self, step: Callable[[Stocks], None]) -> None:
        """Undo or redo what was done to the fragments; their boards come back with them."""
        with self.lock:
            self.refuse_while_working()
            step(self.stocks)
            self._forget_sessions()
            self.changed()

    def lay(self, found: Arrangement, before: Stock) -> None:
        """What a solve found, unless the pieces are others by now."""
        with self.lock:
            if self.stock.history is not before.history:
                raise Conflict("the pieces are others by now")
            self.history.add(found)
            self.stocks.change(replace(self.stock, grid=found.grid))
            self.changed()

    def refuse_while_working(self, by: Job | None = None) -> None:
        if self.job is not None and self.job is not by and not self.job.finished:
            raise Conflict("a solve is running: wait for it or cancel it")

    # -- the whole -------------------------------------------------------------

    def right_pieces(self) -> list[bool] | None:
        """Which pieces lie where they belong; None where nobody knows."""
        stock = self.stock
        if stock.truth is None or not stock.history.steps:
            return None
        now = stock.history.now
        if now.grid != stock.truth_grid:
            return None
        return [bool(r) for r in (stock.truth == now.position_of) & (now.turns == 0)]

    def kept_bytes(self) -> int:
        """Bytes on disk."""
        return sum(
            kept.num_bytes
            for kept in {k.path: k for stock in self.stocks.steps for k in stock.files()}.values()
        )

    def close(self, runner: JobRunner) -> None:
        """Cancel what runs and remove the files."""
        if self.job is not None:
            runner.cancel(self.job)
        gone = self.folder.with_name(f".gone-{secrets.token_hex(4)}")
        try:
            self.folder.rename(gone)  # at once, whatever is being written into it
        except OSError:
            gone = self.folder
        shutil.rmtree(gone, ignore_errors=True)
