"""The ``puzzleflow`` command: every module of this folder that has ``register`` adds to it."""

from __future__ import annotations

import errno
import importlib
import os
import pkgutil
import sys

import typer

import puzzleflow.cli
from puzzleflow.core.errors import PuzzleFlowError


def build_app() -> typer.Typer:
    """The Typer application with every command registered."""
    app = typer.Typer(
        name="puzzleflow",
        help="Put broken pictures back together.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def options(
        debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error."),
    ) -> None:
        if debug:
            os.environ["PUZZLEFLOW_DEBUG"] = "1"

    for info in pkgutil.iter_modules(puzzleflow.cli.__path__):
        module = importlib.import_module(f"puzzleflow.cli.{info.name}")
        if hasattr(module, "register"):
            module.register(app)
    return app


def main() -> None:
    """Run the command; expected errors become one line on stderr and exit status 2."""
    try:
        build_app()()
    except PuzzleFlowError as error:
        _fail(error, str(error))
    except KeyboardInterrupt:
        print("puzzleflow: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS):
            raise
        _fail(error, f"{error.filename or 'output'}: {error.strerror}")


def _fail(error: BaseException, message: str) -> None:
    if os.environ.get("PUZZLEFLOW_DEBUG"):
        raise error
    line = " ".join(message.split())
    print(f"puzzleflow: error: {line}", file=sys.stderr)
    sys.exit(2)
