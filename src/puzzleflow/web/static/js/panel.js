// The side panel: solving, confidence, candidates, layouts, refinement, files.

import * as api from "./api.js";
import { h, percent, say, times } from "./dom.js";

/** A field for the grid; `value()` is null for a guess. */
export function gridChoice(app) {
  const { state } = app;
  const given = state.board ?? state.grid;
  const guessed = !given || state.board?.grid_guessed;
  const select = h("select", { id: "grid" },
    h("option", { value: "", selected: guessed }, "Guess it"),
    state.grids.map((grid) => h("option", {
      value: `${grid.rows}x${grid.cols}`,
      selected: !guessed && grid.rows === given.rows && grid.cols === given.cols,
    }, `${times(grid)} (rows × columns)`)));
  const value = () => {
    if (!select.value) return null;
    const [rows, cols] = select.value.split("x").map(Number);
    return { rows, cols };
  };
  return { field: h("label", { class: "field" }, h("span", {}, "Grid"), select), value };
}

export function solverChoice(app) {
  return h("details", { open: app.methodOpen, onToggle: (event) => (app.methodOpen = event.target.open) }, h("summary", {}, "Method"),
    h("label", { class: "field" }, h("span", {}, "Solver"),
      h("select", { id: "solver", onChange: (event) => (app.solver = event.target.value) },
        app.about.solvers.map((name) => h("option", { value: name, selected: name === app.solver },
          name === app.about.default_solver ? `${name} (recommended)` : name)))));
}

/** Progress with a cancel button; keeps itself up to date. */
export function progressBox(app) {
  const bar = h("progress", { max: 1 });
  const text = h("span", {});
  app.progress = (job) => {
    text.textContent = job.message;
    if (job.fraction === null) bar.removeAttribute("value");
    else bar.value = job.fraction;
  };
  app.progress(app.state.job);
  return h("div", { class: "progress" }, h("p", { role: "status" }, text), bar,
    h("button", { type: "button", id: "cancel", onClick: app.cancel }, "Cancel"));
}

function solveSection(app) {
  const { state } = app;
  const grid = gridChoice(app);
  const pins = state.board?.pinned.length ?? 0;
  if (app.solving) return h("section", {}, h("h2", {}, "Solving"), progressBox(app));
  const board = state.board;
  const sameGrid = () => {
    const value = grid.value();
    return !value || (value.rows === board.rows && value.cols === board.cols);
  };
  return h("section", {},
    h("h2", {}, "Solve"),
    h("p", { class: "fine" },
      board.grid_guessed ? h("span", {}, h("b", {}, `${times(board)} is a guess. `), ranking(board)) : null,
      board.solver ? `Laid by “${board.solver}” in ${board.seconds.toFixed(2)} s. ` : "",
      pins ? `${pins} piece${pins === 1 ? "" : "s"} pinned.` : "No piece is pinned."),
    grid.field, solverChoice(app),
    h("button", {
      type: "button", class: "primary wide", id: "solve", title: "Solve again (S)",
      onClick: () => app.solve({ grid: pins && sameGrid() ? { rows: board.rows, cols: board.cols } : grid.value() }),
    }, pins ? "Solve again around the pins" : "Solve again"),
    h("div", { class: "row wrap" },
      pins ? h("button", { type: "button", class: "quiet", onClick: () => app.change("pin", { pinned: false }) }, "Unpin all") : null,
      h("button", { type: "button", class: "quiet", onClick: () => { app.ui.editing = true; app.render(); } }, "Fragments …")),
    h("label", { class: "check" }, h("input", {
      type: "checkbox", checked: app.pinMoved, onChange: (event) => {
        app.pinMoved = event.target.checked;
        localStorage.setItem("pin-moved", app.pinMoved ? "yes" : "no");
      },
    }), " Pin what I move"));
}

function ranking(board) {
  const others = board.ranking.filter((r) => r.rows !== board.rows || r.cols !== board.cols);
  if (!others.length) return "";
  if (board.ranking.every((entry) => entry.cost === null)) {
    return `This solver cannot compare grids; also possible: ${others.map(times).join(", ")}. `;
  }
  return `Next best: ${others.slice(0, 3).map(times).join(", ")}. `;
}

const range = (bands, index) =>
  bands[index].least > 0 ? `from ${percent(bands[index].least)}` : `below ${percent(bands[index - 1].least)}`;

function legendSection(app) {
  const { bands, unknown_colour: unknown } = app.about;
  const entry = (colour, text) => h("li", {}, h("span", { class: "swatch", style: { background: colour } }), text);
  const known = app.state.board.confidence.some((value) => value !== null);
  return h("section", { class: "legend" }, h("h2", {}, "How sure"),
    known ? null : h("p", { class: "fine" }, "This solver gives no estimates."),
    h("ul", {}, bands.map((band, index) => entry(band.colour, `${band.label} (${range(bands, index)})`)),
      entry(unknown, "no estimate: you moved it, or the solver does not say")),
    h("p", { class: "fine" }, "Colour on a piece: is it in the right cell? Bars between pieces: do the two belong together?"));
}

function selectedSection(app) {
  const { state, ui } = app;
  const { board } = state;
  const position = ui.selected;
  const piece = board.piece_at[position];
  const [row, col] = [Math.floor(position / board.cols), position % board.cols];
  const candidates = board.candidates[position];
  const pinned = board.pinned.includes(piece);
  const blocked = app.solving || pinned;
  const seams = [
    ["left", board.right_seams[row]?.[col - 1]], ["right", board.right_seams[row]?.[col]],
    ["above", board.down_seams[row - 1]?.[col]], ["below", board.down_seams[row]?.[col]],
  ].filter(([, value]) => value !== null && value !== undefined);
  return h("section", {},
    h("h2", {}, `Row ${row + 1}, column ${col + 1}`),
    h("p", {}, `Piece ${piece + 1}`, h("span", { class: "fine" }, ` ${state.pieces[piece].name} `),
      pinned ? "· pinned by you" : board.confidence[position] === null ? "· no estimate" : `· ${percent(board.confidence[position])} sure`),
    seams.length ? h("p", { class: "fine" }, "Seams: ", seams.map(([side, value]) => `${side} ${percent(value)}`).join(", ")) : null,
    h("div", { class: "row" }, h("button", {
      type: "button", "aria-pressed": String(pinned), disabled: app.solving, id: "pin",
      onClick: () => app.change("pin", { piece, pinned: !pinned }),
    }, pinned ? "Unpin" : "Pin here")),
    candidates.length ? h("p", { class: "fine" }, pinned ? "Pieces that fit here (unpin to try them):" : "Pieces that fit here, best first; click to try:") : null,
    h("ol", { class: "candidates" }, candidates.map((candidate, index) =>
      h("li", {}, h("button", {
        type: "button", disabled: blocked || candidate.piece === piece || board.pinned.includes(candidate.piece),
        title: `Try piece ${candidate.piece + 1} here (${index + 1})`,
        "aria-label": `Piece ${candidate.piece + 1}, ${percent(candidate.probability)}${candidate.piece === piece ? ", lies here" : ""}`,
        class: candidate.piece === piece ? "here" : "",
        onClick: () => app.change("place", { piece: candidate.piece, position, pin: app.pinMoved }),
      }, h("img", { src: state.pieces[candidate.piece].picture, alt: "" }), h("span", {}, percent(candidate.probability)))))));
}

function layoutSection(app) {
  const { board } = app.state;
  if (board.layouts.length < 2) return null;
  const at = board.layout_index;
  const go = (step) => {
    const next = at === null ? 0 : at + step;
    if (next >= 0 && next < board.layouts.length) app.change("choose", { index: next });
  };
  const shown = at === null ? null : board.layouts[at];
  const probable = shown?.probability ?? null;
  const possible = (step) => board.layouts[at === null ? 0 : at + step]?.fits_pins && !app.solving;
  return h("section", { "aria-label": "Whole layouts" }, h("h2", {}, "Other whole layouts"),
    h("div", { class: "row pager" },
      h("button", { type: "button", id: "layout-back", "aria-label": "Better layout", disabled: !possible(-1) || at === null, onClick: () => go(-1) }, "‹"),
      h("span", {}, at === null ? `your own (${board.layouts.length} from the solver)` : `${at + 1} of ${board.layouts.length}`,
        probable === null ? "" : ` · ${percent(probable)}`),
      h("button", { type: "button", id: "layout-next", "aria-label": "Next layout", disabled: !possible(1), onClick: () => go(1) }, "›")));
}

function traceSection(app) {
  const { board } = app.state;
  const last = board.trace.length - 1;
  if (last < 1) return null;
  const value = app.ui.step ?? last;
  return h("section", {}, h("h2", {}, "How it got there"),
    h("div", { class: "field" }, h("label", { for: "trace" }, `Step ${value} of ${last}`),
      h("input", {
        id: "trace", type: "range", min: 0, max: last, step: 1, value,
        onInput: (event) => {
          const step = Number(event.target.value);
          app.ui.step = step === last ? null : step;
          app.ui.compare = false;
          app.drawBoard();
          event.target.previousElementSibling.textContent = `Step ${step} of ${last}`;
          say(`Step ${step} of ${last}`);
        },
      })),
    h("p", { class: "fine" }, "The solver's steps, only to look at."));
}

const FILES = [
  ["picture.png", "Picture (PNG)"], ["report.html", "Report"], ["layout.json", "Layout (JSON)"],
  ["layout.csv", "Table (CSV)"], ["workbench.zip", "Workbench file"],
];

function filesSection(app) {
  return h("section", {}, h("h2", {}, "Save"),
    h("ul", { class: "files" }, FILES.map(([kind, label]) =>
      h("li", {}, h("a", { class: "button", href: api.exportAddress(app.state.id, kind), download: kind, dataset: { export: kind } }, label)))));
}

export function boardPanel(app) {
  if (!app.state.board) return h("aside", { class: "panel" }, solveSection(app));
  return h("aside", { class: "panel", "aria-label": "Tools" },
    solveSection(app), selectedSection(app), layoutSection(app), traceSection(app),
    legendSection(app), filesSection(app));
}
