"""What is written on a workbench: title, author, date, scale, and remarks of the program."""

from __future__ import annotations

from dataclasses import dataclass

MM_PER_INCH = 25.4
MAX_PX_PER_MM = 10_000.0


@dataclass(frozen=True)
class Sheet:
    """Facts about the whole.

    date       as the person wrote it
    px_per_mm  pixels of the pieces, where somebody measured a ruler
    remarks    (what, a number): said once, for example how much was cropped
    """

    title: str
    author: str = ""
    date: str = ""
    px_per_mm: float | None = None
    remarks: tuple[tuple[str, float], ...] = ()

    @property
    def dpi(self) -> float | None:
        """Pixels an inch."""
        return None if self.px_per_mm is None else self.px_per_mm * MM_PER_INCH
