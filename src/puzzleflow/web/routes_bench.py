"""Routes on an open workbench: fragments, solving, the board."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from puzzleflow.core.canvas import composite
from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.pictures import reduced
from puzzleflow.solvers.registry import DEFAULT_SOLVER
from puzzleflow.web import schemas
from puzzleflow.web.errors import Conflict, NotFound
from puzzleflow.web.exports import jpeg, png
from puzzleflow.web.history import History
from puzzleflow.web.photo import Photo
from puzzleflow.web.service import PROBLEMS, InService, OnWorkbench
from puzzleflow.web.views import job_of, state_of
from puzzleflow.web.workbench import Workbench

router = APIRouter(prefix="/api/workbenches/{workbench_id}", responses=PROBLEMS)
SHOWN_PX = 512
PHOTO_PX = 1600
KEEP = {"cache-control": "private, max-age=86400, immutable"}
Size = Annotated[int, Query(ge=16, le=1024)]


@router.get("")
def read(workbench: OnWorkbench) -> schemas.State:
    """Everything that the page shows."""
    return state_of(workbench)


@router.delete("", status_code=204)
def close(workbench: OnWorkbench, service: InService) -> None:
    """Close a workbench and remove its files."""
    service.workbenches.remove(workbench.id)


@router.get("/pieces/{index}.png", response_class=Response)
def piece_picture(index: int, workbench: OnWorkbench, px: Size = SHOWN_PX) -> Response:
    """A piece as it is to be laid, no larger than ``px``."""
    with workbench.lock:
        pixels = workbench.piece(index).upright
    return Response(png(reduced(pixels, px), quick=True), media_type="image/png", headers=KEEP)


# -- the photograph -------------------------------------------------------------


def _photo(workbench: Workbench) -> Photo:
    if workbench.photo is None:
        raise Conflict("these pieces do not come from a photograph")
    return workbench.photo


@router.get("/photo.jpg", response_class=Response)
def photo_picture(workbench: OnWorkbench) -> Response:
    """The photograph, reduced to what a screen shows."""
    shown = reduced(_photo(workbench).pixels, PHOTO_PX)
    if shown.shape[2] == 4:
        shown = composite(shown)
    return Response(jpeg(shown), media_type="image/jpeg", headers=KEEP)


@router.get("/cutouts/{index}.png", response_class=Response)
def cutout(index: int, workbench: OnWorkbench, px: Size = SHOWN_PX) -> Response:
    """A fragment as it lies in the photograph."""
    with workbench.lock:
        pixels = workbench.piece(index).pixels
    return Response(png(reduced(pixels, px), quick=True), media_type="image/png", headers=KEEP)


@router.put("/threshold")
def set_threshold(
    request: schemas.ThresholdRequest, workbench: OnWorkbench, service: InService
) -> schemas.State:
    """Find the fragments again with another threshold."""
    with workbench.lock, service.heavy:
        photo = _photo(workbench).with_threshold(request.threshold)
        workbench.set_photo(photo)
    return state_of(workbench)


@router.post("/merge")
def merge(request: schemas.ChosenRequest, workbench: OnWorkbench) -> schemas.State:
    """Make one fragment of several."""
    with workbench.lock:
        chosen = sorted({workbench.checked(index) for index in request.pieces})
        if len(chosen) < 2:
            raise InputError("choose at least two fragments to join")
        workbench.set_photo(_photo(workbench).merged(chosen))
    return state_of(workbench)


@router.post("/split")
def split(request: schemas.SplitRequest, workbench: OnWorkbench) -> schemas.State:
    """Make several fragments of one, at its narrowest place."""
    with workbench.lock:
        photo = _photo(workbench)
        workbench.set_photo(photo.divided(workbench.checked(request.piece)))
    return state_of(workbench)


@router.post("/delete")
def delete(request: schemas.ChosenRequest, workbench: OnWorkbench) -> schemas.State:
    """Take fragments away."""
    workbench.delete(request.pieces)
    return state_of(workbench)


@router.post("/turn")
def turn(request: schemas.TurnRequest, workbench: OnWorkbench) -> schemas.State:
    """Turn fragments by quarters."""
    workbench.turn(request.pieces, request.quarter_turns)
    return state_of(workbench)


# -- solving ---------------------------------------------------------------------


@router.post("/solve", status_code=202)
def solve(
    request: schemas.SolveRequest, workbench: OnWorkbench, service: InService
) -> schemas.JobInfo:
    """Start to solve; pins are honoured."""
    name = request.solver or DEFAULT_SOLVER
    if name not in service.shelf.names():
        raise NotFound("no solver of that name")
    job = workbench.start_solve(
        service.runner,
        service.shelf,
        solver=name,
        grid=None if request.grid is None else Grid(request.grid.rows, request.grid.cols),
        seed=request.seed,
        num_alternatives=request.num_alternatives,
    )
    return job_of(job)


@router.get("/job")
async def job(
    workbench: OnWorkbench,
    after: Annotated[int, Query(ge=-1, le=10**9)] = -1,
    wait: Annotated[float, Query(ge=0, le=20, allow_inf_nan=False)] = 0.0,
) -> schemas.JobInfo:
    """How far the solve is; answers as soon as something changed after ``after``."""
    if workbench.job is None:
        raise NotFound("nothing was solved yet")
    await workbench.job.wait(after, wait)
    return job_of(workbench.job)


@router.delete("/job")
def cancel(workbench: OnWorkbench, service: InService) -> schemas.JobInfo:
    """Cancel the solve."""
    if workbench.job is None:
        raise NotFound("nothing was solved yet")
    service.runner.cancel(workbench.job)
    return job_of(workbench.job)


# -- the board ---------------------------------------------------------------------


@router.post("/place")
def place(request: schemas.PlaceRequest, workbench: OnWorkbench) -> schemas.State:
    """Lay a piece into a cell; the two pieces change places."""
    workbench.change(lambda now: now.place(request.piece, request.position, pin=request.pin))
    return state_of(workbench)


@router.post("/pin")
def pin(request: schemas.PinRequest, workbench: OnWorkbench) -> schemas.State:
    """Fix a piece, or let one or all go."""
    piece = request.piece
    if piece is None:
        workbench.change(lambda now: now.unpin_all())
    else:
        workbench.change(lambda now: now.pin(piece, request.pinned))
    return state_of(workbench)


@router.post("/choose")
def choose(request: schemas.ChooseRequest, workbench: OnWorkbench) -> schemas.State:
    """Lay one of the best whole layouts."""
    workbench.change(lambda now: now.choose(request.index))
    return state_of(workbench)


@router.post("/undo")
def undo(workbench: OnWorkbench) -> schemas.State:
    """Take back the last change."""
    workbench.walk(History.undo)
    return state_of(workbench)


@router.post("/redo")
def redo(workbench: OnWorkbench) -> schemas.State:
    """Make the change again that was taken back."""
    workbench.walk(History.redo)
    return state_of(workbench)
