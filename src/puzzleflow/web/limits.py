"""What a workbench accepts, told to the page before anything is uploaded; and its refusals.

InputError
├── NotFound   no such workbench, piece or sample (404)
├── Conflict   not now: a solve is running, or the stage is another (409)
└── TooMuch    beyond the limits (413)
"""

from __future__ import annotations

from dataclasses import dataclass

from puzzleflow.core.errors import InputError

MB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Bounds that the server enforces while it reads.

    max_request_bytes   of one upload, all files together
    max_file_bytes      of one file
    max_files           in one upload
    max_pixels          of one picture, checked before it is decoded
    kept_pixels         of a photograph: larger ones are read at a half or a quarter
    max_total_pixels    of all pieces together, each on a cell of the largest one's size
    max_pieces          on one workbench
    max_json_bytes      of any other request
    max_workbenches     in memory at once; the others wait on disk
    max_kept_bytes      of all workbenches on disk; beyond it none is opened
    """

    max_request_bytes: int = 256 * MB
    max_file_bytes: int = 128 * MB
    max_files: int = 100
    max_pixels: int = 200_000_000
    kept_pixels: int = 50_000_000
    max_total_pixels: int = 96_000_000
    max_pieces: int = 100
    max_json_bytes: int = 64 * 1024
    max_workbenches: int = 48
    max_kept_bytes: int = 8192 * MB


class NotFound(InputError):
    """Nothing has this name or number."""


class Conflict(InputError):
    """The workbench is in another state."""


class TooMuch(InputError):
    """More than the limits allow."""
