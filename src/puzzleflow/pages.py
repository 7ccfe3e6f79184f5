"""Pages from the templates of this package; what goes into HTML is escaped."""

from __future__ import annotations

import base64
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("puzzleflow"),
        autoescape=select_autoescape(("html",)),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )


def render(template: str, **context: Any) -> str:
    """The page of a file in ``templates``: HTML if its name ends so, else plain text."""
    return _environment().get_template(template).render(context, data_uri=data_uri)


def data_uri(content: bytes, media_type: str) -> str:
    """An address that holds what it points at, so that a page needs nothing beside it."""
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"
