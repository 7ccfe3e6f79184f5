// The page: which screen is shown, how work is started, where errors go.

import * as api from "./api.js";
import { $, busy, calm, complain, say, times } from "./dom.js";
import { boardScreen } from "./board.js";
import { fragmentScreen } from "./fragments.js";
import { startScreen } from "./start.js";
import { installDrops } from "./drops.js";
import { installKeys } from "./keys.js";
import { installTheme } from "./theme.js";

const fresh = () => ({
  selected: 0, picked: null, view: "picture", compare: false, step: null, check: false, chosen: new Set(),
  editing: false,
});

export const app = {
  about: null,
  state: null,
  ui: fresh(),
  pinMoved: localStorage.getItem("pin-moved") === "yes",
  solver: null,
  methodOpen: false,

  /** Run `action`; an error is shown, never lost. */
  async attempt(action) {
    calm();
    try {
      return await action();
    } catch (error) {
      complain(error.message);
      if (error.status === 404 && app.state) await app.refresh(true);
      return null;
    }
  },

  /** Show a state that the server gave. */
  show(state) {
    const other = !app.state || app.state.id !== state.id;
    if (other) app.ui = fresh();
    app.state = state;
    location.hash = `w=${state.id}`;
    app.render();
  },

  async refresh(quiet = false) {
    try {
      app.show(await api.read(app.state.id));
    } catch (error) {
      if (!quiet) throw error;
      app.leave();
    }
  },

  leave() {
    app.state = null;
    app.ui = fresh();
    history.replaceState(null, "", location.pathname);
    app.render();
  },

  /** Change the workbench: POST `action`. */
  change: (action, body) =>
    app.attempt(async () => {
      app.ui.compare = false;
      app.ui.step = null;
      app.show(await api.change(app.state.id, action, body));
      return true;
    }),

  /** Open a workbench with `opening`; puzzles of a known grid are solved at once. */
  open: (text, opening) =>
    app.attempt(async () => {
      const state = await busy(text, opening());
      $("#main").focus();
      if (!state.grid || state.board) {
        app.show(state);
        return;
      }
      Object.assign(app, { state, ui: fresh() });
      location.hash = `w=${state.id}`;
      await app.solve({ grid: state.grid });
      if (!app.state?.board) app.render(); // refused or failed: the pieces are there all the same
    }),

  /** Solve and follow the job until it ends. */
  solve: (request = {}) =>
    app.attempt(async () => {
      app.ui.compare = false;
      app.ui.step = null;
      app.ui.picked = null;
      const { id } = app.state;
      app.state.job = await api.solve(id, { solver: app.solver, ...request });
      app.ui.editing = false;
      app.render();
      await app.follow(id);
    }),

  async follow(id) {
    let job = app.state.job;
    while (job.status === "waiting" || job.status === "running") {
      job = await api.job(id, job.changes);
      if (app.state?.id !== id) return;
      app.state.job = job;
      app.progress?.(job);
    }
    await app.refresh();
    if (job.status === "failed") complain(job.message);
    else if (job.status === "done") {
      const board = app.state.board;
      say(`Solved: ${board.piece_at.length} pieces on ${times(board)}.`);
    } else say("Cancelled.");
  },

  cancel: () => app.attempt(() => api.cancel(app.state.id)),

  get solving() {
    return ["waiting", "running"].includes(app.state?.job?.status);
  },

  render() {
    const { state, ui } = app;
    $("#title").textContent = state ? state.title : "Workbench";
    document.title = state ? `${state.title} – PuzzleFlow` : "PuzzleFlow workbench";
    $("#new").hidden = !state;
    app.progress = null;
    const screen = !state
      ? startScreen
      : (state.board || (app.solving && state.origin !== "photo")) && !ui.editing
        ? boardScreen
        : fragmentScreen;
    screen(app, $("#main"));
  },
};

async function begin() {
  installTheme();
  installDrops(app);
  installKeys(app);
  for (const id of ["home", "new"]) {
    $(`#${id}`).addEventListener("click", (event) => {
      event.preventDefault();
      app.leave();
    });
  }
  $("#help").addEventListener("click", () => $("#keys").showModal());
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) dialog.close(button.value);
      else if (event.target === dialog) dialog.close("");
    });
  }
  await app.attempt(async () => {
    app.about = await api.about();
    app.solver = app.about.default_solver;
  });
  if (!app.about) return;
  const asked = location.hash.match(/^#w=([\w-]+)$/);
  if (asked) {
    try {
      app.show(await api.read(asked[1]));
      if (app.solving) await app.attempt(() => app.follow(app.state.id));
      return;
    } catch (error) {
      app.leave();
      complain(error.message);
      return;
    }
  }
  app.render();
}

begin();
