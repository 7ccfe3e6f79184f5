"""From the state of a workbench to what the page draws."""

from __future__ import annotations

import math

import numpy as np

from puzzleflow.core.assignment import invert
from puzzleflow.core.grid import Grid
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.web import schemas
from puzzleflow.web.history import Arrangement
from puzzleflow.web.jobs import Job
from puzzleflow.web.photo import Photo
from puzzleflow.web.workbench import Workbench

MAX_TRACE_STEPS = 100


def state_of(workbench: Workbench) -> schemas.State:
    """The whole state, taken at one moment."""
    with workbench.lock:
        base = f"api/workbenches/{workbench.id}"
        version = workbench.version
        return schemas.State(
            id=workbench.id,
            title=workbench.title,
            origin=workbench.origin,
            pieces=[
                schemas.PieceInfo(
                    name=piece.name,
                    width=piece.upright.shape[1],
                    height=piece.upright.shape[0],
                    quarter_turns=piece.quarter_turns,
                    picture=f"{base}/pieces/{index}.png?key={version}-{piece.quarter_turns}"
                    f"-{len(workbench.pieces)}",
                )
                for index, piece in enumerate(workbench.pieces)
            ],
            grids=[_size(grid) for grid in Grid.factorisations(len(workbench.pieces))],
            grid=None if workbench.grid is None else _size(workbench.grid),
            photo=None if workbench.photo is None else _photo(workbench.photo, base),
            board=_board(workbench) if workbench.history.steps else None,
            job=None if workbench.job is None else job_of(workbench.job),
        )


def job_of(job: Job) -> schemas.JobInfo:
    """A job as the page sees it."""
    return schemas.JobInfo(
        status=job.status, message=job.message, fraction=job.fraction, changes=job.changes
    )


def _size(grid: Grid) -> schemas.GridSize:
    return schemas.GridSize.model_construct(rows=grid.rows, cols=grid.cols)


def _photo(photo: Photo, base: str) -> schemas.PhotoInfo:
    boxes = photo.boxes()
    return schemas.PhotoInfo(
        width=photo.pixels.shape[1],
        height=photo.pixels.shape[0],
        threshold=photo.threshold,
        automatic=photo.automatic,
        boxes=boxes,
        cutouts=[f"{base}/cutouts/{i}.png?key={photo.version}" for i in range(len(boxes))],
        picture=f"{base}/photo.jpg",
        warnings=list(photo.segmentation.warnings),
    )


def _board(workbench: Workbench) -> schemas.Board:
    history = workbench.history
    now = history.now
    answer = now.answer
    previous = history.previous
    height, width = workbench.cells().shape[1:3]
    right = workbench.right_pieces()
    right_seams, down_seams = now.seam_confidence()
    return schemas.Board(
        rows=now.grid.rows,
        cols=now.grid.cols,
        cell_width=width,
        cell_height=height,
        piece_at=now.piece_at.tolist(),
        pinned=sorted(now.pinned),
        confidence=_known(now.confidence()[now.piece_at]),
        right_seams=[_known(row) for row in right_seams],
        down_seams=[_known(row) for row in down_seams],
        candidates=[
            [schemas.Candidate(piece=piece, probability=prob) for piece, prob in cell]
            for cell in now.candidates()
        ],
        layouts=_layouts(now),
        layout_index=_layout_index(now),
        trace=[] if answer is None or answer.trace is None else _thinned(answer.trace),
        grid_guessed=bool(now.ranking),
        ranking=[
            schemas.GridCost(rows=guess.grid.rows, cols=guess.grid.cols, cost=guess.cost)
            for guess in now.ranking
        ],
        solver=None if answer is None else answer.solver,
        seconds=None if answer is None else answer.seconds,
        label=now.label,
        undo=now.label if history.at > 0 else None,
        redo=history.steps[history.at + 1].label if history.at + 1 < len(history.steps) else None,
        previous=None
        if previous is None
        else schemas.Earlier(piece_at=previous.piece_at.tolist(), label=previous.label),
        right=None if right is None else [right[piece] for piece in now.piece_at],
    )


def _thinned(trace: IntArray) -> list[list[int]]:
    """At most :data:`MAX_TRACE_STEPS` rows, the first and the last among them."""
    steps = np.linspace(0, len(trace) - 1, min(len(trace), MAX_TRACE_STEPS)).round().astype(int)
    return [[int(position) for position in trace[step]] for step in steps]


def _layouts(now: Arrangement) -> list[schemas.WholeLayout]:
    layouts = now.answer.alternatives if now.answer is not None else ()
    return [
        schemas.WholeLayout(
            piece_at=invert(layout.position_of).tolist(),
            energy=_finite(layout.energy),
            probability=_finite(layout.probability),
            fits_pins=all(layout.position_of[piece] == at for piece, at in now.pins.items()),
        )
        for layout in layouts
    ]


def _layout_index(now: Arrangement) -> int | None:
    layouts = now.answer.alternatives if now.answer is not None else ()
    for index, layout in enumerate(layouts):
        if np.array_equal(layout.position_of, now.position_of):
            return index
    return None


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _known(values: FloatArray) -> list[float | None]:
    return [_finite(float(value)) for value in values]
