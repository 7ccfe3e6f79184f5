"""Weights of the wrong kind for every solver and generator: one sentence that names the file."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import torch
from official_checkpoint import save_official
from PIL import Image

from campaign.forked import call
from campaign.kept import loaders
from campaign.outcome import Budget, Outcome
from puzzleflow.models.checkpoint import save_weights
from puzzleflow.training.state import save_state

FLOWS = {"flow", "flow-seams"}  # one network, with or without seams: its file says which


def run(budget: Budget, place: Path) -> Outcome:
    """Everything that loads weights times everything that might be given to it."""
    outcome = Outcome("weights of the wrong kind")
    known = loaders()
    given = {name: own for name, (own, _) in known.items()} | _others(place)
    for wanted, (own, load) in known.items():
        for name, path in given.items():
            ended = call(partial(_load, load, path))
            fits = path.resolve() == own.resolve() or {wanted, name} <= FLOWS
            failure = ended.failure
            if not failure and (ended.status == "fine") != fits:
                failure = f"{ended.status}: {ended.text[:200]}"
            if not failure and not fits and path.name not in ended.text:
                failure = f"the file is not named: {ended.text[:200]}"
            outcome.case(f"{wanted} given {name}", failure, kind=ended.status)
    return outcome


def _load(load: partial[object], path: Path) -> str:
    load(path)
    return ""


def _others(place: Path) -> dict[str, Path]:
    """Files that are no weights of ours, or none that anybody trained."""
    place.mkdir(parents=True)
    save_official(place / "official.pt")
    save_state(place / "state.safetensors", {"network.a": torch.ones(3)}, {"step": 1})
    save_weights(place / "foreign.safetensors", {"a": torch.ones(2)}, {"kind": "somebody's"})
    save_weights(place / "bare.safetensors", {}, {})
    Image.new("RGB", (4, 4)).save(place / "picture.png")
    np.savez(place / "arrays.npz", a=np.ones(3))
    (place / "empty.safetensors").touch()
    (place / "folder.safetensors").mkdir()
    (place / "text.safetensors").write_text("{}")
    names = sorted(path.name for path in place.iterdir())
    return {name: place / name for name in names} | {"nothing": place / "nothing.safetensors"}
