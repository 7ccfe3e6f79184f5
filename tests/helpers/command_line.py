"""The command line as tests call it."""

from __future__ import annotations

from typer.testing import CliRunner

from puzzleflow.cli.main import build_app


def run(*words: object) -> str:
    """What a command prints; what it raises is raised."""
    result = CliRunner().invoke(build_app(), [str(word) for word in words])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output
