"""``puzzleflow convert``: checkpoints of the paper's own repository as ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def convert(
    checkpoint: Annotated[Path, typer.Argument(help="Official .pt checkpoint.")],
    out: Annotated[Path, typer.Option(help="Weights file to write (.safetensors).")],
    half: Annotated[bool, typer.Option(help="Store fp16 instead of fp32.")] = False,
) -> None:
    """Turn an official PuzzleFlow checkpoint into weights for the flow solver."""
    from puzzleflow.models.checkpoint import build_network, save_weights
    from puzzleflow.models.official import read_official
    from puzzleflow.models.puzzleflow import build_puzzleflow

    weights, config = read_official(checkpoint)
    build_network(lambda: build_puzzleflow(config), weights, checkpoint)  # is it all there?
    described = {"kind": "flow", "network": config.to_dict(), "source": checkpoint.name}
    save_weights(out, weights, described, dtype="float16" if half else "float32")
    typer.echo(f"{out}: PuzzleFlow for {config.num_positions} pieces of {config.piece_px} px")
