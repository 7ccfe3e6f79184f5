"""Every block of code in the documentation runs, or says why it cannot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from code_blocks import blocks_of, run_blocks
from photographs import GROUNDS, Conditions, compose_photograph

from puzzleflow import Grid, cut_puzzle, load_sample, write_folder, write_picture
from puzzleflow.pictures import resize

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    page
    for page in sorted(
        [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb")]
    )
    if page.name not in ("LOG.md", "CHANGELOG.md")  # what was once so
]
RUN = [page for page in PAGES if any(not block.why for block in blocks_of(page))]
SLOW = {
    "confidence.md",
    "data-set.md",
    "data-sets.md",
    "free-form.md",
    "open-world.md",
    "train-and-compare.md",
}
SLOW |= {"paper-tables.ipynb"}  # .ci/run runs them, too
PICTURES = ("irises", "harvesters", "wheat-field", "bouquet", "card-players", "straw-hat")
PICTURES += ("goldsmith", "fish-market")
MAX_NOT_RUN = 15  # blocks, beside those of pages that only measure


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the pages take for granted: pictures, a photograph, pieces, a set."""
    for name in PICTURES:
        write_picture(tmp_path / "my-pictures" / f"{name}.png", resize(load_sample(name), 150, 150))
    (tmp_path / "pictures").symlink_to("my-pictures")
    puzzle = cut_puzzle(load_sample("harvesters"), Grid(3, 3), "fixed:8", seed=3, piece_px=96)
    write_folder(tmp_path / "pieces", puzzle)
    photograph = compose_photograph(puzzle.pieces, Conditions(GROUNDS["slate"]), seed=1)
    write_picture(tmp_path / "table.jpg", photograph.pixels)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow if page.name in SLOW else ())
        for page in RUN
        if page.name != "README.md"
    ],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
@pytest.mark.usefixtures("desk")
def test_the_blocks_of_a_page_run(page: Path) -> None:
    assert run_blocks(page) == sum(not block.why for block in blocks_of(page))


def test_few_blocks_are_not_run() -> None:
    pages = {page: blocks_of(page) for page in PAGES}
    reasons = [
        block.why for blocks in pages.values() if not all(b.why for b in blocks) for block in blocks
    ]
    assert sum(map(bool, reasons)) <= MAX_NOT_RUN, sorted(filter(None, reasons))


def test_every_block_of_commands_is_marked_as_such() -> None:
    """A block without a kind would be shown but never run."""
    for page in PAGES:
        if page.suffix == ".md":
            text = page.read_text(encoding="utf-8")
            assert "```\npuzzleflow " not in text, f"{page.name}: write ```sh"


def test_blocks_run_in_order_and_failures_are_seen(desk: Path) -> None:
    page = desk / "page.md"
    page.write_text(
        "```python\n# own.py\nx = 1\n```\n\n<!-- not run: never -->\n```sh\nfalse\n```\n"
    )
    names: dict[str, object] = {}
    assert run_blocks(page, names) == 1
    assert names["x"] == 1
    assert np.fromfile(desk / "own.py", np.uint8).size
    page.write_text("```sh\nfalse\n```\n")
    with pytest.raises(Exception, match="status 1"):
        run_blocks(page)
    page.write_text("# P\n\n<!-- no block is run: slow -->\n\n```sh\nfalse\n```\n")
    assert run_blocks(page) == 0
