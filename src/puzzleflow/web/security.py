"""Who may ask and how much: Host, Origin, size of the body, and headers of every answer.

A page on the internet can make a browser send requests to this machine. It
cannot choose the Host and Origin headers, so these decide: a foreign Host is
how DNS rebinding shows itself, a foreign Origin is another site's page. Where other
machines can reach the server, a token in the address decides who may ask; a cookie keeps it
after the first visit.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
from collections.abc import Iterable
from contextlib import suppress
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from puzzleflow.web.limits import Limits

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
EVERYWHERE = frozenset({"0.0.0.0", "::", ""})
HOST = re.compile(r"(\[(?P<address>[^][\s]+)]|(?P<name>[^][\s:/?#@]+))(:(?P<port>[0-9]{0,5}))?")
LAST_PORT = 65535
COOKIE = "puzzleflow-token"
COOKIE_S = 30 * 24 * 3600
SAFE_METHODS = frozenset({"GET", "HEAD"})
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; manifest-src 'self'; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": PAGE_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}


class HostRule:
    """Which Host headers are ours: loopback, the address we listen on, and names given."""

    def __init__(self, host: str = "127.0.0.1", names: Iterable[str] = ()) -> None:
        self.names = LOOPBACK | {name.lower() for name in names} | {host.lower()}
        self.any_address = host in EVERYWHERE

    def allows(self, header: str) -> bool:
        """Whether a Host header names us; numbers cannot be rebound, names can."""
        found = HOST.fullmatch(header)
        if found is None or int(found["port"] or 0) > LAST_PORT:
            return False
        name = (found["address"] or found["name"]).lower()
        if name in self.names - EVERYWHERE:
            return True
        return self.any_address and _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """ASGI middleware around the whole application."""

    def __init__(
        self, app: ASGIApp, rule: HostRule, limits: Limits, token: str | None = None
    ) -> None:
        self.app = app
        self.rule = rule
        self.limits = limits
        self.token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        guarded_send = _with_headers(send)
        refusal = self._refusal(scope["method"], headers)
        if refusal is None and self.token is not None and not self._knows(headers):
            if scope["method"] in SAFE_METHODS and self._told(scope):
                await self._welcome()(scope, receive, guarded_send)
                return
            refusal = 403, "open the whole address that the program printed: it has a token"
        if refusal is None:
            bound = self._bound(headers)
            refusal = _declared_too_long(headers, bound)
            if refusal is None:
                await self.app(scope, _bounded(receive, bound), guarded_send)
                return
        status, text = refusal
        answer = JSONResponse({"detail": text}, status, headers={"connection": "close"})
        await answer(scope, receive, guarded_send)

    def _refusal(self, method: str, headers: Headers) -> tuple[int, str] | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self.rule.allows(hosts[0]):
            return 403, "this server does not answer under that name"
        if method in SAFE_METHODS:
            return None
        origin = headers.get("origin")
        if origin is not None and not _same(origin, hosts[0]):
            return 403, "requests from other sites are refused"
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "requests from other sites are refused"
        return None

    def _knows(self, headers: Headers) -> bool:
        """Whether the browser was here before and kept the token."""
        cookies: SimpleCookie = SimpleCookie()
        with suppress(CookieError):
            cookies.load(headers.get("cookie", "")[:8192])
        kept = cookies.get(COOKIE)
        return kept is not None and self._is_token(kept.value)

    def _told(self, scope: Scope) -> bool:
        """Whether the address has the token in it."""
        asked = parse_qs(scope["query_string"].decode("latin-1")[:2048])
        return any(self._is_token(value) for value in asked.get("token", []))

    def _is_token(self, value: str) -> bool:
        return secrets.compare_digest(value.encode(), (self.token or "").encode())

    def _welcome(self) -> Response:
        """To the page without the token in its address; the browser keeps it instead."""
        answer = Response(status_code=303, headers={"location": "/"})
        answer.set_cookie(
            COOKIE, self.token or "", max_age=COOKIE_S, httponly=True, samesite="strict"
        )
        return answer

    def _bound(self, headers: Headers) -> int:
        kind = headers.get("content-type", "").strip().lower()
        if kind.startswith("multipart/form-data"):
            return self.limits.max_request_bytes
        return self.limits.max_json_bytes


def _same(origin: str, host: str) -> bool:
    parts = urlsplit(origin) if origin.isascii() else urlsplit("")
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def _declared_too_long(headers: Headers, bound: int) -> tuple[int, str] | None:
    declared = headers.get("content-length", "0")
    if not declared.isdecimal():
        return 400, "the length of the request is no number"
    return (413, too_long(bound)) if int(declared) > bound else None


def too_long(bound: int) -> str:
    """The sentence for a body above the bound."""
    return f"the upload is larger than the {bound / (1 << 20):.3g} MB allowed"


def _bounded(receive: Receive, bound: int) -> Receive:
    """Count what really arrives: a length need not be declared, or not be true."""
    arrived = 0

    async def counted() -> Message:
        nonlocal arrived
        message = await receive()
        if message["type"] == "http.request":
            arrived += len(message.get("body", b""))
            if arrived > bound:
                raise HTTPException(413, too_long(bound), {"connection": "close"})
        return message

    return counted


def _with_headers(send: Send) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                if name not in headers:
                    headers[name] = value
        await send(message)

    return with_headers
