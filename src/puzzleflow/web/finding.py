"""Looking for fragments in a photograph, in the background."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from puzzleflow.core.types import BoolArray
from puzzleflow.web.jobs import Job, JobRunner
from puzzleflow.web.limits import Conflict
from puzzleflow.web.photo import Photo
from puzzleflow.web.workbench import Workbench


def photo_of(workbench: Workbench) -> Photo:
    """The photograph, where there is one."""
    if workbench.photo is None:
        raise Conflict("these pieces do not come from a photograph")
    return workbench.photo


def start_finding(workbench: Workbench, runner: JobRunner, threshold: float | None) -> Job:
    """Look for fragments; the ones that were found before stay until others are there."""
    with workbench.lock:
        workbench.refuse_while_working()
        photo = photo_of(workbench)

        def work(job: Job) -> Callable[[], None]:
            found = photo.found(threshold, job.report)

            def commit() -> None:
                workbench.set_photo(found, "find", by=job)

            return commit

        workbench.job = runner.submit(work)
        return workbench.job


def drawn_area(
    photo: Photo, tool: str, points: list[tuple[float, float]], radius: float
) -> BoolArray:
    """(h, w) what a stroke or a lasso over the photograph covers of its copy."""
    from PIL import Image, ImageDraw

    height, width = photo.work.shape[:2]
    scale = width / photo.whole.shape[1], height / photo.whole.shape[0]
    shown = [(x * scale[0], y * scale[1]) for x, y in points]
    image = Image.new("1", (width, height))
    draw = ImageDraw.Draw(image)
    if tool == "lasso":
        if len(shown) > 2:
            draw.polygon(shown, fill=1)
    else:
        reach = max(0.5, radius * sum(scale) / 2)
        if len(shown) > 1:
            draw.line(shown, fill=1, width=max(1, round(2 * reach)), joint="curve")
        for x, y in shown:
            draw.ellipse((x - reach, y - reach, x + reach, y + reach), fill=1)
    return np.asarray(image)
