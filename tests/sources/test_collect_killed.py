"""``puzzleflow collect met`` as a process of its own, killed for real."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from puzzleflow.pictures import list_pictures
from puzzleflow.sources.collect import CollectSettings, collect

NUM = 15


def command(met: Any, out: Path, *more: str) -> list[str]:
    return [
        *(sys.executable, "-c", "from puzzleflow.cli.main import main; main()"),
        *("collect", "met", "--out", str(out), "--num", str(NUM), "--seed", "7"),
        *("--base-url", met.url, "--concurrency", "6", "--rate", "2000", "--backoff", "0.01"),
        *more,
    ]


def finish(met: Any, out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(met, out, *more), capture_output=True, text=True, timeout=60, check=False
    )


def arrived(out: Path) -> set[str]:
    """The addresses of everything that is in its place."""
    pictures = {f"/images/original/{path.stem}.jpg" for path in list_pictures(out)}
    journal = out / "journal.jsonl"
    records = set()
    for line in journal.read_text().split("\n")[1:-1] if journal.exists() else []:
        entry = json.loads(line)
        about = entry["record"] or entry["outcome"]
        records.add(f"/objects/{about['object_id']}")
    return pictures | records | ({"/objects"} if (out / "objects.json").exists() else set())


def test_killed_again_and_again_it_downloads_nothing_twice(met: Any, tmp_path: Path) -> None:
    for number in sorted(met.records)[::9]:
        met.records[number]["isPublicDomain"] = False
    out = tmp_path / "killed"
    num_kills = 0
    for num_more in (1, 8, 7):
        before = arrived(out) if out.exists() else set()
        asked = len(met.asked)
        wanted = len(list_pictures(out)) + num_more if out.exists() else num_more
        met.allow(num_more + 3)  # a few for requests of the process that was killed before
        process = subprocess.Popen(
            command(met, out), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        while process.poll() is None and (not out.exists() or len(list_pictures(out)) < wanted):
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        num_kills += process.wait() == -signal.SIGKILL
        assert not before & set(met.asked[asked:])
        for path in list_pictures(out):
            assert path.read_bytes() == met.pictures[f"/images/original/{path.name}"]
    assert num_kills == 3
    met.allow(None)
    before, asked = arrived(out), len(met.asked)
    assert len(list_pictures(out)) < 2 * NUM
    result = finish(met, out)
    assert result.returncode == 0, result.stderr
    assert f"GAP-3: {NUM} pictures" in result.stdout
    assert f"drawn: {2 * NUM} kept" in result.stdout
    assert not before & set(met.asked[asked:])
    assert not list(out.rglob("*.part"))

    whole = tmp_path / "whole"
    collect(whole, CollectSettings(num=NUM, seed=7, base_url=met.url))
    for name in ("collection.json", "diversity.md", "GAP-3/metadata.csv", "GAP-5/metadata.csv"):
        assert (out / name).read_bytes() == (whole / name).read_bytes()
    names = [path.relative_to(whole) for path in list_pictures(whole)]
    assert names == [path.relative_to(out) for path in list_pictures(out)]
    assert len(names) == 2 * NUM


def test_the_command_fails_in_one_line(met: Any, tmp_path: Path) -> None:
    result = finish(met, tmp_path / "out", "--sets", "a,a")
    assert result.returncode == 2
    assert result.stderr.strip().split("\n")[-1].startswith("puzzleflow: error: a collection")
    assert "Traceback" not in result.stderr
