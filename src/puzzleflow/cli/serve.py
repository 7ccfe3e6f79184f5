"""``puzzleflow serve``: the workbench in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on; other machines reach only what is given.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8137,
    name: Annotated[
        list[str] | None,
        typer.Option(help="Further name under which the server may be asked; repeat for more."),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    keep: Annotated[
        Path | None,
        typer.Option(help="Folder in which workbenches are kept; by default one of your own."),
    ] = None,
    keep_nothing: Annotated[
        bool, typer.Option("--keep-nothing", help="Forget every workbench when it stops.")
    ] = False,
    token: Annotated[
        bool,
        typer.Option(help="Beyond this machine, answer only those who know the address's token."),
    ] = True,
) -> None:
    """Open the workbench: from fragments or a photograph to a reconstruction you steer.

    Works offline; nothing leaves this machine. Stop it with Ctrl+C.
    """
    from puzzleflow.web.server import run
    from puzzleflow.web.store import user_folder

    run(
        host,
        port,
        names=tuple(name or ()),
        open_browser=browser,
        keep=None if keep_nothing else keep or user_folder(),
        use_token=token,
    )
