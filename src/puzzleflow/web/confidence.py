"""Confidence in words and colours, the same on the page and in the report."""

from __future__ import annotations

import math
from dataclasses import dataclass

from puzzleflow.core.canvas import Colour


@dataclass(frozen=True)
class Band:
    """A range of probability; colours that colour-blind people tell apart."""

    least: float
    label: str
    colour: str

    @property
    def rgb(self) -> Colour:
        red, green, blue = bytes.fromhex(self.colour[1:])
        return red, green, blue


BANDS = (
    Band(0.95, "almost certain", "#0b62a8"),
    Band(0.80, "likely", "#4fa3d8"),
    Band(0.50, "unsure", "#e0ad2f"),
    Band(0.00, "little more than a guess", "#cf5a16"),
)
UNKNOWN = Band(math.nan, "no estimate", "#8b8d91")


def band_of(probability: float | None) -> Band:
    """The band of a probability; :data:`UNKNOWN` for None and NaN."""
    if probability is None or math.isnan(probability):
        return UNKNOWN
    return next((band for band in BANDS if probability >= band.least), BANDS[-1])


def percent(probability: float | None) -> str:
    """``"93 %"``; a dash where nobody knows."""
    if probability is None or math.isnan(probability):
        return "–"
    return f"{math.floor(100 * probability + 0.5)} %"


def extent(index: int) -> str:
    """Where band number ``index`` begins or ends, in words."""
    if BANDS[index].least > 0:
        return f"from {percent(BANDS[index].least)}"
    return f"below {percent(BANDS[index - 1].least)}"
