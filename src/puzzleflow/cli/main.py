"""The ``puzzleflow`` command: every module of this folder is a subcommand, or registers several."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
import time
from io import TextIOWrapper
from typing import Any

import typer
from typer.core import TyperGroup

import puzzleflow.cli
from puzzleflow.cli._extras import check_extras, lacking_module
from puzzleflow.cli._talk import take_level, tell_cost
from puzzleflow.core.ceiling import DEFAULT_GIB, DEFAULT_S, SECONDS_VARIABLE, VARIABLE
from puzzleflow.core.errors import PuzzleFlowError

# interrupted commands that go on where they were when they are run again
GO_ON = frozenset(
    {"ablate", "assemble", "bench", "collect", "fracture", "generate", "jpwleg", "limits"}
    | {"materialise", "publish", "reproduce", "solve", "train"}
)
_CEILINGS = {"--max-gib": VARIABLE, "--max-seconds": SECONDS_VARIABLE}


class _Interrupted(Exception):
    """Ctrl-C, past Typer, which would end without a word."""


class _Commands(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise _Interrupted from stop
        except SystemError as error:  # Ctrl-C while compiled code returns
            if isinstance(error.__cause__, KeyboardInterrupt):
                raise _Interrupted from error
            raise


def build_app() -> typer.Typer:
    """The Typer application with every command registered."""
    app = typer.Typer(
        name="puzzleflow",
        cls=_Commands,
        help="Put broken pictures back together.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def options(
        version: bool = typer.Option(
            False, "--version", is_eager=True, callback=_show_version, help="Show the version."
        ),
        quiet: bool = typer.Option(
            False, "-q", "--quiet", help="No progress and no notes; may stand anywhere."
        ),
        verbose: bool = typer.Option(
            False, "-v", "--verbose", help="Also time and memory; may stand anywhere."
        ),
        debug: bool = typer.Option(
            False, "--debug", help="Show the traceback of an error; may stand anywhere."
        ),
        max_gib: float = typer.Option(
            DEFAULT_GIB, "--max-gib", help="Memory for reading one file; may stand anywhere."
        ),
        max_seconds: float = typer.Option(
            DEFAULT_S, "--max-seconds", help="Work for reading one file; may stand anywhere."
        ),
    ) -> None:
        """Put broken pictures back together."""

    for info in pkgutil.iter_modules(puzzleflow.cli.__path__):
        module = importlib.import_module(f"puzzleflow.cli.{info.name}")
        if hasattr(module, "register"):
            module.register(app)
        elif info.name != "main" and not info.name.startswith("_"):
            app.command(info.name)(getattr(module, info.name))
    return app


def main() -> None:
    """Run the command; expected errors become one line on stderr and exit status 2."""
    debug = "--debug" in sys.argv[1:] or bool(os.environ.get("PUZZLEFLOW_DEBUG"))
    arguments = take_level([argument for argument in sys.argv[1:] if argument != "--debug"])
    arguments = _take_ceilings(arguments)
    words = [word for word in arguments if not word.startswith("-")]
    began = time.monotonic()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # whatever the terminal and the names of files
            stream.reconfigure(errors="backslashreplace")
    try:
        if not {"-h", "--help"} & set(arguments):
            check_extras(words)
        try:
            build_app()(arguments)
        finally:
            tell_cost(began)
    except PuzzleFlowError as error:
        _fail(error, str(error), debug)
    except (_Interrupted, KeyboardInterrupt):
        goes_on = {" ".join(words[:1]), " ".join(words[:2])} & GO_ON
        print(
            f"puzzleflow: interrupted{'; run again to go on' if goes_on else ''}", file=sys.stderr
        )
        sys.exit(130)
    except ModuleNotFoundError as error:
        lacking = lacking_module(error)
        if lacking is None:
            raise
        _fail(error, str(lacking), debug)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        if error.errno is None:
            raise
        _fail(error, f"{error.filename or 'input or output'}: {error.strerror}", debug)
    except MemoryError as error:
        _fail(error, "not enough memory", debug)


def _take_ceilings(arguments: list[str]) -> list[str]:
    """The arguments without those that set ceilings, which readers find in the environment."""
    rest, coming = [], iter(arguments)
    for argument in coming:
        name, equals, value = argument.partition("=")
        if name in _CEILINGS:
            os.environ[_CEILINGS[name]] = (value if equals else next(coming, "")) or "nothing"
        else:
            rest.append(argument)
    return rest


def _fail(error: BaseException, message: str, debug: bool) -> None:
    if debug:
        raise error
    line = " ".join(message.split())
    print(f"puzzleflow: error: {line}", file=sys.stderr)
    sys.exit(2)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"puzzleflow {version('puzzleflow')}")
        raise typer.Exit
