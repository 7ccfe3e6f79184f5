"""Ctrl-C: one line, exit status 130, no traceback, also from workers."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from puzzleflow.cli import main as cli

WORKERS = """
import sys, time
from pathlib import Path
from puzzleflow.cli import main as cli
from puzzleflow.parallel import bounded_map
def slow(path):
    Path(path).touch()
    time.sleep(600)
def build_app(build=cli.build_app):
    app = build()
    @app.command("wait")
    def wait(folder: str) -> None:
        for _ in bounded_map(slow, [f"{folder}/{i}" for i in range(4)], num_workers=2):
            pass
    return app
cli.build_app = build_app
cli.main()
"""


def interrupted() -> None:
    raise KeyboardInterrupt


def interrupted_while_compiled_code_returned() -> None:
    raise SystemError("CPUDispatcher returned a result with an exception set") from (
        KeyboardInterrupt()
    )


@pytest.mark.parametrize("stop", [interrupted, interrupted_while_compiled_code_returned])
@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["solve", "x"], "puzzleflow: interrupted; run again to go on\n"),
        (["inspect", "solve"], "puzzleflow: interrupted\n"),
    ],
)
def test_one_line_that_is_true(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    line: str,
    stop: Callable[[], None],
) -> None:
    app = typer.Typer(cls=cli._Commands)
    app.callback()(lambda: None)

    @app.command(words[0])
    def command(path: str) -> None:
        stop()

    monkeypatch.setattr(cli, "build_app", lambda: app)
    monkeypatch.setattr(sys, "argv", ["puzzleflow", *words])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 130
    assert capsys.readouterr().err == line


def test_every_command_that_goes_on_exists() -> None:
    commands = typer.main.get_command(cli.build_app()).commands  # type: ignore[attr-defined]
    assert commands.keys() >= cli.GO_ON


def test_every_command_that_says_so_goes_on() -> None:
    """What the help says is said of an interrupted command, too."""
    commands = typer.main.get_command(cli.build_app()).commands  # type: ignore[attr-defined]
    saying = {
        name
        for name, command in commands.items()
        if re.search(
            r"goe?s? on (where|there|with)|run again to go on",
            " ".join([command.help or "", *(getattr(p, "help", "") or "" for p in command.params)]),
        )
    }
    assert saying >= {"assemble", "fracture", "generate", "solve", "train"}
    assert saying <= cli.GO_ON


@pytest.mark.skipif(os.name != "posix", reason="no process groups here")
def test_workers_are_silent_and_gone(tmp_path: Path) -> None:
    """The terminal sends Ctrl-C to the whole group."""
    with subprocess.Popen(
        [sys.executable, "-c", WORKERS, "wait", str(tmp_path)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        deadline = time.monotonic() + 120
        while len(list(tmp_path.iterdir())) < 2:
            assert time.monotonic() < deadline, "no worker began"
            assert process.poll() is None, "it ended too early"
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        try:
            _, told = process.communicate(timeout=60)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    assert told == "puzzleflow: interrupted\n"
    assert process.returncode == 130
    deadline = time.monotonic() + 60
    while is_there(process.pid):
        assert time.monotonic() < deadline, "somebody of the group is left"
        time.sleep(0.05)


def is_there(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
