// Dragging a piece with mouse, pen or finger onto another cell.

import { say } from "./dom.js";
import { select } from "./board.js";

const FAR_ENOUGH_PX = 6;

/** Follow the pointer from a cell; laying the piece onto another cell swaps the two. */
export function startDrag(app, event, position) {
  if (event.button !== 0 || !event.isPrimary) return;
  const start = { x: event.clientX, y: event.clientY };
  const cell = event.currentTarget;
  const piece = app.state.board.piece_at[position];
  const pinned = app.state.board.pinned.includes(piece);
  let ghost = null;
  let over = null;

  const move = (moved) => {
    if (moved.pointerId !== event.pointerId) return;
    const [dx, dy] = [moved.clientX - start.x, moved.clientY - start.y];
    if (!ghost) {
      if (Math.hypot(dx, dy) < FAR_ENOUGH_PX || pinned) return;
      const box = cell.getBoundingClientRect();
      ghost = cell.cloneNode(true);
      ghost.className = "ghost";
      ghost.removeAttribute("role");
      ghost.style.setProperty("width", `${box.width}px`);
      ghost.style.setProperty("height", `${box.height}px`);
      ghost.style.setProperty("left", `${box.left}px`);
      ghost.style.setProperty("top", `${box.top}px`);
      document.body.append(ghost);
      cell.classList.add("lifted");
    }
    ghost.style.setProperty("transform", `translate(${dx}px, ${dy}px) scale(1.04)`);
    const below = document.elementFromPoint(moved.clientX, moved.clientY)?.closest(".cell") ?? null;
    if (below !== over) {
      over?.classList.remove("over");
      over = below;
      over?.classList.add("over");
    }
  };

  const end = async (ended) => {
    if (ended.pointerId !== undefined && ended.pointerId !== event.pointerId) return;
    removeEventListener("pointermove", move);
    removeEventListener("pointerup", end);
    removeEventListener("pointercancel", end);
    if (!ghost) return;
    ghost.remove();
    cell.classList.remove("lifted");
    over?.classList.remove("over");
    const swallow = (click) => click.stopPropagation(); // the end of a drag is no click
    addEventListener("click", swallow, { capture: true, once: true });
    setTimeout(() => removeEventListener("click", swallow, { capture: true }), 0);
    if (ended.type !== "pointerup" || !over || over === cell) return;
    const target = Number(over.dataset.position);
    app.ui.selected = target;
    if (await app.change("place", { piece, position: target, pin: app.pinMoved })) {
      say(`Piece ${piece + 1} laid into cell ${target + 1}.`);
    } else select(app, position);
  };

  addEventListener("pointermove", move);
  addEventListener("pointerup", end);
  addEventListener("pointercancel", end);
}
