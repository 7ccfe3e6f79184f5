"""Waiting for the work of a workbench."""

from __future__ import annotations

from typing import Any

from starlette.testclient import TestClient


def finished(client: TestClient, workbench_id: str, status: str = "done") -> dict[str, Any]:
    """The state when nothing runs any more."""
    path = f"/api/workbenches/{workbench_id}"
    job = client.get(f"{path}/job").json()
    while job["status"] in ("waiting", "running"):
        job = client.get(f"{path}/job", params={"after": job["changes"], "wait": 10}).json()
    assert job["status"] == status, job
    state: dict[str, Any] = client.get(path).json()
    return state
