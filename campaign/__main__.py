"""``python -m campaign``: every part in turn, a table of what was found, exit status 1 on failure.

``--minutes`` is the length of the whole, ``--only`` names parts, ``--seed`` repeats a run (as far
as cases do not depend on how fast the machine is), ``--write`` puts the table into
docs/reliability.md.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
QUICK_MINUTES = 12  # below: what takes long regardless is left out


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m campaign", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 24))
    parser.add_argument("--only", default="", help="parts, comma-separated")
    parser.add_argument("--keep", type=Path, help="folder for files that failed")
    parser.add_argument("--write", action="store_true", help="write docs/reliability.md")
    asked = parser.parse_args()
    os.environ.update(dict.fromkeys(THREADS, "1"))  # one thread: what is forked must have no more
    sys.path.append(str(ROOT / "tests" / "helpers"))
    parts = _parts()
    chosen = [name for name in asked.only.split(",") if name] or list(parts)
    if unknown := set(chosen) - set(parts):
        parser.error(f"no part {', '.join(sorted(unknown))}; known: {', '.join(parts)}")
    command = f"python -m campaign --minutes {asked.minutes:g} --seed {asked.seed}"
    command += f" --only {asked.only}" if asked.only else ""
    print(f"{command}   (parts: {', '.join(chosen)})", flush=True)
    place = Path(tempfile.mkdtemp(prefix="puzzleflow-campaign-"))
    try:
        outcomes = _run({name: parts[name] for name in chosen}, asked.minutes, asked.seed, place)
        failed = sum(len(outcome.failures) for outcome in outcomes)
        if failed and asked.keep:
            shutil.copytree(place, asked.keep, ignore=_huge, symlinks=True, dirs_exist_ok=True)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    from campaign.report import table, write

    print(table(outcomes))
    if asked.write:
        write(ROOT / "docs" / "reliability.md", outcomes, command)
    return 1 if failed else 0


def _run(parts: dict, minutes: float, seed: int, place: Path) -> list:  # type: ignore[type-arg]
    from campaign.forked import warm_up
    from campaign.outcome import Budget, Outcome

    warm_up()
    outcomes = []
    shares = sum(share for share, _ in parts.values())
    ends, waiting = time.monotonic() + minutes * 60, shares
    for name, (share, run) in parts.items():
        left = max(0.0, ends - time.monotonic())  # what earlier parts did not use is shared
        budget = Budget(
            left * share / waiting, random.Random(f"{seed}/{name}"), quick=minutes < QUICK_MINUTES
        )
        waiting -= share
        try:
            outcome = run(budget, place / name)
        except Exception:  # the other parts still have something to say
            outcome = Outcome(name, failures=[traceback.format_exc()[-3000:]])
        outcome.seconds = time.monotonic() - budget.began
        outcomes.append(outcome)
        print(
            f"{outcome.part}: {outcome.cases} cases, {len(outcome.failures)} failures, "
            f"{outcome.seconds:.0f} s; {outcome.summary()}",
            flush=True,
        )
        for failure in outcome.failures[:20]:
            print(f"  FAILED {failure}", flush=True)
    return outcomes


def _parts() -> dict[str, tuple[float, Callable]]:  # type: ignore[type-arg]
    """Name → share of the time, and what runs it."""
    from campaign import (
        costly,
        full_disk,
        fuzzing,
        interrupted,
        museum,
        names,
        outward,
        workbench,
        wrong_weights,
    )

    fuzzed = ("formats", "files", "weights", "states", "journals")
    shares = (8, 5, 3, 2, 3)
    return {
        **{
            short: (share, partial(fuzzing.run, group))
            for short, share, group in zip(fuzzed, shares, fuzzing.GROUPS, strict=True)
        },
        "costly": (1.5, costly.run),
        "matrix": (0.5, wrong_weights.run),
        "kills": (10, interrupted.kills),
        "rivals": (2, interrupted.rivals),
        "disk": (3, full_disk.run),
        "names": (2, names.run),
        "outward": (1.5, outward.run),
        "museum": (2, museum.run),
        "workbench": (12, workbench.run),
    }


def _huge(folder: str, names: list[str]) -> list[str]:
    """What is not kept: pipes, links, and files beyond 64 MB."""
    paths = [Path(folder) / name for name in names]
    return [
        path.name
        for path in paths
        if not path.is_dir() and (not path.is_file() or path.stat().st_size > 1 << 26)
    ]


if __name__ == "__main__":
    sys.exit(main())
