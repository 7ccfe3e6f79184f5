"""What all routes share, and how they reach it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Depends, Request

from puzzleflow.web.answers import Problem
from puzzleflow.web.jobs import JobRunner
from puzzleflow.web.limits import Limits
from puzzleflow.web.solving import SolverShelf
from puzzleflow.web.store import Workbenches
from puzzleflow.web.workbench import Workbench

HEAVY_AT_ONCE = 1  # a photograph of 200 megapixels takes most of a gigabyte while it is read


@dataclass
class Service:
    """One server's state.

    keeps  whether workbenches survive the end of the program
    heavy  bounds how many uploads are decoded, and files made, at a time
    """

    limits: Limits
    workbenches: Workbenches
    runner: JobRunner
    shelf: SolverShelf
    keeps: bool = False
    heavy: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(HEAVY_AT_ONCE))


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


InService = Annotated[Service, Depends(_service)]


def _workbench(workbench_id: str, service: InService) -> Workbench:
    return service.workbenches.get(workbench_id)


OnWorkbench = Annotated[Workbench, Depends(_workbench)]

PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": text}
    for status, text in {
        400: "The request cannot be read",
        403: "Asked under a foreign name or from a foreign page",
        404: "No such workbench or part",
        409: "Not in this state",
        413: "Beyond the limits",
        422: "What was given cannot be used",
        429: "Too much work under way",
        507: "No room on the disk",
    }.items()
}
