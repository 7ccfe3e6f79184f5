// The board: pieces in their cells, dragged, pinned, compared.

import { h, percent, say } from "./dom.js";
import { boardPanel } from "./panel.js";
import { startDrag } from "./drag.js";
import { handleKey } from "./keys.js";

const pictures = new Map(); // address → element, so that nothing flickers when pieces move

function picture(piece) {
  if (!pictures.has(piece.picture)) {
    if (pictures.size > 400) pictures.clear();
    pictures.set(piece.picture, h("img", { src: piece.picture, alt: "", draggable: "false", decoding: "sync" }));
  }
  return pictures.get(piece.picture);
}

function bandColour(app, probability) {
  if (probability === null || probability === undefined) return app.about.unknown_colour;
  return (app.about.bands.find((band) => probability >= band.least) ?? app.about.bands.at(-1)).colour;
}

/** What lies where: now, before, or at a step of the solver. A list of pieces per position. */
function shownPieces(app) {
  const { board } = app.state;
  const { ui } = app;
  if (ui.compare && board.previous) return board.previous.piece_at.map((piece) => [piece]);
  if (ui.step !== null && board.trace[ui.step]) {
    const cells = board.piece_at.map(() => []);
    board.trace[ui.step].forEach((position, piece) => cells[position].push(piece));
    return cells;
  }
  return board.piece_at.map((piece) => [piece]);
}

function cell(app, position, pieces) {
  const { state, ui } = app;
  const { board } = state;
  const live = !ui.compare && ui.step === null;
  const piece = pieces.at(-1);
  const row = Math.floor(position / board.cols);
  const col = position % board.cols;
  const pinned = live && board.pinned.includes(piece);
  const sure = board.confidence[position];
  const classes = ["cell"];
  if (ui.selected === position) classes.push("selected");
  if (ui.picked !== null && board.piece_at[ui.picked] === piece && live) classes.push("picked");
  if (pinned) classes.push("pinned");
  if (!live && piece !== board.piece_at[position]) classes.push("differs");
  if (live && ui.check && board.right) classes.push(board.right[position] ? "right" : "wrong");
  const info = piece === undefined ? null : state.pieces[piece];
  const label = [
    `Row ${row + 1}, column ${col + 1}`,
    piece === undefined ? "empty" : `piece ${piece + 1}`,
    pinned ? "pinned" : live && sure !== null ? `${percent(sure)} sure` : "",
    live && ui.check && board.right ? (board.right[position] ? "right" : "wrong") : "",
  ].filter(Boolean).join(", ");
  const size = info && { width: `${(100 * info.width) / board.cell_width}%`, height: `${(100 * info.height) / board.cell_height}%` };
  return h("div", {
    class: classes.join(" "), role: "gridcell", tabindex: ui.selected === position ? "0" : "-1",
    "aria-label": label, "aria-selected": String(ui.selected === position),
    dataset: { position, piece: piece ?? "" },
    onPointerdown: (event) => live && !app.solving && startDrag(app, event, position),
    onClick: () => select(app, position),
  },
  info && h("span", { class: "piece", style: size }, picture(info),
    live ? h("span", {
      class: "tint",
      style: {
        "--shape": `url("${new URL(info.picture, document.baseURI)}")`,
        background: pinned ? "transparent" : bandColour(app, sure),
      },
    }) : null),
  live && app.ui.view === "confidence" && !pinned ? h("span", { class: "sure", style: { background: bandColour(app, sure) } }, percent(sure)) : null,
  pieces.length > 1 ? h("span", { class: "many" }, `${pieces.length} pieces`) : null,
  live ? h("button", {
    type: "button", class: "pin", tabindex: "-1", "aria-label": `${pinned ? "Unpin" : "Pin"} piece ${piece + 1}`,
    title: pinned ? "Unpin (P)" : "Pin here (P)", disabled: app.solving,
    onPointerdown: (event) => event.stopPropagation(),
    onClick: (event) => {
      event.stopPropagation();
      app.ui.selected = position;
      app.change("pin", { piece, pinned: !pinned });
    },
  }, pinShape()) : null);
}

function pinShape() {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", "M5 1h6v1.5l-1 .8v3.4l2.5 2.3v1.5H8.8V15L8 16l-.8-1v-4.5H3.5V9L6 6.7V3.3l-1-.8z");
  svg.append(path);
  return svg;
}

function seams(app) {
  const { board } = app.state;
  const { rows, cols } = board;
  if (app.ui.view !== "confidence" || app.ui.compare || app.ui.step !== null) return [];
  const bar = (kind, row, col, value) => value === null ? null : h("span", {
    class: `seam ${kind}`, title: `${percent(value)}`,
    style: {
      left: `${(100 * (col + (kind === "right" ? 1 : 0.5))) / cols}%`,
      top: `${(100 * (row + (kind === "right" ? 0.5 : 1))) / rows}%`,
      background: bandColour(app, value), "--cols": cols, "--rows": rows,
    },
  });
  return [
    ...board.right_seams.flatMap((line, row) => line.map((value, col) => bar("right", row, col, value))),
    ...board.down_seams.flatMap((line, row) => line.map((value, col) => bar("down", row, col, value))),
  ];
}

/** Choose a cell; the panel tells about it. */
export function select(app, position) {
  app.ui.selected = position;
  app.render();
  app.focusCell();
}

function caption(app) {
  const { board } = app.state;
  const { ui } = app;
  if (ui.compare && board.previous) {
    const moved = board.previous.piece_at.filter((piece, at) => piece !== board.piece_at[at]).length;
    return `Before: ${moved} piece${moved === 1 ? "" : "s"} lay elsewhere (marked).`;
  }
  if (ui.step !== null) return `Step ${ui.step} of ${board.trace.length - 1} of the solver.`;
  if (ui.picked !== null) return `Piece ${board.piece_at[ui.picked] + 1} is taken up: go to a cell and press Enter.`;
  if (ui.check && board.right) return `${board.right.filter(Boolean).length} of ${board.right.length} pieces are where they belong.`;
  return `${board.rows} × ${board.cols}${board.grid_guessed ? ", a guess" : ""} · last: ${board.label}`;
}

function toolbar(app) {
  const { board } = app.state;
  const { ui } = app;
  const button = (text, title, enabled, onClick, extra = {}) =>
    h("button", { type: "button", title, disabled: !enabled || app.solving, onClick, ...extra }, text);
  const view = (name, text) => h("button", {
    type: "button", "aria-pressed": String(ui.view === name), id: `view-${name}`,
    onClick: () => { ui.view = name; app.render(); },
  }, text);
  return h("div", { class: "toolbar", role: "toolbar", "aria-label": "Board" },
    button("↶ Undo", board.undo ? `Undo: ${board.undo} (Ctrl+Z)` : "Nothing to undo", board.undo, () => app.change("undo"), { id: "undo" }),
    button("↷ Redo", board.redo ? `Redo: ${board.redo} (Ctrl+Y)` : "Nothing to redo", board.redo, () => app.change("redo"), { id: "redo" }),
    button("Compare", "Show the arrangement before (C)", board.previous, () => toggleCompare(app),
      { id: "compare", "aria-pressed": String(ui.compare) }),
    h("span", { class: "group", role: "group", "aria-label": "View" }, view("picture", "Picture"), view("confidence", "Confidence")),
    board.right ? h("button", {
      type: "button", id: "check", "aria-pressed": String(ui.check),
      onClick: () => { ui.check = !ui.check; app.render(); say(caption(app)); },
    }, "Check") : null);
}

export function toggleCompare(app) {
  if (!app.state.board.previous) return;
  app.ui.compare = !app.ui.compare;
  app.ui.step = null;
  app.render();
  say(caption(app));
}

function drawCells(app) {
  const { board } = app.state;
  const shown = shownPieces(app);
  const rows = Array.from({ length: board.rows }, (_, row) =>
    h("div", { role: "row", class: "cells" }, shown.slice(row * board.cols, (row + 1) * board.cols)
      .map((pieces, col) => cell(app, row * board.cols + col, pieces))));
  return [...rows, ...seams(app)];
}

export function boardScreen(app, main) {
  const { state, ui } = app;
  const { board } = state;
  const hadFocus = main.querySelector(".board")?.contains(document.activeElement);
  const focusedId = document.activeElement?.id;
  main.className = "bench";
  if (!board) {
    main.replaceChildren(
      h("section", { class: "stage" }, h("div", { class: "tray waiting" }, state.pieces.map((piece) =>
        h("span", { class: "fragment" }, h("img", { src: piece.picture, alt: "" }))))),
      boardPanel(app));
    return;
  }
  ui.selected = Math.min(ui.selected, board.piece_at.length - 1);
  const ratio = (board.cols * board.cell_width) / (board.rows * board.cell_height);
  const grid = h("div", {
    class: `board view-${ui.view}${app.solving ? " solving" : ""}`, role: "grid",
    "aria-label": "Reconstruction", "aria-rowcount": board.rows, "aria-colcount": board.cols,
    style: { "--ratio": ratio, "--rows": board.rows, "--cols": board.cols, "aspect-ratio": String(ratio) },
    onKeydown: (event) => handleKey(app, event),
  });
  const line = h("p", { class: "caption" });
  app.drawBoard = () => {
    grid.replaceChildren(...drawCells(app).filter(Boolean));
    line.textContent = caption(app);
  };
  app.focusCell = () => grid.querySelector('[tabindex="0"]')?.focus();
  app.drawBoard();
  main.replaceChildren(h("section", { class: "stage", "aria-label": "Board" }, toolbar(app), h("div", { class: "fit" }, grid), line), boardPanel(app));
  if (hadFocus) app.focusCell();
  else if (focusedId) document.getElementById(focusedId)?.focus();
}
