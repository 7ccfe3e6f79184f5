// Before solving: the fragments that were found, and their correction.

import * as api from "./api.js";
import { h, say } from "./dom.js";
import { gridChoice, looseFields, progressBox, solverChoice } from "./solve_panel.js";
import { drawingTools, installDrawing } from "./paint.js";
import { saveMenu } from "./save.js";
import { count, spoken, t } from "./text.js";

function toggle(app, index) {
  const { chosen } = app.ui;
  if (chosen.has(index)) chosen.delete(index);
  else chosen.add(index);
  app.render();
  document.querySelector(`[data-fragment="${index}"]`)?.focus();
  say(count("chosen", chosen.size));
}

function fragmentButton(app, index, properties, ...children) {
  const on = app.ui.chosen.has(index);
  return h("button", {
    type: "button", "aria-pressed": String(on), "aria-label": t("fragment-n", { n: index + 1 }),
    dataset: { fragment: index }, onClick: () => toggle(app, index), ...properties,
    class: `${properties.class}${on ? " on" : ""}`,
  }, ...children);
}

function onPhoto(app) {
  const { photo } = app.state;
  const part = (value, whole) => `${(100 * value) / whole}%`;
  const placed = ([top, left, height, width]) => ({
    top: part(top, photo.height), left: part(left, photo.width),
    height: part(height, photo.height), width: part(width, photo.width),
  });
  const ratio = photo.width / photo.height;
  const stage = h("div", { class: `photo${app.ui.tool ? " drawing" : ""}`, style: { "--ratio": ratio, "aspect-ratio": String(ratio) } },
    h("img", { src: photo.picture, alt: t("your-photo") }),
    photo.boxes.map((box, index) =>
      fragmentButton(app, index, { class: "found", style: placed(box), disabled: Boolean(app.ui.tool) },
        h("img", { src: photo.cutouts[index], alt: "" }), h("span", { class: "number" }, index + 1))),
    photo.aside.map((each) => h("span", { class: "set-aside", style: placed(each.box) }, t(`kind-${each.kind}`))));
  if (app.ui.tool) installDrawing(app, stage);
  return stage;
}

function onTray(app) {
  return h("div", { class: "tray" }, app.state.pieces.map((piece, index) =>
    fragmentButton(app, index, { class: "fragment" },
      h("img", { src: piece.picture, alt: "" }), h("span", { class: "number" }, index + 1),
      h("span", { class: "name" }, piece.inventory || piece.name))));
}

/** The slider stays whatever was found; moving it again gives up the search before. */
function thresholdField(app) {
  const { photo } = app.state;
  if (!photo) return null;
  const find = (value) => app.attempt(async () => {
    app.ui.chosen.clear();
    const { id } = app.state;
    const job = await api.threshold(id, value); // the state may be another one by then
    app.state.job = job;
    app.render();
    document.querySelector("#threshold")?.focus();
    await app.follow(id);
  });
  const now = Math.round(photo.threshold || 20);
  const shown = h("output", {}, photo.threshold ? now : "–");
  return h("div", { class: "field" },
    h("label", { for: "threshold" }, t("threshold"), " ", shown),
    h("input", {
      id: "threshold", type: "range", min: 4, max: 120, step: 1, value: now,
      onInput: (event) => (shown.textContent = event.target.value),
      onChange: (event) => find(Number(event.target.value)),
    }),
    h("p", { class: "fine" }, t("threshold-text")),
    photo.automatic && photo.threshold ? null
      : h("button", { type: "button", class: "quiet", onClick: () => find(null) }, t("automatic")));
}

/** A ruler, a colour card, a label: set aside, with a question. */
function asideQuestions(app) {
  return (app.state.photo?.aside ?? []).map((each) => h("div", { class: "question" },
    h("img", { src: each.cutout, alt: "" }),
    h("div", {}, h("p", {}, t("aside-question", { kind: t(`kind-${each.kind}`) })),
      h("button", { type: "button", disabled: app.solving, onClick: () => app.change("aside", { fragment: each.fragment, aside: false }) }, t("put-back")))));
}

function corrections(app) {
  const { state } = app;
  const chosen = [...app.ui.chosen].sort((a, b) => a - b);
  const some = chosen.length > 0 && !app.solving;
  const act = (action, body) => async () => {
    app.ui.chosen.clear();
    await app.change(action, body);
  };
  const turn = (quarter_turns) => () => app.change("turn", { pieces: chosen, quarter_turns });
  const button = (text, enabled, onClick, extra = {}) => h("button", { type: "button", disabled: !enabled, onClick, ...extra }, text);
  const fromPhoto = Boolean(state.photo);
  const turned = state.board?.undo?.startsWith("turn") ?? false;
  const undo = turned ? state.board.undo : state.undo_fragments;
  return [
    h("div", { class: "row wrap" },
      button(`↶ ${t("undo")}`, undo && !app.solving, () => app.change(turned ? "undo" : "fragments/undo"),
        { id: "undo", title: undo ? t("undo-what", { what: spoken(undo) }) : t("nothing-to-undo") }),
      button(`↷ ${t("redo")}`, state.redo_fragments && !app.solving, () => app.change("fragments/redo"), { id: "redo" })),
    h("div", { class: "row wrap" },
      fromPhoto ? button(t("join"), some && chosen.length > 1, act("merge", { pieces: chosen })) : null,
      fromPhoto ? button(t("divide"), some && chosen.length === 1, act("split", { piece: chosen[0] })) : null,
      button(t("remove"), some && chosen.length < state.pieces.length, act("delete", { pieces: chosen })),
      button(t("turn-left"), some, turn(1)),
      button(t("turn-right"), some, turn(-1))),
    fromPhoto ? drawingTools(app) : null,
  ];
}

function solvePart(app) {
  const { state } = app;
  const grid = gridChoice(app);
  const pieces = state.pieces.length;
  return [h("section", {}, h("h2", {}, t("put-together")),
    state.no_grid ? h("p", { class: "warning", role: "alert", id: "no-grid" }, t("no-grid", { pieces: count("pieces", pieces) })) : null,
    grid.field, looseFields(app), solverChoice(app),
    state.board ? h("button", { type: "button", class: "quiet wide", onClick: () => app.to("board") }, t("back-to-board")) : null),
  h("div", { class: "foot" },
    h("button", { type: "button", class: "primary", id: "solve", onClick: () => app.solve(grid.request()) }, t("put-together")),
    h("button", {
      type: "button", id: "free", onClick: async () => { if (await app.change("free/begin")) app.to("free"); },
    }, t("place-freely")))];
}

export function fragmentScreen(app, main) {
  const { state, ui } = app;
  const number = state.pieces.length;
  for (const index of ui.chosen) if (index >= number) ui.chosen.delete(index);
  const turned = state.photo && state.pieces.some((piece) => piece.quarter_turns);
  main.className = "bench";
  main.replaceChildren(
    h("section", { class: "stage", "aria-label": t("fragments") }, state.photo ? onPhoto(app) : onTray(app),
      turned ? onTray(app) : null),
    h("aside", { class: "panel", "aria-label": t("tools") },
      h("section", {},
        h("div", { class: "row spread" }, h("h2", {}, number ? count(state.photo ? "found" : "fragments", number) : t("nothing-found")), saveMenu(app, "fragments")),
        h("p", {}, t(!number ? "nothing-found-text" : state.photo ? "check-outlines" : "check-fragments")),
        (state.photo?.warnings ?? []).map((text) => h("p", { class: "warning" }, api.sentence(spoken(text)))),
        app.solving ? progressBox(app) : null,
        asideQuestions(app), thresholdField(app), corrections(app)),
      number && !app.solving ? solvePart(app) : null));
}
