"""``puzzleflow assemble``: put fragments of any shape together, without a grid."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from puzzleflow.cli._options import Cluster, sent

if TYPE_CHECKING:
    from puzzleflow.core.assembly import Assembly
    from puzzleflow.core.fragments import FragmentSet
    from puzzleflow.solvers.free_form.base import FreeFormSession, FreeFormSolver, Together

LONG_S = 120.0  # work that takes longer is announced
PAIR_S = 0.08  # of one core, about, for a pair at any angle


def assemble(
    path: Annotated[Path, typer.Argument(help="Fragments of any kind that `inspect` knows.")],
    out: Annotated[Path, typer.Option("--out", "-o", callback=sent, help="Folder of the results.")],
    rotation: Annotated[
        str,
        typer.Option(help="free; small: turned by a few degrees; none: all lie as they belong."),
    ] = "free",
    solver: Annotated[
        str, typer.Option(help="Name, or NAME:KEY=VALUE+KEY=VALUE; assemble, extrapolate-greedy.")
    ] = "assemble",
    index: Annotated[int | None, typer.Option(min=0, help="Only this set.")] = None,
    pictures: Annotated[
        bool, typer.Option(help="Also write assembly.png, assembly.svg and suggestions.html.")
    ] = True,
    suggestions: Annotated[int, typer.Option(min=1, help="Partners listed a fragment.")] = 6,
    together: Annotated[
        list[str] | None, typer.Option(help="NAME,NAME: these two belong together.")
    ] = None,
    never: Annotated[
        list[str] | None, typer.Option(help="NAME,NAME: these two do not touch.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same answer.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes; -1 takes every core.")] = -1,
    cluster: Cluster = None,
) -> None:
    """Put fragments together as far as they seem to belong: several components and a rest.

    Writes assembly.json (poses and confidence), assembly.png, assembly.svg with one group
    a fragment, and suggestions.html with the likeliest partners of every fragment; for a
    folder of many sets one folder each. Pairs are kept in candidates.jsonl: killed at any
    moment, the same command goes on where it was, and other wishes need no new comparing.
    """
    from puzzleflow.core.errors import InputError
    from puzzleflow.evaluation.spec import SolverSpec
    from puzzleflow.formats.open import open_fragments
    from puzzleflow.solvers.free_form.registry import load_free_form_solver

    spec = SolverSpec.parse(solver)
    method = load_free_form_solver(spec.name, **({"rotation": rotation} | dict(spec.options)))
    source = open_fragments(path)
    if index is not None and index >= len(source):
        raise InputError(f"{path} holds {len(source)} sets: no set {index}")
    if (together or never) and len(source) > 1 and index is None:
        raise InputError("--together and --never speak of one set: choose it with --index")
    for number in range(len(source)) if index is None else [index]:
        folder = out if len(source) == 1 else out / source.names[number]
        fragments = source[number]
        started = time.perf_counter()
        session = _prepared(method, fragments, folder, workers)
        wishes = _wishes(together or (), fragments), _pairs("--never", never or (), fragments)
        answer = session.solve(seed=seed, together=wishes[0], never=wishes[1])
        _write(folder, fragments, session, answer, method.name, suggestions if pictures else 0)
        sizes = "+".join(str(len(component)) for component in answer.components) or "none"
        print(
            f"{folder}: {len(fragments)} fragments, components {sizes}, "
            f"{len(answer.unplaced)} not placed, {time.perf_counter() - started:.0f} s"
        )


def _prepared(
    method: FreeFormSolver, fragments: FragmentSet, folder: Path, workers: int
) -> FreeFormSession:
    from puzzleflow.cli._talk import stage_progress
    from puzzleflow.solvers.free_form.doubts import doubts

    for doubt in doubts(fragments):
        print(f"warning: {fragments.name}: {doubt}", file=sys.stderr)
    if told := _forecast(len(fragments)):
        print(f"{fragments.name}: {told}", file=sys.stderr)
    with stage_progress() as report:
        return method.prepare(
            fragments.without_truth(),
            journal=folder / "candidates.jsonl",
            num_workers=workers,
            on_progress=_announcing(report),
        )


def _forecast(count: int) -> str:
    """How long so many fragments will take, said before any work is done; empty if not long."""
    from puzzleflow.solvers.free_form.candidates import FEW, PARTNERS

    pairs = count * (count - 1) // 2 if count <= FEW else count * PARTNERS
    if pairs * PAIR_S < LONG_S:
        return ""
    minutes = pairs * PAIR_S / 60
    return f"up to {pairs} pairs of {count} fragments: about {minutes:.0f} minutes of one core"


def _announcing(report: Callable[[str, int, int], None]) -> Callable[[str, int, int], None]:
    """A report that says once, in words, how long it will take, if it is long."""
    began: dict[str, tuple[float, int]] = {}
    told: set[str] = set()

    def announce(stage: str, done: int, total: int) -> None:
        report(stage, done, total)
        since, first = began.setdefault(stage, (time.perf_counter(), done))
        elapsed = time.perf_counter() - since
        if stage in told or elapsed < 3 or done - first < min(20, total / 10):
            return
        told.add(stage)
        rest = (total - done) * elapsed / (done - first)
        if rest > LONG_S:
            print(f"{total} {stage}: about {rest / 60:.0f} minutes to go", file=sys.stderr)

    return announce


def _write(
    folder: Path,
    fragments: FragmentSet,
    session: FreeFormSession,
    answer: Assembly,
    solver: str,
    suggestions: int,
) -> None:
    from puzzleflow.core.arrangement import arrange
    from puzzleflow.core.plane import draw, window_around
    from puzzleflow.evaluation.assemblies import ANSWER, suggestions_page
    from puzzleflow.files import write_text
    from puzzleflow.pictures import write_picture
    from puzzleflow.storage.free_form.answer import write_assembly
    from puzzleflow.storage.free_form.svg import write_svg

    write_assembly(folder / ANSWER, answer, fragments, solver=solver)
    if suggestions:
        parts = fragments.fragments
        poses = arrange(parts, answer)
        window = window_around(parts, poses, max_side_px=4000)
        write_picture(folder / "assembly.png", draw(parts, poses, window))
        write_svg(folder / "assembly.svg", parts, poses)
        ranked = {i: session.rank(i, suggestions) for i in range(len(fragments))}
        write_text(folder / "suggestions.html", suggestions_page(fragments, answer, ranked))


def _wishes(texts: Sequence[str], fragments: FragmentSet) -> list[Together]:
    from puzzleflow.solvers.free_form.base import Together

    return [Together(*pair) for pair in _pairs("--together", texts, fragments)]


def _pairs(option: str, texts: Sequence[str], fragments: FragmentSet) -> list[tuple[int, int]]:
    """``NAME,NAME`` → indices; the suffix of a name may be left out."""
    from puzzleflow.core.errors import InputError

    known = {Path(name).stem: i for i, name in enumerate(fragments.names)}
    known |= {name: i for i, name in enumerate(fragments.names)}
    pairs = []
    for text in texts:
        names = [name.strip() for name in text.split(",")]
        if len(names) != 2 or not set(names) <= set(known):
            raise InputError(f"{option} {text!r}: expected two names of fragments, NAME,NAME")
        pairs.append((known[names[0]], known[names[1]]))
    return pairs
