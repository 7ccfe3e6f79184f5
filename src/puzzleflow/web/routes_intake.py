"""Routes that open a workbench: samples, pictures, a photograph, a saved file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import lru_cache
from importlib.metadata import version
from pathlib import PurePath
from typing import Annotated

from fastapi import APIRouter, File, Query, Response, UploadFile

from puzzleflow.core.errors import InputError, naming
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.pictures import reduced
from puzzleflow.samples import find_sample, list_samples, load_sample
from puzzleflow.solvers.registry import DEFAULT_SOLVER
from puzzleflow.web import schemas
from puzzleflow.web.archive import unpack
from puzzleflow.web.confidence import BANDS, UNKNOWN
from puzzleflow.web.errors import NotFound, TooMuch
from puzzleflow.web.exports import jpeg
from puzzleflow.web.intake import EROSIONS, Upload, cut, fragments_of, read_upload
from puzzleflow.web.photo import Photo
from puzzleflow.web.pieces import Piece
from puzzleflow.web.service import PROBLEMS, InService, Service
from puzzleflow.web.views import state_of
from puzzleflow.web.workbench import Workbench

router = APIRouter(prefix="/api", responses=PROBLEMS)
OneFile = Annotated[UploadFile, File(description="one file")]
ManyFiles = Annotated[list[UploadFile], File(description="picture files")]
Side = Annotated[int, Query(ge=1, le=100)]
THUMBNAIL_PX = 240


@router.get("/about")
def about(service: InService) -> schemas.About:
    """What this server can do and how much it takes."""
    limits = schemas.LimitInfo.model_validate(
        {name: asdict(service.limits)[name] for name in schemas.LimitInfo.model_fields}
    )
    return schemas.About(
        version=version("puzzleflow"),
        limits=limits,
        solvers=service.shelf.names(),
        default_solver=DEFAULT_SOLVER,
        erosions=EROSIONS,
        bands=[
            schemas.BandInfo(least=band.least, label=band.label, colour=band.colour)
            for band in BANDS
        ],
        unknown_colour=UNKNOWN.colour,
        samples=[
            schemas.SampleInfo(name=s.name, title=s.title, artist=s.artist, date=s.date)
            for s in list_samples()
        ],
    )


@router.get("/samples/{name}.jpg", response_class=Response)
def sample_picture(name: str) -> Response:
    """A small picture of a sample."""
    known = {sample.name for sample in list_samples()}
    if name not in known:
        raise NotFound("no such sample")
    return Response(
        _thumbnail(name),
        media_type="image/jpeg",
        headers={"cache-control": "private, max-age=86400"},
    )


@lru_cache(maxsize=64)
def _thumbnail(name: str) -> bytes:
    return jpeg(reduced(load_sample(name), THUMBNAIL_PX))


@router.post("/workbenches/sample", status_code=201)
def open_sample(request: schemas.SampleRequest, service: InService) -> schemas.State:
    """Cut a bundled picture into a puzzle."""
    sample = find_sample(request.sample)
    title = f"{sample.title}, {sample.artist}" if sample.artist else sample.title
    grid = Grid(request.grid.rows, request.grid.cols)

    def fill(workbench: Workbench) -> None:
        picture = load_sample(sample.name)
        _use_puzzle(workbench, cut(picture, grid, request.erosion, request.seed, service.limits))

    return _open(service, title, "sample", fill)


@router.post("/workbenches/cut", status_code=201)
def open_cut(
    file: OneFile,
    service: InService,
    rows: Side = 3,
    cols: Side = 3,
    erosion: Annotated[str, Query(max_length=40)] = "vae",
    seed: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
) -> schemas.State:
    """Cut a picture of one's own into a puzzle."""

    def fill(workbench: Workbench) -> None:
        picture = read_upload(_read(file, service), service.limits)[..., :3]
        _use_puzzle(workbench, cut(picture, Grid(rows, cols), erosion, seed, service.limits))

    return _open(service, _stem(file), "cut", fill)


@router.post("/workbenches/pieces", status_code=201)
def open_pieces(files: ManyFiles, service: InService) -> schemas.State:
    """Pictures of fragments, one each."""
    if len(files) > service.limits.max_files:
        raise TooMuch(f"{len(files)} files; at most {service.limits.max_files} at once")

    def fill(workbench: Workbench) -> None:
        uploads = [_read(file, service) for file in files]
        workbench.set_pieces(fragments_of(uploads, service.limits))

    return _open(service, f"{len(files)} fragments", "pieces", fill)


@router.post("/workbenches/photo", status_code=201)
def open_photo(file: OneFile, service: InService) -> schemas.State:
    """One photograph of many fragments on a plain ground."""

    def fill(workbench: Workbench) -> None:
        pixels = read_upload(_read(file, service), service.limits)
        workbench.photo = Photo.found(workbench.folder, pixels)
        workbench.set_pieces(workbench.photo.pieces())

    return _open(service, _stem(file), "photo", fill)


@router.post("/workbenches/open", status_code=201)
def open_saved(file: OneFile, service: InService) -> schemas.State:
    """A workbench file saved before."""

    def fill(workbench: Workbench) -> None:
        upload = _read(file, service)
        with naming(upload.name[:80] or "the file"):
            unpack(upload.content, workbench)

    return _open(service, _stem(file), "saved", fill)


def _open(
    service: Service, title: str, origin: str, fill: Callable[[Workbench], None]
) -> schemas.State:
    """Fill a new workbench; it is listed only when that succeeded."""
    workbench = service.workbenches.draft(title, origin)
    try:
        with service.heavy:
            fill(workbench)
    except BaseException:
        workbench.close(service.runner)
        raise
    return state_of(service.workbenches.add(workbench))


def _use_puzzle(workbench: Workbench, puzzle: Puzzle) -> None:
    pieces = [Piece(f"piece_{i:02d}.png", pixels) for i, pixels in enumerate(puzzle.pieces)]
    workbench.set_pieces(pieces, puzzle.grid, puzzle.truth)


def _read(file: UploadFile, service: Service) -> Upload:
    bound = service.limits.max_file_bytes
    content = file.file.read(bound + 1)
    name = file.filename or ""
    if len(content) > bound:
        raise TooMuch(f"{name[:80]}: larger than the {bound / (1 << 20):.3g} MB allowed")
    if not content:
        raise InputError(f"{name[:80] or 'the file'}: empty")
    return Upload(name, content)


def _stem(file: UploadFile) -> str:
    return PurePath((file.filename or "").replace("\\", "/")).stem[:80] or "Fragments"
