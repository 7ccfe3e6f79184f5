"""A real chromium against a real server.

Without chromium these tests are skipped and say so; in CI, where it is installed, they fail.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from puzzleflow.samples import load_sample
from puzzleflow.web.app import create_app
from puzzleflow.web.server import running

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
TIMEOUT_MS = 120_000  # of a machine that is busy with other things
expect.set_options(timeout=TIMEOUT_MS)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        message = "no chromium on this machine: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    # not for the whole session: while it is open, no other test can start an event loop
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(create_app(keep=tmp_path_factory.mktemp("kept") / "workbenches")) as address:
        yield address


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """The start page; the test fails if the page itself reports an error."""
    context = browser.new_context(
        viewport={"width": 1280, "height": 800}, accept_downloads=True, locale="en"
    )
    context.set_default_timeout(TIMEOUT_MS)
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda m: faults.append(m.text) if "Content Security" in m.text else None)
    page.goto(address)
    page.wait_for_selector("[data-sample=irises]")
    yield page
    context.close()
    assert faults == []


@pytest.fixture
def try_it(page: Page) -> Callable[[str, str], Page]:
    """Cut the irises into square pieces of a grid and let a solver lay them."""

    def lay(grid: str, solver: str) -> Page:
        page.select_option("#cut-grid", label=grid)
        page.select_option("#cut-edges", "none")
        page.evaluate("Math.random = () => 0.25")
        page.click("[data-sample=irises]")
        page.wait_for_selector("#solve")
        page.click("#method summary")
        page.select_option("#solver", solver)
        page.click("#solve")
        expect(page.locator(".panel")).to_contain_text(f"{solver}”")
        return page

    return lay


@pytest.fixture
def tried(try_it: Callable[[str, str], Page]) -> Page:
    """A sample of 2 × 2 square pieces laid by a quick solver."""
    return try_it("2 × 2", "greedy-alpha")


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    """A photograph of four fragments and a ruler on a plain ground."""
    rng = np.random.default_rng(0)
    painting = load_sample("irises")
    pixels = np.full((420, 520, 3), (205, 200, 188), np.float64)
    for index, (top, left) in enumerate([(40, 50), (38, 290), (230, 60), (236, 300)]):
        y, x = 150 * (index // 2) + 90, 160 * (index % 2) + 60
        pixels[top : top + 140, left : left + 150] = painting[y : y + 140, x : x + 150]
    pixels[392:410, 60:400] = (238, 226, 120)
    pixels[392:398, 60:400:10] = 20
    pixels = np.clip(pixels + rng.normal(0, 2, pixels.shape), 0, 255).astype(np.uint8)
    path = tmp_path / "table.jpg"
    Image.fromarray(pixels).save(path, quality=92)
    return path


def pytest_collection_modifyitems(items: list[Any]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)
