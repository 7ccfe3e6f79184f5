"""One person's work: pieces, the photograph they came from, the board and its history."""

from __future__ import annotations

import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from puzzleflow.core.cancelling import Cancelled
from puzzleflow.core.cells import equal_cells
from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Solution
from puzzleflow.core.rng import child_seed
from puzzleflow.core.types import ByteArray, IntArray
from puzzleflow.solvers.sight import for_solver
from puzzleflow.web.errors import Conflict, NotFound, TooMuch
from puzzleflow.web.history import Arrangement, History
from puzzleflow.web.jobs import Job, JobRunner
from puzzleflow.web.limits import Limits
from puzzleflow.web.photo import Photo
from puzzleflow.web.pieces import Piece, keep, plain_names
from puzzleflow.web.solving import Sessions, SolverShelf, guess_grid, solve_on


class Workbench:
    """State behind one page; every change happens under ``lock``.

    origin  "photo", "pieces", "sample", "cut" or "saved"
    grid    as given, None while it is to be guessed
    truth   (N,) where known, on ``truth_grid``: for pictures that the workbench itself cut
    """

    def __init__(self, folder: Path, limits: Limits, title: str, origin: str) -> None:
        self.id = folder.name
        self.folder = folder
        self.limits = limits
        self.title = title[:120]
        self.origin = origin
        self.lock = threading.RLock()
        self.used_at = time.monotonic()
        self.photo: Photo | None = None
        self.pieces: list[Piece] = []
        self.version = ""
        self.grid: Grid | None = None
        self.truth: IntArray | None = None
        self.truth_grid: Grid | None = None
        self.history = History()
        self.job: Job | None = None
        self._cells: ByteArray | None = None
        self._sessions: Sessions | None = None

    # -- pieces ---------------------------------------------------------------

    def set_pieces(
        self, pieces: Sequence[Piece], grid: Grid | None = None, truth: IntArray | None = None
    ) -> None:
        """Other pieces: the board is cleared, for nothing on it holds any more."""
        if not pieces:
            raise InputError("no fragments found; move the threshold or try another picture")
        if len(pieces) > self.limits.max_pieces:
            raise TooMuch(f"{len(pieces)} pieces; at most {self.limits.max_pieces} are possible")
        if grid is not None and grid.num_pieces != len(pieces):
            raise InputError(f"{len(pieces)} pieces do not fill a {grid} grid")
        with self.lock:
            self._refuse_while_solving()
            old, self.version = self.version, secrets.token_hex(4)
            folder = self.folder / self.version
            folder.mkdir()
            names = plain_names([piece.name for piece in pieces])
            self.pieces = [
                Piece(name, keep(folder, f"{index}", piece.pixels), piece.quarter_turns)
                for index, (name, piece) in enumerate(zip(names, pieces, strict=True))
            ]
            self._forget_board(grid, truth)
            if old:
                shutil.rmtree(self.folder / old, ignore_errors=True)

    def set_photo(self, photo: Photo) -> None:
        """Another division of the photograph; fragments that stayed the same keep their turn."""
        with self.lock:
            turns = {}
            if self.photo is not None:
                boxes = self.photo.boxes()
                turns = {b: p.quarter_turns for b, p in zip(boxes, self.pieces, strict=True)}
            pieces = [
                replace(piece, quarter_turns=turns.get(box, 0))
                for box, piece in zip(photo.boxes(), photo.pieces(), strict=True)
            ]
            self.set_pieces(pieces)
            if self.photo is not None:
                shutil.rmtree(self.photo.folder, ignore_errors=True)
            self.photo = photo

    def _forget_board(self, grid: Grid | None, truth: IntArray | None) -> None:
        self.history = History()
        self.grid, self.truth = grid, truth
        self.truth_grid = None if truth is None else grid
        self._cells, self._sessions = None, None

    def turn(self, chosen: Sequence[int], quarter_turns: int) -> None:
        """Turn pieces to the left by 90° a step."""
        with self.lock:
            turned = {self.checked(index) for index in chosen}
            self._change(
                replace(piece, quarter_turns=(piece.quarter_turns + quarter_turns) % 4)
                if index in turned
                else piece
                for index, piece in enumerate(self.pieces)
            )

    def delete(self, chosen: Sequence[int]) -> None:
        """Take pieces away."""
        with self.lock:
            gone = {self.checked(index) for index in chosen}
            if len(gone) == len(self.pieces):
                raise InputError("at least one piece must stay")
            if self.photo is not None:
                self.set_photo(self.photo.without(sorted(gone)))
            else:
                self._change(p for index, p in enumerate(self.pieces) if index not in gone)

    def _change(self, pieces: Iterable[Piece]) -> None:
        self._refuse_while_solving()
        self.pieces = list(pieces)
        fits = self.grid is not None and self.grid.num_pieces == len(self.pieces)
        self._forget_board(self.grid if fits else None, None)

    def piece(self, index: int) -> Piece:
        return self.pieces[self.checked(index)]

    def checked(self, index: int) -> int:
        if not 0 <= index < len(self.pieces):
            raise NotFound(f"no piece {index}")
        return index

    def cells(self) -> ByteArray:
        """(N, H, W, 4) every piece on the common cell, at full resolution."""
        with self.lock:
            if self._cells is None:
                upright = [piece.upright for piece in self.pieces]
                cells = equal_cells(upright, self.limits.max_total_pixels)
                folder = self.folder / self.version
                name = f"cells-{secrets.token_hex(4)}"
                for left_over in folder.glob("cells-*.npy"):
                    left_over.unlink()
                self._cells = keep(folder, name, cells)
            return self._cells

    def sessions(self) -> Sessions:
        """Prepared solver sessions of these pieces."""
        with self.lock:
            if self._sessions is None:
                self._sessions = Sessions(for_solver(self.cells()))
            return self._sessions

    # -- board ----------------------------------------------------------------

    def change(self, step: Callable[[Arrangement], Arrangement]) -> None:
        """Make a new arrangement from the present one."""
        with self.lock:
            self._refuse_while_solving()
            self.history.add(step(self.history.now))

    def walk(self, step: Callable[[History], None]) -> None:
        """Undo or redo."""
        with self.lock:
            self._refuse_while_solving()
            step(self.history)
            self.grid = self.history.now.grid

    def start_solve(
        self,
        runner: JobRunner,
        shelf: SolverShelf,
        *,
        solver: str,
        grid: Grid | None,
        seed: int,
        num_alternatives: int,
    ) -> Job:
        """Solve in the background; pins are honoured as long as the grid stays the same."""
        with self.lock:
            self._refuse_while_solving()
            if not self.pieces:
                raise Conflict("there are no pieces yet")
            if grid is not None and grid.num_pieces != len(self.pieces):
                raise InputError(f"{len(self.pieces)} pieces do not fill a {grid} grid")
            now = self.history.now if self.history.steps else None
            pins = now.pins if now is not None and now.grid == (grid or now.grid) else {}
            if pins and now is not None:
                grid = now.grid
            sessions, version = self.sessions, self.version
            seed = child_seed(seed, 0)  # as ``puzzleflow solve`` seeds the puzzle of a folder

            def work(job: Job) -> Callable[[], None]:
                job.report(f"Loading the solver {solver}", 0.0)
                loaded = shelf.get(solver)
                job.report("Preparing the pieces", 0.1)
                prepared = sessions()
                if grid is None:
                    chosen, answer, ranking = guess_grid(
                        prepared, loaded, job.report, seed=seed, num_alternatives=num_alternatives
                    )
                else:
                    chosen, ranking = grid, ()
                    answer = solve_on(
                        prepared,
                        loaded,
                        grid,
                        job.report,
                        pinned=pins,
                        seed=seed,
                        num_alternatives=num_alternatives,
                    )
                label = "solve again" if pins else f"solve with {solver}"
                found = Arrangement(
                    chosen, answer.position_of, label, frozenset(pins), answer, ranking
                )
                return lambda: self._commit(found, version)

            self.job = runner.submit(work)
            return self.job

    def _commit(self, found: Arrangement, version: str) -> None:
        with self.lock:
            if version != self.version:
                raise Cancelled
            self.history.add(found)
            self.grid = found.grid

    def _refuse_while_solving(self) -> None:
        if self.job is not None and not self.job.finished:
            raise Conflict("a solve is running: wait for it or cancel it")

    # -- the whole -------------------------------------------------------------

    @property
    def answer(self) -> Solution | None:
        return self.history.now.answer if self.history.steps else None

    def right_pieces(self) -> list[bool] | None:
        """Which pieces lie where they belong; None where nobody knows."""
        if self.truth is None or not self.history.steps:
            return None
        if self.history.now.grid != self.truth_grid:
            return None
        return [bool(same) for same in self.truth == self.history.now.position_of]

    def kept_bytes(self) -> int:
        """Bytes on disk."""
        files = (path for path in self.folder.rglob("*.npy"))
        total = 0
        for path in files:
            try:
                total += path.stat().st_size
            except OSError:
                continue
        return total

    def close(self, runner: JobRunner) -> None:
        """Cancel what runs and remove the files."""
        if self.job is not None:
            runner.cancel(self.job)
        shutil.rmtree(self.folder, ignore_errors=True)
