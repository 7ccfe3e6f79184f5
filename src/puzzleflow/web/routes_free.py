"""Routes of free placing: fragments at any place and angle, with a solver that says what fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, cast

from fastapi import APIRouter, Query

from puzzleflow.core.arrangement import arrange
from puzzleflow.core.assembly import Assembly
from puzzleflow.core.errors import InputError
from puzzleflow.core.fragments import Fragment, FragmentSet
from puzzleflow.core.pose import Pose
from puzzleflow.pictures import reduced
from puzzleflow.solvers.free_form.base import FreeFormSession, Snap
from puzzleflow.web import answers, schemas
from puzzleflow.web.free import FreeHistory, FreeTable
from puzzleflow.web.jobs import Job, JobRunner
from puzzleflow.web.limits import Conflict
from puzzleflow.web.service import PROBLEMS, InService, OnWorkbench
from puzzleflow.web.stock import Stock
from puzzleflow.web.views import job_of, state_of
from puzzleflow.web.workbench import Workbench

SOLVER = "assemble"
SEEN_PX = 400  # a fragment's longest side, as the solver sees it
FITS = 8
router = APIRouter(prefix="/api/workbenches/{workbench_id}/free", responses=PROBLEMS)


def fragments_of(stock: Stock) -> tuple[list[Fragment], float]:
    """The pieces as free-form fragments, reduced alike, and by how much."""
    factor = _factor(stock)
    found = []
    for piece, turn in zip(stock.pieces, stock.turns, strict=True):
        pixels = piece.turned(int(turn))
        size = max(1, round(max(pixels.shape[:2]) * factor))
        found.append(Fragment(reduced(pixels, size), piece.name))
    return found, factor


def open_table(workbench: Workbench) -> None:
    """Begin free placing: fragments where they lie in the photograph, or in rows."""
    with workbench.lock:
        workbench.refuse_while_working()
        stock = workbench.stock
        if stock.free.steps:
            return
        if not stock.pieces:
            raise InputError("there are no pieces yet")
        if stock.photo is not None:
            poses = {
                index: Pose(left + width / 2, top + height / 2)
                for index, (top, left, height, width) in enumerate(stock.photo.boxes())
            }
        else:
            fragments, factor = fragments_of(stock)
            laid = arrange(fragments, Assembly(len(fragments)))
            poses = {
                index: Pose(pose.x / factor, pose.y / factor, pose.angle)
                for index, pose in enumerate(laid)
                if pose is not None
            }
        stock.free.add(FreeTable(poses, "begin"))
        workbench.changed()


def change_table(workbench: Workbench, step: Callable[[FreeTable], FreeTable]) -> None:
    """Make a new table from the present one."""
    with workbench.lock:
        workbench.refuse_while_working()
        workbench.stock.free.add(step(workbench.stock.free.now))
        workbench.changed()


def start_preparing(workbench: Workbench, runner: JobRunner, *, then_assemble: bool) -> Job:
    """Compare all fragments in the background; then, if asked, put together what is not pinned."""
    with workbench.lock:
        workbench.refuse_while_working()
        stock = workbench.stock
        if len(stock.pieces) < 2:
            raise InputError("putting together takes at least two fragments")
        before = stock.free.now

        def work(job: Job) -> Callable[[], None]:
            job.report("Preparing the pieces", 0.0)
            workbench.sharpen(job.report)
            fragments, factor = fragments_of(workbench.stock)
            session = _session(workbench, fragments, job)
            if not then_assemble:
                return lambda: None
            job.report("Putting fragments together", 0.9)
            pins = {piece: _scaled(before.poses[piece], factor) for piece in before.pinned}
            assembly = session.solve(seed=0, pinned=pins)
            small = FreeTable(
                {piece: _scaled(pose, factor) for piece, pose in before.poses.items()},
                before.label,
                before.pinned,
            ).answered(assembly, fragments)
            poses = {piece: _scaled(pose, 1 / factor) for piece, pose in small.poses.items()}
            found = FreeTable(poses, small.label, before.pinned, small.components, small.confidence)

            def commit() -> None:
                with workbench.lock:
                    if workbench.stock.free is not stock.free:
                        raise Conflict("the pieces are others by now")
                    stock.free.add(found)
                    workbench.changed()

            return commit

        workbench.job = runner.submit(work)
        return workbench.job


def _session(workbench: Workbench, fragments: list[Fragment], job: Job) -> FreeFormSession:
    from puzzleflow.solvers.free_form.registry import load_free_form_solver

    if workbench.free_session is None:

        def told(stage: str, done: int, total: int) -> None:
            job.report("Comparing fragments", 0.1 + 0.8 * done / max(total, 1))

        solver = load_free_form_solver(SOLVER)
        session = solver.prepare(FragmentSet(tuple(fragments)), on_progress=told)
        workbench.free_session = session
    return cast("FreeFormSession", workbench.free_session)


def _factor(stock: Stock) -> float:
    """By how much pieces are reduced before the solver sees them."""
    longest = max(side for piece in stock.pieces for side in piece.kept.shape[:2])
    return min(1.0, SEEN_PX / longest)


def _asked(workbench: Workbench, piece: int) -> tuple[FreeFormSession, Stock, FreeTable]:
    """The session of compared fragments, and what lies on the table now."""
    with workbench.lock:
        workbench.checked(piece)
        if workbench.free_session is None:
            raise Conflict("the fragments were not compared yet")
        session = cast("FreeFormSession", workbench.free_session)
        return session, workbench.stock, workbench.stock.free.now


def fits(workbench: Workbench, piece: int, *, anywhere: bool, k: int = FITS) -> list[Snap]:
    """Where a fragment fits beside those that lie on the table, best first."""
    session, stock, table = _asked(workbench, piece)
    factor = _factor(stock)
    placed = {i: _scaled(pose, factor) for i, pose in table.poses.items() if i != piece}
    near = _scaled(table.poses.get(piece, Pose(0.0, 0.0)), factor)
    found = session.fits(piece, near, placed, k=k, within=1e6 if anywhere else 0.5)
    return [Snap(_scaled(each.pose, 1 / factor), each.gain, each.beside) for each in found]


def ranked_partners(
    workbench: Workbench, piece: int, side: str | None, k: int = FITS
) -> list[tuple[int, Pose, float]]:
    """Which fragments fit at this one, or at one of its edges, and where they would lie.

    An edge is a side as the fragment lies on the table: a partner belongs to it if its centre
    lies more to that side than to any other.
    """
    session, stock, table = _asked(workbench, piece)
    here = table.poses.get(piece, Pose(0.0, 0.0))
    found = []
    for each in session.rank(piece, len(stock.pieces)):
        pose = here @ _scaled(each.pose, 1 / _factor(stock))
        if side is None or _side_of(pose.x - here.x, pose.y - here.y) == side:
            found.append((each.second, pose, each.score))
    return found[:k]


def _side_of(dx: float, dy: float) -> str:
    if abs(dx) >= abs(dy):
        return "right" if dx > 0 else "left"
    return "below" if dy > 0 else "above"


def _scaled(pose: Pose, factor: float) -> Pose:
    return Pose(pose.x * factor, pose.y * factor, pose.angle)


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
