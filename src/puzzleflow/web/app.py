"""The application: routes, errors as sentences, and the page itself."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.staticfiles import StaticFiles

from puzzleflow.core.errors import OutputError, PuzzleFlowError
from puzzleflow.web import routes_bench, routes_export, routes_free, routes_intake
from puzzleflow.web.jobs import Busy, JobRunner
from puzzleflow.web.limits import Conflict, Limits, NotFound, TooMuch
from puzzleflow.web.security import Guard, HostRule
from puzzleflow.web.service import Service
from puzzleflow.web.solving import SolverShelf
from puzzleflow.web.store import Workbenches, kept_folder, scratch_folder

STATIC = Path(__file__).parent / "static"
WARMED_UP_S = 20.0  # that an end waits for a solver that is still being loaded, at most
STATUS: tuple[tuple[type[PuzzleFlowError], int], ...] = (
    (NotFound, 404),
    (Conflict, 409),
    (TooMuch, 413),
    (Busy, 429),
    (OutputError, 507),
    (PuzzleFlowError, 422),
)


def create_app(
    *,
    limits: Limits | None = None,
    rule: HostRule | None = None,
    scratch: Path | None = None,
    keep: Path | None = None,
    token: str | None = None,
    warm_up: bool = False,
) -> FastAPI:
    """The ASGI application.

    rule     which Host headers are answered, loopback names by default
    scratch  where temporary files go, the system's place by default
    keep     folder in which workbenches survive; without one nothing is kept
    token    that whoever asks must know, none by default
    warm_up  load the default solver in the background at the start
    """
    bounds = limits or Limits()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with scratch_folder(scratch) if keep is None else kept_folder(keep) as folder:
            runner = JobRunner(places=max(4, os.cpu_count() or 1))
            shelf = SolverShelf()
            workbenches = Workbenches(folder, bounds, runner)
            app.state.service = Service(bounds, workbenches, runner, shelf, keep is not None)
            warming = threading.Thread(target=_quietly, args=(shelf,), daemon=True)
            if warm_up:
                warming.start()
            try:
                yield
            finally:
                workbenches.stop()
                if warm_up:  # compiled code that still runs when Python ends aborts it
                    await asyncio.to_thread(warming.join, WARMED_UP_S)

    app = FastAPI(
        title="PuzzleFlow workbench",
        version=version("puzzleflow"),
        lifespan=lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,  # both would load their scripts from the network
        redoc_url=None,
    )
    app.include_router(routes_intake.router)
    app.include_router(routes_bench.router)
    app.include_router(routes_free.router)
    app.include_router(routes_export.router)
    app.add_exception_handler(PuzzleFlowError, _refused)
    app.add_exception_handler(OSError, _no_file)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    app.mount("/", StaticFiles(directory=STATIC, html=True), name="page")
    app.add_middleware(Guard, rule=rule or HostRule(), limits=bounds, token=token)
    return app


def _quietly(shelf: SolverShelf) -> None:
    """Warm up; a solver that cannot be loaded says so when it is asked."""
    try:
        shelf.warm_up()
    except Exception:
        return


def _problem(status: int, text: str, headers: dict[str, str] | None = None) -> JSONResponse:
    readable = " ".join(text.encode("utf-8", "backslashreplace").decode().split())
    return JSONResponse({"detail": readable[:600]}, status, headers=headers)


async def _refused(request: Request, error: Exception) -> JSONResponse:
    status = next((code for kind, code in STATUS if isinstance(error, kind)), 422)
    return _problem(status, str(error))


async def _no_file(request: Request, error: Exception) -> JSONResponse:
    """A file that went away while it was used: closed on another page, or cleaned up."""
    assert isinstance(error, OSError)
    if isinstance(error, FileNotFoundError):
        return _problem(404, "its files are gone: it was forgotten, or somebody removed them")
    return _problem(507, f"the disk does not answer: {error.strerror or error}")


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"] if part != "body")
    return _problem(422, f"{place or 'request'}: {first['msg']}")


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return _problem(error.status_code, str(error.detail), dict(error.headers or {}))
