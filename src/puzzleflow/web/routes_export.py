"""Routes that hand out files."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Response

from puzzleflow.web.archive import pack
from puzzleflow.web.drawing import MAX_GAP, Drawing, on_board, on_table
from puzzleflow.web.exports import cutouts_zip, layout_csv, layout_json, png, psd, svg
from puzzleflow.web.limits import Conflict, NotFound
from puzzleflow.web.report import REPORT_POLICY, free_report_html, report_html, sheet_html
from puzzleflow.web.service import PROBLEMS, InService, OnWorkbench
from puzzleflow.web.workbench import Workbench

router = APIRouter(prefix="/api/workbenches/{workbench_id}/export", responses=PROBLEMS)
HTML = "text/html; charset=utf-8"

WHOLE: dict[str, tuple[str, Callable[[Workbench], bytes]]] = {
    "layout.json": ("application/json", layout_json),
    "layout.csv": ("text/csv; charset=utf-8", layout_csv),
    "fragments.zip": ("application/zip", cutouts_zip),
    "workbench.zip": ("application/zip", pack),
}
DRAWN: dict[str, tuple[str, Callable[[Workbench, Drawing], bytes]]] = {
    "picture.png": ("image/png", lambda bench, drawn: png(drawn.picture(), sheet=bench.sheet)),
    "picture.svg": ("image/svg+xml", svg),
    "picture.psd": ("image/vnd.adobe.photoshop", psd),
    "life-size.html": (HTML, lambda bench, drawn: sheet_html(bench, drawn).encode()),
}
KINDS = (*DRAWN, "report.html", *WHOLE)


@router.get("/{kind}", response_class=Response)
def export(
    kind: Annotated[str, Path(max_length=40)],
    workbench: OnWorkbench,
    service: InService,
    gap: Annotated[float, Query(ge=0, le=MAX_GAP, allow_inf_nan=False)] = 0.0,
    free: bool = False,
) -> Response:
    """A file to keep, of the board (with a gap between cells) or of the free table."""
    if kind not in KINDS:
        raise NotFound(f"no export of that name; known: {', '.join(KINDS)}")
    with service.heavy:
        if workbench.job is None or workbench.job.finished:
            workbench.sharpen(lambda text, part: None)
        with workbench.lock:
            if not workbench.pieces:
                raise Conflict("there are no pieces yet")
            media_type, content = _written(workbench, kind, gap, free)
    name = f"{_plain(workbench.sheet.title)}-{kind}"
    headers = {
        "content-disposition": f"attachment; filename=\"{kind}\"; filename*=UTF-8''{quote(name)}"
    }
    if kind.endswith((".html", ".svg")):
        headers["content-security-policy"] = REPORT_POLICY
    return Response(content, media_type=media_type, headers=headers)


def _written(workbench: Workbench, kind: str, gap: float, free: bool) -> tuple[str, bytes]:
    if kind in WHOLE:
        media_type, write = WHOLE[kind]
        return media_type, write(workbench)
    if kind == "report.html":
        told = free_report_html(workbench) if free else report_html(workbench, gap)
        return HTML, told.encode()
    media_type, draw = DRAWN[kind]
    return media_type, draw(workbench, on_table(workbench) if free else on_board(workbench, gap))


def _plain(title: str) -> str:
    words = re.sub(r"[^\w]+", "-", title.encode("ascii", "ignore").decode()).strip("-").lower()
    return words[:50] or "workbench"
