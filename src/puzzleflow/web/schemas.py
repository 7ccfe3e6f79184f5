"""What goes over the wire: requests with their bounds, and the state that the page draws."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Index = Annotated[int, Field(ge=0, le=9999)]
Side = Annotated[int, Field(ge=1, le=100)]
Seed = Annotated[int, Field(ge=0, le=2**31 - 1)]
Chosen = Annotated[list[Index], Field(min_length=1, max_length=1000)]
Fraction = float | None


class Request(BaseModel):
    """Base of all request bodies: nothing unknown, nothing infinite."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class GridSize(Request):
    """rows × cols."""

    rows: Side
    cols: Side


class SampleRequest(Request):
    """A bundled picture to be cut."""

    sample: Annotated[str, Field(max_length=80)]
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


class TurnRequest(Request):
    """Pieces to be turned; a quarter turn goes to the left."""

    pieces: Chosen
    quarter_turns: Annotated[int, Field(ge=-3, le=3)] = 1


class SolveRequest(Request):
    """Solve; without a grid every possible one is tried."""

    solver: Annotated[str, Field(max_length=80)] | None = None
    grid: GridSize | None = None
    seed: Seed = 0
    num_alternatives: Annotated[int, Field(ge=0, le=20)] = 8


class PlaceRequest(Request):
    """Lay a piece into a cell; the piece that lies there takes its place."""

    piece: Index
    position: Index
    pin: bool = False


class PinRequest(Request):
    """Fix a piece where it lies, or let it go; without a piece all are let go."""

    piece: Index | None = None
    pinned: bool = True


class ChooseRequest(Request):
    """One of the whole layouts that the solver listed."""

    index: Index


class Problem(BaseModel):
    """What went wrong, in a sentence."""

    detail: str


class SampleInfo(BaseModel):
    """A bundled picture."""

    name: str
    title: str
    artist: str
    date: str


class LimitInfo(BaseModel):
    """What may be uploaded."""

    max_request_bytes: int
    max_file_bytes: int
    max_files: int
    max_pixels: int
    max_total_pixels: int
    max_pieces: int


class BandInfo(BaseModel):
    """A range of confidence, from ``least`` on."""

    least: float
    label: str
    colour: str


class About(BaseModel):
    """What this server can do."""

    version: str
    limits: LimitInfo
    solvers: list[str]
    default_solver: str
    erosions: dict[str, str]
    bands: list[BandInfo]
    unknown_colour: str
    samples: list[SampleInfo]


class PieceInfo(BaseModel):
    """One piece; ``picture`` is the address of its picture."""

    name: str
    width: int
    height: int
    quarter_turns: int
    picture: str


class PhotoInfo(BaseModel):
    """The photograph; boxes are (top, left, height, width) in its pixels, one per piece."""

    width: int
    height: int
    threshold: float
    automatic: bool
    boxes: list[tuple[int, int, int, int]]
    cutouts: list[str]
    picture: str
    warnings: list[str]


class Candidate(BaseModel):
    """A piece that may belong into a cell."""

    piece: int
    probability: float


class WholeLayout(BaseModel):
    """One of the best whole layouts."""

    piece_at: list[int]
    energy: float | None
    probability: float | None
    fits_pins: bool


class GridCost(BaseModel):
    """A grid that was tried."""

    rows: int
    cols: int
    cost: float | None


class Earlier(BaseModel):
    """The arrangement before, to compare with."""

    piece_at: list[int]
    label: str


class Board(BaseModel):
    """The arrangement on the board; lists over positions unless said otherwise."""

    rows: int
    cols: int
    cell_width: int
    cell_height: int
    piece_at: list[int]
    pinned: list[int] = Field(description="pieces")
    confidence: list[Fraction] = Field(description="per position")
    right_seams: list[list[Fraction]]
    down_seams: list[list[Fraction]]
    candidates: list[list[Candidate]]
    layouts: list[WholeLayout]
    layout_index: int | None
    trace: list[list[int]] = Field(description="per step the position of every piece")
    grid_guessed: bool
    ranking: list[GridCost]
    solver: str | None
    seconds: float | None
    label: str
    undo: str | None
    redo: str | None
    previous: Earlier | None
    right: list[bool] | None = Field(description="per position, where the truth is known")


class JobInfo(BaseModel):
    """A solve under way, or the last one."""

    status: Literal["waiting", "running", "done", "failed", "cancelled"]
    message: str
    fraction: float | None
    changes: int


class State(BaseModel):
    """Everything that the page shows."""

    id: str
    title: str
    origin: str
    pieces: list[PieceInfo]
    grids: list[GridSize]
    grid: GridSize | None
    photo: PhotoInfo | None
    board: Board | None
    job: JobInfo | None
