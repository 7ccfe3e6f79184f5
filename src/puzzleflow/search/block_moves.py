"""Compiled moves of whole rectangles: which cells change, and what lies there then.

``plan_…`` writes the cells that change and their new candidates, and returns how many
there are, 0 where nothing would change. Layouts have a frame of cells that hold nobody.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

from puzzleflow.search.compiling import below, inner


@inner
def plan_block(cells, top, left, height, wide, dy, dx, width, changed, pieces, inside):
    """A rectangle moves by (dy, dx); what it covers fills what it leaves. Returns the count."""
    num = 0
    for y in range(top, top + height):
        for x in range(left, left + wide):
            inside[y * width + x] = True
            changed[num] = (y + dy) * width + x + dx
            pieces[num] = cells[y * width + x]
            num += 1
    vacated = num
    for y in range(top, top + height):  # left by the rectangle
        for x in range(left, left + wide):
            if not (top + dy <= y < top + dy + height and left + dx <= x < left + dx + wide):
                changed[vacated] = y * width + x
                vacated += 1
    covered = num
    for y in range(top + dy, top + dy + height):  # covered by it
        for x in range(left + dx, left + dx + wide):
            if not inside[y * width + x]:
                pieces[covered] = cells[y * width + x]
                covered += 1
    for y in range(top, top + height):
        for x in range(left, left + wide):
            inside[y * width + x] = False
    return vacated


@inner
def plan_roll(cells, top, left, height, wide, dy, dx, width, changed, pieces):
    """The pieces of a rectangle roll by (dy, dx) within it. Returns the count."""
    num = 0
    for y in range(height):
        for x in range(wide):
            changed[num] = (top + (y + dy) % height) * width + left + (x + dx) % wide
            pieces[num] = cells[(top + y) * width + left + x]
            num += 1
    return num


@inner
def plan_random_block(cells, rng, rows, cols, changed, pieces, inside):
    """Any rectangle moves anywhere."""
    height, wide = 1 + below(rng, rows), 1 + below(rng, cols)
    top, left = 1 + below(rng, rows - height + 1), 1 + below(rng, cols - wide + 1)
    dy = 1 + below(rng, rows - height + 1) - top
    dx = 1 + below(rng, cols - wide + 1) - left
    if dy == 0 and dx == 0:
        return 0
    return plan_block(cells, top, left, height, wide, dy, dx, cols + 2, changed, pieces, inside)


@inner
def plan_random_roll(cells, rng, rows, cols, changed, pieces):
    """The whole, a band or a rectangle rolls within itself."""
    kind = below(rng, 4)  # the whole, a band of rows, a band of columns, a rectangle
    height = rows if kind == 0 or kind == 2 else 1 + below(rng, rows)
    wide = cols if kind == 0 or kind == 1 else 1 + below(rng, cols)
    top, left = 1 + below(rng, rows - height + 1), 1 + below(rng, cols - wide + 1)
    dy, dx = below(rng, height), below(rng, wide)
    if dy == 0 and dx == 0:
        return 0
    return plan_roll(cells, top, left, height, wide, dy, dx, cols + 2, changed, pieces)


@inner
def plan_guided_block(cells, rng, rows, cols, at, to, changed, pieces, inside):
    """A random rectangle around cell ``at`` moves so that its piece lands on cell ``to``."""
    width = cols + 2
    y, x = at // width, at % width
    ty, tx = to // width, to % width
    up = below(rng, min(min(y, ty), 4))
    left = below(rng, min(min(x, tx), 4))
    lower = below(rng, min(rows + 1 - max(y, ty), 4))
    beyond = below(rng, min(cols + 1 - max(x, tx), 4))
    return plan_block(
        cells, y - up, x - left, up + lower + 1, left + beyond + 1, ty - y, tx - x,
        width, changed, pieces, inside,
    )  # fmt: skip


@inner
def touching(cells, changed, num, mark, width, unary, right, down):
    """The terms of E that touch any of the first ``num`` cells in ``changed``."""
    total = 0.0
    for i in range(num):
        cell = changed[i]
        piece = cells[cell]
        total += unary[piece, cell] + right[piece, cells[cell + 1]]
        total += down[piece, cells[cell + width]]
        if not mark[cell - 1]:
            total += right[cells[cell - 1], piece]
        if not mark[cell - width]:
            total += down[cells[cell - width], piece]
    return total
