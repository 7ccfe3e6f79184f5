"""Requests made up from the OpenAPI document: no answer says that the server broke.

Bounded: a few examples for every operation against a workbench that exists, more with
``-m slow``.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from typing import Any

import httpx2
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from PIL import Image

from puzzleflow.web.app import create_app
from puzzleflow.web.limits import Limits
from puzzleflow.web.server import running

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the libraries it brings along
    import schemathesis
    from schemathesis.specs.openapi.checks import response_schema_conformance

APP = create_app(limits=Limits(max_pieces=20, max_pixels=400_000, max_workbenches=200))
SCHEMA = schemathesis.openapi.from_dict(APP.openapi())
QUICK = ["random"]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running(APP) as address:
        APP.state.service.shelf.names = lambda: QUICK
        yield address


@pytest.fixture(scope="module")
def bench(address: str) -> str:
    """A solved workbench of four pieces."""
    pixels = np.random.default_rng(1).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    with httpx2.Client(base_url=address) as client:
        state = client.post(
            "api/workbenches/cut",
            files={"file": ("a.png", stream.getvalue())},
            params={"rows": 2, "cols": 2, "erosion": "none"},
        ).json()
        path = f"api/workbenches/{state['id']}"
        client.post(f"{path}/solve", json={"solver": "random"})
        while client.get(f"{path}/job", params={"wait": 1}).json()["status"] != "done":
            pass
    return str(state["id"])


def bounded(max_examples: int) -> Any:
    return settings(
        max_examples=max_examples,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )


@SCHEMA.parametrize()
@bounded(3)
def test_no_request_breaks_the_server(case: Any, address: str, bench: str) -> None:
    check(case, address, bench)


@pytest.mark.slow
@SCHEMA.parametrize()
@bounded(40)
def test_no_request_of_many_breaks_the_server(case: Any, address: str, bench: str) -> None:
    check(case, address, bench)


def check(case: Any, address: str, bench: str) -> None:
    closing = case.method == "DELETE" and case.path.endswith("{workbench_id}")
    if "workbench_id" in (case.path_parameters or {}) and not closing:
        case.path_parameters["workbench_id"] = bench
    if isinstance(case.query, dict) and "wait" in case.query:
        case.query["wait"] = 0.01
    response = case.call(base_url=address)
    assert response.status_code < 500, response.text
    if response.status_code >= 400:
        assert isinstance(response.json()["detail"], str)
    elif "application/json" in response.headers.get("content-type", ""):
        case.validate_response(response, checks=(response_schema_conformance,))
