"""Refusals of the workbench that have a status of their own.

InputError
├── NotFound   no such workbench, piece or sample (404)
├── Conflict   not now: a solve is running, or the stage is another (409)
└── TooMuch    beyond the limits (413)
"""

from puzzleflow.core.errors import InputError


class NotFound(InputError):
    """Nothing has this name or number."""


class Conflict(InputError):
    """The workbench is in another state."""


class TooMuch(InputError):
    """More than the limits allow."""
