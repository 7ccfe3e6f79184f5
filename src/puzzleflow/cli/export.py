"""``puzzleflow export``: a flow model as ONNX graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def export(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write.")],
    weights: Annotated[
        Path | None, typer.Option(help="Weights of a flow model; without it the packaged ones.")
    ] = None,
    int8: Annotated[
        bool, typer.Option("--int8", help="Store linear layers as 8-bit whole numbers.")
    ] = False,
) -> None:
    """Write a PuzzleFlow model as two ONNX graphs, encoder and flow step.

    The folder holds encoder.onnx, step.onnx and model.json; solve with it by
    --solver flow:weights=FOLDER. Needs the packages of the extra "export".
    """
    from tempfile import TemporaryDirectory

    from puzzleflow.models.checkpoint import bundled_weights
    from puzzleflow.models.export import export_flow, quantise_graphs
    from puzzleflow.models.flow_engine import ENCODER, STEP, read_flow

    path = bundled_weights("flow.safetensors") if weights is None else weights
    network = read_flow(path)
    if int8:
        with TemporaryDirectory() as folder:
            export_flow(network, folder)
            described = quantise_graphs(folder, out)
        typer.echo(
            "int8 is approximate and some layouts will differ: compare it with float32 on your "
            "own puzzles by `puzzleflow bench`",
            err=True,
        )
    else:
        described = export_flow(network, out)
    for name in (ENCODER, STEP):
        megabytes = (out / name).stat().st_size / 1e6
        typer.echo(f"{out / name}: {', '.join(described.inputs[name])}; {megabytes:.1f} MB")
