from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from puzzleflow.sources.fetch import (
    BrokenBody,
    Fetcher,
    FetchSettings,
    RequestFailed,
    retry_after_s,
)

QUICK = FetchSettings(rate_per_s=1e6, timeout_s=1, tries=4, backoff_s=0.001, backoff_cap_s=0.002)
URL = "https://museum.example/objects"
Answer = httpx2.Response | Exception


def serving(*answers: Answer) -> tuple[httpx2.MockTransport, list[httpx2.Request]]:
    """A transport that gives these answers in turn, the last one for ever."""
    asked: list[httpx2.Request] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        answer = answers[min(len(asked), len(answers) - 1)]
        asked.append(request)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return httpx2.MockTransport(handler), asked


def get_json(transport: httpx2.MockTransport, settings: FetchSettings = QUICK) -> Any:
    async def run() -> Any:
        async with Fetcher(settings, transport) as fetch:
            return await fetch.json(URL, {"q": "x"})

    return asyncio.run(run())


def download(
    transport: httpx2.MockTransport, path: Path, check: Callable[[Path], Any], url: str = URL
) -> Any:
    async def run() -> Any:
        async with Fetcher(QUICK, transport) as fetch:
            return await fetch.download(url, path, check)

    return asyncio.run(run())


@pytest.mark.parametrize(
    "fault",
    [
        httpx2.Response(429),
        httpx2.Response(403),
        httpx2.Response(500),
        httpx2.Response(502),
        httpx2.Response(503, headers={"Retry-After": "0"}),
        httpx2.Response(504),
        httpx2.ReadTimeout("silence"),
        httpx2.ConnectTimeout("nobody"),
        httpx2.ConnectError("refused"),
        httpx2.ReadError("reset"),
        httpx2.RemoteProtocolError("peer closed connection"),
    ],
)
def test_passing_faults_are_tried_again_and_lasting_ones_given_up(fault: Answer) -> None:
    good = httpx2.Response(200, json={"a": 1})
    transport, asked = serving(fault, fault, fault, good)
    assert get_json(transport) == {"a": 1}
    assert len(asked) == 4
    transport, asked = serving(fault)
    with pytest.raises(RequestFailed, match=r"https://museum\.example/objects: "):
        get_json(transport)
    assert len(asked) == 4


@pytest.mark.parametrize(
    ("answer", "reason", "num_asked"),
    [
        (httpx2.Response(404), "not-found", 1),
        (httpx2.Response(410), "not-found", 1),
        (httpx2.Response(400), "http-400", 1),
        (httpx2.Response(200, html="<html>Request unsuccessful</html>"), "not-json", 4),
        (httpx2.Response(200, text="soon"), "not-json", 2),
        (httpx2.Response(200, content=b"\xff\xfe\x00"), "not-json", 2),
        (httpx2.Response(200, text="[" * 100_000), "not-json", 2),
        (httpx2.Response(200, headers={"Content-Encoding": "gzip"}, content=b"x"), None, 2),
        (httpx2.Response(302, headers={"Location": URL}), "bad-address", 1),
    ],
)
def test_hopeless_answers_are_not_asked_for_again(
    answer: httpx2.Response, reason: str | None, num_asked: int
) -> None:
    if reason is None:  # a body that is not what its header says

        class Bad(httpx2.AsyncByteStream):
            async def __aiter__(self) -> Any:
                yield b"not gzip"

        def handler(request: httpx2.Request) -> httpx2.Response:
            asked.append(request)
            return httpx2.Response(200, headers={"Content-Encoding": "gzip"}, stream=Bad())

        asked: list[httpx2.Request] = []
        transport, reason = httpx2.MockTransport(handler), "not-decodable"
    else:
        transport, asked = serving(answer)
    with pytest.raises(RequestFailed) as caught:
        get_json(transport)
    assert caught.value.reason == reason
    if reason != "bad-address":  # a circle of redirects is followed until it is seen as one
        assert len(asked) == num_asked


def test_too_many_requests_slows_everybody_down() -> None:
    transport, _ = serving(
        httpx2.Response(429, headers={"Retry-After": "0.01"}), httpx2.Response(200, json=1)
    )

    async def run() -> None:
        async with Fetcher(QUICK, transport) as fetch:
            assert await fetch.json(URL) == 1
            assert fetch.limiter.rate_per_s == pytest.approx(0.51 * QUICK.rate_per_s)

    asyncio.run(run())


def test_a_file_appears_whole_and_accepted_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "picture.jpg"

    def check(temporary: Path) -> int:
        assert temporary != path
        content = temporary.read_bytes()
        if content != b"good":
            raise BrokenBody("truncated", "not good")
        return len(content)

    bad, good = httpx2.Response(200, content=b"bad"), httpx2.Response(200, content=b"good")
    transport, asked = serving(bad)
    with pytest.raises(RequestFailed, match="not good") as caught:
        download(transport, path, check)
    assert caught.value.reason == "truncated"
    assert len(asked) == 2
    assert list(path.parent.iterdir()) == []
    transport, _ = serving(bad, good)
    assert download(transport, path, check) == 4
    assert path.read_bytes() == b"good"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("url", ["file:///etc/passwd", "http://", "gopher://x/y", "no address"])
def test_addresses_that_are_none(tmp_path: Path, url: str) -> None:
    async def run() -> None:
        async with Fetcher(QUICK) as fetch:
            await fetch.download(url, tmp_path / "x", lambda path: None)

    with pytest.raises(RequestFailed) as caught:
        asyncio.run(run())
    assert caught.value.reason == "bad-address"
    assert list(tmp_path.iterdir()) == []


def test_an_endless_answer_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("puzzleflow.sources.fetch.MAX_BYTES", 1000)
    transport, asked = serving(httpx2.Response(200, content=b"x" * 2000))
    with pytest.raises(RequestFailed) as caught:
        download(transport, tmp_path / "x", lambda path: None)
    assert caught.value.reason == "too-large"
    assert len(asked) == 1


def test_a_dripping_answer_is_given_up(tmp_path: Path) -> None:
    class Drip(httpx2.AsyncByteStream):
        async def __aiter__(self) -> Any:
            while True:
                yield b"x"
                await asyncio.sleep(0.01)

    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, stream=Drip()))

    async def run() -> None:
        hasty = FetchSettings(rate_per_s=1e6, timeout_s=0.005, tries=2, backoff_s=0)
        async with Fetcher(hasty, transport) as fetch:
            await fetch.download(URL, tmp_path / "x", lambda path: None)

    with pytest.raises(RequestFailed, match="took too long"):
        asyncio.run(run())
    assert list(tmp_path.iterdir()) == []


def test_retry_after_is_a_number_or_a_date() -> None:
    assert retry_after_s(None) is None
    assert retry_after_s("3") == 3
    assert retry_after_s("-3") == 0
    assert retry_after_s("soon") is None
    assert retry_after_s("nan") is None
    assert retry_after_s("1e9") == 600
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    assert retry_after_s(date) == pytest.approx(100, abs=5)


def test_retry_after_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    sleep = asyncio.sleep

    async def record(delay: float) -> None:
        waits.append(delay)
        await sleep(0)

    monkeypatch.setattr("asyncio.sleep", record)
    transport, _ = serving(
        httpx2.Response(503, headers={"Retry-After": "17"}), httpx2.Response(200, json=1)
    )
    assert get_json(transport) == 1
    assert 17 in waits
