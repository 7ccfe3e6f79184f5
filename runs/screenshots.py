"""Draw the pictures of the workbench for README and docs/workbench.md.

    python runs/screenshots.py [OUT]

Needs chromium. A server runs on a free loopback port; a browser does what a person would do.
With the bundled weights and the seeds below the pictures come out the same every time.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

from puzzleflow.core.errors import InputError
from puzzleflow.files import write_bytes
from puzzleflow.pictures import write_picture
from puzzleflow.web.server import running

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests" / "helpers"))
from museum_table import photographed_table

OUT = Path(__file__).resolve().parent.parent / "docs" / "images"
TIMEOUT_MS = 300_000  # of a machine that is busy with other things
MAX_BYTES = 100_000
SEED = 3


def keep(page: Page, path: Path) -> None:
    """The page as WebP, a fifth of the size of a PNG."""
    page.mouse.move(5, 795)
    page.wait_for_timeout(500)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    for quality in (78, 70, 60):
        stream = io.BytesIO()
        picture.save(stream, "WEBP", quality=quality, method=6)
        if len(stream.getvalue()) < MAX_BYTES:
            break
    write_bytes(path, stream.getvalue())
    print(path)


def solve(page: Page) -> None:
    """Press the button and wait for the board."""
    page.click("#solve")
    expect(page.locator("#cancel")).to_have_count(0)
    expect(page.locator(".board")).to_be_visible()


def main(out: Path) -> None:
    """Draw every picture into ``out``."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise InputError("no chromium on this machine")
    expect.set_options(timeout=TIMEOUT_MS)
    with (
        tempfile.TemporaryDirectory() as folder,
        running() as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800}, locale="en")
        page.set_default_timeout(TIMEOUT_MS)
        page.goto(address)
        page.wait_for_selector("[data-sample]")
        page.wait_for_load_state("networkidle")
        keep(page, out / "workbench-start.webp")

        photo = Path(folder) / "fragments.png"
        write_picture(photo, photographed_table(seed=SEED).pixels)
        page.set_input_files("#file-photo", photo)
        page.wait_for_selector(".found")
        page.wait_for_load_state("networkidle")
        keep(page, out / "workbench-photograph.webp")

        page.select_option("#grid", label="3 × 3")
        solve(page)
        page.wait_for_load_state("networkidle")
        keep(page, out / "workbench-board.webp")

        page.click('[data-position="4"]')
        page.click("#pin")
        expect(page.locator(".cell.pinned")).to_have_count(1)
        page.click("#view-confidence")
        keep(page, out / "workbench-confidence.webp")

        page.click("#to-fragments")
        page.click("#free")
        page.wait_for_selector(".free-piece")
        page.click('.free-piece[data-piece="4"]')
        page.keyboard.press("r")
        expect(page.locator(".caption")).to_contain_text("move piece 5")
        keep(page, out / "workbench-free.webp")
        page.get_by_role("button", name="Back to the board").click()

        page.click("#theme")
        page.set_viewport_size({"width": 820, "height": 1180})
        keep(page, out / "workbench-tablet.webp")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else OUT)
