"""What is asked over the wire: request bodies with their bounds."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from puzzleflow.web.stock import MAX_PX_PER_MM

Index = Annotated[int, Field(ge=0, le=9999)]
Place = Annotated[int, Field(ge=-1, le=9999)]
Side = Annotated[int, Field(ge=1, le=100)]
Seed = Annotated[int, Field(ge=0, le=2**31 - 1)]
Chosen = Annotated[list[Index], Field(min_length=1, max_length=1000)]
Few = Annotated[int, Field(ge=0, le=20)]
Coordinate = Annotated[float, Field(ge=-1e6, le=1e6)]
Points = Annotated[list[tuple[Coordinate, Coordinate]], Field(min_length=1, max_length=2000)]
Short = Annotated[str, Field(max_length=80)]


class Request(BaseModel):
    """Base of all request bodies: nothing unknown, nothing infinite."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class GridSize(Request):
    """rows × cols."""

    rows: Side
    cols: Side


class SampleRequest(Request):
    """A bundled picture to be cut."""

    sample: Short
    grid: GridSize = GridSize(rows=3, cols=3)
    erosion: Annotated[str, Field(max_length=40)] = "vae"
    seed: Seed = 0


class ThresholdRequest(Request):
    """How far from the ground a colour must be to count as material; null is automatic."""

    threshold: Annotated[float, Field(gt=0, le=441)] | None = None


class ChosenRequest(Request):
    """Some pieces, by number."""

    pieces: Chosen


class SplitRequest(Request):
    """One piece that is really several."""

    piece: Index


class PaintRequest(Request):
    """A stroke of the brush, or a lasso, in pixels (x, y) of the photograph.

    Without a piece, adding makes a new one and taking away concerns all.
    """

    tool: Literal["brush", "lasso"]
    points: Points
    radius: Annotated[float, Field(gt=0, le=5000)] = 10.0
    piece: Index | None = None
    add: bool = True


class AsideRequest(Request):
    """A fragment of the photograph put aside (a ruler, a label), or back among the pieces."""

    fragment: Annotated[int, Field(ge=1, le=9999)]
    aside: bool


class TurnRequest(Request):
    """Pieces to be turned; a quarter turn goes to the left."""

    pieces: Chosen
    quarter_turns: Annotated[int, Field(ge=-3, le=3)] = 1


class SolveRequest(Request):
    """Solve; without a grid it is guessed.

    ``missing`` and ``foreign`` are upper bounds: cells that stay empty, pieces that belong
    nowhere. ``turned``: pieces may lie turned by quarters.
    """

    solver: Short | None = None
    grid: GridSize | None = None
    missing: Few = 0
    foreign: Few = 0
    turned: bool = False
    seed: Seed = 0
    num_alternatives: Few = 8


class PlaceRequest(Request):
    """Lay a piece into a cell, or into the tray (-1); what lies there takes its place."""

    piece: Index
    position: Place
    pin: bool = False


class ShiftRequest(Request):
    """Move a block of pieces by some rows and columns."""

    pieces: Chosen
    rows: Annotated[int, Field(ge=-100, le=100)] = 0
    cols: Annotated[int, Field(ge=-100, le=100)] = 0


class PinRequest(Request):
    """Fix pieces where they lie, or let them go; without pieces all are let go."""

    pieces: Chosen | None = None
    pinned: bool = True


class JoinRequest(Request):
    """Pieces that belong together as they lie, or no longer."""

    pieces: Chosen
    together: bool = True


class ChooseRequest(Request):
    """One of the whole layouts that the solver listed."""

    index: Index


class DescribeRequest(Request):
    """What is noted of one piece."""

    piece: Index
    inventory: Short = ""
    note: Annotated[str, Field(max_length=2000)] = ""


class SheetRequest(Request):
    """Title, author, date and scale of a workbench."""

    title: Annotated[str, Field(max_length=120)]
    author: Annotated[str, Field(max_length=120)] = ""
    date: Annotated[str, Field(max_length=40)] = ""
    px_per_mm: Annotated[float, Field(gt=0, le=MAX_PX_PER_MM)] | None = None


class PoseRequest(Request):
    """Where a fragment lies on the free table: centre of its picture, and degrees to the left."""

    piece: Index
    x: Coordinate
    y: Coordinate
    angle: Annotated[float, Field(ge=-3600, le=3600)] = 0.0


class FreePlaceRequest(Request):
    """Fragments laid elsewhere on the table, or into the tray.

    snap  let the first one go to the best fit near where it was dropped
    """

    poses: Annotated[list[PoseRequest], Field(max_length=1000)] = []
    tray: Annotated[list[Index], Field(max_length=1000)] = []
    snap: bool = False
