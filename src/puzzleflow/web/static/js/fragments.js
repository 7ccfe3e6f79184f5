// Before solving: the fragments that were found, and their correction.

import * as api from "./api.js";
import { busy, h, say, times } from "./dom.js";
import { gridChoice, solverChoice, progressBox } from "./panel.js";

const plural = (count) => `${count} fragment${count === 1 ? "" : "s"}`;

function toggle(app, index) {
  const { chosen } = app.ui;
  if (chosen.has(index)) chosen.delete(index);
  else chosen.add(index);
  app.render();
  document.querySelector(`[data-fragment="${index}"]`)?.focus();
  say(`${plural(chosen.size)} chosen`);
}

function fragmentButton(app, index, properties, ...children) {
  const on = app.ui.chosen.has(index);
  return h("button", {
    type: "button", "aria-pressed": String(on), "aria-label": `Fragment ${index + 1}`,
    dataset: { fragment: index }, onClick: () => toggle(app, index), ...properties,
    class: `${properties.class}${on ? " on" : ""}`,
  }, ...children);
}

function onPhoto(app) {
  const { photo } = app.state;
  const part = (value, whole) => `${(100 * value) / whole}%`;
  const ratio = photo.width / photo.height;
  return h("div", { class: "photo", style: { "--ratio": ratio, "aspect-ratio": String(ratio) } },
    h("img", { src: photo.picture, alt: "Your photograph" }),
    photo.boxes.map(([top, left, height, width], index) =>
      fragmentButton(app, index, {
        class: "found",
        style: {
          top: part(top, photo.height), left: part(left, photo.width),
          height: part(height, photo.height), width: part(width, photo.width),
        },
      }, h("img", { src: photo.cutouts[index], alt: "" }), h("span", { class: "number" }, index + 1))));
}

function onTray(app) {
  return h("div", { class: "tray" }, app.state.pieces.map((piece, index) =>
    fragmentButton(app, index, { class: "fragment" },
      h("img", { src: piece.picture, alt: "" }), h("span", { class: "number" }, index + 1),
      h("span", { class: "name" }, piece.name))));
}

function thresholdField(app) {
  const { photo } = app.state;
  if (!photo) return null;
  const find = (value) => app.attempt(async () => {
    app.ui.chosen.clear();
    app.show(await busy("Looking for fragments", api.threshold(app.state.id, value)));
    say(`${plural(app.state.pieces.length)} found`);
  });
  const shown = h("output", {}, Math.round(photo.threshold));
  return h("div", { class: "field" },
    h("label", { for: "threshold" }, "How different from the ground? ", shown),
    h("input", {
      id: "threshold", type: "range", min: 4, max: 120, step: 1, value: Math.round(photo.threshold),
      onInput: (event) => (shown.textContent = event.target.value),
      onChange: (event) => find(Number(event.target.value)),
    }),
    h("p", { class: "fine" }, "Lower finds pale fragments, higher drops shadows and stains."),
    photo.automatic ? null : h("button", { type: "button", class: "quiet", onClick: () => find(null) }, "Back to automatic"));
}

function corrections(app) {
  const chosen = [...app.ui.chosen].sort((a, b) => a - b);
  const some = chosen.length > 0;
  const act = (action, body) => async () => {
    app.ui.chosen.clear();
    await app.change(action, body);
  };
  const turn = (quarter_turns) => async () => {
    await app.change("turn", { pieces: chosen, quarter_turns });
  };
  const button = (text, enabled, onClick) => h("button", { type: "button", disabled: !enabled, onClick }, text);
  const fromPhoto = Boolean(app.state.photo);
  return h("div", { class: "row wrap" },
    fromPhoto ? button("Join", chosen.length > 1, act("merge", { pieces: chosen })) : null,
    fromPhoto ? button("Divide", chosen.length === 1, act("split", { piece: chosen[0] })) : null,
    button("Remove", some && chosen.length < app.state.pieces.length, act("delete", { pieces: chosen })),
    button("Turn left", some, turn(1)),
    button("Turn right", some, turn(-1)));
}

export function fragmentScreen(app, main) {
  const { state, ui } = app;
  const count = state.pieces.length;
  for (const index of ui.chosen) if (index >= count) ui.chosen.delete(index);
  const grid = gridChoice(app);
  const solving = app.solving;
  const turned = state.photo && state.pieces.some((piece) => piece.quarter_turns);
  main.className = "bench";
  main.replaceChildren(
    h("section", { class: "stage", "aria-label": "Fragments" }, state.photo ? onPhoto(app) : onTray(app),
      turned ? onTray(app) : null),
    h("aside", { class: "panel" },
      h("section", {},
        h("h2", {}, plural(count), state.photo ? " found" : ""),
        h("p", {}, state.photo
          ? "Check the outlines. Click fragments to choose them, then join what belongs to one "
            + "fragment, divide what is two, remove what is none."
          : "Click fragments to choose them. Turn those that lie on their side; the solver keeps "
            + "every piece as it lies."),
        (state.photo?.warnings ?? []).map((text) => h("p", { class: "warning" }, `Note: ${text}.`)),
        thresholdField(app), corrections(app)),
      h("section", {}, h("h2", {}, "Put them together"), grid.field,
        count > 3 && state.grids.length === 2
          ? h("p", { class: "fine" }, `${count} pieces fill only a single row or column (${state.grids.map(times).join(", ")}). `
            + "Is a fragment missing, or one too many?")
          : null,
        solverChoice(app),
        solving ? progressBox(app)
          : h("button", { type: "button", class: "primary wide", id: "solve", onClick: () => app.solve({ grid: grid.value() }) }, "Put together"),
        state.board && !solving ? h("button", { type: "button", class: "quiet wide", onClick: () => { ui.editing = false; app.render(); } }, "Back to the board") : null)));
}
