// The keyboard: on the board, and everywhere while a board is shown.

import { $, say } from "./dom.js";
import { select, toggleCompare } from "./board.js";

const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/** Keys while a cell has the focus. */
export function handleKey(app, event) {
  const { ui, state } = app;
  const { board } = state;
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("button")) return;
  const step = STEPS[event.key];
  if (step) {
    const row = Math.floor(ui.selected / board.cols) + step[0];
    const col = (ui.selected % board.cols) + step[1];
    event.preventDefault();
    if (row >= 0 && row < board.rows && col >= 0 && col < board.cols) select(app, row * board.cols + col);
  } else if (event.key === "Home" || event.key === "End") {
    event.preventDefault();
    select(app, event.key === "Home" ? 0 : board.piece_at.length - 1);
  } else if ((event.key === "Enter" || event.key === " ") && !app.solving) {
    event.preventDefault();
    pickOrLay(app);
  } else if (/^[1-5]$/.test(event.key) && !app.solving) {
    const candidate = board.candidates[ui.selected][Number(event.key) - 1];
    if (candidate && candidate.piece !== board.piece_at[ui.selected]) {
      app.change("place", { piece: candidate.piece, position: ui.selected, pin: app.pinMoved });
    }
  }
}

async function pickOrLay(app) {
  const { ui, state } = app;
  const { board } = state;
  if (ui.compare || ui.step !== null) return;
  if (ui.picked === null) {
    if (board.pinned.includes(board.piece_at[ui.selected])) {
      say("This piece is pinned: unpin it to move it.");
      return;
    }
    ui.picked = ui.selected;
    select(app, ui.selected);
    say(`Piece ${board.piece_at[ui.picked] + 1} taken up.`);
    return;
  }
  const piece = board.piece_at[ui.picked];
  const same = ui.picked === ui.selected;
  ui.picked = null;
  if (same) select(app, ui.selected);
  else if (await app.change("place", { piece, position: ui.selected, pin: app.pinMoved })) say(`Piece ${piece + 1} laid down.`);
}

/** Keys that work wherever the focus is, outside of fields. */
export function installKeys(app) {
  addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]")) return;
    const typing = event.target.closest?.("input, select, textarea");
    const command = event.ctrlKey || event.metaKey;
    const key = event.key.toLowerCase();
    if (!command && !event.altKey && !typing && event.key === "?") $("#keys").showModal();
    if (!app.state?.board || app.ui.editing) return;
    if (command && key === "z" && !typing) {
      event.preventDefault();
      click(event.shiftKey ? "#redo" : "#undo");
    } else if (command && key === "y" && !typing) {
      event.preventDefault();
      click("#redo");
    } else if (!command && !event.altKey && !typing) {
      if (key === "p") click("#pin");
      else if (key === "s") click("#solve");
      else if (key === "c") toggleCompare(app);
      else if (key === "v") click(app.ui.view === "picture" ? "#view-confidence" : "#view-picture");
      else if (event.key === "Escape") escape(app);
    }
  });
}

function escape(app) {
  if (app.solving) app.cancel();
  else if (app.ui.picked !== null || app.ui.compare || app.ui.step !== null) {
    Object.assign(app.ui, { picked: null, compare: false, step: null });
    app.render();
  }
}

function click(selector) {
  const button = $(selector);
  if (button && !button.disabled) button.click();
}
