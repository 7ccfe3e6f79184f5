"""Answers for sets of free-form fragments, scored from their files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.assembly_metrics import AssemblyScores, score_assembly, summary
from puzzleflow.core.errors import InputError
from puzzleflow.core.intervals import Estimate, bootstrap_mean
from puzzleflow.evaluation.repair_legacy import legacy_scores
from puzzleflow.storage.free_form.answer import read_assembly
from puzzleflow.storage.free_form.source import FragmentSource

ANSWER = "assembly.json"


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
