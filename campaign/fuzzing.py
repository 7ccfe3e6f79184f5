"""Damaged files for every reader: an answer or one sentence of ours, little memory, little time."""

from __future__ import annotations

import gc
import io
import random
import shutil
import traceback
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from itertools import count
from pathlib import Path

from damaging import damage_file

from campaign import kept, targets
from campaign.forked import Ended, call, join_pages
from campaign.outcome import Budget, Outcome
from campaign.targets import Target

GROUPS = {
    "readers of data sets": (targets.formats,),
    "answers, pictures, masks": (targets.answers, targets.pictures_and_masks),
    "weights": (kept.weights, targets.official, kept.exported),
    "states and caches": (kept.states, kept.caches),
    "journals and saved work": (kept.journals, kept.workbench_files),
}

LEAST = {  # of a whole campaign: 10,000 in all
    "readers of data sets": 4000,
    "answers, pictures, masks": 3000,
    "weights": 1000,
    "states and caches": 1000,
    "journals and saved work": 1000,
}
SHORT = 100  # cases of each in a short one
SLOW = (kept.exported,)  # to make: left out of a shortened campaign


def run(name: str, budget: Budget, place: Path) -> Outcome:
    """Round after round over the targets of a group, each time with other damage."""
    outcome = Outcome(f"damaged files: {name}")
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        makers = [make for make in GROUPS[name] if not (budget.quick and make in SLOW)]
        ready = [target for make in makers for target in _built(make(), place, outcome)]
    gc.collect()
    gc.freeze()
    join_pages()
    seed = budget.rng.randrange(1 << 30)
    for number in count():
        for target, expected in budget.rng.sample(ready, len(ready)):
            if budget.spent(outcome.cases, short=SHORT, whole=LEAST[name]):
                return outcome
            _case(outcome, target, expected, place, f"{seed}/{target.name}/{number}")
    return outcome


def _built(found: Iterator[Target], place: Path, outcome: Outcome) -> Iterator[tuple[Target, str]]:
    """The targets whose sound files can be read, and what is read from them.

    This happens here and not in a child, so that the children find everything imported.
    """
    for target in found:
        folder = place / target.name / "sound"
        folder.parent.mkdir(parents=True)
        try:
            target.build(folder)
            yield target, target.read(folder)
        except Exception:
            outcome.case(f"{target.name}, undamaged", traceback.format_exc()[-1500:])


def _case(outcome: Outcome, target: Target, expected: str, place: Path, seed: str) -> None:
    rng = random.Random(seed)
    sound = place / target.name / "sound"
    folder = sound.with_name("damaged")  # beside, as sound ones may refer to what lies there
    _clear(folder)
    shutil.copytree(sound, folder)
    victims = sorted(path for path in folder.rglob("*") if path.is_file())
    victim = rng.choice(victims)
    how = damage_file(victim, rng)
    ended = call(partial(target.read, folder))
    failure = ended.failure or _judged(ended, target, expected, folder)
    where = f"{target.name}, {victim.relative_to(folder)}, {how} ({seed})"
    outcome.case(where, failure, kind=ended.status)
    if failure:
        saved = place / f"failure-{len(outcome.failures)}"
        _clear(saved)
        if not any(p.stat().st_size > 1 << 26 for p in folder.rglob("*") if p.is_file()):
            shutil.copytree(folder, saved, symlinks=True, ignore=_pipes)
    _clear(folder)


def _judged(ended: Ended, target: Target, expected: str, folder: Path) -> str:
    in_the_way = "a folder is in the way" in ended.text  # nobody's folder is ever removed
    if ended.status == "refused" and target.exact and "cache" in target.name and not in_the_way:
        return f"a damaged cache was refused instead of made anew: {ended.text[:300]}"
    if ended.status == "fine" and target.exact and ended.text != expected:
        return "damage was used without a word"
    named = str(folder) in ended.text or "workbench file" in ended.text
    if ended.status == "refused" and not named and target.name != "workbench file":
        return f"the file is not named: {ended.text[:300]}"
    return ""


def _pipes(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if not (Path(folder) / name).exists() or _is_pipe(folder, name)]


def _is_pipe(folder: str, name: str) -> bool:
    path = Path(folder) / name
    return path.is_fifo()


def _clear(folder: Path) -> None:
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    shutil.rmtree(folder, ignore_errors=True)
