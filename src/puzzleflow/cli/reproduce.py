"""``puzzleflow reproduce``: the paper from pictures to one page, by commands of this program."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from puzzleflow.core.errors import FormatError, InputError, check_known

if TYPE_CHECKING:
    from puzzleflow.evaluation.reproduction import Section

RECORD = "stages.json"
PAGE = "index.html"
SETS = ("gap-3", "gap-5")


@dataclass(frozen=True)
class Scale:
    """How much of everything; texts are options of the commands.

    cut      of ``generate``, for GAP-3 and for GAP-5
    train    of ``train flow``
    ablate   of ``ablate``
    jpwleg   of ``jpwleg``
    solvers  of Tables 1 and JPwLEG
    masks    to draw for the shape statistics
    collects  pictures come from the Met where none are named
    """

    cut: tuple[str, str]
    train: str
    ablate: str
    jpwleg: str
    solvers: tuple[str, str] = ("@table1", "@jpwleg")
    masks: int = 958
    collects: bool = False


SCALES = {
    "tiny": Scale(  # minutes: to try the whole way
        ("--piece-px 32 --limit 4 --splits 25/25/50", "--piece-px 32 --limit 4 --splits 25/25/50"),
        "--preset tiny --steps 2 --batch 1 --num-validation 1 --workers 0",
        "--preset tiny --steps 1 --batch 1 --puzzles 2 --workers 0 --variants direct,rgb",
        "--held-out --sizes 0/0/2 --limit 1",
        ("random,greedy-alpha", "random,greedy-alpha"),
        masks=20,
    ),
    "small": Scale(  # two cores, three quarters of an hour, nothing but the package
        ("--per-picture 6 --splits 60/15/25", "--per-picture 3 --splits 60/15/25"),
        "--preset compact --initial bundled --rate 1e-4 --steps 400 --minutes 5 "
        "--num-validation 20",
        "--preset compact --initial bundled --minutes 2 --puzzles 54",
        "--held-out --sizes 0/0/2000",
        masks=300,
    ),
    "paper": Scale(  # the published sizes: days on a GPU
        ("", ""),
        "--preset paper --epochs 30 --accelerator auto",
        "--preset paper --steps 52500 --puzzles 3000 --accelerator auto",
        "--sizes 9000/1000/2000",
        collects=True,
    ),
}


@dataclass(frozen=True)
class Stage:
    """One command, and the file that says that it has ended."""

    name: str
    words: list[str]
    made: Path

    @property
    def line(self) -> str:
        return "puzzleflow " + shlex.join(self.words)


def reproduce(
    out: Annotated[Path, typer.Option(help="Folder of everything; goes on there.")],
    scale: Annotated[
        str, typer.Option(help="small: two cores, 45 minutes; paper: published sizes; tiny.")
    ] = "small",
    images: Annotated[
        Path | None,
        typer.Option(help="Pictures (default: bundled ones; with --scale paper the Met's)."),
    ] = None,
    masks: Annotated[
        Path | None,
        typer.Option(help="Real masks to compare shapes with (default: the fitted outlines)."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes where commands take them.")] = 2,
) -> None:
    """Reproduce the paper: GAP-3 and GAP-5, training, its tables and figures, one page.

    Every stage is a command of this program, shown when it starts. Stopped at any moment, the
    same command goes on where it was. OUT/index.html is the page.
    """
    from puzzleflow.evaluation.reproduction import write_page
    from puzzleflow.files import read_json, write_json
    from puzzleflow.lock import locked

    check_known("scale", scale, SCALES)
    stages = planned(out, SCALES[scale], images, masks, workers)
    with locked(out):
        record = out / RECORD
        ended = read_json(record) if record.exists() else {}
        if not isinstance(ended, dict):
            raise FormatError(f"{record}: expected the stages that have ended")
        for stage in stages:
            if ended.get(stage.name, stage.words) != stage.words:
                raise InputError(
                    f"{record}: {stage.name} was made otherwise; choose another folder"
                )
        for number, stage in enumerate(stages, start=1):
            if stage.name in ended and stage.made.exists():
                continue
            typer.echo(f"{number} of {len(stages)}, {stage.name}: {stage.line}", err=True)
            _run(stage.words)
            ended[stage.name] = stage.words
            write_json(record, ended)
        facts = {"scale": scale, "pictures": str(images or "as the scale has them")}
        write_page(out / PAGE, facts, _sections(out, stages, _pictures(out, scale, images)))
    typer.echo(out / PAGE)


def planned(
    out: Path, scale: Scale, images: Path | None, masks: Path | None, workers: int
) -> list[Stage]:
    """The stages in their order."""
    stages = []
    sources = {name: images or _samples() for name in SETS}
    if scale.collects and images is None:
        met = out / "met"
        words = ["collect", "met", "--out", str(met), "--sets", "gap-3,gap-5"]
        stages.append(Stage("pictures", words, met / "gap-5"))
        sources = {name: met / name for name in sources}
    for name, options in zip(sources, scale.cut, strict=True):
        words = ["generate", "--images", str(sources[name]), "--out", str(out / name),
                 "--preset", name, *options.split(), "--workers", str(workers)]  # fmt: skip
        stages.append(Stage(name, words, out / name / "README.md"))
    real = masks or out / "outlines.npz"
    if masks is None:
        drawn = ["--generator", "outline", "-n", str(scale.masks), "--workers", str(workers)]
        stages.append(Stage("outlines", ["shapes", "sample", "--out", str(real), *drawn], real))
    words = ["shapes", "validate", "--real", str(real), "--generator", "vae", "--generator", "gap",
             "--part", "all", "-n", str(scale.masks), "--out", str(out / "shapes"),
             "--workers", str(workers)]  # fmt: skip
    stages.append(Stage("shapes", words, out / "shapes" / "validation.md"))
    for name in sources:
        run = out / f"train-{name}"
        words = ["train", "flow", "--data", str(out / name), "--out", str(run),
                 *scale.train.split()]  # fmt: skip
        stages.append(Stage(f"train-{name}", words, run / "flow.safetensors"))
    for name in sources:
        trained = f"flow:weights={out / f'train-{name}' / 'flow.safetensors'}"
        words = ["bench", str(out / name), "--split", "test", "--out", str(out / f"table-1-{name}"),
                 "--solvers", f"{scale.solvers[0]},{trained}",
                 "--workers", str(workers)]  # fmt: skip
        stages.append(Stage(f"table-1-{name}", words, out / f"table-1-{name}" / "bench.md"))
    words = ["ablate", "--data", str(out / "gap-3"), "--out", str(out / "table-2"),
             *scale.ablate.split()]  # fmt: skip
    stages.append(Stage("table-2", words, out / "table-2" / "ablation.md"))
    words = ["jpwleg", "--images", str(sources["gap-3"]), "--out", str(out / "jpwleg"),
             "--solvers", scale.solvers[1], *scale.jpwleg.split(),
             "--workers", str(workers)]  # fmt: skip
    stages.append(Stage("jpwleg", words, out / "jpwleg" / "jpwleg.md"))
    return stages


def _run(words: list[str]) -> None:
    """A command in this process; an interruption ends the reproduction, too."""
    from puzzleflow.cli.main import build_app

    status = build_app()(words, standalone_mode=False)
    if isinstance(status, int) and status:
        raise typer.Exit(status)


def _samples() -> Path:
    from puzzleflow import samples

    return Path(str(samples.__file__)).parent


def _pictures(out: Path, scale: str, images: Path | None) -> Path:
    return (
        out / "met" / "gap-3" if SCALES[scale].collects and images is None else images or _samples()
    )


def _sections(out: Path, stages: list[Stage], pictures: Path) -> list[Section]:
    from puzzleflow.evaluation.reproduction import Section, markdown_tables

    lines = {stage.name: stage.line for stage in stages}
    shapes = out / "shapes"
    parts = ("boxplots", "pca", "samples_vae", "samples_gap")
    sections = [
        Section(
            "Puzzles",
            "From a picture to a puzzle: grid, masks, shuffled pieces.",
            [lines[name] for name in ("pictures", *SETS) if name in lines],
            pictures=_pipelines(out, pictures),
            links={f"card of {name.upper()}": out / name / "README.md" for name in SETS},
        ),
        Section(
            "Shapes of fragments",
            "Generated outlines against those that were named as real; without --masks these are "
            "draws of the outline model, which was fitted to real ones.",
            [lines[name] for name in ("outlines", "shapes") if name in lines],
            markdown_tables(shapes / "validation.md"),
            {part.replace("_", " of "): shapes / f"{part}.png" for part in parts},
        ),
    ]
    for name in SETS:
        report = out / f"table-1-{name}"
        sheets = sorted((report / "sheets").glob("*.webp"))
        sections.append(
            Section(
                f"Table 1: {name.upper()}",
                "The flow with weights=… was trained here; other learned rows are bundled weights.",
                [lines[f"train-{name}"], lines[f"table-1-{name}"]],
                markdown_tables(report / "bench.md"),
                {f"Cases of {path.stem}": path for path in sheets},
                {"whole report": report / "index.html"},
            )
        )
    table_2 = out / "table-2"
    figure = {"Variants with 95 % intervals; diamonds: the paper": table_2 / "ablation.png"}
    return [
        *sections,
        Section(
            "Table 2: ablations",
            "Each variant is trained once, alike but for one change.",
            [lines["table-2"]],
            markdown_tables(table_2 / "ablation.md"),
            figure,
        ),
        Section(
            "Square pieces (supplement)",
            "Sets cut as JPwLEG-3 and JPwLEG-5 are; published rows are other data.",
            [lines["jpwleg"]],
            markdown_tables(out / "jpwleg" / "jpwleg.md"),
        ),
    ]


def _pipelines(out: Path, pictures: Path) -> dict[str, Path]:
    """The figure of the pipeline for both sets; caption → file."""
    from puzzleflow.core.grid import Grid
    from puzzleflow.evaluation.reproduction import pipeline_figure
    from puzzleflow.pictures import list_pictures, read_picture, write_picture

    first, found = read_picture(list_pictures(pictures)[0]), {}
    for name in SETS:
        side = int(name.removeprefix("gap-"))
        found[f"Pipeline of {name.upper()}"] = out / f"pipeline-{name}.png"
        figure = pipeline_figure(first, Grid(side, side), "gap")
        write_picture(out / f"pipeline-{name}.png", figure)
    return found
