"""Routes that hand out files."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path, Response

from puzzleflow.web.archive import pack
from puzzleflow.web.errors import NotFound
from puzzleflow.web.exports import assembled, layout_csv, layout_json, png
from puzzleflow.web.report import REPORT_POLICY, report_html
from puzzleflow.web.service import PROBLEMS, InService, OnWorkbench
from puzzleflow.web.workbench import Workbench

router = APIRouter(prefix="/api/workbenches/{workbench_id}/export", responses=PROBLEMS)

EXPORTS: dict[str, tuple[str, Callable[[Workbench], bytes]]] = {
    "picture.png": ("image/png", lambda workbench: png(assembled(workbench))),
    "layout.json": ("application/json", layout_json),
    "layout.csv": ("text/csv; charset=utf-8", layout_csv),
    "report.html": ("text/html; charset=utf-8", lambda workbench: report_html(workbench).encode()),
    "workbench.zip": ("application/zip", pack),
}


@router.get("/{kind}", response_class=Response)
def export(
    kind: Annotated[str, Path(max_length=40)], workbench: OnWorkbench, service: InService
) -> Response:
    """A file to keep: picture.png, layout.json, layout.csv, report.html or workbench.zip."""
    if kind not in EXPORTS:
        raise NotFound(f"no export of that name; known: {', '.join(EXPORTS)}")
    media_type, write = EXPORTS[kind]
    with workbench.lock, service.heavy:
        content = write(workbench)
    name = f"{_plain(workbench.title)}-{kind}"
    headers = {
        "content-disposition": f"attachment; filename=\"{kind}\"; filename*=UTF-8''{quote(name)}"
    }
    if kind == "report.html":
        headers["content-security-policy"] = REPORT_POLICY
    return Response(content, media_type=media_type, headers=headers)


def _plain(title: str) -> str:
    words = re.sub(r"[^\w]+", "-", title.encode("ascii", "ignore").decode()).strip("-").lower()
    return words[:50] or "workbench"
