// The board: pieces in their cells, dragged, pinned, compared.

import { h, say, times } from "./dom.js";
import { boardPanel } from "./panel.js";
import { cell, geometry, seams, tray } from "./cells.js";
import { handleKey } from "./keys.js";
import { boxMarking } from "./drag.js";
import { installLoupe, installZoom, zoomButtons } from "./zoom.js";
import { saveMenu } from "./save.js";
import { scaleBar } from "./sheet.js";
import { count, spoken, t } from "./text.js";

const COLOURS = ["theme", "white", "grey", "black", "linen"];

/** What lies where: now, before, or at a step of the solver. A list of pieces per position. */
function shownPieces(app) {
  const { board } = app.state;
  const { ui } = app;
  const single = (pieces) => pieces.map((piece) => (piece < 0 ? [] : [piece]));
  if (ui.compare && board.previous) return single(board.previous.piece_at);
  if (ui.step !== null && board.trace[ui.step]) {
    const cells = board.piece_at.map(() => []);
    board.trace[ui.step].forEach((position, piece) => cells[position]?.push(piece));
    return cells;
  }
  return single(board.piece_at);
}

/** Choose a cell; the panel tells about it. */
export function select(app, position) {
  Object.assign(app.ui, { selected: position, piece: null });
  app.render();
  app.focusCell();
}

/** Choose a piece in the tray; choosing it again takes it up, to be laid into a cell. */
export function selectTray(app, piece) {
  const again = app.ui.piece === piece && !app.state.board.pinned.includes(piece);
  app.ui.picked = again ? piece : null;
  app.ui.piece = piece;
  app.render();
  document.querySelector(`[data-tray="${piece}"]`)?.focus();
}

/** Choose one more piece, or one fewer. */
export function toggleMark(app, piece) {
  const { marked } = app.ui;
  if (marked.has(piece)) marked.delete(piece);
  else marked.add(piece);
  app.render();
  app.focusCell?.();
  say(count("pieces-chosen", marked.size));
}

function caption(app) {
  const { board } = app.state;
  const { ui } = app;
  if (ui.compare && board.previous) {
    const moved = board.previous.piece_at.filter((piece, at) => piece >= 0 && piece !== board.piece_at[at]).length;
    return count("before", moved);
  }
  if (ui.step !== null) return t("step-n", { step: ui.step, last: board.trace.length - 1 });
  if (ui.picked !== null) return t("taken-up", { n: ui.picked + 1 });
  if (ui.check && board.right) {
    return t("checked", { right: board.right.filter(Boolean).length, all: board.right.length });
  }
  return `${times(board)}${board.grid_guessed ? `, ${t("guess-word")}` : ""} · ${t("last")} ${spoken(board.label)}`;
}

function toolbar(app) {
  const { board } = app.state;
  const { ui } = app;
  const button = (text, title, enabled, onClick, extra = {}) =>
    h("button", { type: "button", title, disabled: !enabled || app.solving, onClick, ...extra }, text);
  const view = (name) => h("button", {
    type: "button", "aria-pressed": String(ui.view === name), id: `view-${name}`,
    onClick: () => { ui.view = name; app.render(); },
  }, t(`view-${name}`));
  const undo = board.undo ? `${t("undo-what", { what: spoken(board.undo) })} (Ctrl+Z)` : t("nothing-to-undo");
  const redo = board.redo ? `${t("redo-what", { what: spoken(board.redo) })} (Ctrl+Y)` : t("nothing-to-redo");
  return h("div", { class: "toolbar", role: "toolbar", "aria-label": t("board") },
    button(`↶ ${t("undo")}`, undo, board.undo, () => app.change("undo"), { id: "undo" }),
    button(`↷ ${t("redo")}`, redo, board.redo, () => app.change("redo"), { id: "redo" }),
    button(t("compare"), `${t("compare-text")} (C)`, board.previous, () => toggleCompare(app),
      { id: "compare", "aria-pressed": String(ui.compare) }),
    h("span", { class: "group", role: "group", "aria-label": t("view") }, view("picture"), view("confidence")),
    board.right ? h("button", {
      type: "button", id: "check", "aria-pressed": String(ui.check),
      onClick: () => { ui.check = !ui.check; app.render(); say(caption(app)); },
    }, t("check")) : null,
    zoomButtons(app), saveMenu(app, "board"));
}

/** How the board looks: gap between cells, its colour. */
function lookBar(app) {
  return h("div", { class: "look" },
    h("label", { class: "field" }, h("span", {}, t("gap")),
      h("input", {
        id: "gap", type: "range", min: 0, max: 0.5, step: 0.01, value: app.gap,
        onInput: (event) => {
          app.gap = Number(event.target.value);
          app.drawBoard();
        },
        onChange: () => { localStorage.setItem("gap", app.gap); app.render(); },
      })),
    h("label", { class: "field" }, h("span", {}, t("board-colour")),
      h("select", {
        id: "board-colour", onChange: (event) => {
          app.boardColour = event.target.value;
          localStorage.setItem("board-colour", app.boardColour);
          app.render();
        },
      }, COLOURS.map((name) => h("option", { value: name, selected: name === app.boardColour }, t(`colour-${name}`))))));
}

export function toggleCompare(app) {
  if (!app.state.board.previous) return;
  app.ui.compare = !app.ui.compare;
  app.ui.step = null;
  app.render();
  say(caption(app));
}

function drawCells(app, shape) {
  const { board } = app.state;
  const shown = shownPieces(app);
  const rows = Array.from({ length: board.rows }, (_, row) =>
    h("div", { role: "row", class: "cells" }, shown.slice(row * board.cols, (row + 1) * board.cols)
      .map((pieces, col) => cell(app, shape, row * board.cols + col, pieces))));
  return [...rows, ...seams(app, shape)];
}

function waiting(app, main) {
  main.replaceChildren(
    h("section", { class: "stage" }, h("div", { class: "tray waiting" }, app.state.pieces.map((piece) =>
      h("span", { class: "fragment" }, h("img", { src: piece.picture, alt: "" }))))),
    boardPanel(app));
}

export function boardScreen(app, main) {
  const { state, ui } = app;
  const { board } = state;
  const hadFocus = main.querySelector(".board")?.contains(document.activeElement);
  const focusedId = document.activeElement?.id;
  const openMenu = main.querySelector("#save")?.open;
  main.className = "bench";
  if (!board) {
    waiting(app, main);
    return;
  }
  ui.selected = Math.min(ui.selected, board.piece_at.length - 1);
  if (ui.piece !== null && !board.aside.includes(ui.piece)) ui.piece = null;
  for (const piece of ui.marked) if (piece >= state.pieces.length) ui.marked.delete(piece);
  const grid = h("div", {
    class: `board view-${ui.view}${app.solving ? " solving" : ""}`, role: "grid",
    "aria-label": t("reconstruction"), "aria-rowcount": board.rows, "aria-colcount": board.cols,
    onKeydown: (event) => handleKey(app, event),
    onPointerdown: (event) => event.shiftKey && boxMarking(app, event, grid),
  });
  const line = h("p", { class: "caption" });
  const view = h("div", { class: "fit", dataset: { colour: app.boardColour } }, grid);
  app.drawBoard = () => {
    const shape = geometry(app);
    const ratio = (shape.width * board.cell_width) / (shape.height * board.cell_height);
    grid.style.setProperty("--ratio", ratio);
    grid.style.setProperty("aspect-ratio", String(ratio));
    grid.style.setProperty("--rows", board.rows);
    grid.style.setProperty("--cols", board.cols);
    grid.replaceChildren(...drawCells(app, shape));
    const bar = scaleBar(app, shape.width * board.cell_width);
    if (bar) grid.append(bar);
    line.textContent = caption(app);
  };
  app.focusCell = () => grid.querySelector('[tabindex="0"]')?.focus({ preventScroll: true });
  app.drawBoard();
  main.replaceChildren(
    h("section", { class: "stage", "aria-label": t("board") }, toolbar(app), view, line, tray(app), lookBar(app)),
    boardPanel(app));
  installZoom(app, view, grid);
  if (ui.loupe) installLoupe(view, grid);
  if (openMenu) main.querySelector("#save").open = true;
  if (hadFocus) app.focusCell();
  else if (focusedId) document.getElementById(focusedId)?.focus();
}

