"""Draw the pictures of docs/tutorials and docs/gallery.md.

    python runs/tutorial_pictures.py [OUT]

With the bundled weights and the seeds below they come out the same every time. The gallery takes
the bundled paintings, which no model was trained on, once with either gap, and leaves none out:
what is solved goes to one sheet, what is not to the other.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "helpers"))

from photographs import GROUNDS, Conditions, compose_photograph  # noqa: E402

from puzzleflow import (  # noqa: E402
    Grid,
    contact_sheet,
    cut_puzzle,
    load_sample,
    load_solver,
    puzzle_figure,
    read_picture,
    write_picture,
)
from puzzleflow.cli.main import build_app  # noqa: E402
from puzzleflow.core.canvas import tile  # noqa: E402
from puzzleflow.core.types import ByteArray  # noqa: E402
from puzzleflow.pictures import reduced  # noqa: E402
from puzzleflow.samples import list_samples  # noqa: E402

OUT = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
WIDE = "gap:shrink=4"


def command(*words: object) -> None:
    """Run a command of the program."""
    build_app()([str(word) for word in words], standalone_mode=False)


def save(name: str, picture: ByteArray, width_px: int = 960) -> None:
    """Write a picture for a page, reduced to what a page shows."""
    write_picture(OUT / f"{name}.webp", reduced(picture, width_px))


def side_by_side(*pictures: ByteArray) -> ByteArray:
    """Pictures of one height in a row."""
    side = min(max(picture.shape[:2]) for picture in pictures)
    return tile([reduced(picture, side) for picture in pictures], len(pictures))


def own_pieces(desk: Path) -> None:
    """The photograph, what is found in it, and the solved picture."""
    puzzle = cut_puzzle(load_sample("harvesters"), Grid(3, 3), "vae", seed=3, piece_px=160)
    photograph = compose_photograph(puzzle.pieces, Conditions(GROUNDS["slate"]), seed=1)
    write_picture(desk / "table.jpg", photograph.pixels)
    command("segment", desk / "table.jpg", "--out", desk / "cut")
    command("solve", desk / "cut", "--grid", "3x3", "--out", desk / "solved")
    preview = read_picture(desk / "cut" / "preview.png")
    save("tutorial-photograph", side_by_side(read_picture(desk / "table.jpg"), preview))
    (sure,) = (desk / "solved").glob("*.confidence.png")
    shown = [read_picture(sure.with_name(sure.name.replace(".confidence", ""))), read_picture(sure)]
    save("tutorial-solved", side_by_side(*shown), 720)


def bright(desk: Path) -> None:
    """What the solver of the tutorial makes of the demo."""
    page = (ROOT / "docs" / "tutorials" / "write-a-solver.md").read_text(encoding="utf-8")
    code = page.split("```python\n")[1].split("```")[0]
    (desk / "my_solver.py").write_text(code, encoding="utf-8")
    solver = f"{desk / 'my_solver.py'}:Bright"
    command("demo", "--solver", solver, "--erosion", "fixed:8", "--out", desk / "demo")
    save("tutorial-bright", read_picture(desk / "demo" / "figure.png"), 720)


def gallery() -> None:
    """Every bundled painting once: solved on one sheet, not solved on the other."""
    solver = load_solver("relational")
    shown: dict[bool, list[tuple[object, object]]] = {True: [], False: []}
    for seed, sample in enumerate(list_samples()):
        for erosion in ("gap", WIDE):
            puzzle = cut_puzzle(
                load_sample(sample.name), Grid(3, 3), erosion, seed, puzzle_id=sample.name
            )
            solution = solver.prepare(puzzle.without_truth()).solve(seed=0)
            right = bool((solution.position_of == puzzle.truth).all())
            shown[right].append((puzzle, solution.position_of))
            if erosion == WIDE and sample.name == "wheat-field":
                save("tutorial-confidence", puzzle_figure(puzzle, solution.position_of), 840)
    for right, name in ((True, "gallery-solved"), (False, "gallery-failed")):
        puzzles = [puzzle for puzzle, _ in shown[right]]
        layouts = [layout for _, layout in shown[right]]
        print(f"{name}: {len(puzzles)}")
        save(name, contact_sheet(puzzles[:18], layouts[:18], columns=6, tile_px=150), 960)
    samples = list_samples()[:12]
    sheet = [cut_puzzle(load_sample(s.name), Grid(3, 3), "gap", i) for i, s in enumerate(samples)]
    save("tutorial-sheet", contact_sheet(sheet, columns=6, tile_px=150, captions=False), 960)


def main() -> None:
    """All pictures."""
    with tempfile.TemporaryDirectory() as folder:
        own_pieces(Path(folder))
        bright(Path(folder))
    gallery()


if __name__ == "__main__":
    main()
