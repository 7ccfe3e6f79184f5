// The side panel of the board: solving, the chosen cell, several pieces, layouts, refinement.

import { h, percent, say } from "./dom.js";
import { solveSection } from "./solve_panel.js";
import { noteFields } from "./sheet.js";
import { count, t } from "./text.js";

const range = (bands, index) => (bands[index].least > 0
  ? t("from", { p: percent(bands[index].least) }) : t("less-than", { p: percent(bands[index - 1].least) }));

export function legendSection(app, values) {
  const { bands, unknown_colour: unknown } = app.about;
  const entry = (colour, text) => h("li", {}, h("span", { class: "swatch", style: { background: colour } }), text);
  return h("section", { class: "legend" }, h("h2", {}, t("how-sure")),
    values.some((value) => value !== null) ? null : h("p", { class: "fine" }, t("no-estimates")),
    h("ul", {}, bands.map((band, index) => entry(band.colour, `${t(`band-${index}`)} (${range(bands, index)})`)),
      entry(unknown, t("band-unknown")), entry("transparent", t("band-pinned"))),
    h("p", { class: "fine" }, t("legend-text")));
}

function selectedSection(app) {
  const { state, ui } = app;
  const { board } = state;
  const position = ui.selected;
  const piece = ui.piece ?? board.piece_at[position];
  const inTray = ui.piece !== null;
  const [row, col] = [Math.floor(position / board.cols), position % board.cols];
  const candidates = inTray ? [] : board.candidates[position];
  const pinned = board.pinned.includes(piece);
  const seams = inTray ? [] : [
    ["left", board.right_seams[row]?.[col - 1]], ["right", board.right_seams[row]?.[col]],
    ["above", board.down_seams[row - 1]?.[col]], ["below", board.down_seams[row]?.[col]],
  ].filter(([, value]) => value !== null && value !== undefined);
  const sure = inTray ? board.aside_confidence[board.aside.indexOf(piece)] : board.confidence[position];
  const button = (id, text, onClick, extra = {}) => h("button", { type: "button", id, disabled: app.solving, onClick, ...extra }, text);
  const title = inTray ? t("in-tray") : t("row-column", { row: row + 1, col: col + 1 });
  if (piece < 0) {
    return h("section", {}, h("h2", {}, title), h("p", {}, t("empty-cell")), candidateList(app, position, piece, candidates));
  }
  return h("section", {},
    h("h2", {}, title),
    h("p", {}, t("piece-n", { n: piece + 1 }), h("span", { class: "fine" }, ` ${state.pieces[piece].inventory || state.pieces[piece].name} `),
      pinned ? `· ${t(inTray ? "pinned-aside" : "pinned-by-you")}` : sure === null || sure === undefined ? `· ${t("no-estimate")}` : `· ${t("sure", { p: percent(sure) })}`),
    seams.length ? h("p", { class: "fine" }, t("seams"), " ", seams.map(([side, value]) => `${t(side)} ${percent(value)}`).join(", ")) : null,
    h("div", { class: "row wrap" },
      button("pin", t(pinned ? "unpin" : inTray ? "belongs-nowhere" : "pin-here"), () => app.change("pin", { pieces: [piece], pinned: !pinned }), { "aria-pressed": String(pinned) }),
      button("turn-left", "↺", () => app.change("turn", { pieces: [piece], quarter_turns: 1 }), { "aria-label": t("turn-left"), title: `${t("turn-left")} (R)` }),
      button("turn-right", "↻", () => app.change("turn", { pieces: [piece], quarter_turns: -1 }), { "aria-label": t("turn-right") }),
      inTray ? null : button("aside", t("put-aside"), () => app.change("place", { piece, position: -1 }), { title: `${t("put-aside")} (Delete)`, disabled: app.solving || pinned })),
    candidateList(app, position, piece, candidates, pinned),
    noteFields(app, piece));
}

function candidateList(app, position, piece, candidates, pinned = false) {
  if (!candidates.length) return null;
  const { state } = app;
  return [
    h("p", { class: "fine" }, t(pinned ? "candidates-pinned" : "candidates")),
    h("ol", { class: "candidates" }, candidates.map((candidate, index) => h("li", {}, h("button", {
      type: "button", class: candidate.piece === piece ? "here" : "",
      disabled: app.solving || pinned || candidate.piece === piece || state.board.pinned.includes(candidate.piece),
      title: t("try-piece", { n: candidate.piece + 1, key: index + 1 }),
      "aria-label": t(candidate.piece === piece ? "candidate-here" : "candidate", { n: candidate.piece + 1, p: percent(candidate.probability) }),
      onClick: () => app.change("place", { piece: candidate.piece, position, pin: app.pinMoved }),
    }, h("img", { src: state.pieces[candidate.piece].picture, alt: "" }), h("span", {}, percent(candidate.probability)))))),
  ];
}

function severalSection(app) {
  const { ui, state } = app;
  const pieces = [...ui.marked];
  if (pieces.length < 2) return null;
  const { board } = state;
  const act = (action, body) => () => app.change(action, { pieces, ...body });
  const button = (text, onClick, extra = {}) => h("button", { type: "button", disabled: app.solving, onClick, ...extra }, text);
  const together = board.groups.some((group) => pieces.every((piece) => group.includes(piece)));
  const arrow = (text, label, rows, cols) => button(text, act("shift", { rows, cols }), { "aria-label": t(label), class: "icon" });
  return h("section", { id: "several" }, h("h2", {}, count("pieces-chosen", pieces.length)),
    h("div", { class: "row wrap" },
      button(t("pin-all"), act("pin", { pinned: true })), button(t("unpin"), act("pin", { pinned: false })),
      button(t(together ? "not-together" : "together"), act("join", { together: !together }), { id: "together", title: t("together-text") }),
      button("↺", act("turn", { quarter_turns: 1 }), { "aria-label": t("turn-left") }),
      button(t("choose-none"), () => { ui.marked.clear(); app.render(); })),
    h("div", { class: "row", role: "group", "aria-label": t("move-block") }, h("span", { class: "fine" }, t("move-block")),
      arrow("←", "block-left", 0, -1), arrow("→", "block-right", 0, 1), arrow("↑", "block-up", -1, 0), arrow("↓", "block-down", 1, 0)));
}

function layoutSection(app) {
  const { board } = app.state;
  if (board.layouts.length < 2) return null;
  const at = board.layout_index;
  const go = (step) => {
    const next = at === null ? 0 : at + step;
    if (next >= 0 && next < board.layouts.length) app.change("choose", { index: next });
  };
  const probable = at === null ? null : board.layouts[at].probability;
  const possible = (step) => board.layouts[at === null ? 0 : at + step]?.fits_pins && !app.solving;
  return h("section", { "aria-label": t("layouts") }, h("h2", {}, t("layouts")),
    h("div", { class: "row pager" },
      h("button", { type: "button", id: "layout-back", "aria-label": t("better-layout"), disabled: !possible(-1) || at === null, onClick: () => go(-1) }, "‹"),
      h("span", {}, at === null ? t("own-layout", { n: board.layouts.length }) : t("layout-n", { at: at + 1, n: board.layouts.length }),
        probable === null ? "" : ` · ${percent(probable)}`),
      h("button", { type: "button", id: "layout-next", "aria-label": t("next-layout"), disabled: !possible(1), onClick: () => go(1) }, "›")));
}

function traceSection(app) {
  const { board } = app.state;
  const last = board.trace.length - 1;
  if (last < 1) return null;
  const value = app.ui.step ?? last;
  const text = (step) => t("step-n", { step, last });
  return h("section", {}, h("h2", {}, t("trace")),
    h("div", { class: "field" }, h("label", { for: "trace" }, text(value)),
      h("input", {
        id: "trace", type: "range", min: 0, max: last, step: 1, value,
        onInput: (event) => {
          const step = Number(event.target.value);
          app.ui.step = step === last ? null : step;
          app.ui.compare = false;
          app.drawBoard();
          event.target.previousElementSibling.textContent = text(step);
          say(text(step));
        },
      })),
    h("p", { class: "fine" }, t("trace-text")));
}

function remarks(app) {
  return app.state.remarks.map(({ what, number }) => h("p", { class: "note" }, t(`remark-${what}`, { p: percent(number) })));
}

export function boardPanel(app) {
  const properties = { class: "panel", "aria-label": t("tools") };
  if (!app.state.board) return h("aside", properties, solveSection(app));
  return h("aside", properties, remarks(app),
    solveSection(app), severalSection(app), selectedSection(app), layoutSection(app), traceSection(app),
    legendSection(app, app.state.board.confidence));
}
