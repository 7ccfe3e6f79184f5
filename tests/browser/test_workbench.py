"""What a person does on the page, done in a browser."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

from PIL import Image
from playwright.sync_api import Locator, Page, expect


def pieces(page: Page) -> list[str]:
    """The piece in every cell, row by row."""
    cells = "[...document.querySelectorAll('.cell')].map(cell => cell.dataset.piece)"
    return [str(piece) for piece in page.evaluate(cells)]


def cell(page: Page, position: int) -> Locator:
    return page.locator(f'[data-position="{position}"]')


def drag(page: Page, start: int, end: int) -> None:
    """Press on one cell, move in steps, release over another."""
    source, target = cell(page, start).bounding_box(), cell(page, end).bounding_box()
    assert source is not None
    assert target is not None
    page.mouse.move(source["x"] + source["width"] / 2, source["y"] + source["height"] / 2)
    page.mouse.down()
    x, y = target["x"] + target["width"] / 2, target["y"] + target["height"] / 2
    page.mouse.move(x, y, steps=8)
    page.mouse.up()


def wait_for(page: Page, expected: list[str]) -> None:
    for _ in range(300):
        if pieces(page) == expected:
            return
        page.wait_for_timeout(50)
    assert pieces(page) == expected


def test_try_it_and_check(tried: Page) -> None:
    assert sorted(pieces(tried)) == ["0", "1", "2", "3"]
    tried.click("#check")
    expect(tried.locator(".caption")).to_contain_text("of 4 pieces are where they belong")
    tried.click("#view-confidence")
    expect(tried.locator(".seam")).to_have_count(4)
    expect(tried.locator(".sure")).to_have_count(4)
    expect(tried.locator(".legend li")).to_have_count(5)


def test_drag_undo_redo_and_compare(tried: Page) -> None:
    before = pieces(tried)
    swapped = [before[3], before[1], before[2], before[0]]
    drag(tried, 0, 3)
    wait_for(tried, swapped)
    tried.click("#compare")
    wait_for(tried, before)
    expect(tried.locator(".differs")).to_have_count(2)
    tried.click("#compare")
    tried.click("#undo")
    wait_for(tried, before)
    expect(tried.locator("#undo")).to_be_enabled()  # the first solve
    tried.click("#redo")
    wait_for(tried, swapped)


def test_pin_and_solve_again(tried: Page) -> None:
    before = pieces(tried)
    drag(tried, 0, 1)
    moved = [before[1], before[0], *before[2:]]
    wait_for(tried, moved)
    cell(tried, 1).hover()
    cell(tried, 1).locator(".pin").click()
    expect(cell(tried, 1)).to_have_class("cell selected pinned")
    drag(tried, 1, 2)  # a pinned piece does not move
    assert pieces(tried)[1] == moved[1]
    tried.click("#solve")
    expect(tried.locator(".caption")).to_contain_text("solve again")
    assert pieces(tried)[1] == moved[1]
    tried.get_by_role("button", name="Unpin all").click()
    expect(tried.locator(".cell.pinned")).to_have_count(0)


def test_the_refinement_is_a_slider(try_it: Callable[[str, str], Page]) -> None:
    page = try_it("3 × 3", "flow-seams")
    solved = pieces(page)
    assert page.locator("#trace").get_attribute("max") == "20"  # the paper's steps
    page.locator("#trace").fill("0")
    expect(page.locator(".caption")).to_contain_text("Step 0")
    assert pieces(page) != solved  # the layout before the first step


def test_files_are_saved(tried: Page, tmp_path: Path) -> None:
    saved = {}
    for kind in ("picture.png", "layout.json", "layout.csv", "report.html", "workbench.zip"):
        with tried.expect_download() as waiting:
            tried.click(f'[data-export="{kind}"]')
        path = tmp_path / kind
        waiting.value.save_as(path)
        saved[kind] = path.read_bytes()
    picture = Image.open(io.BytesIO(saved["picture.png"]))
    assert picture.mode == "RGBA"
    layout = json.loads(saved["layout.json"])
    assert layout["schema"] == "puzzleflow/layout"
    rows = list(csv.DictReader(io.StringIO(saved["layout.csv"].decode("utf-8-sig"))))
    assert len(rows) == len(layout["pieces"]) == 4
    assert b"Irises" in saved["report.html"]
    assert "workbench.json" in zipfile.ZipFile(io.BytesIO(saved["workbench.zip"])).namelist()
    before = pieces(tried)
    tried.click("#new")
    tried.set_input_files("#file-saved", tmp_path / "workbench.zip")
    wait_for(tried, before)
    expect(tried.locator("#title")).to_contain_text("Irises")


def test_a_reload_loses_nothing(tried: Page) -> None:
    start = pieces(tried)
    drag(tried, 2, 1)
    wait_for(tried, [start[0], start[2], start[1], start[3]])
    cell(tried, 0).locator(".pin").click()
    expect(tried.locator(".cell.pinned")).to_have_count(1)
    before = pieces(tried)
    tried.reload()
    wait_for(tried, before)
    expect(tried.locator(".cell.pinned")).to_have_count(1)
    expect(tried.locator("#undo")).to_be_enabled()


def test_a_photograph_is_found_corrected_and_solved(page: Page, photo: Path) -> None:
    page.set_input_files("#file-photo", photo)
    expect(page.locator(".found")).to_have_count(4)
    page.click('[data-fragment="0"]')
    page.click('[data-fragment="1"]')
    page.get_by_role("button", name="Join").click()
    expect(page.locator(".found")).to_have_count(3)
    page.click('[data-fragment="0"]')
    page.get_by_role("button", name="Divide").click()
    expect(page.locator(".found")).to_have_count(4)
    page.locator("#threshold").fill("20")
    page.get_by_role("button", name="Back to automatic").click()
    expect(page.get_by_role("button", name="Back to automatic")).to_have_count(0)
    expect(page.locator(".found")).to_have_count(4)
    page.click("summary")
    page.select_option("#solver", "greedy-alpha")
    page.click("#solve")
    expect(page.locator(".cell")).to_have_count(4)
    expect(page.locator(".panel")).to_contain_text("is a guess")
    page.get_by_role("button", name="Fragments").click()
    page.click('[data-fragment="3"]')
    page.get_by_role("button", name="Turn left").click()
    expect(page.locator(".tray")).to_be_visible()


def test_pictures_can_be_dropped_on_the_page(page: Page, photo: Path) -> None:
    content = list(photo.read_bytes())
    data = page.evaluate_handle(
        "bytes => { const data = new DataTransfer();"
        "data.items.add(new File([new Uint8Array(bytes)], 'table.jpg', {type: 'image/jpeg'}));"
        "return data; }",
        content,
    )
    page.dispatch_event("#main", "drop", {"dataTransfer": data})
    page.get_by_role("button", name="Several fragments").click()
    expect(page.locator(".found")).to_have_count(4)


def test_a_bad_file_is_told_and_nothing_is_lost(page: Page, tmp_path: Path) -> None:
    bad = tmp_path / "letter.png"
    bad.write_bytes(b"Dear conservator")
    page.set_input_files("#file-photo", bad)
    expect(page.locator("#alert")).to_contain_text("letter.png: not a readable picture")
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator("#alert")).to_be_empty()
    expect(page.locator("[data-sample=irises]")).to_be_visible()


def test_an_unknown_workbench_leads_to_the_start(page: Page, address: str) -> None:
    page.goto(f"{address}#w=long-gone")
    page.reload()
    expect(page.locator("#alert")).to_contain_text("No such workbench")
    expect(page.locator("[data-sample=irises]")).to_be_visible()


def test_everything_on_the_board_works_with_the_keyboard(tried: Page) -> None:
    before = pieces(tried)
    keyboard = tried.keyboard
    cell(tried, 0).focus()
    keyboard.press("Enter")
    expect(tried.locator(".cell.picked")).to_have_count(1)
    keyboard.press("ArrowRight")
    keyboard.press("Enter")
    swapped = [before[1], before[0], *before[2:]]
    wait_for(tried, swapped)
    keyboard.press("p")
    expect(tried.locator(".cell.pinned")).to_have_count(1)
    keyboard.press("Control+z")
    expect(tried.locator(".cell.pinned")).to_have_count(0)
    keyboard.press("Control+z")
    wait_for(tried, before)
    keyboard.press("Control+y")
    wait_for(tried, swapped)
    keyboard.press("c")
    wait_for(tried, before)
    keyboard.press("Escape")
    wait_for(tried, swapped)
    keyboard.press("v")
    expect(tried.locator("#view-confidence")).to_have_attribute("aria-pressed", "true")
    keyboard.press("s")
    expect(tried.locator(".caption")).to_contain_text("solve with")
    keyboard.press("?")
    expect(tried.locator("#keys")).to_be_visible()
    keyboard.press("Escape")
    expect(tried.locator("#keys")).to_be_hidden()


def test_the_page_can_be_started_with_the_keyboard_alone(page: Page) -> None:
    names = []
    for _ in range(14):
        page.keyboard.press("Tab")
        name = "document.activeElement.getAttribute('aria-label')"
        names.append(page.evaluate(f"{name} ?? document.activeElement.textContent"))
    assert names[0] == "Skip to the workbench"
    assert "Choose a photograph" in names
    assert any(name.startswith("Try it with") for name in names)


def test_light_and_dark_and_a_tablet(tried: Page) -> None:
    light = tried.evaluate("getComputedStyle(document.body).backgroundColor")
    tried.click("#theme")
    assert tried.evaluate("getComputedStyle(document.body).backgroundColor") != light
    tried.set_viewport_size({"width": 820, "height": 1180})
    board, panel = tried.locator(".board").bounding_box(), tried.locator(".panel").bounding_box()
    assert board is not None
    assert panel is not None
    assert panel["y"] > board["y"] + board["height"]  # below, not beside
    assert tried.evaluate("document.documentElement.scrollWidth") <= 820
    tried.set_viewport_size({"width": 1280, "height": 800})
    board = tried.locator(".board").bounding_box()
    assert board is not None
    assert board["y"] + board["height"] <= 800
