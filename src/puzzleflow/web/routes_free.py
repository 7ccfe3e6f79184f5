"""Routes of free placing: fragments at any place and angle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from puzzleflow.core.pose import Pose
from puzzleflow.web import answers, schemas
from puzzleflow.web.free import FreeHistory
from puzzleflow.web.free_solving import (
    change_table,
    fits,
    open_table,
    ranked_partners,
    start_preparing,
)
from puzzleflow.web.service import PROBLEMS, InService, OnWorkbench
from puzzleflow.web.views import job_of, state_of
from puzzleflow.web.workbench import Workbench

router = APIRouter(prefix="/api/workbenches/{workbench_id}/free", responses=PROBLEMS)


@router.post("/begin")
def begin(workbench: OnWorkbench, service: InService) -> answers.State:
    """Lay the fragments on the free table as they lie."""
    with service.heavy:
        workbench.refuse_while_working()
        workbench.sharpen(lambda text, part: None)
    open_table(workbench)
    return state_of(workbench)


@router.post("/place")
def place(request: schemas.FreePlaceRequest, workbench: OnWorkbench) -> answers.State:
    """Lay fragments elsewhere, or into the tray."""
    poses: dict[int, Pose | None] = {
        workbench.checked(each.piece): Pose(each.x, each.y, each.angle) for each in request.poses
    }
    poses |= {workbench.checked(piece): None for piece in request.tray}
    if poses:
        change_table(workbench, lambda table: table.place(poses))
    if request.snap and request.poses and workbench.free_session is not None:
        piece = request.poses[0].piece
        found = fits(workbench, piece, anywhere=False, k=1)
        if found:
            change_table(workbench, lambda table: table.place({piece: found[0].pose}))
    return state_of(workbench)


@router.post("/pin")
def pin(request: schemas.PinRequest, workbench: OnWorkbench) -> answers.State:
    """Fix fragments where they lie, or let some or all go."""
    pieces = request.pieces
    change_table(
        workbench,
        lambda table: table.pin(table.pinned if pieces is None else pieces, request.pinned),
    )
    return state_of(workbench)


@router.post("/compare", status_code=202)
def compare(workbench: OnWorkbench, service: InService) -> answers.JobInfo:
    """Compare all fragments, so that fits can be asked for."""
    return job_of(start_preparing(workbench, service.runner, then_assemble=False))


@router.post("/assemble", status_code=202)
def assemble(workbench: OnWorkbench, service: InService) -> answers.JobInfo:
    """Put the rest together around what is pinned."""
    return job_of(start_preparing(workbench, service.runner, then_assemble=True))


@router.get("/fits")
def fits_here(
    workbench: OnWorkbench,
    piece: Annotated[int, Query(ge=0, le=9999)],
    anywhere: bool = True,
) -> list[answers.FitInfo]:
    """Where a fragment fits beside those on the table, best first."""
    found = fits(workbench, piece, anywhere=anywhere)
    return [_fit(piece, each.pose, each.gain, each.beside) for each in found]


@router.get("/partners")
def partners(
    workbench: OnWorkbench,
    piece: Annotated[int, Query(ge=0, le=9999)],
    side: Annotated[str | None, Query(pattern="^(left|right|above|below)$")] = None,
) -> list[answers.FitInfo]:
    """What fits at a chosen fragment, or at one of its edges: others where they would lie."""
    found = ranked_partners(workbench, piece, side)
    return [_fit(other, pose, gain, [piece]) for other, pose, gain in found]


def _fit(piece: int, pose: Pose, gain: float, beside: Sequence[int]) -> answers.FitInfo:
    place = {"x": pose.x, "y": pose.y, "angle": pose.angle}
    return answers.FitInfo(piece=piece, **place, gain=gain, beside=list(beside))


@router.post("/undo")
def undo(workbench: OnWorkbench) -> answers.State:
    """Take back the last change of the table."""
    return _walked(workbench, FreeHistory.undo)


@router.post("/redo")
def redo(workbench: OnWorkbench) -> answers.State:
    """Make it again."""
    return _walked(workbench, FreeHistory.redo)


def _walked(workbench: Workbench, step: Callable[[FreeHistory], None]) -> answers.State:
    with workbench.lock:
        workbench.refuse_while_working()
        step(workbench.stock.free)
        workbench.changed()
    return state_of(workbench)
