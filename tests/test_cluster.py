"""A real Dask cluster in processes: the same results, whoever dies on the way."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from cluster_work import end_worker, fail_at_two, process, told
from command_line import run

from puzzleflow.cli import main as cli
from puzzleflow.cluster import ClusterLost, on_cluster, scheduler_address
from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.rng import child_rng
from puzzleflow.evaluation.runner import Bench
from puzzleflow.evaluation.spec import parse_solvers
from puzzleflow.formats.open import open_puzzles
from puzzleflow.generation.dataset import generate_set
from puzzleflow.generation.plan import Request
from puzzleflow.parallel import apart, bounded_map
from puzzleflow.pictures import write_picture

COMMANDS = ["generate", "materialise", "bench", "limits", "collect met", "solve", "assemble"]
SMALL = Request(grid=Grid(4, 4), piece_px=8, erosion="linear", name="small", recipe_only=True)


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The scheduler file of two worker processes."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    ) as cluster:
        path = tmp_path_factory.mktemp("cluster") / "scheduler.json"
        path.write_text(json.dumps({"address": cluster.scheduler_address}))
        yield str(path)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    for index in range(20):
        pixels = child_rng(index, "picture").integers(0, 256, (40, 40, 3)).astype(np.uint8)
        write_picture(folder / f"{index:02d}.png", pixels)
    return folder


def made(folder: Path) -> dict[str, bytes]:
    """Every file of a data set by its path; the notes name the folder's own place."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_order_backpressure_and_errors(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    alone = list(bounded_map(told, range(12)))
    taken: list[int] = []
    items = (taken.append(i) or i for i in range(12))
    with on_cluster(where):
        results = bounded_map(told, items, ahead=2)
        there = [next(results)]
        assert len(taken) == 4  # two workers, two a worker
        there += results
        with pytest.raises(ValueError, match="two"):
            list(bounded_map(fail_at_two, range(5)))
        assert list(bounded_map(fail_at_two, [0, 1])) == [0, 1]
        assert list(bounded_map(told, [])) == []
        assert list(bounded_map(process, [0])) != [os.getpid()]
        assert asyncio.run(apart(process, 0)) != os.getpid()
    assert there == alone == [(item * item, str(tmp_path)) for item in range(12)]
    assert list(bounded_map(process, [0])) == [os.getpid()]  # at home again
    assert asyncio.run(apart(process, 0)) == os.getpid()


def test_workers_killed_while_a_set_is_generated(
    where: str, pictures: Path, tmp_path: Path
) -> None:
    out = tmp_path / "local" / "set"
    generate_set(pictures, out, SMALL)
    local, out = made(out), tmp_path / "there" / "set"
    killed = []

    def kill_one(stage: str, done: int, total: int) -> None:
        if stage == "puzzles" and 0 < done < total and not killed:
            killed.append(done)
            pid = next(there.map(process, [0], ahead=1))
            os.kill(pid, signal.SIGKILL)

    with on_cluster(where) as there:
        generate_set(pictures, out, SMALL, on_progress=kill_one)
    assert killed
    assert made(out) == local


def test_workers_killed_during_a_benchmark(where: str, pictures: Path, tmp_path: Path) -> None:
    generate_set(pictures, tmp_path / "set", SMALL)

    def layouts(out: Path, *, kill: bool = False) -> Any:
        with open_puzzles(tmp_path / "set" / "train") as source:
            bench = Bench(source, parse_solvers("random,greedy"), out, seed=3)
            for done, _ in enumerate(bench.stream()):
                if kill and done == 2:
                    os.kill(next(there.map(process, [0], ahead=1)), signal.SIGKILL)
            return [[record.position_of for record in one.records] for one in bench.results()]

    local = layouts(tmp_path / "local")
    with on_cluster(where) as there:
        assert layouts(tmp_path / "there", kill=True) == local


def test_the_option_is_one_and_the_command_works(
    where: str, pictures: Path, tmp_path: Path
) -> None:
    group: Any = typer.main.get_command(cli.build_app())
    for words in COMMANDS:
        command = group
        for word in words.split():
            command = command.commands[word]
        (option,) = [option for option in command.params if option.name == "cluster"]
        assert option.opts == ["--cluster"]
    words = ["generate", "--images", pictures, "--grid", "2x2", "--piece-px", 8]
    words += ["--erosion", "linear"]
    run(*words, "--out", tmp_path / "here" / "set", "--workers", 1)
    run(*words, "--out", tmp_path / "there" / "set", "--cluster", where)
    assert made(tmp_path / "there" / "set") == made(tmp_path / "here" / "set")
    assert list(bounded_map(process, [0])) == [os.getpid()]  # the command has left the cluster


def test_work_that_ends_every_worker_is_given_up(where: str) -> None:
    with on_cluster(where), pytest.raises(ClusterLost, match="4 workers ended at the same work"):
        list(bounded_map(end_worker, [0]))


SCHEDULER = """
import time
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster:
        print(cluster.scheduler_address.replace("tcp", "dask"), flush=True)
        time.sleep(600)
"""


def test_a_lost_scheduler_leaves_what_goes_on(pictures: Path, tmp_path: Path) -> None:
    generate_set(pictures, tmp_path / "local" / "set", SMALL)
    (tmp_path / "scheduler.py").write_text(SCHEDULER)
    out, done_before = tmp_path / "there" / "set", []
    with subprocess.Popen(
        [sys.executable, tmp_path / "scheduler.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()

        def kill(stage: str, done: int, total: int) -> None:
            if stage == "puzzles" and 0 < done < total and process.poll() is None:
                done_before.append(done)
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

        lost = f"{address}: the scheduler is gone; what is done is kept"
        try:
            with pytest.raises(ClusterLost, match=lost), on_cluster(address):
                generate_set(pictures, out, SMALL, on_progress=kill)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    seen: list[int] = []
    generate_set(pictures, out, SMALL, on_progress=lambda stage, done, total: seen.append(done))
    assert seen[0] >= done_before[0]  # nothing that was done is done again
    assert made(out) == made(tmp_path / "local" / "set")


@pytest.mark.parametrize("where", ["dask://nowhere", "dask://:8786", "no-such-file.json"])
def test_what_is_no_cluster(where: str) -> None:
    with pytest.raises(InputError, match=rf"{where}: expected dask://HOST:PORT"):
        scheduler_address(where)


def test_a_scheduler_file_without_a_scheduler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "scheduler.json"
    path.write_text("[]")
    with pytest.raises(InputError, match="expected the address of a scheduler"):
        scheduler_address(str(path))
    monkeypatch.setattr("puzzleflow.cluster.PATIENCE_S", 0.3)
    path.write_text('{"address": "tcp://127.0.0.1:9"}')
    with pytest.raises(InputError, match="no Dask scheduler answers at tcp"), on_cluster(str(path)):
        pass


def test_a_scheduler_without_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import LocalCluster

    monkeypatch.setattr("puzzleflow.cluster.PATIENCE_S", 0.5)
    with LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster:
        address = cluster.scheduler_address
        path = tmp_path / "scheduler.json"
        path.write_text(json.dumps({"address": address}))
        with on_cluster(str(path)), pytest.raises(InputError, match="has no workers"):
            list(bounded_map(told, [1]))
