"""HTTP with an end to patience: half-open connections do not use up the server.

uvicorn waits for ever for the head of a first request. Here a head must be complete within
seconds, a body must go on arriving, and beyond a number of connections the one that has kept
us waiting for longest is closed.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 10.0
SILENCE_S = 30.0  # in the middle of a body
MAX_CONNECTIONS = 256


class PatientProtocol(H11Protocol):
    """uvicorn's protocol with timers."""

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
