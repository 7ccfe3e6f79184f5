"""``python -m campaign``: every part, a table of what was found, exit status 1 on failure.

It is whole, that is as many cases as are promised, however long they take; ``--minutes`` shortens
it, and ``--short`` tries the same few cases every time. ``--only`` names parts, ``--seed`` repeats
a run (as far as cases do not depend on how fast the machine is), ``--write`` puts the table into
docs/reliability.md. Parts run in three lanes, each a process of its own, or ``--in-turn`` in one
where others need the machine. With ``--out`` the outcome of every part is kept, and run again the
campaign goes on with the parts that are missing there.
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
from typing import Literal

from campaign.outcome import Budget, Outcome

Parts = dict[str, tuple[float, Callable[[Budget, Path], Outcome]]]  # share of the time, the work
ROOT = Path(__file__).parents[1]
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
SHORT_SEED = 1


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m campaign", description=__doc__)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=float, help="fewer cases, as many as fit in")
    length.add_argument("--short", action="store_true", help="the same few cases every time")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--only", default="", help="parts, comma-separated")
    parser.add_argument("--in-turn", action="store_true", help="one part after the other")
    parser.add_argument("--out", type=Path, help="folder of outcomes to go on from")
    parser.add_argument("--keep", type=Path, help="folder for files that failed")
    parser.add_argument("--write", action="store_true", help="write docs/reliability.md")
    asked = parser.parse_args()
    os.environ.update(dict.fromkeys(THREADS, "1"))  # one thread: what is forked must have no more
    sys.path.append(str(ROOT / "tests" / "helpers"))
    from campaign.forked import side_by_side, warm_up
    from campaign.report import table, write

    known = [name for lane in _lanes() for name in lane]
    chosen = [name for name in asked.only.split(",") if name] or known
    if unknown := set(chosen) - set(known):
        parser.error(f"no part {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    seed = asked.seed
    if seed is None:
        seed = SHORT_SEED if asked.short else random.SystemRandom().randrange(1 << 24)
    command = "python -m campaign" + (" --short" if asked.short else "")
    command += f" --minutes {asked.minutes:g}" if asked.minutes else ""
    command += f" --seed {seed}" + (f" --only {asked.only}" if asked.only else "")
    command += " --in-turn" if asked.in_turn else ""
    print(f"{command}   (parts: {', '.join(chosen)})", flush=True)
    place = Path(tempfile.mkdtemp(prefix="puzzleflow-campaign-"))
    try:
        warm_up()
        extent = "short" if asked.short else "timed" if asked.minutes else "whole"
        lanes = [{name: lane[name] for name in lane if name in chosen} for lane in _lanes()]
        if asked.in_turn:
            lanes = [{name: part for lane in lanes for name, part in lane.items()}]
        run = partial(
            _run, minutes=asked.minutes or 0, seed=seed, extent=extent, place=place, kept=asked.out
        )
        outcomes = [outcome for lane in side_by_side(run, lanes) for outcome in lane]
        failed = sum(len(outcome.failures) for outcome in outcomes)
        if failed and asked.keep:
            shutil.copytree(place, asked.keep, ignore=_huge, symlinks=True, dirs_exist_ok=True)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    print(table(outcomes))
    if asked.write:
        write(ROOT / "docs" / "reliability.md", outcomes, command)
    return 1 if failed else 0


def _run(
    parts: Parts,
    minutes: float,
    seed: int,
    extent: Literal["short", "timed", "whole"],
    place: Path,
    kept: Path | None,
) -> list[Outcome]:
    """The parts of one lane in turn."""
    outcomes = []
    ends, shares = time.monotonic() + minutes * 60, sum(share for share, _ in parts.values())
    waiting = shares
    for name, (share, run) in parts.items():
        left = ends - time.monotonic()  # what earlier parts did not use is shared
        fair = minutes * 60 * share / shares  # of which they leave at least a half
        seconds = max(left * share / waiting, fair / 2)
        budget = Budget(seconds, random.Random(f"{seed}/{name}"), extent)
        waiting -= share
        known = kept / f"{name}.json" if kept else None
        if known and known.exists():
            outcomes.append(Outcome.read(known))
            continue
        try:
            outcome = run(budget, place / name)
        except Exception:  # the other parts still have something to say
            outcome = Outcome(name, failures=[traceback.format_exc()[-3000:]])
        outcome.seconds = time.monotonic() - budget.began
        outcomes.append(outcome)
        if known:
            outcome.write(known)
        told = [
            f"{outcome.part}: {outcome.cases} cases, {len(outcome.failures)} failures, "
            f"{outcome.seconds:.0f} s; {outcome.summary()}",
            *(f"  FAILED {failure}" for failure in outcome.failures[:20]),
        ]
        print("\n".join(told), flush=True)
    return outcomes


def _lanes() -> list[Parts]:
    """What runs side by side: readers of files; commands; servers."""
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
    files: Parts = {
        short: (share, partial(fuzzing.run, group))
        for short, share, group in zip(fuzzed, shares, fuzzing.GROUPS, strict=True)
    }
    return [
        {**files, "costly": (1.5, costly.run), "matrix": (0.5, wrong_weights.run)},
        {
            "kills": (10, interrupted.kills),
            "rivals": (2, interrupted.rivals),
            "disk": (3, full_disk.run),
            "names": (2, names.run),
            "outward": (1.5, outward.run),
        },
        {"museum": (2, museum.run), "workbench": (12, workbench.run)},
    ]


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
