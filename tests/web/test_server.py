"""The server as a program: started, asked, stopped, and what it refuses to do."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import httpx2
import pytest
from starlette.testclient import TestClient

from puzzleflow.core.errors import InputError
from puzzleflow.web.app import create_app
from puzzleflow.web.server import address_of, listen, running
from puzzleflow.web.solving import SolverShelf
from puzzleflow.web.store import PREFIX


def start(tmp_path: Path) -> tuple[subprocess.Popen[str], str]:
    code = "from puzzleflow.cli.main import main; main()"
    program = subprocess.Popen(
        [sys.executable, "-c", code, "serve", "--port", "0", "--no-browser", "--keep-nothing"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={
            "PATH": "",
            "TMPDIR": str(tmp_path),
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        },
    )
    assert program.stdout is not None
    line = program.stdout.readline()
    found = re.search(r"http://127\.0\.0\.1:\d+/", line)
    assert found is not None, line or program.communicate()[1]
    return program, found[0]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_the_page_and_stops_cleanly(tmp_path: Path, how: signal.Signals) -> None:
    program, address = start(tmp_path)
    with httpx2.Client(base_url=address, timeout=60) as client:
        assert "PuzzleFlow workbench" in client.get("/").text
        request = {"sample": "irises", "erosion": "none", "grid": {"rows": 2, "cols": 2}}
        assert client.post("/api/workbenches/sample", json=request).status_code == 201
    assert len(list(tmp_path.glob(f"{PREFIX}*"))) == 1
    program.send_signal(how)
    out, err = program.communicate(timeout=60)
    assert "Traceback" not in err
    assert list(tmp_path.glob(f"{PREFIX}*")) == []
    if how == signal.SIGINT:
        assert program.returncode == 0
        assert "Stopped." in out


def test_an_end_waits_for_the_solver_that_is_being_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Compiled code that runs when Python ends aborts it (seen on 2026-11-19)."""
    done = []

    def slow(shelf: SolverShelf) -> None:
        time.sleep(0.3)
        done.append(shelf)

    monkeypatch.setattr(SolverShelf, "warm_up", slow)
    with TestClient(create_app(scratch=tmp_path, warm_up=True)):
        assert not done
    assert len(done) == 1


def test_half_open_connections_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("puzzleflow.web.server.HEAD_S", 0.3)
    monkeypatch.setattr("puzzleflow.web.server.SILENCE_S", 0.3)
    monkeypatch.setattr("puzzleflow.web.server.MAX_CONNECTIONS", 6)
    with running() as address:
        host, port = address.removeprefix("http://").rstrip("/").split(":")

        def connect(sent: bytes) -> socket.socket:
            opened = socket.create_connection((host, int(port)), timeout=20)
            opened.sendall(sent)
            return opened

        head = b"POST /api/workbenches/sample HTTP/1.1\r\nhost: localhost\r\n"
        slow = [connect(b""), connect(b"GET / HT"), connect(head + b"content-length: 9\r\n\r\n{")]
        for each in slow:
            while each.recv(65536):  # b"" once the server has given up
                pass
            each.close()
        crowd = [connect(b"") for _ in range(12)]
        assert crowd[0].recv(1) == b""  # the one that waited for longest
        for each in crowd:
            each.close()
        with httpx2.Client(base_url=address, timeout=20) as client:
            for _ in range(3):  # a patient client keeps its connection
                assert client.get("/api/about").status_code == 200


def test_a_port_in_use_is_told() -> None:
    with closing(listen("127.0.0.1", 0)) as first:
        port = first.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port}.*choose another port"):
            listen("127.0.0.1", port)


def test_the_address_can_be_called_before_the_server_is_up() -> None:
    with (
        closing(listen("127.0.0.1", 0)) as opened,
        closing(socket.create_connection(opened.getsockname(), timeout=5)) as caller,
    ):
        assert caller.getpeername() == opened.getsockname()


def test_an_address_that_is_none_is_told() -> None:
    with pytest.raises(InputError, match=r"cannot listen on '256\.1\.1\.1'"):
        listen("256.1.1.1", 0)


def test_addresses_to_type() -> None:
    assert address_of("127.0.0.1", 81) == "http://127.0.0.1:81/"
    assert address_of("0.0.0.0", 81) == "http://127.0.0.1:81/"
    assert address_of("::1", 81) == "http://[::1]:81/"


def test_it_listens_on_the_loopback_only_by_default() -> None:
    with closing(listen("127.0.0.1", 0)) as opened:
        assert opened.family == socket.AF_INET
        assert opened.getsockname()[0] == "127.0.0.1"
