"""Trained networks to pass on: weights and their model card, in a folder or on the hub.

Every weights file of this package, of whatever network, describes itself; so one class serves
all of them, those of plugins included, and no network is built or torch imported here.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from puzzleflow.addresses import address_of, located
from puzzleflow.core.errors import InputError, naming
from puzzleflow.files import atomic_path, read_regular, write_text
from puzzleflow.hub import send
from puzzleflow.pages import render

WEIGHTS = "model.safetensors"
CARD = "README.md"
SUFFIX = ".safetensors"
_STATE = ("state", "best")  # what a training keeps for itself beside its weights
_SOLVERS = {"edges": "rg-lns"}  # kinds of weights whose solver has another name


def weights_at(where: str | Path) -> Path:
    """The weights file of a path or an address: itself, or the one that lies in a folder.

    A folder without any, of ONNX graphs for example, is returned as it is.
    """
    address = address_of(where)
    path = located(where, lambda names: _one(names, str(where)) or names, holds="model")
    if not path.is_dir():
        return path
    with naming(address or path):
        found = _one([each.name for each in path.iterdir()], str(address or path))
    return path / found[0] if found else path


def _one(names: list[str], where: str) -> list[str]:
    """Of the names in a folder that of its weights; empty if it holds none."""
    files = [name for name in names if name.endswith(SUFFIX) and not name.startswith(_STATE)]
    if len(files) > 1 and WEIGHTS not in files:
        raise InputError(f"{where}: several weights lie there; choose one of {', '.join(files)}")
    return [WEIGHTS] if WEIGHTS in files else files


@dataclass(frozen=True)
class Pretrained:
    """Weights, what they say of themselves, and their model card."""

    weights: Path
    config: dict[str, Any]
    card: str  # empty where none lies beside the weights

    @classmethod
    def from_pretrained(cls, where: str | Path) -> Pretrained:
        """Of a weights file, of a folder (a training run, say), or of ``hf://OWNER/NAME``."""
        from puzzleflow.models.checkpoint import load_weights

        weights = weights_at(where)
        config = load_weights(weights)[1]
        beside = [weights.with_suffix(".md"), weights.parent / CARD]
        card = next((path for path in beside if path.is_file()), None)
        text = read_regular(card).decode(errors="replace") if card else ""
        return cls(weights, config, text)

    @property
    def kind(self) -> str:
        """The network that they are of: what ``puzzleflow train`` calls it."""
        return str(self.config.get("kind", "unknown"))

    def save_pretrained(self, folder: str | Path, *, address: str = "") -> Path:
        """Write ``model.safetensors`` and ``README.md`` into a folder; the folder.

        address  by which the card tells readers to load them
        """
        folder = Path(folder)
        with atomic_path(folder / WEIGHTS) as temporary:
            shutil.copyfile(self.weights, temporary)
        card = self.card
        if not card.startswith("---\n"):
            card = _card(self.config, address or str(folder), card)
        write_text(folder / CARD, card)
        return folder

    def push_to_hub(self, name: str, *, private: bool = False) -> str:
        """Upload weights and card to ``OWNER/NAME``; the page on which they can be seen."""
        address = f"hf://{name.removeprefix('hf://')}"
        with tempfile.TemporaryDirectory() as folder:
            self.save_pretrained(folder, address=address)
            message = f"Weights of {self.kind}"
            return send(Path(folder), address, "model", message=message, private=private)


def _card(config: dict[str, Any], address: str, text: str = "") -> str:
    """A model card: what the weights say of themselves, or a text with what the hub wants."""
    kind = str(config.get("kind", "unknown"))
    solver = _SOLVERS.get(kind, kind)
    return render(
        "model_card.md", kind=kind, solver=solver, config=config, address=address, text=text
    )
