"""From the state of a workbench to what the page draws."""

from __future__ import annotations

import math

import numpy as np

from puzzleflow.core.conditions import Conditions, fits_well
from puzzleflow.core.grid import Grid
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.web import answers
from puzzleflow.web.drawing import closed
from puzzleflow.web.history import Arrangement
from puzzleflow.web.jobs import Job
from puzzleflow.web.photo import Photo
from puzzleflow.web.saved import DIGITS
from puzzleflow.web.schemas import GridSize
from puzzleflow.web.stock import Stock
from puzzleflow.web.workbench import Workbench

MAX_TRACE_STEPS = 100
SPARE = Conditions(missing=3, foreign=2)  # grids that are offered
STRIP = 4  # a longer grid is offered only where all pieces fill it


def state_of(workbench: Workbench) -> answers.State:
    """The whole state, taken at one moment."""
    with workbench.lock:
        stock, sheet = workbench.stock, workbench.sheet
        base = f"api/workbenches/{workbench.id}"
        stocks = workbench.stocks
        return answers.State(
            id=workbench.id,
            revision=workbench.revision,
            title=sheet.title,
            origin=workbench.origin,
            author=sheet.author,
            date=sheet.date,
            px_per_mm=sheet.px_per_mm,
            remarks=[answers.Remark(what=what, number=number) for what, number in sheet.remarks],
            pieces=[
                _piece(stock, index, int(turn), base) for index, turn in enumerate(stock.turns)
            ],
            grids=grid_choices(len(stock.pieces)),
            grid=None if stock.grid is None else _size(stock.grid),
            no_grid=len(stock.pieces) > 0 and not fits_well(len(stock.pieces)),
            photo=None if stock.photo is None else _photo(stock.photo, base),
            board=_board(workbench) if stock.history.steps else None,
            free=_free(workbench) if stock.free.steps else None,
            undo_fragments=stock.label if stocks.can_undo else None,
            redo_fragments=stocks.steps[stocks.at + 1].label if stocks.can_redo else None,
            job=None if workbench.job is None else job_of(workbench.job),
        )


def _piece(stock: Stock, index: int, turn: int, base: str) -> answers.PieceInfo:
    piece = stock.pieces[index]
    height, width = piece.size(turn)
    return answers.PieceInfo(
        name=piece.name,
        width=width,
        height=height,
        quarter_turns=turn,
        picture=f"{base}/pieces/{index}.png?turn={turn}&key={piece.kept.path.stem}",
        inventory=piece.inventory,
        note=piece.note,
    )


def grid_choices(num_pieces: int) -> list[answers.GridChoice]:
    """Grids that so many pieces fill, then those with a few cells or pieces too many."""
    if not num_pieces:
        return []
    full = Grid.factorisations(num_pieces)
    near = [
        grid
        for grid in SPARE.grids(num_pieces)
        if grid.num_pieces != num_pieces
        and max(grid.shape) <= STRIP * min(grid.shape)
        and grid.num_pieces >= 2
    ]
    near.sort(key=lambda grid: (abs(grid.num_pieces - num_pieces), abs(grid.rows - grid.cols)))
    return [
        answers.GridChoice(
            rows=grid.rows,
            cols=grid.cols,
            missing=max(0, grid.num_pieces - num_pieces),
            extra=max(0, num_pieces - grid.num_pieces),
        )
        for grid in [*full, *near]
    ]


def job_of(job: Job) -> answers.JobInfo:
    """A job as the page sees it."""
    return answers.JobInfo.model_validate(job)


def _size(grid: Grid) -> GridSize:
    return GridSize.model_construct(rows=grid.rows, cols=grid.cols)


def _photo(photo: Photo, base: str) -> answers.PhotoInfo:
    def cutout(number: int) -> str:
        return f"{base}/cutouts/{number}.png?key={photo.version}"

    return answers.PhotoInfo(
        width=photo.whole.shape[1],
        height=photo.whole.shape[0],
        threshold=photo.threshold,
        automatic=photo.automatic,
        boxes=photo.boxes(),
        cutouts=[cutout(number) for number in photo.members],
        aside=[
            answers.AsideInfo(
                fragment=number, kind=kind, box=photo.box(number), cutout=cutout(number)
            )
            for number, kind in photo.aside
        ],
        picture=f"{base}/photo.jpg?key={photo.whole.path.stem}",
        warnings=list(photo.warnings),
    )


def _board(workbench: Workbench) -> answers.Board:
    history = workbench.history
    now = history.now
    answer = now.answer
    previous = history.previous
    height, width = workbench.cell_px
    shape = closed(workbench.outlines(), now.piece_at, now.grid)
    right = workbench.right_pieces()
    right_seams, down_seams = now.seam_confidence()
    confidence = now.confidence()
    return answers.Board(
        rows=now.grid.rows,
        cols=now.grid.cols,
        cell_width=width,
        cell_height=height,
        lefts=list(shape.lefts),
        tops=list(shape.tops),
        width=shape.width,
        height=shape.height,
        piece_at=now.piece_at.tolist(),
        aside=now.aside,
        pinned=sorted(now.pinned),
        groups=[sorted(group) for group in now.groups],
        confidence=[
            _finite(float(confidence[piece])) if piece >= 0 else None for piece in now.piece_at
        ],
        aside_confidence=[_finite(float(confidence[piece])) for piece in now.aside],
        given_pins=0 if answer is None else len(answer.pinned),
        right_seams=[_known(row) for row in right_seams],
        down_seams=[_known(row) for row in down_seams],
        candidates=[
            [
                answers.Candidate(piece=piece, probability=round(prob, DIGITS))
                for piece, prob in cell
            ]
            for cell in now.candidates()
        ],
        layouts=_layouts(now),
        layout_index=_layout_index(now),
        trace=[]
        if answer is None or answer.solution.trace is None
        else _thinned(answer.solution.trace),
        grid_guessed=bool(now.ranking),
        ranking=[
            answers.GridGuessInfo(
                rows=guess.grid.rows,
                cols=guess.grid.cols,
                cost=_finite(guess.cost),
                probability=guess.probability,
            )
            for guess in now.ranking
        ],
        solver=None if answer is None else answer.solution.solver,
        seconds=None if answer is None else answer.seconds,
        label=now.label,
        undo=now.label if history.can_undo else None,
        redo=history.steps[history.at + 1].label if history.can_redo else None,
        previous=None
        if previous is None
        else answers.Earlier(piece_at=previous.piece_at.tolist(), label=previous.label),
        right=None
        if right is None
        else [bool(piece >= 0 and right[piece]) for piece in now.piece_at],
    )


def _free(workbench: Workbench) -> answers.Free:
    free = workbench.stock.free
    table = free.now
    component = {
        piece: index for index, members in enumerate(table.components) for piece in members
    }
    return answers.Free(
        poses=[
            answers.FreePose(
                piece=piece,
                x=pose.x,
                y=pose.y,
                angle=pose.angle,
                pinned=piece in table.pinned,
                component=component.get(piece),
                confidence=table.confidence.get(piece),
            )
            for piece, pose in sorted(table.poses.items())
        ],
        tray=[i for i in range(len(workbench.pieces)) if i not in table.poses],
        label=table.label,
        undo=table.label if free.can_undo else None,
        redo=free.steps[free.at + 1].label if free.can_redo else None,
        prepared=workbench.free_session is not None,
    )


def _thinned(trace: IntArray) -> list[list[int]]:
    """At most :data:`MAX_TRACE_STEPS` rows, the first and the last among them."""
    steps = np.linspace(0, len(trace) - 1, min(len(trace), MAX_TRACE_STEPS)).round().astype(int)
    return [[int(position) for position in trace[step]] for step in steps]


def _layouts(now: Arrangement) -> list[answers.WholeLayout]:
    return [
        answers.WholeLayout(
            energy=_finite(layout.energy),
            probability=_finite(layout.probability),
            fits_pins=not now.pins
            or (
                (layout.grid is None or layout.grid == now.grid)
                and all(layout.position_of[piece] == at for piece, at in now.pins.items())
            ),
        )
        for layout in now.layouts
    ]


def _layout_index(now: Arrangement) -> int | None:
    for index, layout in enumerate(now.layouts):
        assert now.answer is not None
        same = (layout.grid or now.answer.grid) == now.grid
        same = same and np.array_equal(layout.position_of, now.position_of)
        if same and np.array_equal(now.answer.upright(layout), now.turns):
            return index
    return None


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(float(value), DIGITS)


def _known(values: FloatArray) -> list[float | None]:
    return [_finite(float(value)) for value in values]
