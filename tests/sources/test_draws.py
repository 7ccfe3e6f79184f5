from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.sources.collect import Draws
from puzzleflow.sources.fetch import RateLimiter

POOL = list(range(1000, 1060))


@given(
    seed=st.integers(0, 2**32),
    num=st.integers(1, 20),
    num_sets=st.integers(1, 4),
    bad=st.sets(st.sampled_from(POOL)),
    concurrency=st.integers(1, 25),
    luck=st.randoms(use_true_random=False),
)
def test_each_set_gets_the_first_suitable_objects_of_its_share_in_any_order_of_answers(
    seed: int, num: int, num_sets: int, bad: set[int], concurrency: int, luck: random.Random
) -> None:
    draws = Draws(POOL, seed, [f"set{i}" for i in range(num_sets)], num)
    assert sorted(draws.object_of) == POOL
    running: list[int] = []
    kept: list[int] = []
    while True:
        while len(running) < concurrency and (draw := draws.take(lambda d: None)) is not None:
            running.append(draw)
        if not running:
            break
        draw = running.pop(luck.randrange(len(running)))
        if draws.object_of[draw] in bad:
            draws.reject(draw)
        else:
            kept.append(draw)
    for i in range(num_sets):
        share = [d for d in range(i, len(POOL), num_sets) if draws.object_of[d] not in bad]
        assert sorted(d for d in kept if d % num_sets == i) == share[:num]


@given(seed=st.integers(0, 100), known=st.dictionaries(st.integers(0, 59), st.booleans()))
def test_what_is_known_is_never_drawn_again(seed: int, known: dict[int, bool]) -> None:
    draws = Draws(POOL, seed, ["a", "b"], 10)
    asked = []
    while (draw := draws.take(known.get)) is not None:
        asked.append(draw)
    assert not set(asked) & known.keys()
    for own in draws.sets:
        assert own.num_held == 10 or own.next_draw is None


def test_the_seed_alone_decides_the_order() -> None:
    assert Draws(POOL, 5, ["a"], 3).object_of == Draws(POOL, 5, ["a", "b"], 9).object_of
    assert Draws(POOL, 5, ["a"], 3).object_of != Draws(POOL, 6, ["a"], 3).object_of


class Clock:
    """A time that passes only in sleep."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds


def leave(limiter: RateLimiter, clock: Clock, num: int) -> list[float]:
    async def run() -> list[float]:
        times = []
        for _ in range(num):
            await limiter.acquire()
            times.append(clock.now)
        return times

    return asyncio.run(run())


def test_no_second_sees_more_requests_than_the_rate() -> None:
    clock = Clock()
    times = leave(RateLimiter(80, clock=clock, sleep=clock.sleep), clock, 400)
    assert times[-1] == pytest.approx(399 / 80)
    for first in times:
        assert sum(first <= t < first + 1 - 1e-6 for t in times) <= 80


def test_idle_time_is_not_saved_up() -> None:
    clock = Clock()
    limiter = RateLimiter(10, clock=clock, sleep=clock.sleep)
    leave(limiter, clock, 1)
    clock.now += 100
    times = leave(limiter, clock, 3)
    assert times == pytest.approx([100, 100.1, 100.2])


def test_a_protest_pauses_and_halves_and_successes_bring_the_rate_back() -> None:
    clock = Clock()
    limiter = RateLimiter(80, clock=clock, sleep=clock.sleep)
    limiter.protest(30)
    assert leave(limiter, clock, 3) == pytest.approx([30, 30 + 1 / 40, 30 + 2 / 40])
    for _ in range(50):
        limiter.success()
    assert limiter.rate_per_s == pytest.approx(80)
    for _ in range(50):
        limiter.protest(0)
    assert limiter.rate_per_s == 1


def test_a_rate_is_positive() -> None:
    with pytest.raises(ValueError, match="positive"):
        RateLimiter(0)
