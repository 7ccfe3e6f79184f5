"""Workbenches survive the program, are listed, forgotten, and never closed by a limit."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from starlette.testclient import TestClient

from puzzleflow.web.app import create_app
from puzzleflow.web.limits import Limits
from puzzleflow.web.server import usable_folder

Solve = Callable[..., dict[str, Any]]
CUT = {"sample": "irises", "erosion": "none", "grid": {"rows": 2, "cols": 2}}


@contextmanager
def serving(folder: Path, limits: Limits | None = None) -> Iterator[TestClient]:
    app = create_app(keep=folder, limits=limits)
    with TestClient(app, base_url="http://localhost") as client:
        yield client


def opened(client: TestClient) -> str:
    answer = client.post("/api/workbenches/sample", json=CUT)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def solved_by_greedy(client: TestClient, bench: str) -> None:
    path = f"/api/workbenches/{bench}"
    job = client.post(f"{path}/solve", json={"solver": "random", "grid": CUT["grid"]}).json()
    while job["status"] in ("waiting", "running"):
        job = client.get(f"{path}/job", params={"after": job["changes"], "wait": 10}).json()
    assert job["status"] == "done", job


def test_everything_is_there_after_the_program_ended(tmp_path: Path) -> None:
    with serving(tmp_path / "kept") as client:
        assert client.get("/api/about").json()["keeps"] is True
        bench = opened(client)
        path = f"/api/workbenches/{bench}"
        solved_by_greedy(client, bench)
        client.post(f"{path}/turn", json={"pieces": [2]})
        client.post(f"{path}/place", json={"piece": 0, "position": -1})
        client.post(f"{path}/describe", json={"piece": 1, "inventory": "Inv. 7", "note": "burnt"})
        sheet = {"title": "My fresco", "author": "A. B.", "date": "2026", "px_per_mm": 4.0}
        client.put(f"{path}/sheet", json=sheet)
        client.post(f"{path}/delete", json={"pieces": [3]})
        client.post(f"{path}/fragments/undo")
        client.post(f"{path}/undo")
        before = client.get(path).json()
    with serving(tmp_path / "kept") as client:
        listed = client.get("/api/workbenches").json()
        assert [(each["id"], each["title"], each["solved"]) for each in listed] == [
            (bench, "My fresco", True)
        ]
        after = client.get(path).json()
        for state in (before, after):
            state.pop("job"), state.pop("revision")
        assert after == before
        assert after["board"]["redo"] == "put piece 1 aside"
        assert after["redo_fragments"] == "remove"
        assert len(client.post(f"{path}/fragments/redo").json()["pieces"]) == 3
        picture = client.get(f"/{after['pieces'][0]['picture']}")
        assert picture.status_code == 200
        client.delete(path)
        assert client.get("/api/workbenches").json() == []
        assert [p.name for p in (tmp_path / "kept").iterdir() if p.name != ".lock"] == []
        assert client.get(path).status_code == 404


def test_a_killed_program_loses_nothing(tmp_path: Path) -> None:
    code = "from puzzleflow.cli.main import main; main()"
    command = [sys.executable, "-c", code, "serve", "--port", "0", "--no-browser", "--keep"]
    program = subprocess.Popen(
        [*command, str(tmp_path / "kept")], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert program.stdout is not None
    address = program.stdout.readline().split()[4]
    with httpx2.Client(base_url=address, timeout=60) as client:
        bench = client.post("/api/workbenches/sample", json=CUT).json()["id"]
        client.post(f"/api/workbenches/{bench}/turn", json={"pieces": [1]})
    program.send_signal(signal.SIGKILL)
    program.wait()
    program.stdout.close()
    with serving(tmp_path / "kept") as again:
        state = again.get(f"/api/workbenches/{bench}").json()
        assert [piece["quarter_turns"] for piece in state["pieces"]] == [0, 1, 0, 0]


def test_no_limit_closes_a_workbench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("puzzleflow.web.store.IDLE_S", -1.0)
    with serving(tmp_path, Limits(max_workbenches=2)) as client:
        benches = [opened(client) for _ in range(5)]
        service = client.app.state.service  # type: ignore[attr-defined]
        assert len(service.workbenches) == 2  # in memory; the others wait on disk
        assert len(client.get("/api/workbenches").json()) == 5
        for bench in benches:
            assert client.get(f"/api/workbenches/{bench}").status_code == 200
    full = Limits(max_kept_bytes=1000)
    with serving(tmp_path, full) as client:
        refused = client.post("/api/workbenches/sample", json=CUT)
        assert refused.status_code == 413
        assert "forget some" in refused.json()["detail"]
        assert len(client.get("/api/workbenches").json()) == 5


def test_pieces_hold_no_file_open(client: TestClient, solved: Solve) -> None:
    descriptors = Path("/proc/self/fd")
    if not descriptors.is_dir():
        pytest.skip("needs /proc")
    request = {"sample": "irises", "erosion": "none", "grid": {"rows": 5, "cols": 5}}
    before = len(list(descriptors.iterdir()))
    for _ in range(4):
        state = client.post("/api/workbenches/sample", json=request).json()
        solved(state["id"], grid=request["grid"])
    assert len(list(descriptors.iterdir())) < before + 10


def test_a_removed_folder_is_told_and_the_server_goes_on(
    client: TestClient, workbench: dict[str, Any], fragments: Any
) -> None:
    folder = client.app.state.service.workbenches.folder  # type: ignore[attr-defined]
    shutil.rmtree(folder)  # a cleaner of temporary files
    gone = client.get(f"/{workbench['pieces'][0]['picture']}")
    assert (gone.status_code, "gone" in gone.json()["detail"]) == (404, True)
    assert client.get(f"/api/workbenches/{workbench['id']}/export/fragments.zip").status_code == 404
    assert client.post("/api/workbenches/pieces", files=fragments).status_code == 201


def test_opening_and_closing_at_once_never_breaks(client: TestClient, fragments: Any) -> None:
    seen: list[int] = []

    def work() -> None:
        for _ in range(6):
            answer = client.post("/api/workbenches/pieces", files=fragments)
            seen.append(answer.status_code)
            path = f"/api/workbenches/{answer.json()['id']}"
            seen.append(client.get(f"{path}/pieces/0.png").status_code)
            seen.append(client.delete(path).status_code)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(seen) == {201, 200, 204}
    assert len(seen) == 72


@pytest.mark.parametrize(
    "damage",
    [b"", b"{}", b'{"stocks": [], "at": 0, "changed_at": 0}', b"[" * 100_000],
)
def test_a_damaged_workbench_is_told_and_can_be_forgotten(tmp_path: Path, damage: bytes) -> None:
    with serving(tmp_path) as client:
        bench = opened(client)
    (tmp_path / bench / "workbench.json").write_bytes(damage)
    with serving(tmp_path) as client:
        assert client.get(f"/api/workbenches/{bench}").status_code == 422
        assert client.delete(f"/api/workbenches/{bench}").status_code in (204, 422)


def test_names_in_a_kept_file_lead_nowhere(tmp_path: Path) -> None:
    np.save(tmp_path / "secret.npy", np.zeros(3))
    with serving(tmp_path / "kept") as client:
        bench = opened(client)
    path = tmp_path / "kept" / bench / "workbench.json"
    content = json.loads(path.read_text())
    content["stocks"][-1]["notes"][0]["file"] = "../../secret.npy"
    path.write_text(json.dumps(content))
    with serving(tmp_path / "kept") as client:
        assert client.get(f"/api/workbenches/{bench}").status_code == 422


def test_a_folder_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    assert usable_folder(None)[0] is None
    assert usable_folder(tmp_path / "new") == (
        tmp_path / "new",
        f"Workbenches are kept in {tmp_path / 'new'}",
    )
    (tmp_path / "file").write_text("")
    kept, told = usable_folder(tmp_path / "file")
    assert kept is None
    assert told.startswith("Nothing is kept (")
    with serving(tmp_path / "held"):
        assert usable_folder(tmp_path / "held")[0] is None
