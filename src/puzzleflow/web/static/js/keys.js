// The keyboard: on the board, and everywhere while a board or a table is shown.

import { $, say } from "./dom.js";
import { select, toggleCompare, toggleMark } from "./board.js";
import { panBy, zoomKeys } from "./zoom.js";
import { t } from "./text.js";

const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
const PAN_PX = 60;

/** Keys while a cell has the focus. */
export function handleKey(app, event) {
  const { ui, state } = app;
  const { board } = state;
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("button")) return;
  const step = STEPS[event.key];
  const piece = board.piece_at[ui.selected];
  if (step && event.shiftKey) {
    event.preventDefault();
    if (ui.marked.size > 1 && !app.solving) app.change("shift", { pieces: [...ui.marked], rows: step[0], cols: step[1] });
    else panBy(app, -PAN_PX * step[1], -PAN_PX * step[0]);
  } else if (step) {
    const row = Math.floor(ui.selected / board.cols) + step[0];
    const col = (ui.selected % board.cols) + step[1];
    event.preventDefault();
    if (row >= 0 && row < board.rows && col >= 0 && col < board.cols) select(app, row * board.cols + col);
  } else if (event.key === "Home" || event.key === "End") {
    event.preventDefault();
    select(app, event.key === "Home" ? 0 : board.piece_at.length - 1);
  } else if ((event.key === "Enter" || event.key === " ") && !app.solving) {
    event.preventDefault();
    if (event.shiftKey && piece >= 0) toggleMark(app, piece);
    else pickOrLay(app);
  } else if (event.key === "Delete" && !app.solving && piece >= 0) {
    app.change("place", { piece, position: -1 });
  } else if (event.key.toLowerCase() === "r" && !app.solving && piece >= 0) {
    app.change("turn", { pieces: [piece], quarter_turns: event.shiftKey ? -1 : 1 });
  } else if (/^[1-5]$/.test(event.key) && !app.solving) {
    const candidate = board.candidates[ui.selected][Number(event.key) - 1];
    if (candidate && candidate.piece !== piece) {
      app.change("place", { piece: candidate.piece, position: ui.selected, pin: app.pinMoved });
    }
  }
}

async function pickOrLay(app) {
  const { ui, state } = app;
  const { board } = state;
  if (ui.compare || ui.step !== null) return;
  const here = board.piece_at[ui.selected];
  if (ui.picked === null) {
    const piece = ui.piece ?? here;
    if (piece < 0) return;
    if (board.pinned.includes(piece)) {
      say(t("is-pinned"));
      return;
    }
    ui.picked = piece;
    select(app, ui.selected);
    say(t("taken-up", { n: piece + 1 }));
    return;
  }
  const piece = ui.picked;
  ui.picked = null;
  if (piece === here) select(app, ui.selected);
  else if (await app.change("place", { piece, position: ui.selected, pin: app.pinMoved })) say(t("laid-down", { n: piece + 1 }));
}

/** Keys that work wherever the focus is, outside of fields. */
export function installKeys(app) {
  addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]")) return;
    const typing = event.target.closest?.("input, select, textarea");
    const command = event.ctrlKey || event.metaKey;
    const key = event.key.toLowerCase();
    if (!command && !event.altKey && !typing && event.key === "?") $("#keys").showModal();
    if (!app.state) return;
    const onBoard = app.state.board && app.ui.screen === "board";
    if (command && key === "z" && !typing) {
      event.preventDefault();
      click(event.shiftKey ? "#redo" : "#undo");
    } else if (command && key === "y" && !typing) {
      event.preventDefault();
      click("#redo");
    } else if (!command && !event.altKey && !typing) {
      if (zoomKeys[event.key] && app.ui.screen !== "fragments") zoomKeys[event.key](app);
      else if (key === "p") click("#pin");
      else if (key === "l") click("#loupe");
      else if (key === "s" && onBoard) click("#solve");
      else if (key === "c" && onBoard) toggleCompare(app);
      else if (key === "v" && onBoard) click(app.ui.view === "picture" ? "#view-confidence" : "#view-picture");
      else if (event.key === "Escape") escape(app);
    }
  });
}

function escape(app) {
  const { ui } = app;
  if (app.solving) app.cancel();
  else if (ui.picked !== null || ui.compare || ui.step !== null || ui.marked.size || ui.tool || ui.loupe) {
    Object.assign(ui, { picked: null, compare: false, step: null, tool: null, loupe: false });
    ui.marked.clear();
    app.render();
  }
}

function click(selector) {
  const button = $(selector);
  if (button && !button.disabled) button.click();
}
