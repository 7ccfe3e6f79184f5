// Dragging a piece with mouse, pen or finger onto another cell or into the tray; boxes that choose.

import { h, say } from "./dom.js";
import { count, t } from "./text.js";

const FAR_ENOUGH_PX = 6;

/** Call `move`, then `end`, until the pointer of `event` is let go; a second finger ends it as "pointercancel". */
export function followPointer(event, move, end) {
  const moved = (next) => next.pointerId === event.pointerId && move(next);
  const joined = (other) => {
    if (other.pointerType === "touch") ended({ type: "pointercancel", pointerId: event.pointerId });
  };
  const ended = (last) => {
    if (last.pointerId !== event.pointerId) return;
    removeEventListener("pointerdown", joined, { capture: true });
    removeEventListener("pointermove", moved);
    removeEventListener("pointerup", ended);
    removeEventListener("pointercancel", ended);
    end(last);
  };
  addEventListener("pointerdown", joined, { capture: true });
  addEventListener("pointermove", moved);
  addEventListener("pointerup", ended);
  addEventListener("pointercancel", ended);
}

/** The end of a drag is no click. */
export function swallowClick() {
  const swallow = (click) => click.stopPropagation();
  addEventListener("click", swallow, { capture: true, once: true });
  setTimeout(() => removeEventListener("click", swallow, { capture: true }), 0);
}

/** Follow the pointer from a piece; laying it onto another cell swaps the two. */
export function startDrag(app, event, piece) {
  if (event.button !== 0 || !event.isPrimary) return;
  const start = { x: event.clientX, y: event.clientY };
  const source = event.currentTarget;
  const pinned = app.state.board.pinned.includes(piece);
  let ghost = null;
  let over = null;

  const move = (moved) => {
    const [dx, dy] = [moved.clientX - start.x, moved.clientY - start.y];
    if (!ghost) {
      if (Math.hypot(dx, dy) < FAR_ENOUGH_PX || pinned) return;
      const box = source.querySelector("img").getBoundingClientRect();
      ghost = h("span", { class: "ghost" }, source.querySelector("img").cloneNode());
      for (const side of ["width", "height", "left", "top"]) ghost.style.setProperty(side, `${box[side]}px`);
      document.body.append(ghost);
      source.classList.add("lifted");
    }
    ghost.style.setProperty("transform", `translate(${dx}px, ${dy}px) scale(1.04)`);
    const below = document.elementFromPoint(moved.clientX, moved.clientY)?.closest(".cell, .waiting-tray") ?? null;
    if (below !== over) {
      over?.classList.remove("over");
      over = below;
      over?.classList.add("over");
    }
  };

  followPointer(event, move, async (ended) => {
    if (!ghost) return;
    ghost.remove();
    source.classList.remove("lifted");
    over?.classList.remove("over");
    swallowClick();
    if (ended.type !== "pointerup" || !over || over === source) return;
    const position = over.classList.contains("cell") ? Number(over.dataset.position) : -1;
    if (position >= 0) Object.assign(app.ui, { selected: position, piece: null });
    if (await app.change("place", { piece, position, pin: app.pinMoved && position >= 0 })) {
      say(position >= 0 ? t("laid-into", { n: piece + 1, cell: position + 1 }) : t("laid-aside", { n: piece + 1 }));
    }
  });
}

/** With the shift key held: a box that chooses the pieces it touches. */
export function boxMarking(app, event, grid) {
  if (event.button !== 0 || app.solving) return;
  const start = { x: event.clientX, y: event.clientY };
  const box = h("span", { class: "marking" });
  let drawn = false;
  followPointer(event, (moved) => {
    const [dx, dy] = [moved.clientX - start.x, moved.clientY - start.y];
    if (!drawn && Math.hypot(dx, dy) < FAR_ENOUGH_PX) return;
    if (!drawn) document.body.append(box);
    drawn = true;
    box.style.setProperty("left", `${Math.min(start.x, moved.clientX)}px`);
    box.style.setProperty("top", `${Math.min(start.y, moved.clientY)}px`);
    box.style.setProperty("width", `${Math.abs(dx)}px`);
    box.style.setProperty("height", `${Math.abs(dy)}px`);
  }, () => {
    if (!drawn) return;
    const area = box.getBoundingClientRect();
    box.remove();
    swallowClick();
    for (const cell of grid.querySelectorAll(".cell:not(.empty)")) {
      const b = cell.getBoundingClientRect();
      const apart = b.right < area.left || b.left > area.right || b.bottom < area.top || b.top > area.bottom;
      if (!apart) app.ui.marked.add(Number(cell.dataset.piece));
    }
    app.render();
    say(count("pieces-chosen", app.ui.marked.size));
  });
}
