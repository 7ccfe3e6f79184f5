"""Which pairs of a large set are worth a search: a look at colours along their outlines.

A window is a stretch of one outline: colours behind it, less their mean, and that mean. A
neighbour's window runs the other way. Every window of a fragment puts the other fragments
in order by their best window; what a fragment thinks of another is the mean of the
logarithms of its best places there. So plain stretches, which are like everything, say
little, and nothing has to be learnt. A second or two for hundreds of fragments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from puzzleflow.solvers.free_form.contour import Contour

WINDOW = 12  # points of an outline: 0.4 of √area
SAMPLES = 6  # of them, each the mean of two
STRIDE = 2  # points between windows
DEPTHS = 3  # behind the edge that are averaged
LIGHT = 0.7  # weight of the mean colour: light differs
VOICES = 10  # best windows of a pair that count
BLOCK = 1024  # windows that are compared with all others at once
Floats = NDArray[np.float32]


def partners(rings: Sequence[Contour], count: int) -> tuple[tuple[int, ...], ...]:
    """(N) of each fragment those before it that are among its likeliest ``count``, or it theirs."""
    liked = likings(rings)  # (N, N)
    order = np.argsort(-liked, axis=1, kind="stable")[:, :count]
    chosen = np.zeros(liked.shape, dtype=np.bool_)
    np.put_along_axis(chosen, order, True, axis=1)
    chosen = np.tril(chosen | chosen.T, -1)
    return tuple(tuple(np.flatnonzero(row).tolist()) for row in chosen)


def likings(rings: Sequence[Contour]) -> NDArray[np.float64]:
    """(N, N) what each fragment thinks of each other, at most 0; −∞ of itself."""
    here = [_windows(ring) for ring in rings]
    there = np.concatenate([_windows(ring, reverse=True) for ring in rings])  # (W, F)
    starts = np.cumsum([0, *(len(windows) for windows in here)])[:-1]
    liked = np.empty((len(rings), len(rings)))
    for index, windows in enumerate(here):
        away = np.concatenate(
            [
                _nearest(windows[at : at + BLOCK], there, starts)
                for at in range(0, len(windows), BLOCK)
            ]
        )  # (w, N)
        away[:, index] = np.inf
        places = np.argsort(np.argsort(away, axis=1, kind="stable"), axis=1)  # (w, N)
        voices = np.sort(np.log1p(places), axis=0)[:VOICES]
        liked[index] = -voices.mean(axis=0)
    np.fill_diagonal(liked, -np.inf)
    return liked


def _nearest(windows: Floats, others: Floats, starts: NDArray[np.intp]) -> Floats:
    """(w, N) squared distance of each window from the nearest one of each fragment."""
    squares = (windows**2).sum(axis=1)[:, None] + (others**2).sum(axis=1)  # (w, W)
    return np.asarray(np.minimum.reduceat(squares - 2 * windows @ others.T, starts, axis=1))


def _windows(ring: Contour, *, reverse: bool = False) -> Floats:
    """(w, F) of an outline, each told in one direction or the other."""
    count = len(ring)
    colours = ring.profile.reshape(count, -1, 3)[:, :DEPTHS].mean(axis=1)  # (M, 3)
    at = (np.arange(0, count, STRIDE)[:, None] + np.arange(WINDOW)) % count  # (w, P)
    seen = colours[at]  # (w, P, 3)
    mean = seen.mean(axis=1)
    varying = seen - mean[:, None]
    if reverse:
        varying = varying[:, ::-1]
    samples = varying.reshape(len(at), SAMPLES, -1, 3).mean(axis=2) / math.sqrt(SAMPLES)
    both = np.concatenate([LIGHT * mean, samples.reshape(len(at), -1)], axis=1)
    return np.asarray(both, np.float32)
