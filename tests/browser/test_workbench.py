"""What a person does on the page, done in a browser; each test covers a walk through it."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

AXE = "axe-core@4.14.0"


def pieces(page: Page) -> list[str]:
    """The piece in every cell, row by row."""
    cells = "[...document.querySelectorAll('.cell')].map(cell => cell.dataset.piece)"
    return [str(piece) for piece in page.evaluate(cells)]


def cell(page: Page, position: int) -> Locator:
    return page.locator(f'[data-position="{position}"]')


def middle(place: Locator) -> tuple[float, float]:
    box = place.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page: Page, source: Locator, target: Locator) -> None:
    """Press on one thing, move in steps, release over another."""
    page.mouse.move(*middle(source))
    page.mouse.down()
    page.mouse.move(*middle(target), steps=6)
    page.mouse.up()


def wait_for(page: Page, expected: list[str]) -> None:
    for _ in range(300):
        if pieces(page) == expected:
            return
        page.wait_for_timeout(50)
    assert pieces(page) == expected


def test_moving_turning_pinning_and_the_tray(tried: Page) -> None:
    before = pieces(tried)
    assert sorted(before) == ["0", "1", "2", "3"]
    swapped = [before[3], before[1], before[2], before[0]]
    drag(tried, cell(tried, 0), cell(tried, 3))
    wait_for(tried, swapped)
    tried.click("#compare")
    wait_for(tried, before)
    expect(tried.locator(".differs")).to_have_count(2)
    tried.click("#compare")
    cell(tried, 1).click()
    tried.click("#turn-left")  # one piece turned: nothing else changes
    expect(tried.locator("#undo")).to_have_attribute(
        "title", f"Undo: turn piece {int(swapped[1]) + 1} (Ctrl+Z)"
    )
    wait_for(tried, swapped)
    tried.click("#undo")
    tried.click("#undo")
    wait_for(tried, before)
    drag(tried, cell(tried, 2), tried.locator(".waiting-tray"))
    wait_for(tried, [before[0], before[1], "", before[3]])
    expect(tried.locator(".cell.empty")).to_have_count(1)
    drag(tried, tried.locator(f'[data-tray="{before[2]}"]'), cell(tried, 2))
    wait_for(tried, before)
    tried.click("#view-confidence")
    expect(tried.locator(".seam")).to_have_count(4)
    expect(tried.locator(".legend li")).to_have_count(6)
    drag(tried, cell(tried, 0), cell(tried, 1))
    moved = [before[1], before[0], *before[2:]]
    wait_for(tried, moved)
    expect(tried.locator(".sure", has_text="–")).to_have_count(2)  # both are grey now
    cell(tried, 1).hover()
    cell(tried, 1).locator(".pin").click()
    expect(tried.locator(".cell.pinned")).to_have_count(1)
    expect(tried.locator(".sure")).to_have_count(3)  # no number on what is pinned
    drag(tried, cell(tried, 1), cell(tried, 2))  # a pinned piece does not move
    assert pieces(tried)[1] == moved[1]
    tried.click("#solve")
    expect(tried.locator("#given-pins")).to_contain_text("given the piece that you pinned")
    assert pieces(tried)[1] == moved[1]
    tried.get_by_role("button", name="Unpin all").click()
    expect(tried.locator(".cell.pinned")).to_have_count(0)
    tried.click("#check")
    expect(tried.locator(".caption")).to_contain_text("of 4 pieces are where they belong")


def test_several_pieces_blocks_zoom_loupe_and_looks(try_it: Callable[[str, str], Page]) -> None:
    page = try_it("3 × 3", "greedy-alpha")
    before = pieces(page)
    cell(page, 0).click(modifiers=["Shift"])
    cell(page, 1).click(modifiers=["Shift"])
    expect(page.locator(".cell.marked")).to_have_count(2)
    page.get_by_role("button", name="Block down by one row").click()
    wait_for(page, [before[3], before[4], before[2], before[0], before[1], *before[5:]])
    page.click("#together")
    expect(page.locator("#together")).to_have_text("No longer together")
    drag(page, cell(page, 3), cell(page, 0))  # the other comes along
    wait_for(page, before)
    page.keyboard.press("Escape")
    expect(page.locator(".cell.marked")).to_have_count(0)
    page.keyboard.down("Shift")
    page.mouse.move(*middle(cell(page, 0)))
    page.mouse.down()
    page.mouse.move(*middle(cell(page, 4)), steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    expect(page.locator(".cell.marked")).to_have_count(4)
    page.keyboard.press("Escape")
    wide = "document.querySelector('.board').getBoundingClientRect().width"
    usual = page.evaluate(wide)
    page.click("#zoom-in")
    assert page.evaluate(wide) > 1.2 * usual
    page.keyboard.press("0")
    assert page.evaluate(wide) == pytest.approx(usual)
    page.mouse.move(*middle(cell(page, 4)))
    page.mouse.wheel(0, -400)
    expect(page.locator(".fit.zoomed")).to_have_count(1)
    page.click("#zoom-reset")
    page.click("#loupe")
    page.mouse.move(*middle(cell(page, 4)))
    expect(page.locator(".loupe .piece")).to_have_count(9)
    page.keyboard.press("Escape")
    expect(page.locator(".loupe")).to_have_count(0)
    page.select_option("#board-colour", "black")
    ground = "getComputedStyle(document.querySelector('.board')).backgroundColor"
    black = page.evaluate(ground)
    page.click("#theme")
    assert page.evaluate(ground) == black == "rgb(11, 11, 12)"
    apart = "document.querySelector('[data-position=\"1\"] img').getBoundingClientRect().left"
    near = page.evaluate(apart)
    page.locator("#gap").fill("0.4")
    assert page.evaluate(apart) != near


def test_two_fingers_zoom_and_move_no_piece(tried: Page) -> None:
    before = pieces(tried)
    fingers = tried.context.new_cdp_session(tried)
    fingers.send("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})

    def touch(kind: str, *points: tuple[float, float]) -> None:
        told = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": told})

    def pinch(begin: float, end: float) -> None:
        """Both on pieces, so many pixels from the middle of the view, along a diagonal."""
        x, y = middle(tried.locator(".fit"))
        touch("touchStart", (x - begin, y - begin))
        touch("touchStart", (x - begin, y - begin), (x + begin, y + begin))
        for part in (0.25, 0.5, 0.75, 1):
            far = begin + part * (end - begin)
            touch("touchMove", (x - far, y - far), (x + far, y + far))
        touch("touchEnd")

    wide = "document.querySelector('.board').getBoundingClientRect().width"
    usual = tried.evaluate(wide)
    pinch(60, 120)
    assert tried.evaluate(wide) == pytest.approx(2 * usual, rel=0.1)
    expect(tried.locator(".ghost")).to_have_count(0)
    pinch(120, 40)
    assert tried.evaluate(wide) == pytest.approx(usual)
    assert pieces(tried) == before  # the finger that came first had taken up a piece
    drag(tried, cell(tried, 0), cell(tried, 1))  # one finger, or a mouse, still moves one
    wait_for(tried, [before[1], before[0], *before[2:]])
    tried.set_viewport_size({"width": 390, "height": 844})  # of a telephone
    assert tried.evaluate("document.documentElement.scrollWidth") <= 390
    tried.locator("#solve").scroll_into_view_if_needed()
    assert tried.evaluate("scrollY") > 0
    tried.click("#solve")
    expect(tried.locator(".board")).to_be_in_viewport()
    assert tried.evaluate("scrollY") == 0  # the board is what one wants to see now


def test_the_refinement_is_a_slider(try_it: Callable[[str, str], Page]) -> None:
    page = try_it("3 × 3", "flow-seams")
    solved = pieces(page)
    last = int(page.locator("#trace").get_attribute("max") or "0")
    assert last >= 1
    page.locator("#trace").fill("0")
    expect(page.locator(".caption")).to_contain_text("Step 0")
    assert pieces(page) != solved  # the layout before the first step


def test_details_and_files_are_saved(tried: Page, tmp_path: Path) -> None:
    tried.set_viewport_size({"width": 1440, "height": 900})
    for place in ("#save summary", "#solve"):  # above the fold
        box = tried.locator(place).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < 900
    tried.click("#sheet-button")
    tried.fill("#sheet-title", "Irises of mine")
    tried.fill("#sheet-author", "A. Conservator")
    tried.fill("#sheet-scale", "40")
    tried.locator("#sheet").get_by_role("button", name="Save").click()
    expect(tried.locator("#title")).to_have_text("Irises of mine")
    expect(tried.locator(".scale-bar")).to_be_visible()
    tried.get_by_text("Inventory number and note").click()
    tried.fill("#inventory", "Inv. 7")
    tried.locator("#inventory").blur()
    expect(tried.locator(".panel")).to_contain_text("Inv. 7")
    saved = {}
    kinds = (
        "picture.png",
        "layout.json",
        "layout.csv",
        "report.html",
        "picture.svg",
        "workbench.zip",
    )
    tried.click("#save summary")
    for kind in kinds:
        with tried.expect_download() as waiting:
            tried.click(f'[data-export="{kind}"]')
        path = tmp_path / kind
        waiting.value.save_as(path)
        saved[kind] = path.read_bytes()
    assert Image.open(io.BytesIO(saved["picture.png"])).info["dpi"][0] == pytest.approx(
        101.6, abs=0.1
    )
    layout = json.loads(saved["layout.json"])
    assert layout["schema"] == "puzzleflow/layout"
    rows = list(csv.DictReader(io.StringIO(saved["layout.csv"].decode("utf-8-sig"))))
    assert len(rows) == len(layout["pieces"]) == 4
    assert b"A. Conservator" in saved["report.html"]
    assert saved["picture.svg"].count(b"<g ") == 4
    assert "workbench.json" in zipfile.ZipFile(io.BytesIO(saved["workbench.zip"])).namelist()
    before = pieces(tried)
    tried.click("#new")
    tried.set_input_files("#file-saved", tmp_path / "workbench.zip")
    wait_for(tried, before)
    expect(tried.locator("#title")).to_have_text("Irises of mine")


def test_back_forward_links_a_second_tab_and_recent_ones(tried: Page, address: str) -> None:
    start = pieces(tried)
    link = tried.url
    other = tried.context.new_page()
    other.goto(link)  # a pasted link
    wait_for(other, start)
    drag(tried, cell(tried, 2), cell(tried, 1))
    moved = [start[0], start[2], start[1], start[3]]
    wait_for(tried, moved)
    wait_for(other, moved)  # the second tab follows
    other.close()
    tried.reload()
    wait_for(tried, moved)
    expect(tried.locator("#undo")).to_be_enabled()
    tried.click("#to-fragments")
    expect(tried.locator(".fragment")).to_have_count(4)
    tried.click("#new")
    bench = link.split("#w=")[1]
    expect(tried.locator(f'[data-recent="{bench}"]')).to_be_visible()
    tried.go_back()
    expect(tried.locator(".fragment")).to_have_count(4)
    tried.go_back()
    wait_for(tried, moved)
    tried.go_forward()
    expect(tried.locator(".fragment")).to_have_count(4)
    tried.click("#forget")
    tried.locator("#sure").get_by_role("button", name="Forget").click()
    expect(tried.locator("[data-sample=irises]")).to_be_visible()
    expect(tried.locator(f'[data-recent="{bench}"]')).to_have_count(0)
    tried.goto(link)
    expect(tried.locator("#alert")).to_contain_text("No such workbench")
    expect(tried.locator("[data-sample=irises]")).to_be_visible()


def test_a_photograph_is_found_mended_measured_and_solved(page: Page, photo: Path) -> None:
    page.set_input_files("#file-photo", photo)
    expect(page.locator(".found")).to_have_count(4)
    expect(page.locator(".question")).to_contain_text("looks like a ruler")
    page.click('[data-fragment="0"]')
    page.click('[data-fragment="1"]')
    page.get_by_role("button", name="Join").click()
    expect(page.locator(".found")).to_have_count(3)
    page.click("#undo")
    expect(page.locator(".found")).to_have_count(4)
    page.click('[data-fragment="0"]')
    page.get_by_role("button", name="Remove").click()
    expect(page.locator(".found")).to_have_count(3)
    page.keyboard.press("Control+z")
    expect(page.locator(".found")).to_have_count(4)
    page.click("#tool-lasso")
    box = page.locator(".drawn").bounding_box()
    assert box is not None
    x, y, size = box["x"] + 4, box["y"] + 4, 0.05 * box["width"]
    page.mouse.move(x, y)
    page.mouse.down()
    for dx, dy in ((1, 0), (1, 0.4), (0, 0.4)):
        page.mouse.move(x + dx * size, y + dy * size, steps=2)
    page.mouse.up()
    expect(page.locator(".found")).to_have_count(5)  # a new fragment, by hand
    page.click("#undo")
    expect(page.locator(".found")).to_have_count(4)
    page.click("#tool-ruler")
    for part in (0.2, 0.7):
        page.mouse.click(box["x"] + part * box["width"], box["y"] + 0.95 * box["height"])
    page.fill("#length-mm", "65")
    page.locator("#length").get_by_role("button", name="Set the scale").click()
    page.locator("#threshold").fill("20")
    page.get_by_role("button", name="Back to automatic").click()
    expect(page.locator(".found")).to_have_count(4)
    page.click("#method summary")
    page.select_option("#solver", "greedy-alpha")
    page.click("#solve")
    expect(page.locator(".board .cell")).to_have_count(4)
    expect(page.locator(".caption")).to_contain_text("a guess")
    expect(page.locator(".scale-bar")).to_be_visible()


def test_free_placing(page: Page, photo: Path) -> None:
    page.set_input_files("#file-photo", photo)
    expect(page.locator(".found")).to_have_count(4)
    page.click("#free")
    expect(page.locator(".free-piece")).to_have_count(4)
    first = page.locator('.free-piece[data-piece="0"]')
    left = middle(first)[0]
    page.mouse.move(*middle(first))
    page.mouse.down()
    page.mouse.move(left + 60, middle(first)[1], steps=4)
    page.mouse.up()
    expect(page.locator(".caption")).to_contain_text("move piece 1")
    first.focus()
    page.keyboard.press("r")
    expect(first).to_have_attribute("style", re.compile(r"rotate\(-15deg\)"))
    drag(page, page.locator('.free-piece[data-piece="3"]'), page.locator(".waiting-tray"))
    expect(page.locator(".waiting")).to_have_count(1)
    expect(page.locator(".free-piece")).to_have_count(3)
    page.click("#undo")
    expect(page.locator(".free-piece")).to_have_count(4)
    first.click()
    page.click("#pin")
    expect(page.locator(".free-piece.pinned")).to_have_count(1)
    expect(page.locator("#assemble")).to_have_text("Put the rest together")
    page.reload()
    expect(page.locator(".free-piece.pinned")).to_have_count(1)


def test_files_are_dropped_and_bad_ones_told(page: Page, photo: Path, tmp_path: Path) -> None:
    bad = tmp_path / "letter.png"
    bad.write_bytes(b"Dear conservator")
    page.set_input_files("#file-photo", bad)
    expect(page.locator("#alert")).to_contain_text("letter.png: not a readable picture")
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator("#alert")).to_be_empty()
    data = page.evaluate_handle(
        "bytes => { const data = new DataTransfer();"
        "data.items.add(new File([new Uint8Array(bytes)], 'table.jpg', {type: 'image/jpeg'}));"
        "return data; }",
        list(photo.read_bytes()),
    )
    page.dispatch_event("#main", "drop", {"dataTransfer": data})
    page.get_by_role("button", name="Several fragments").click()
    expect(page.locator(".found")).to_have_count(4)


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
    cell(tried, 3).focus()
    keyboard.press("Delete")
    expect(tried.locator(".waiting")).to_have_count(1)
    tried.locator(".waiting").focus()
    keyboard.press("Enter")
    keyboard.press("Enter")  # taken up out of the tray
    cell(tried, 3).focus()
    keyboard.press("Enter")
    wait_for(tried, swapped)
    keyboard.press("?")
    expect(tried.locator("#keys")).to_be_visible()
    keyboard.press("Escape")
    expect(tried.locator("#keys")).to_be_hidden()


def test_start_with_the_keyboard_languages_and_sizes(page: Page) -> None:
    names = []
    for _ in range(16):
        page.keyboard.press("Tab")
        name = "document.activeElement.getAttribute('aria-label')"
        names.append(page.evaluate(f"{name} ?? document.activeElement.textContent"))
    assert names[0] == "Skip to the workbench"
    assert "Choose a photograph" in names
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.select_option("#language", "it")
    expect(page.locator("h2").first).to_have_text("Ricomporre immagini spezzate")
    assert page.evaluate("document.documentElement.lang") == "it"
    page.reload()
    expect(page.locator("#file-photo + *, .card button").first).to_have_text(
        "Scegli una fotografia"
    )
    page.set_viewport_size({"width": 820, "height": 1180})
    assert page.evaluate("document.documentElement.scrollWidth") <= 820


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source of axe-core, fetched with npm."""
    npm = shutil.which("npm")
    folder = tmp_path_factory.mktemp("axe")
    if npm is None:
        pytest.skip("accessibility was NOT checked: there is no npm to fetch axe-core with")
    fetched = subprocess.run(
        [npm, "pack", "--silent", AXE], cwd=folder, capture_output=True, timeout=120, check=False
    )
    if fetched.returncode:
        pytest.skip("accessibility was NOT checked: npm could not fetch axe-core")
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        member = archive.extractfile("package/axe.min.js")
        assert member is not None
        return member.read().decode()


def test_axe_finds_nothing(page: Page, photo: Path, axe: str) -> None:
    def violations() -> list[str]:
        page.evaluate(axe)  # by the debugger, which the page's policy does not bind
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{each['id']}: {node['target']}"
            for each in found["violations"]
            for node in each["nodes"]
        ]

    assert violations() == []
    page.set_input_files("#file-photo", photo)
    expect(page.locator(".found")).to_have_count(4)
    assert violations() == []
    page.click("#method summary")
    page.select_option("#solver", "greedy-alpha")
    page.click("#solve")
    expect(page.locator(".board .cell")).to_have_count(4)
    page.click("#view-confidence")
    cell(page, 2).click()
    page.click("#aside")
    expect(page.locator(".waiting")).to_have_count(1)
    assert violations() == []
    page.click("#to-fragments")
    page.click("#free")
    expect(page.locator(".free-piece")).to_have_count(4)
    assert violations() == []
