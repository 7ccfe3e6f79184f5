"""Answers for sets of free-form fragments: scored from their files, and shown with suggestions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.arrangement import arrange
from puzzleflow.core.assembly import Assembly, Candidate
from puzzleflow.core.assembly_metrics import AssemblyScores, score_assembly, summary
from puzzleflow.core.errors import InputError
from puzzleflow.core.fragments import FragmentSet
from puzzleflow.core.intervals import Estimate, bootstrap_mean
from puzzleflow.core.plane import draw, window_around
from puzzleflow.core.pose import IDENTITY, Pose
from puzzleflow.core.types import ByteArray
from puzzleflow.evaluation.repair_legacy import legacy_scores
from puzzleflow.pages import render
from puzzleflow.pictures import encoded
from puzzleflow.storage.free_form.answer import read_assembly
from puzzleflow.storage.free_form.source import FragmentSource

ANSWER = "assembly.json"
PAIR_PX, BOARD_PX = 150, 1400


@dataclass(frozen=True)
class ScoredSets:
    """Scores by name of the set; ``legacy`` is empty unless it was asked for."""

    scores: dict[str, AssemblyScores]
    legacy: dict[str, dict[str, float]]

    def estimates(self, *, seed: int = 0) -> dict[str, Estimate]:
        """Means over sets with intervals; those of the published script begin with "legacy"."""
        means = summary(list(self.scores.values()), seed=seed)
        for name in next(iter(self.legacy.values()), {}):
            values = np.array([row[name] for row in self.legacy.values()])
            means[f"legacy_{name}"] = bootstrap_mean(values, seed=seed)
        return means

    def record(self, *, seed: int = 0) -> dict[str, Any]:
        """JSON values: means, and every set."""
        return {
            "num_sets": len(self.scores),
            "means": {name: asdict(each) for name, each in self.estimates(seed=seed).items()},
            "sets": {
                name: scores.as_dict()
                | {f"legacy_{key}": value for key, value in self.legacy.get(name, {}).items()}
                for name, scores in self.scores.items()
            },
        }


def answer_paths(answers: Path, source: FragmentSource) -> dict[int, Path]:
    """The answer of every set that has one, by its index.

    answers  one file for a source of one set; or a folder with NAME.json or
             NAME/assembly.json for the set NAME; a single set's may be assembly.json
    """
    if answers.is_file():
        if len(source) > 1:
            raise InputError(f"{answers}: one answer, but {source.path} holds {len(source)} sets")
        return {0: answers}
    found = {}
    for index, name in enumerate(source.names):
        for path in (answers / name / ANSWER, answers / f"{name}.json"):
            if path.is_file():
                found[index] = path
                break
    if len(source) == 1 and (answers / ANSWER).is_file():
        found.setdefault(0, answers / ANSWER)
    if not found:
        raise InputError(f"{answers}: no answers in it; expected {source.names[0]}/{ANSWER} …")
    return found


def score_answers(
    answers: Path,
    source: FragmentSource,
    *,
    legacy: bool = False,
    on_progress: Callable[[str, int, int], None] = lambda stage, done, total: None,
) -> ScoredSets:
    """Every answer against its set; sets without an answer are left out."""
    paths = answer_paths(answers, source)
    scored = ScoredSets({}, {})
    for done, (index, path) in enumerate(paths.items(), start=1):
        fragments = source[index]
        assembly = read_assembly(path, fragments)
        name = source.names[index]
        scored.scores[name] = score_assembly(fragments, assembly)
        if legacy:
            scored.legacy[name] = legacy_scores(fragments, assembly)
        on_progress("sets", done, len(paths))
    return scored


def suggestions_page(
    fragments: FragmentSet, assembly: Assembly, ranked: Mapping[int, Sequence[Candidate]]
) -> str:
    """Self-contained HTML; ``ranked`` lists for each fragment partners as it sees them."""
    parts = fragments.fragments
    poses = arrange(parts, assembly)
    board = draw(parts, poses, window_around(parts, poses, max_side_px=BOARD_PX))
    sizes = ", ".join(str(len(component)) for component in assembly.components) or "none"
    summary = (
        f"{len(fragments)} fragments; components of {sizes}; {len(assembly.unplaced)} not placed."
    )
    return render(
        "suggestions.html",
        title=f"Suggestions for {fragments.name or 'fragments'}",
        summary=summary,
        board=_webp(board),
        parts=[_part(fragments, assembly, index, found) for index, found in ranked.items()],
    )


def _part(
    fragments: FragmentSet, assembly: Assembly, index: int, candidates: Sequence[Candidate]
) -> dict[str, Any]:
    names = fragments.names
    sure = assembly.confidence[index]
    state = "not placed" if index in assembly.unplaced else "placed"
    if np.isfinite(sure):
        state += f", confidence {sure:.0%}"
    others = [
        (
            _pair(fragments, {index: IDENTITY, each.second: each.pose}),
            f"{names[each.second]}, score {each.score:.2f}",
        )
        for each in candidates
    ]
    own = _pair(fragments, {index: IDENTITY})
    return {"name": names[index], "state": state, "own": own, "others": others}


def _pair(fragments: FragmentSet, poses: Mapping[int, Pose]) -> bytes:
    parts = [fragments.fragments[index] for index in poses]
    placed = list(poses.values())
    return _webp(draw(parts, placed, window_around(parts, placed, max_side_px=PAIR_PX)))


def _webp(picture: ByteArray) -> bytes:
    return encoded(picture, "WEBP", quality=80)
