// What to solve and how: grid, what may be amiss, method, progress.

import { h, percent, times } from "./dom.js";
import { count, known, spoken, t } from "./text.js";

const name = (grid) => {
  const extra = grid.missing ? `, ${count("missing", grid.missing)}` : grid.extra ? `, ${count("left-over", grid.extra)}` : "";
  return `${times(grid)}${extra}`;
};

/** A field for the grid; `request()` is what to ask the server for. */
export function gridChoice(app) {
  const { state } = app;
  const given = state.board ?? state.grid;
  const guessed = !given || state.board?.grid_guessed;
  const select = h("select", { id: "grid" },
    h("option", { value: "", selected: guessed }, t("guess-grid")),
    state.grids.map((grid, index) => h("option", {
      value: index, selected: !guessed && grid.rows === given.rows && grid.cols === given.cols,
    }, name(grid))));
  const request = () => {
    const { foreign, turned } = app.open_world;
    if (!select.value) return { grid: null, foreign, turned };
    const { rows, cols, missing, extra } = state.grids[Number(select.value)];
    return { grid: { rows, cols }, missing: missing + foreign, foreign: Math.max(foreign, extra), turned };
  };
  return { field: h("label", { class: "field" }, h("span", {}, t("grid")), select), request };
}

/** Pieces that may not belong, or lie turned. */
export function looseFields(app) {
  const loose = app.open_world;
  return h("details", { id: "amiss", open: Boolean(loose.foreign || loose.turned) }, h("summary", {}, t("amiss")),
    h("label", { class: "field" }, h("span", {}, t("foreign")),
      h("select", { id: "foreign", onChange: (event) => (loose.foreign = Number(event.target.value)) },
        [0, 1, 2, 3].map((n) => h("option", { value: n, selected: n === loose.foreign }, n ? t("up-to", { n }) : t("none"))))),
    h("label", { class: "check" }, h("input", {
      type: "checkbox", id: "turned", checked: loose.turned, onChange: (event) => (loose.turned = event.target.checked),
    }), " ", t("may-be-turned")),
    h("p", { class: "fine" }, t("amiss-text")));
}

export function solverChoice(app) {
  const about = (solver) => (known(`method-${solver}`) ? t(`method-${solver}`) : "");
  const told = h("p", { class: "fine" }, about(app.solver));
  return h("details", { id: "method", open: app.methodOpen, onToggle: (event) => (app.methodOpen = event.target.open) },
    h("summary", {}, t("method")),
    h("label", { class: "field" }, h("span", {}, t("solver")),
      h("select", {
        id: "solver", onChange: (event) => {
          app.solver = event.target.value;
          told.textContent = about(app.solver);
        },
      }, app.about.solvers.map((solver) => h("option", { value: solver, selected: solver === app.solver, title: about(solver) },
        solver === app.about.default_solver ? t("recommended", { name: solver }) : solver)))),
    told);
}

/** Progress with a cancel button; keeps itself up to date. */
export function progressBox(app) {
  const bar = h("progress", { max: 1, "aria-label": t("progress") });
  const text = h("span", {});
  app.progress = (job) => {
    text.textContent = spoken(job.message);
    if (job.fraction === null) bar.removeAttribute("value");
    else bar.value = job.fraction;
  };
  app.progress(app.state.job);
  return h("div", { class: "progress" }, h("p", { role: "status" }, text), bar,
    h("button", { type: "button", id: "cancel", onClick: app.cancel }, t("cancel")));
}

function ranking(board) {
  const others = board.ranking.filter((r) => r.rows !== board.rows || r.cols !== board.cols).slice(0, 3);
  if (!others.length) return "";
  const told = (r) => (r.probability === null ? times(r) : `${times(r)} (${percent(r.probability)})`);
  const unknown = board.ranking.every((entry) => entry.cost === null && entry.probability === null);
  return t(unknown ? "grids-unknown" : "grids-next", { grids: others.map(told).join(", ") });
}

export function solveSection(app) {
  const { state } = app;
  if (app.solving) return h("section", {}, h("h2", {}, t("solving")), progressBox(app));
  const { board } = state;
  const grid = gridChoice(app);
  const pins = board.pinned.length;
  const empty = board.piece_at.filter((piece) => piece < 0).length;
  return h("section", {},
    h("h2", {}, t("solve")),
    h("p", { class: "fine" },
      board.grid_guessed ? h("span", {}, h("b", {}, t("a-guess", { grid: times(board) })), " ", ranking(board), " ") : null,
      board.solver ? `${t("laid-by", { solver: board.solver, seconds: board.seconds.toFixed(2) })} ` : "",
      empty ? `${count("empty-cells", empty)} ` : "",
      pins ? count("pinned", pins) : t("nothing-pinned")),
    board.given_pins ? h("p", { class: "note", id: "given-pins" }, count("given-pins", board.given_pins)) : null,
    grid.field, looseFields(app), solverChoice(app),
    h("button", {
      type: "button", class: "primary wide", id: "solve", title: `${t("solve-again")} (S)`,
      onClick: () => app.solve(grid.request()),
    }, t(pins ? "solve-around-pins" : "solve-again")),
    h("div", { class: "row wrap" },
      pins ? h("button", { type: "button", class: "quiet", onClick: () => app.change("pin", { pinned: false }) }, t("unpin-all")) : null,
      h("button", { type: "button", class: "quiet", id: "to-fragments", onClick: () => app.to("fragments") }, t("fragments-more")),
      h("button", {
        type: "button", class: "quiet", onClick: async () => { if (await app.change("free/begin")) app.to("free"); },
      }, t("place-freely"))),
    h("label", { class: "check" }, h("input", {
      type: "checkbox", checked: app.pinMoved, onChange: (event) => {
        app.pinMoved = event.target.checked;
        localStorage.setItem("pin-moved", app.pinMoved ? "yes" : "no");
      },
    }), " ", t("pin-moved")));
}
