from __future__ import annotations

import errno
import subprocess
import sys

import numpy as np
import pytest
import typer

from puzzleflow.cli import main as cli
from puzzleflow.core.ceiling import SECONDS_VARIABLE, VARIABLE
from puzzleflow.core.errors import FormatError, OutputError
from puzzleflow.pictures import write_picture


@pytest.fixture
def run(monkeypatch, capsys):
    """Run ``main`` with a command "fail" that raises what it is given."""

    def run_with(error, *arguments):
        app = typer.Typer()
        app.callback()(lambda: None)

        @app.command()
        def fail() -> None:
            raise error

        monkeypatch.setattr(cli, "build_app", lambda: app)
        monkeypatch.setattr(sys, "argv", ["puzzleflow", "fail", *arguments])
        monkeypatch.delenv("PUZZLEFLOW_DEBUG", raising=False)
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        return stopped.value.code, capsys.readouterr()

    return run_with


def python(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )


def test_help_loads_nothing_heavy():
    code = (
        "import sys\n"
        "from puzzleflow.cli.main import main\n"
        "sys.argv = ['puzzleflow', '--help']\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code, stop.code\n"
        "heavy = {'torch', 'h5py', 'skimage', 'scipy', 'matplotlib', 'joblib', 'numba',"
        " 'fastapi', 'transformers', 'onnxruntime'}\n"
        "print('LOADED', sorted(heavy & set(sys.modules)))\n"
    )
    result = python(code)
    assert result.returncode == 0, result.stderr
    assert "LOADED []" in result.stdout
    assert "evaluate" in result.stdout
    assert "render" in result.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--max-gib 1e-6 inspect PICTURE", "GiB allowed for one file; PUZZLEFLOW_MAX_GIB"),
        ("inspect --max-seconds=1e-9 PICTURE", "more than the 1e-09 seconds of work allowed"),
        ("inspect PICTURE --max-gib=much", "expected a number of GiB above 0, found 'much'"),
        ("inspect PICTURE --max-gib", "expected a number of GiB above 0, found 'nothing'"),
    ],
)
def test_ceilings_are_options_that_may_stand_anywhere(words, told, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(VARIABLE, "1")  # and back as it was, afterwards
    monkeypatch.setenv(SECONDS_VARIABLE, "10")
    write_picture(tmp_path / "a.png", np.zeros((64, 64, 3), np.uint8))
    arguments = words.replace("PICTURE", str(tmp_path / "a.png")).split()
    monkeypatch.setattr(sys, "argv", ["puzzleflow", *arguments])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 2
    assert told in capsys.readouterr().err


def test_version(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["puzzleflow", "--version"])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 0
    assert capsys.readouterr().out.startswith("puzzleflow 0.")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (FormatError("a.h5: expected\n uint8"), "a.h5: expected uint8"),
        (OutputError("cannot write b: No space left"), "cannot write b: No space left"),
        (
            OSError(errno.ENOSPC, "No space left on device", "c.npz"),
            "c.npz: No space left on device",
        ),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "d"), "d: No such file"),
        (MemoryError(), "not enough memory"),
    ],
)
def test_expected_errors_are_one_line_and_status_2(run, error, line):
    status, printed = run(error)
    assert status == 2
    assert printed.out == ""
    assert printed.err.startswith(f"puzzleflow: error: {line}")
    assert printed.err.count("\n") == 1


def test_ctrl_c_is_no_traceback(run):
    status, printed = run(KeyboardInterrupt())
    assert status in (1, 130)
    assert "Traceback" not in printed.err


@pytest.mark.parametrize("error", [FormatError("x"), OSError(errno.ENOSPC, "full")])
def test_debug_shows_the_traceback_wherever_it_stands(run, error):
    with pytest.raises(type(error)):
        run(error, "--debug")


def test_unexpected_errors_are_not_hidden(run):
    with pytest.raises(ZeroDivisionError):
        run(ZeroDivisionError())


def test_every_command_has_help_and_a_summary():
    commands = typer.main.get_command(cli.build_app()).commands
    assert {"evaluate", "render"} <= set(commands)
    for name, command in commands.items():
        assert command.help or command.get_short_help_str(), name
