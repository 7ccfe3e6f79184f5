"""Foreign names, foreign pages, too much: refused before anything is read."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from puzzleflow.web.app import create_app
from puzzleflow.web.security import HostRule


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8137", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:8137"]
)
def test_loopback_names_are_ours(host: str) -> None:
    assert HostRule().allows(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "192.168.1.7",
        "0.0.0.0",
        "localhost:80:80",
        "localhost:x",
        "[::1",
        "user@evil.example",
        "user@localhost",
        "localhost/path",
        "localhost:65536",
        "::1",
    ],
)
def test_other_names_are_not(host: str) -> None:
    assert not HostRule().allows(host)


def test_listening_everywhere_admits_addresses_and_given_names_only() -> None:
    rule = HostRule("0.0.0.0", ["Museum-PC"])
    for host in ("192.168.1.7:8137", "museum-pc:8137", "localhost", "[fe80::1]"):
        assert rule.allows(host)
    for host in ("evil.example", "0.0.0.0.evil.example", ""):
        assert not rule.allows(host)
    assert HostRule("192.168.1.7").allows("192.168.1.7:80")
    assert not HostRule("192.168.1.7").allows("192.168.1.8:80")


OURS = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:[0-9]*)?")
NEARLY = st.lists(
    st.sampled_from(["localhost", "127.0.0.1", "[::1]", ":80", ".", "@", "/", "#", "?", "\t", "x"]),
    max_size=4,
).map("".join)


@given(st.one_of(st.text(max_size=40), NEARLY))
def test_a_header_that_does_not_name_us_is_refused(host: str) -> None:
    assert HostRule().allows(host) == bool(OURS.fullmatch(host))


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.nip.io:8137"])
@pytest.mark.parametrize("path", ["/", "/api/about", "/style.css"])
def test_dns_rebinding_is_refused(client: TestClient, host: str, path: str) -> None:
    assert client.get(path, headers={"host": host}).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:9999"},
        {"origin": "file://"},
        {"origin": "http://löcalhost"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_other_pages_cannot_change_anything(client: TestClient, headers: dict[str, str]) -> None:
    encoded = {name: value.encode() for name, value in headers.items()}
    answer = client.post("/api/workbenches/sample", json={"sample": "irises"}, headers=encoded)
    assert answer.status_code == 403
    assert len(client.app.state.service.workbenches) == 0  # type: ignore[attr-defined]


def test_our_own_page_can(client: TestClient) -> None:
    headers = {"origin": "http://localhost", "sec-fetch-site": "same-origin"}
    request = {"sample": "irises", "erosion": "none", "grid": {"rows": 2, "cols": 2}}
    answer = client.post("/api/workbenches/sample", json=request, headers=headers)
    assert answer.status_code == 201


@pytest.mark.parametrize(
    "path", ["/", "/js/main.js", "/api/about", "/nothing", "/api/workbenches/x"]
)
def test_every_answer_carries_the_headers(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "access-control-allow-origin" not in headers


def test_a_declared_length_above_the_bound_is_refused_unread(client: TestClient) -> None:
    answer = client.post("/api/workbenches/sample", content=b"{" + b" " * 70_000)
    assert answer.status_code == 413
    long = {"content-length": "9" * 40, "content-type": "multipart/form-data; boundary=x"}
    assert client.post("/api/workbenches/photo", content=b"", headers=long).status_code == 413
    bad = {"content-length": "-1"}
    assert client.post("/api/workbenches/sample", content=b"", headers=bad).status_code == 400


def test_an_undeclared_length_is_counted(client: TestClient) -> None:
    def endless() -> Iterator[bytes]:
        yield b'--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n'
        for _ in range(100):
            yield b"\0" * 100_000

    headers = {"content-type": "multipart/form-data; boundary=x"}
    answer = client.post("/api/workbenches/photo", content=endless(), headers=headers)
    assert answer.status_code == 413
    assert "1.91 MB" in answer.json()["detail"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"--x",
        b"--x\r\n\r\n",
        b"--x\r\ncontent-disposition: nonsense\r\n\r\nabc\r\n--x--",
        b"\0" * 99,
    ],
)
@pytest.mark.parametrize("boundary", ["; boundary=x", "", "; boundary=" + "y" * 300])
def test_malformed_multipart_is_a_clean_refusal(
    client: TestClient, body: bytes, boundary: str
) -> None:
    headers = {"content-type": f"multipart/form-data{boundary}"}
    answer = client.post("/api/workbenches/photo", content=body, headers=headers)
    assert answer.status_code in (400, 422)
    assert isinstance(answer.json()["detail"], str)


@pytest.mark.parametrize(
    "path",
    [
        "/../app.py",
        "/%2e%2e/app.py",
        "/js/../../app.py",
        "//etc/passwd",
        "/js/%2e%2e%2f%2e%2e%2fapp.py",
    ],
)
def test_paths_lead_nowhere_else(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert b"create_app" not in answer.content


def test_websockets_are_closed() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    app = create_app()
    asyncio.run(app({"type": "websocket", "path": "/", "headers": []}, receive, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_the_page_needs_no_other_server(client: TestClient) -> None:
    page = client.get("/").text
    assert '<script type="module" src="js/main.js">' in page
    for path in ("/", "/style.css", *(f"/js/{name}.js" for name in ("main", "api", "board"))):
        text = client.get(path).text.replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text
        assert "https://" not in text
    assert client.get("/docs").status_code == 404


def test_beyond_the_machine_a_token_is_asked_for(tmp_path: Path) -> None:
    app = create_app(scratch=tmp_path, token="sesame")
    with TestClient(app, base_url="http://localhost", follow_redirects=False) as client:
        assert client.get("/").status_code == 403
        assert client.get("/api/about").status_code == 403
        assert client.get("/?token=wrong").status_code == 403
        assert client.post("/api/workbenches/sample?token=sesame", json={}).status_code == 403
        welcome = client.get("/?token=sesame")
        assert (welcome.status_code, welcome.headers["location"]) == (303, "/")
        cookie = welcome.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert client.get("/api/about").status_code == 200  # the browser kept it
        client.cookies.clear()
        client.cookies.set("puzzleflow-token", "other")
        assert client.get("/api/about").status_code == 403
