"""Routes on an open workbench: fragments, solving, the board."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Response

from puzzleflow.core.canvas import composite
from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.pictures import reduced
from puzzleflow.solvers.registry import DEFAULT_SOLVER
from puzzleflow.web import answers, schemas
from puzzleflow.web.exports import jpeg, png
from puzzleflow.web.finding import drawn_area, photo_of, start_finding
from puzzleflow.web.history import History
from puzzleflow.web.limits import NotFound
from puzzleflow.web.service import PROBLEMS, InService, OnWorkbench
from puzzleflow.web.solve_job import Asked, start_solve
from puzzleflow.web.stock import Stocks
from puzzleflow.web.views import job_of, state_of

router = APIRouter(prefix="/api/workbenches/{workbench_id}", responses=PROBLEMS)
SHOWN_PX = 512
PHOTO_PX = 1600
KEEP = {"cache-control": "private, max-age=86400, immutable"}
Size = Annotated[int, Query(ge=16, le=2048)]


@router.get("")
def read(workbench: OnWorkbench) -> answers.State:
    """Everything that the page shows."""
    return state_of(workbench)


@router.delete("", status_code=204)
def forget(workbench: OnWorkbench, service: InService) -> None:
    """Forget a workbench: its files are removed."""
    service.workbenches.remove(workbench.id)


@router.put("/sheet")
def set_sheet(request: schemas.SheetRequest, workbench: OnWorkbench) -> answers.State:
    """Title, author, date, scale."""
    told = request.model_dump() | {"title": request.title.strip() or workbench.sheet.title}
    workbench.set_sheet(replace(workbench.sheet, **told))
    return state_of(workbench)


@router.post("/describe")
def describe(request: schemas.DescribeRequest, workbench: OnWorkbench) -> answers.State:
    """Inventory number and note of one piece."""
    workbench.describe(request.piece, inventory=request.inventory, note=request.note)
    return state_of(workbench)


@router.get("/pieces/{index}.png", response_class=Response)
def piece_picture(
    index: int,
    workbench: OnWorkbench,
    px: Size = SHOWN_PX,
    turn: Annotated[int | None, Query(ge=0, le=3)] = None,
) -> Response:
    """A piece as it lies, or turned otherwise, no larger than ``px``."""
    with workbench.lock:
        piece = workbench.piece(index)
        turns = int(workbench.turns[index]) if turn is None else turn
    pixels = reduced(piece.turned(turns), px)
    return Response(png(pixels, quick=True), media_type="image/png", headers=KEEP)


# -- the photograph -------------------------------------------------------------


@router.get("/photo.jpg", response_class=Response)
def photo_picture(workbench: OnWorkbench) -> Response:
    """The photograph, reduced to what a screen shows."""
    shown = reduced(photo_of(workbench).work.load(), PHOTO_PX)
    if shown.shape[2] == 4:
        shown = composite(shown)
    return Response(jpeg(shown), media_type="image/jpeg", headers=KEEP)


@router.get("/cutouts/{number}.png", response_class=Response)
def cutout(number: int, workbench: OnWorkbench, px: Size = SHOWN_PX) -> Response:
    """A fragment as it lies in the photograph, by its number from 1."""
    with workbench.lock:
        photo = photo_of(workbench)
        if not 1 <= number <= photo.labels_max:
            raise NotFound(f"no fragment {number}")
        pixels = photo.cutout(number)
    return Response(png(reduced(pixels, px), quick=True), media_type="image/png", headers=KEEP)


@router.put("/threshold", status_code=202)
def set_threshold(
    request: schemas.ThresholdRequest, workbench: OnWorkbench, service: InService
) -> answers.JobInfo:
    """Find the fragments again with another threshold; what runs is cancelled."""
    photo_of(workbench)
    if workbench.job is not None:
        service.runner.cancel(workbench.job)
    return job_of(start_finding(workbench, service.runner, request.threshold))


@router.post("/merge")
def merge(request: schemas.ChosenRequest, workbench: OnWorkbench) -> answers.State:
    """Make one fragment of several."""
    with workbench.lock:
        chosen = sorted({workbench.checked(index) for index in request.pieces})
        if len(chosen) < 2:
            raise InputError("choose at least two fragments to join")
        workbench.set_photo(photo_of(workbench).merged(chosen), "join")
    return state_of(workbench)


@router.post("/split")
def split(request: schemas.SplitRequest, workbench: OnWorkbench) -> answers.State:
    """Make several fragments of one, at its narrowest place."""
    with workbench.lock:
        photo = photo_of(workbench)
        workbench.set_photo(photo.divided(workbench.checked(request.piece)), "divide")
    return state_of(workbench)


@router.post("/paint")
def paint(request: schemas.PaintRequest, workbench: OnWorkbench) -> answers.State:
    """Mend an outline with the brush or the lasso."""
    with workbench.lock:
        area = drawn_area(photo_of(workbench), request.tool, request.points, request.radius)
        workbench.paint(area, request.piece, add=request.add)
    return state_of(workbench)


@router.post("/aside")
def put_aside(request: schemas.AsideRequest, workbench: OnWorkbench) -> answers.State:
    """Put a ruler or a label aside, or back among the pieces."""
    with workbench.lock:
        photo = photo_of(workbench)
        kind = "other" if request.aside else None
        label = "put aside" if request.aside else "put back"
        workbench.set_photo(photo.put(request.fragment, kind), label)
    return state_of(workbench)


@router.post("/delete")
def delete(request: schemas.ChosenRequest, workbench: OnWorkbench) -> answers.State:
    """Take fragments away."""
    workbench.delete(request.pieces)
    return state_of(workbench)


@router.post("/turn")
def turn(request: schemas.TurnRequest, workbench: OnWorkbench) -> answers.State:
    """Turn fragments by quarters; board, pins and moves stay."""
    workbench.turn(request.pieces, request.quarter_turns)
    return state_of(workbench)


@router.post("/fragments/undo")
def undo_fragments(workbench: OnWorkbench) -> answers.State:
    """Take back what was last done to the fragments."""
    workbench.walk_stocks(Stocks.undo)
    return state_of(workbench)


@router.post("/fragments/redo")
def redo_fragments(workbench: OnWorkbench) -> answers.State:
    """Do it again."""
    workbench.walk_stocks(Stocks.redo)
    return state_of(workbench)


# -- solving ---------------------------------------------------------------------


@router.post("/solve", status_code=202)
def solve(
    request: schemas.SolveRequest, workbench: OnWorkbench, service: InService
) -> answers.JobInfo:
    """Start to solve; pins are honoured."""
    name = request.solver or DEFAULT_SOLVER
    if name not in service.shelf.names():
        raise NotFound("no solver of that name")
    grid = None if request.grid is None else Grid(request.grid.rows, request.grid.cols)
    asked = Asked(name, grid, **request.model_dump(exclude={"solver", "grid"}))
    return job_of(start_solve(workbench, service.runner, service.shelf, asked))


@router.get("/job")
async def job(
    workbench: OnWorkbench,
    after: Annotated[int, Query(ge=-1, le=10**9)] = -1,
    wait: Annotated[float, Query(ge=0, le=20, allow_inf_nan=False)] = 0.0,
) -> answers.JobInfo:
    """How far the work is; answers as soon as something changed after ``after``."""
    if workbench.job is None:
        raise NotFound("nothing was solved yet")
    await workbench.job.wait(after, wait)
    return job_of(workbench.job)


@router.delete("/job")
def cancel(workbench: OnWorkbench, service: InService) -> answers.JobInfo:
    """Cancel what runs."""
    if workbench.job is None:
        raise NotFound("nothing was solved yet")
    service.runner.cancel(workbench.job)
    return job_of(workbench.job)


# -- the board ---------------------------------------------------------------------


@router.post("/place")
def place(request: schemas.PlaceRequest, workbench: OnWorkbench) -> answers.State:
    """Lay a piece into a cell or into the tray; what lies there takes its place."""
    workbench.change(lambda now: now.place(request.piece, request.position, pin=request.pin))
    return state_of(workbench)


@router.post("/shift")
def shift(request: schemas.ShiftRequest, workbench: OnWorkbench) -> answers.State:
    """Move a whole block of pieces."""
    workbench.change(lambda now: now.shift(request.pieces, request.rows, request.cols))
    return state_of(workbench)


@router.post("/pin")
def pin(request: schemas.PinRequest, workbench: OnWorkbench) -> answers.State:
    """Fix pieces, or let some or all go."""
    pieces = request.pieces
    if pieces is None:
        workbench.change(lambda now: now.unpin_all())
    else:
        workbench.change(lambda now: now.pin(pieces, request.pinned))
    return state_of(workbench)


@router.post("/join")
def join(request: schemas.JoinRequest, workbench: OnWorkbench) -> answers.State:
    """Say that pieces belong together, or no longer."""
    workbench.change(lambda now: now.join(request.pieces, request.together))
    return state_of(workbench)


@router.post("/choose")
def choose(request: schemas.ChooseRequest, workbench: OnWorkbench) -> answers.State:
    """Lay one of the best whole layouts."""
    workbench.change(lambda now: now.choose(request.index))
    return state_of(workbench)


@router.post("/undo")
def undo(workbench: OnWorkbench) -> answers.State:
    """Take back the last change."""
    workbench.walk(History.undo)
    return state_of(workbench)


@router.post("/redo")
def redo(workbench: OnWorkbench) -> answers.State:
    """Make the change again that was taken back."""
    workbench.walk(History.redo)
    return state_of(workbench)
