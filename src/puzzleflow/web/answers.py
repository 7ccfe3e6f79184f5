"""What the page is told: the state of a workbench as it draws it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from puzzleflow.web.schemas import GridSize

Fraction = float | None


class Shown(BaseModel):
    """Of models that have the names of what they show."""

    model_config = ConfigDict(from_attributes=True)


class Problem(BaseModel):
    """What went wrong, in a sentence."""

    detail: str


class SampleInfo(Shown):
    """A bundled picture."""

    name: str
    title: str
    artist: str
    date: str


class LimitInfo(Shown):
    """What may be uploaded."""

    max_request_bytes: int
    max_file_bytes: int
    max_files: int
    max_pixels: int
    max_total_pixels: int
    max_pieces: int


class BandInfo(Shown):
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
    erosions: list[str]
    bands: list[BandInfo]
    unknown_colour: str
    samples: list[SampleInfo]
    heic: bool = Field(description="HEIC photographs can be read")
    psd: bool = Field(description="layered files can be written")
    keeps: bool = Field(description="workbenches survive the end of the program")


class Recent(BaseModel):
    """A workbench that is kept; ``changed_at`` in seconds since 1970."""

    id: str
    title: str
    origin: str
    num_pieces: int
    solved: bool
    changed_at: float


class PieceInfo(BaseModel):
    """One piece; ``picture`` is the address of its picture."""

    name: str
    width: int
    height: int
    quarter_turns: int
    picture: str
    inventory: str
    note: str


class AsideInfo(BaseModel):
    """Something in the photograph that is probably no fragment."""

    fragment: int
    kind: str
    box: tuple[int, int, int, int]
    cutout: str


class PhotoInfo(BaseModel):
    """The photograph; boxes are (top, left, height, width) in its pixels, one per piece."""

    width: int
    height: int
    threshold: float
    automatic: bool
    boxes: list[tuple[int, int, int, int]]
    cutouts: list[str]
    aside: list[AsideInfo]
    picture: str
    warnings: list[str]


class Candidate(BaseModel):
    """A piece that may belong into a cell."""

    piece: int
    probability: float


class WholeLayout(BaseModel):
    """One of the best whole layouts."""

    energy: float | None
    probability: float | None
    fits_pins: bool


class GridGuessInfo(BaseModel):
    """A grid that was tried."""

    rows: int
    cols: int
    cost: float | None
    probability: float | None


class GridChoice(BaseModel):
    """A grid that the pieces may be laid on: cells that stay empty, pieces left over."""

    rows: int
    cols: int
    missing: int
    extra: int


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
    lefts: list[float] = Field(description="left edge of every column drawn closed, in cells")
    tops: list[float] = Field(description="top edge of every row drawn closed, in cells")
    width: float
    height: float
    piece_at: list[int] = Field(description="-1 where a cell is empty")
    aside: list[int] = Field(description="pieces in the tray")
    pinned: list[int] = Field(description="pieces")
    groups: list[list[int]] = Field(description="pieces that belong together")
    confidence: list[Fraction] = Field(description="per position")
    aside_confidence: list[Fraction] = Field(description="per piece in the tray")
    given_pins: int = Field(description="pins that the numbers hold under")
    right_seams: list[list[Fraction]]
    down_seams: list[list[Fraction]]
    candidates: list[list[Candidate]]
    layouts: list[WholeLayout]
    layout_index: int | None
    trace: list[list[int]] = Field(description="per step the position of every piece")
    grid_guessed: bool
    ranking: list[GridGuessInfo]
    solver: str | None
    seconds: float | None
    label: str
    undo: str | None
    redo: str | None
    previous: Earlier | None
    right: list[bool] | None = Field(description="per position, where the truth is known")


class FreePose(BaseModel):
    """A fragment on the free table."""

    piece: int
    x: float
    y: float
    angle: float
    pinned: bool
    component: int | None
    confidence: Fraction


class Free(BaseModel):
    """The free table."""

    poses: list[FreePose]
    tray: list[int]
    label: str
    undo: str | None
    redo: str | None
    prepared: bool = Field(description="fits can be asked for at once")


class FitInfo(BaseModel):
    """A place where a fragment fits."""

    piece: int
    x: float
    y: float
    angle: float
    gain: float
    beside: list[int]


class JobInfo(Shown):
    """Work under way, or the last that was."""

    status: Literal["waiting", "running", "done", "failed", "cancelled"]
    message: str
    fraction: float | None
    changes: int


class Remark(BaseModel):
    """Something that the program did and says."""

    what: str
    number: float


class State(BaseModel):
    """Everything that the page shows."""

    id: str
    revision: int
    title: str
    origin: str
    author: str
    date: str
    px_per_mm: float | None
    remarks: list[Remark]
    pieces: list[PieceInfo]
    grids: list[GridChoice]
    grid: GridSize | None
    no_grid: bool = Field(description="so many pieces fill no grid but a long strip")
    photo: PhotoInfo | None
    board: Board | None
    free: Free | None
    undo_fragments: str | None
    redo_fragments: str | None
    job: JobInfo | None
