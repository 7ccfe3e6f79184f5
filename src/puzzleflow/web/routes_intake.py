"""Routes that open a workbench: samples, uploads, a photograph, a saved file, a recent one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import PurePath
from typing import Annotated

from fastapi import APIRouter, File, Query, Response, UploadFile

from puzzleflow.core.errors import FormatError, InputError, naming
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.types import ByteArray
from puzzleflow.generation.builder import cut_puzzle
from puzzleflow.pictures import has_heic, natural_key, read_picture, reduced
from puzzleflow.samples import find_sample, list_samples, load_sample
from puzzleflow.solvers.registry import DEFAULT_SOLVER
from puzzleflow.web import answers, schemas
from puzzleflow.web.archive import unpack
from puzzleflow.web.exports import jpeg
from puzzleflow.web.finding import start_finding
from puzzleflow.web.limits import Limits, NotFound, TooMuch
from puzzleflow.web.photo import Photo
from puzzleflow.web.report import BANDS, UNKNOWN
from puzzleflow.web.service import PROBLEMS, InService, Service
from puzzleflow.web.stock import Stock, plain_names
from puzzleflow.web.views import state_of
from puzzleflow.web.workbench import Cut, Workbench

EROSIONS = ("vae", "linear", "none")
LEAST_PIECE_PX, LARGEST_PIECE_PX = 16, 512
LEAST_SIDE_PX = 8
TOLD_CROP = 0.02  # of the picture: what is cropped beyond it is said
router = APIRouter(prefix="/api", responses=PROBLEMS)
OneFile = Annotated[UploadFile, File(description="one file")]
ManyFiles = Annotated[list[UploadFile], File(description="picture files")]
Side = Annotated[int, Query(ge=1, le=100)]
THUMBNAIL_PX = 240


@dataclass(frozen=True)
class Upload:
    """A file as it came: its name is shown, never trusted."""

    name: str
    content: bytes


def read_upload(upload: Upload, limits: Limits, *, reduce: bool = False) -> ByteArray:
    """(H, W, 3 or 4) uint8 of a picture file within the limits.

    reduce  large pictures are read at a half or a quarter, so that they fit into memory
    """
    with naming(upload.name[:80] or "the file"):
        pixels = read_picture(
            upload.content,
            None,
            max_pixels=limits.max_pixels,
            keep_pixels=limits.kept_pixels if reduce else None,
        )
        if min(pixels.shape[:2]) < LEAST_SIDE_PX:
            raise FormatError(f"fewer than {LEAST_SIDE_PX} pixels a side")
    return pixels


def fragments_of(uploads: Sequence[Upload], limits: Limits) -> list[Cut]:
    """One piece per picture, in natural order."""
    from puzzleflow.segmentation.cut_outs import cut_outs  # loads scipy and scikit-image

    if len(uploads) > limits.max_pieces:
        raise TooMuch(f"{len(uploads)} pictures; at most {limits.max_pieces} pieces are possible")
    uploads = sorted(uploads, key=lambda upload: natural_key(upload.name))
    pictures: list[ByteArray] = []
    left = limits.max_total_pixels
    for upload in uploads:
        with naming(upload.name[:80] or "the file"):
            most = min(left, limits.max_pixels)
            picture = read_picture(upload.content, "RGBA", max_pixels=most)
            if min(picture.shape[:2]) < LEAST_SIDE_PX:
                raise FormatError(f"fewer than {LEAST_SIDE_PX} pixels a side")
        pictures.append(picture)
        left -= picture.shape[0] * picture.shape[1]
        if left < 0:
            raise TooMuch(f"all pictures together exceed {limits.max_total_pixels:,} pixels")
    found = cut_outs(pictures, [upload.name[:80] for upload in uploads])
    names = plain_names([upload.name for upload in uploads])
    return list(zip(names, found, strict=True))


def cut(
    picture: ByteArray, grid: Grid, erosion: str, seed: int, limits: Limits
) -> tuple[Puzzle, float]:
    """A puzzle of (H, W, 3) ``picture`` at its own resolution, square pieces, shuffled.

    Also the part of the picture that square pieces leave over and that is cropped.
    """
    if grid.num_pieces > limits.max_pieces:
        raise TooMuch(f"a {grid} grid; at most {limits.max_pieces} pieces are possible")
    if erosion not in EROSIONS:
        raise InputError(f"unknown erosion {erosion!r}; known: {', '.join(EROSIONS)}")
    height, width = picture.shape[:2]
    side = min(height // grid.rows, width // grid.cols)
    cropped = 1 - side**2 * grid.num_pieces / (height * width)
    side = min(side, LARGEST_PIECE_PX)
    if side < LEAST_PIECE_PX:
        raise InputError(f"the picture is too small for {grid} pieces")
    return cut_puzzle(picture, grid, erosion, seed, piece_px=side), cropped


@router.get("/about")
def about(service: InService) -> answers.About:
    """What this server can do and how much it takes."""
    return answers.About(
        version=version("puzzleflow"),
        limits=answers.LimitInfo.model_validate(service.limits),
        solvers=service.shelf.names(),
        default_solver=DEFAULT_SOLVER,
        erosions=list(EROSIONS),
        bands=[answers.BandInfo.model_validate(band) for band in BANDS],
        unknown_colour=UNKNOWN.colour,
        samples=[answers.SampleInfo.model_validate(sample) for sample in list_samples()],
        heic=has_heic(),
        psd=find_spec("psd_tools") is not None,
        keeps=service.keeps,
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


@router.get("/workbenches")
def recent(service: InService) -> list[answers.Recent]:
    """The workbenches that are kept, the one changed last first."""
    return [
        answers.Recent(id=name, **told.model_dump(exclude={"num_bytes"}))
        for name, told in service.workbenches.recent()
    ]


@router.post("/workbenches/sample", status_code=201)
def open_sample(request: schemas.SampleRequest, service: InService) -> answers.State:
    """Cut a bundled picture into a puzzle."""
    sample = find_sample(request.sample)
    title = f"{sample.title}, {sample.artist}" if sample.artist else sample.title
    grid = Grid(request.grid.rows, request.grid.cols)

    def fill(workbench: Workbench) -> None:
        _use_cut(workbench, load_sample(sample.name), grid, request.erosion, request.seed, service)

    return _open(service, title, "sample", fill)


@router.post("/workbenches/cut", status_code=201)
def open_cut(
    file: OneFile,
    service: InService,
    rows: Side = 3,
    cols: Side = 3,
    erosion: Annotated[str, Query(max_length=40)] = "vae",
    seed: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
) -> answers.State:
    """Cut a picture of one's own into a puzzle."""

    def fill(workbench: Workbench) -> None:
        picture = read_upload(_read(file, service), service.limits, reduce=True)[..., :3]
        _use_cut(workbench, picture, Grid(rows, cols), erosion, seed, service)

    return _open(service, _stem(file), "cut", fill)


@router.post("/workbenches/pieces", status_code=201)
def open_pieces(files: ManyFiles, service: InService) -> answers.State:
    """Pictures of fragments, one each."""
    count = len(files)
    if count > service.limits.max_files:
        raise TooMuch(f"{count} files; at most {service.limits.max_files} at once")

    def fill(workbench: Workbench) -> None:
        uploads = [_read(file, service) for file in files]
        workbench.set_pieces(fragments_of(uploads, service.limits))

    return _open(service, f"{count} fragment{'' if count == 1 else 's'}", "pieces", fill)


@router.post("/workbenches/photo", status_code=201)
def open_photo(file: OneFile, service: InService) -> answers.State:
    """One photograph of many fragments on a plain ground; they are looked for in a job."""

    def fill(workbench: Workbench) -> None:
        pixels = read_upload(_read(file, service), service.limits, reduce=True)
        photo = Photo.taken(workbench.folder, pixels)
        workbench.stocks.add(Stock((), "begin", photo))

    state = _open(service, _stem(file), "photo", fill)
    workbench = service.workbenches.get(state.id)
    start_finding(workbench, service.runner, None)
    return state_of(workbench)


@router.post("/workbenches/open", status_code=201)
def open_saved(file: OneFile, service: InService) -> answers.State:
    """A workbench file saved before."""

    def fill(workbench: Workbench) -> None:
        upload = _read(file, service, service.limits.max_request_bytes)
        with naming(upload.name[:80] or "the file"):
            unpack(upload.content, workbench)

    return _open(service, _stem(file), "saved", fill)


def _open(
    service: Service, title: str, origin: str, fill: Callable[[Workbench], None]
) -> answers.State:
    """Fill a new workbench; it is listed only when that succeeded."""
    workbench = service.workbenches.draft(title, origin)
    try:
        with service.heavy:
            fill(workbench)
    except BaseException:
        workbench.close(service.runner)
        raise
    return state_of(service.workbenches.add(workbench))


def _use_cut(
    workbench: Workbench, picture: ByteArray, grid: Grid, erosion: str, seed: int, service: Service
) -> None:
    puzzle, cropped = cut(picture, grid, erosion, seed, service.limits)
    if cropped > TOLD_CROP:
        workbench.sheet = replace(workbench.sheet, remarks=(("cropped", round(cropped, 4)),))
    cuts = [(f"piece_{i:02d}.png", pixels) for i, pixels in enumerate(puzzle.pieces)]
    workbench.set_pieces(cuts, puzzle.grid, puzzle.truth)


def _read(file: UploadFile, service: Service, bound: int | None = None) -> Upload:
    bound = service.limits.max_file_bytes if bound is None else bound
    content = file.file.read(bound + 1)
    name = file.filename or ""
    if len(content) > bound:
        raise TooMuch(f"{name[:80]}: larger than the {bound / (1 << 20):.3g} MB allowed")
    if not content:
        raise InputError(f"{name[:80] or 'the file'}: empty")
    return Upload(name, content)


def _stem(file: UploadFile) -> str:
    return PurePath((file.filename or "").replace("\\", "/")).stem[:80] or "Fragments"
