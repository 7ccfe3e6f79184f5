// Cells of the board and the tray: drawn closed, as tight as outlines allow, or with a gap.

import { h, percent } from "./dom.js";
import { startDrag } from "./drag.js";
import { select, selectTray, toggleMark } from "./board.js";
import { count, t } from "./text.js";

const pictures = new Map(); // address → element, so that nothing flickers when pieces move

export function picture(piece) {
  if (!pictures.has(piece.picture)) {
    if (pictures.size > 400) pictures.clear();
    pictures.set(piece.picture, h("img", { src: piece.picture, alt: "", draggable: "false", decoding: "sync" }));
  }
  return pictures.get(piece.picture);
}

export function bandColour(app, probability) {
  if (probability === null || probability === undefined) return app.about.unknown_colour;
  return (app.about.bands.find((band) => probability >= band.least) ?? app.about.bands.at(-1)).colour;
}

/** Where rows and columns lie, in cells, with the gap that the person wants. */
export function geometry(app) {
  const { board } = app.state;
  const gap = app.gap;
  const spread = (places) => places.map((place, index) => place + gap * index);
  const [lefts, tops] = [spread(board.lefts), spread(board.tops)];
  const width = board.width + gap * (board.cols - 1);
  const height = board.height + gap * (board.rows - 1);
  // every cell takes clicks up to half-way to its neighbour, though outlines reach further
  const slots = (places, whole) => places.map((place, index) => {
    const from = index ? (places[index - 1] + 1 + place) / 2 : 0;
    const to = index + 1 < places.length ? (place + 1 + places[index + 1]) / 2 : whole;
    return [from, Math.max(to - from, 0.05)];
  });
  return { lefts, tops, width, height, columns: slots(lefts, width), rows: slots(tops, height) };
}

function pieceImage(app, piece, place) {
  const { board } = app.state;
  const info = app.state.pieces[piece];
  const [wide, tall] = [info.width / board.cell_width, info.height / board.cell_height];
  return h("span", {
    class: "piece",
    style: {
      left: `${(100 * (place.left + (1 - wide) / 2 - place.column[0])) / place.column[1]}%`,
      top: `${(100 * (place.top + (1 - tall) / 2 - place.row[0])) / place.row[1]}%`,
      width: `${(100 * wide) / place.column[1]}%`, height: `${(100 * tall) / place.row[1]}%`,
    },
  }, picture(info));
}

function pinButton(app, piece, pinned, onPin) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", "M5 1h6v1.5l-1 .8v3.4l2.5 2.3v1.5H8.8V15L8 16l-.8-1v-4.5H3.5V9L6 6.7V3.3l-1-.8z");
  svg.append(path);
  return h("button", {
    type: "button", class: "pin", tabindex: "-1", "aria-label": t(pinned ? "unpin-piece" : "pin-piece", { n: piece + 1 }),
    title: `${t(pinned ? "unpin" : "pin-here")} (P)`, disabled: app.solving,
    onPointerdown: (event) => event.stopPropagation(),
    onClick: (event) => {
      event.stopPropagation();
      onPin();
      app.change("pin", { pieces: [piece], pinned: !pinned });
    },
  }, svg);
}

export function cell(app, shape, position, pieces) {
  const { state, ui } = app;
  const { board } = state;
  const live = !ui.compare && ui.step === null;
  const piece = pieces.at(-1) ?? -1;
  const row = Math.floor(position / board.cols);
  const col = position % board.cols;
  const pinned = live && board.pinned.includes(piece);
  const sure = live ? board.confidence[position] : null;
  const classes = ["cell"];
  const chosen = ui.selected === position && ui.piece === null;
  if (piece < 0) classes.push("empty");
  if (chosen) classes.push("selected");
  if (ui.picked !== null && ui.picked === piece && live) classes.push("picked");
  if (live && ui.marked.has(piece)) classes.push("marked");
  if (pinned) classes.push("pinned");
  if (!live && piece !== board.piece_at[position]) classes.push("differs");
  if (live && ui.check && board.right) classes.push(board.right[position] ? "right" : "wrong");
  const label = [
    t("row-column", { row: row + 1, col: col + 1 }),
    piece < 0 ? t("empty") : t("piece-n", { n: piece + 1 }),
    pinned ? t("pinned-word") : live && sure !== null ? t("sure", { p: percent(sure) }) : "",
    live && ui.marked.has(piece) ? t("chosen-word") : "",
    live && ui.check && board.right ? t(board.right[position] ? "right-word" : "wrong-word") : "",
  ].filter(Boolean).join(", ");
  const place = { left: shape.lefts[col], top: shape.tops[row], column: shape.columns[col], row: shape.rows[row] };
  const element = h("div", {
    class: classes.join(" "), role: "gridcell", tabindex: chosen ? "0" : "-1",
    "aria-label": label, "aria-selected": String(chosen),
    dataset: { position, piece: piece < 0 ? "" : piece },
    style: {
      left: `${(100 * place.column[0]) / shape.width}%`, width: `${(100 * place.column[1]) / shape.width}%`,
      top: `${(100 * place.row[0]) / shape.height}%`, height: `${(100 * place.row[1]) / shape.height}%`,
      "--band": pinned || piece < 0 ? "transparent" : bandColour(app, sure),
    },
    onPointerdown: (event) => live && !app.solving && !event.shiftKey && piece >= 0 && startDrag(app, event, piece),
    onClick: (event) => (event.shiftKey && piece >= 0 ? toggleMark(app, piece) : select(app, position)),
  },
  piece >= 0 ? pieceImage(app, piece, place) : h("span", { class: "hole", "aria-hidden": "true" }),
  live && ui.view === "confidence" && piece >= 0 && !pinned
    ? h("span", { class: "sure", style: { background: bandColour(app, sure) } }, percent(sure)) : null,
  pieces.length > 1 ? h("span", { class: "many" }, count("pieces", pieces.length)) : null,
  live && piece >= 0 ? pinButton(app, piece, pinned, () => Object.assign(ui, { selected: position, piece: null })) : null);
  return element;
}

/** Bars between pieces: do the two belong together? */
export function seams(app, shape) {
  const { board } = app.state;
  if (app.ui.view !== "confidence" || app.ui.compare || app.ui.step !== null) return [];
  const middle = ([from, length]) => from + length / 2;
  const bar = (kind, row, col, value) => (value === null ? null : h("span", {
    class: `seam ${kind}`, title: percent(value),
    style: {
      left: `${(100 * (kind === "right" ? shape.columns[col + 1][0] : middle(shape.columns[col]))) / shape.width}%`,
      top: `${(100 * (kind === "right" ? middle(shape.rows[row]) : shape.rows[row + 1][0])) / shape.height}%`,
      background: bandColour(app, value), "--cols": board.cols, "--rows": board.rows,
    },
  }));
  return [
    ...board.right_seams.flatMap((line, row) => line.map((value, col) => bar("right", row, col, value))),
    ...board.down_seams.flatMap((line, row) => line.map((value, col) => bar("down", row, col, value))),
  ].filter(Boolean);
}

/** Pieces that belong nowhere, or wait. */
export function tray(app) {
  const { board } = app.state;
  const { ui } = app;
  const shown = board.aside.length > 0 || board.piece_at.includes(-1);
  return h("section", { class: `waiting-tray${shown ? "" : " idle"}`, "aria-label": t("tray") },
    h("h2", {}, t("tray")), board.aside.length ? null : h("p", { class: "fine" }, t("tray-empty")),
    h("ul", {}, board.aside.map((piece, index) => {
      const pinned = board.pinned.includes(piece);
      const sure = board.aside_confidence[index];
      return h("li", {}, h("button", {
        type: "button", dataset: { tray: piece },
        class: `waiting${ui.piece === piece ? " selected" : ""}${pinned ? " pinned" : ""}${ui.picked === piece ? " picked" : ""}`,
        "aria-label": [t("piece-n", { n: piece + 1 }), pinned ? t("pinned-aside") : "", sure === null ? "" : t("sure", { p: percent(sure) })].filter(Boolean).join(", "),
        onPointerdown: (event) => !app.solving && startDrag(app, event, piece),
        onClick: () => selectTray(app, piece),
      }, h("img", { src: app.state.pieces[piece].picture, alt: "", draggable: "false" }), h("span", {}, piece + 1)));
    })));
}
