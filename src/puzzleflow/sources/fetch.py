"""HTTP requests with time-outs, repeated tries, and a check of what arrived."""

from __future__ import annotations

import asyncio
import email.utils
import json
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

import httpx2
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from puzzleflow.core.errors import PuzzleFlowError
from puzzleflow.files import atomic_path
from puzzleflow.parallel import apart

T = TypeVar("T")

MAX_BYTES = 500_000_000  # a picture that never ends is given up here
MAX_RETRY_AFTER_S = 600.0
BROKEN_TRIES = 2  # a broken body may be an accident of the transfer, once
_TEMPORARY = frozenset({408, 425, 429, 500, 502, 503, 504})


class RateLimiter:
    """A token bucket of one token: ``rate_per_s`` requests a second, evenly spaced.

    ``protest`` halves the rate and makes all requests wait; every ``success`` brings
    the rate back by a hundredth of what was asked for.
    """

    def __init__(
        self,
        rate_per_s: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if rate_per_s <= 0:
            raise ValueError(f"the rate must be positive, not {rate_per_s}")
        self.full_rate_per_s = rate_per_s
        self.rate_per_s = rate_per_s
        self._clock = clock
        self._sleep = sleep
        self._next_s = clock()  # when the next request may leave

    async def acquire(self) -> None:
        """Wait for this request's turn."""
        while True:
            now = self._clock()
            if now >= self._next_s:
                self._next_s = now + 1 / self.rate_per_s
                return
            await self._sleep(self._next_s - now)

    def protest(self, pause_s: float) -> None:
        """The server said "too many": no request for ``pause_s``, then half as many."""
        self.rate_per_s = max(self.rate_per_s / 2, min(1.0, self.full_rate_per_s))
        self._next_s = max(self._next_s, self._clock() + pause_s)

    def success(self) -> None:
        """The server answered: a little quicker again."""
        self.rate_per_s = min(self.full_rate_per_s, self.rate_per_s + self.full_rate_per_s / 100)


class RequestFailed(PuzzleFlowError):
    """A request without a usable answer.

    reason         short word for statistics: "time-out", "http-503", "not-an-image"
    tries          how many tries this kind of failure deserves in all
    retry_after_s  what the server asked for, or None
    """

    def __init__(
        self, url: str, reason: str, detail: str, tries: int, retry_after_s: float | None = None
    ) -> None:
        super().__init__(f"{url}: {detail}")
        self.url = url
        self.reason = reason
        self.tries = tries
        self.retry_after_s = retry_after_s


class BrokenBody(Exception):
    """Raised by a check: the bytes that came are not what was asked for."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason

    def __reduce__(self) -> tuple[type[Self], tuple[str, str]]:
        return type(self), (self.reason, str(self))  # on its way back from a worker


@dataclass(frozen=True)
class FetchSettings:
    """How hard to try. ``timeout_s`` is silence; a whole answer may take 20 times that."""

    rate_per_s: float = 80.0
    concurrency: int = 20
    timeout_s: float = 30.0
    tries: int = 8
    backoff_s: float = 1.0
    backoff_cap_s: float = 60.0
    user_agent: str = "puzzleflow (research; puzzles from open pictures)"


class Fetcher:
    """``async with Fetcher(settings) as fetch``: JSON and files over one polite client."""

    def __init__(
        self, settings: FetchSettings, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        self.settings = settings
        self.limiter = RateLimiter(settings.rate_per_s)
        self._client = httpx2.AsyncClient(
            transport=transport,
            timeout=httpx2.Timeout(settings.timeout_s, pool=None),
            limits=httpx2.Limits(max_connections=settings.concurrency),
            headers={"User-Agent": settings.user_agent},
            follow_redirects=True,
        )

    async def __aenter__(self) -> Fetcher:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> None:
        await self._client.__aexit__(*raised)

    async def json(self, url: str, params: Mapping[str, str] | None = None) -> Any:
        """The parsed answer.

        403, or a web page instead of JSON, is the guard in front of an API: it wants
        us to wait and to ask less often.
        """

        async def once() -> Any:
            async with self._answer(url, params, guarded=True) as response:
                body = await response.aread()
            try:
                return json.loads(body)
            except (ValueError, RecursionError) as error:
                tries = BROKEN_TRIES
                if "html" in response.headers.get("Content-Type", ""):
                    tries = self.settings.tries
                    self.limiter.protest(self.settings.backoff_s)
                detail = f"expected JSON ({error})"
                raise RequestFailed(url, "not-json", detail, tries) from error

        return await self._retry(url, once)

    async def download(self, url: str, path: Path, check: Callable[[Path], T]) -> T:
        """Bring ``url`` to ``path``, which appears only when ``check`` accepts the bytes."""

        async def once() -> T:
            with atomic_path(path) as temporary:
                await self._stream(url, temporary)
                try:
                    return await apart(check, temporary)
                except BrokenBody as error:
                    raise RequestFailed(url, error.reason, str(error), BROKEN_TRIES) from error

        return await self._retry(url, once)

    async def _stream(self, url: str, path: Path) -> None:
        num_bytes = 0
        async with self._answer(url, None, guarded=False) as response:
            with path.open("wb") as stream:
                async for chunk in response.aiter_bytes(1 << 16):
                    num_bytes += len(chunk)
                    if num_bytes > MAX_BYTES:
                        raise RequestFailed(url, "too-large", f"more than {MAX_BYTES:,} bytes", 1)
                    stream.write(chunk)

    @asynccontextmanager
    async def _answer(
        self, url: str, params: Mapping[str, str] | None, *, guarded: bool
    ) -> AsyncIterator[httpx2.Response]:
        """A streamed response; its status and transport errors become RequestFailed."""
        try:
            async with self._client.stream("GET", url, params=params) as response:
                if failure := self._refusal(response, url, guarded):
                    raise failure
                self.limiter.success()
                yield response
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._translate(error, url) from error

    async def _retry(self, url: str, once: Callable[[], Awaitable[T]]) -> T:
        async def bounded() -> T:
            await self.limiter.acquire()
            try:
                async with asyncio.timeout(20 * self.settings.timeout_s):
                    return await once()
            except TimeoutError as error:
                raise RequestFailed(
                    url, "time-out", "the answer took too long", self.settings.tries
                ) from error

        retrying = AsyncRetrying(
            retry=retry_if_exception(lambda error: isinstance(error, RequestFailed)),
            stop=_enough,
            wait=self._wait_s,
            reraise=True,
        )
        return await retrying(bounded)

    def _wait_s(self, state: RetryCallState) -> float:
        failure = _failure(state)
        if failure.retry_after_s is not None:
            return failure.retry_after_s
        doubled = self.settings.backoff_s * 2.0 ** (state.attempt_number - 1)
        return min(self.settings.backoff_cap_s, doubled) * random.uniform(0.5, 1.0)

    def _refusal(self, response: httpx2.Response, url: str, guarded: bool) -> RequestFailed | None:
        code = response.status_code
        if 200 <= code < 300:
            return None
        after_s = retry_after_s(response.headers.get("Retry-After"))
        guard = code == 403 and guarded
        if code == 429 or guard:
            self.limiter.protest(self.settings.backoff_s if after_s is None else after_s)
        tries = self.settings.tries if code in _TEMPORARY or guard else 1
        reason = "not-found" if code in (404, 410) else f"http-{code}"
        return RequestFailed(
            url,
            reason,
            f"the server answered {code} {response.reason_phrase}",
            tries,
            after_s,
        )

    def _translate(self, error: Exception, url: str) -> RequestFailed:
        tries = self.settings.tries
        match error:
            case httpx2.UnsupportedProtocol() | httpx2.InvalidURL() | httpx2.TooManyRedirects():
                reason, tries = "bad-address", 1
            case httpx2.TimeoutException():
                reason = "time-out"
            case httpx2.RemoteProtocolError() | httpx2.ReadError():
                reason = "broken-off"
            case httpx2.DecodingError():
                reason, tries = "not-decodable", BROKEN_TRIES
            case _:
                reason = "no-connection"
        return RequestFailed(url, reason, f"{type(error).__name__} {error}".strip(), tries)


def retry_after_s(header: str | None) -> float | None:
    """Seconds that a ``Retry-After`` header asks for: a number, or an HTTP date."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(header).timestamp() - time.time()
        except ValueError:
            return None
    return min(max(seconds, 0.0), MAX_RETRY_AFTER_S) if seconds == seconds else None


def _failure(state: RetryCallState) -> RequestFailed:
    assert state.outcome is not None
    error = state.outcome.exception()
    assert isinstance(error, RequestFailed)
    return error


def _enough(state: RetryCallState) -> bool:
    return state.attempt_number >= _failure(state).tries
