"""Running the application: its socket, patience with clients, the browser, an orderly end."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import secrets
import socket
import threading
import time
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from puzzleflow.core.errors import InputError, OutputError
from puzzleflow.web.app import create_app
from puzzleflow.web.security import EVERYWHERE, LOOPBACK, HostRule
from puzzleflow.web.store import kept_folder

HEAD_S = 10.0
SILENCE_S = 30.0  # in the middle of a body
MAX_CONNECTIONS = 256
STOP_S = 3


class PatientProtocol(H11Protocol):
    """uvicorn's protocol with timers: half-open connections do not use up the server.

    uvicorn waits for ever for the head of a first request. Here a head must be complete within
    seconds, a body must go on arriving, and beyond a number of connections the one that has kept
    us waiting for longest is closed.
    """

    _timer: asyncio.TimerHandle | None = None
    _since = 0.0

    def connection_made(self, transport: Any) -> None:
        """Start to wait for a head; where there are too many, the slowest has to go."""
        super().connection_made(transport)
        self._since = self.loop.time()
        if len(self.connections) > MAX_CONNECTIONS:
            mine = [each for each in self.connections if isinstance(each, PatientProtocol)]
            waiting = [each for each in mine if each._timer is not None]
            slowest = min(waiting, key=lambda each: each._since, default=self)
            slowest._give_up()
        self._wait(HEAD_S)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; what is still expected decides how long is waited for it."""
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            if self._timer is None and self.conn.trailing_data[0]:
                self._wait(HEAD_S)  # the head of a next request began
        elif self.cycle.more_body:
            self._wait(SILENCE_S)
        else:
            self._stop()

    def on_response_complete(self) -> None:
        """The next request has uvicorn's own time to begin."""
        self._stop()
        super().on_response_complete()

    def _wait(self, seconds: float) -> None:
        self._stop()
        self._timer = self.loop.call_later(seconds, self._give_up)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._stop()
        if not self.transport.is_closing():
            self.transport.close()


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; raises InputError where that is impossible.

    It takes calls from now on, so an address printed before the server is up can be used.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or "0.0.0.0", port, type=socket.SOCK_STREAM
        )[0]
        opened = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise InputError(f"cannot listen on {host!r}: {error}") from error
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen()
    except OSError as error:
        opened.close()
        hint = "; is it running already? choose another port" if _in_use(error) else ""
        raise InputError(f"cannot listen on {host} port {port}: {error.strerror}{hint}") from error
    return opened


def _in_use(error: OSError) -> bool:
    return error.errno == errno.EADDRINUSE


def address_of(host: str, port: int) -> str:
    """What to type into the browser on this machine."""
    shown = "127.0.0.1" if host in EVERYWHERE else host
    return f"http://[{shown}]:{port}/" if ":" in shown else f"http://{shown}:{port}/"


def make_server(app: FastAPI) -> uvicorn.Server:
    """A server that is not running yet."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_S,
        timeout_keep_alive=30,
        ws="none",
        http=PatientProtocol,
    )
    return uvicorn.Server(config)


def run(
    host: str,
    port: int,
    *,
    names: Sequence[str] = (),
    open_browser: bool = True,
    keep: Path | None = None,
    use_token: bool = True,
) -> None:
    """Serve until interrupted.

    keep       folder in which workbenches stay, None keeps nothing
    use_token  beyond loopback, answer only those who know the token in the address
    """
    return_memory()
    keep, told = usable_folder(keep)
    beyond = host.lower() not in LOOPBACK
    token = secrets.token_urlsafe(18) if beyond and use_token else None
    app = create_app(rule=HostRule(host, names), keep=keep, token=token, warm_up=True)
    server = make_server(app)
    with closing(listen(host, port)) as opened:
        address = address_of(host, opened.getsockname()[1])
        address += f"?token={token}" if token else ""
        print(f"The workbench is at {address}   (Ctrl+C stops it)", flush=True)
        print(told, flush=True)
        if beyond and token is None:
            print(f"Other machines can reach it under {host}: there is no password.", flush=True)
        elif beyond:
            print("Other machines reach it with the whole address, token and all.", flush=True)
        if open_browser:
            threading.Thread(target=_open_when_up, args=(server, address), daemon=True).start()
        with suppress(KeyboardInterrupt):  # uvicorn raises it again after a clean end
            asyncio.run(server.serve(sockets=[opened]))
    print("Stopped.", flush=True)


def usable_folder(keep: Path | None) -> tuple[Path | None, str]:
    """The folder if it can be used, and a sentence on what is kept."""
    if keep is None:
        return None, "Nothing is kept: workbenches are gone when it stops."
    try:
        with kept_folder(keep):
            pass
    except OutputError as error:
        return None, f"Nothing is kept ({error})."
    return keep, f"Workbenches are kept in {keep}"


def return_memory() -> None:
    """Let large arrays go back to the system as soon as they are dropped (GNU libc only)."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").mallopt(-3, 1 << 20)  # M_MMAP_THRESHOLD, never raised again


def _open_when_up(server: uvicorn.Server, address: str) -> None:
    while not server.started:
        if server.should_exit:
            return
        time.sleep(0.05)
    webbrowser.open(address)


@contextmanager
def running(app: FastAPI | None = None) -> Iterator[str]:
    """A server in a thread of this process, on a free loopback port; its address."""
    server = make_server(app or create_app())
    with closing(listen("127.0.0.1", 0)) as opened:
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[opened])))
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.01)
            yield address_of("127.0.0.1", opened.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join()
