"""How often a server is asked: evenly spaced requests, half as many after it refuses one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable


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
