// The page: which screen is shown, how work is started, where errors go.

import * as api from "./api.js";
import { $, busy, calm, complain, h, say, times } from "./dom.js";
import { LANGUAGES, count, language, loadTexts, spoken, t } from "./text.js";
import { boardScreen } from "./board.js";
import { fragmentScreen } from "./fragments.js";
import { freeScreen } from "./free.js";
import { startScreen } from "./start.js";
import { askWith, installDrops } from "./drops.js";
import { installKeys } from "./keys.js";
import { installSheet } from "./sheet.js";
import { installTheme } from "./theme.js";

const kept = (key, otherwise) => localStorage.getItem(key) ?? otherwise;

const fresh = () => ({
  screen: "board", selected: 0, picked: null, marked: new Set(), view: "picture", compare: false, step: null,
  check: false, chosen: new Set(), tool: null, zoom: { scale: 1, x: 0, y: 0 }, loupe: false, piece: null, fits: null,
});

export const app = {
  about: null,
  state: null,
  ui: fresh(),
  pinMoved: kept("pin-moved") === "yes",
  gap: Number(kept("gap", "0")),
  boardColour: kept("board-colour", "theme"),
  open_world: { foreign: 0, turned: false },
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

  /** Show a state that the server gave, and tell other tabs. */
  show(state, screen = null) {
    const other = !app.state || app.state.id !== state.id;
    if (other) app.ui = fresh();
    if (!other && app.state.revision !== state.revision) tabs.postMessage({ id: state.id, revision: state.revision });
    app.state = state;
    app.ui.screen = screen ?? app.ui.screen;
    if (app.ui.screen === "board" && !state.board && !app.solving) app.ui.screen = "fragments";
    if (app.ui.screen === "free" && !state.free) app.ui.screen = "fragments";
    app.address();
    app.render();
  },

  /** The address says what is shown, so that back, forward and pasted links follow. */
  address() {
    const { state, ui } = app;
    const wanted = state ? `#w=${state.id}${ui.screen === "board" ? "" : `/${ui.screen}`}` : "#";
    if ((location.hash || "#") === wanted) return;
    app.routed = wanted;
    location.hash = wanted;
  },

  to(screen) {
    app.ui.screen = screen;
    app.address();
    app.render();
    toStage();
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
    app.address();
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
        app.show(state, state.board ? "board" : "fragments");
        if (app.solving) await app.follow(state.id);
        return;
      }
      Object.assign(app, { state, ui: fresh() });
      app.address();
      await app.solve({ grid: state.grid });
      if (!app.state?.board) app.to("fragments"); // refused or failed: the pieces are there all the same
    }),

  /** Solve and follow the job until it ends. */
  solve: (request = {}) => app.work("solve", { solver: app.solver, ...request }, "board"),

  /** Start work of the server with POST `action`, then follow it. */
  work: (action, body, screen) =>
    app.attempt(async () => {
      Object.assign(app.ui, { compare: false, step: null, picked: null });
      const { id } = app.state;
      const job = await api.change(id, action, body); // the state may be another one by then
      app.state.job = job;
      app.ui.screen = screen;
      app.render();
      toStage();
      await app.follow(id);
      app.address();
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
    if (job.status === "failed") complain(api.sentence(spoken(job.message)));
    else if (job.status === "cancelled") say(t("cancelled"));
    else if (app.ui.screen === "board" && app.state.board) {
      const { board } = app.state;
      say(t("solved", { pieces: count("pieces", app.state.pieces.length), grid: times(board) }));
    } else say(count("found", app.state.pieces.length));
  },

  cancel: () => app.attempt(() => api.cancel(app.state.id)),

  get solving() {
    return ["waiting", "running"].includes(app.state?.job?.status);
  },

  render() {
    const { state, ui } = app;
    $("#title").textContent = state ? state.title : t("workbench");
    document.title = state ? `${state.title} – PuzzleFlow` : t("page-title");
    for (const id of ["new", "sheet-button", "forget"]) $(`#${id}`).hidden = !state;
    app.progress = null;
    const screens = { board: boardScreen, fragments: fragmentScreen, free: freeScreen };
    const screen = !state ? startScreen : screens[ui.screen];
    screen(app, $("#main"));
  },

  async forget(id) {
    if ((await askWith("#sure")) !== "yes") return;
    await app.attempt(async () => {
      await api.forget(id);
      if (app.state?.id === id) app.leave();
      else app.render();
      say(t("forgotten"));
    });
  },
};

/** On a small screen the tools lie below the board: back to what they changed. */
function toStage() {
  if (matchMedia("(max-width: 900px)").matches) scrollTo({ top: 0 });
}

const tabs = new BroadcastChannel("puzzleflow");
tabs.onmessage = ({ data }) => {
  if (data.id === app.state?.id && data.revision !== app.state.revision && !app.solving) app.refresh(true);
};

/** Show what the address says. */
async function route() {
  if (app.routed === (location.hash || "#")) {
    app.routed = null;
    return;
  }
  app.routed = null;
  const asked = location.hash.match(/^#w=([\w-]+)(?:\/(fragments|free))?$/);
  calm();
  if (!asked) {
    app.state = null;
    app.ui = fresh();
    app.render();
    return;
  }
  try {
    app.show(await api.read(asked[1]), asked[2] ?? "board");
    if (app.solving) await app.attempt(() => app.follow(app.state.id));
  } catch (error) {
    app.leave();
    complain(error.message);
  }
}

function installHeader() {
  for (const id of ["home", "new"]) {
    $(`#${id}`).addEventListener("click", (event) => {
      event.preventDefault();
      app.leave();
    });
  }
  $("#forget").addEventListener("click", () => app.forget(app.state.id));
  $("#help").addEventListener("click", () => $("#keys").showModal());
  const languages = $("#language");
  languages.replaceChildren(...Object.entries(LANGUAGES).map(([code, name]) =>
    h("option", { value: code, selected: code === language }, name)));
  languages.addEventListener("change", async () => {
    localStorage.setItem("language", languages.value);
    await loadTexts(languages.value);
    app.render();
  });
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button && !button.dataset.stay) dialog.close(button.value);
      else if (event.target === dialog) dialog.close("");
    });
  }
}

async function begin() {
  await loadTexts();
  installTheme();
  installHeader();
  installDrops(app);
  installKeys(app);
  installSheet(app);
  addEventListener("hashchange", route);
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible" && app.state && !app.solving) app.refresh(true);
  });
  await app.attempt(async () => {
    app.about = await api.about();
    app.solver = app.about.default_solver;
  });
  if (app.about) await route();
}

begin();
