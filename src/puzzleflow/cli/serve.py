"""``puzzleflow serve``: the workbench in the browser."""

from __future__ import annotations

from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the ``serve`` command."""
    app.command("serve")(serve)


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
) -> None:
    """Open the workbench: from fragments or a photograph to a reconstruction you steer.

    Works offline; nothing leaves this machine. Stop it with Ctrl+C.
    """
    from puzzleflow.web.server import run

    run(host, port, names=tuple(name or ()), open_browser=browser)
