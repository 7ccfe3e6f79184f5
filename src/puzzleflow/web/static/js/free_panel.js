// The side panel of free placing: the chosen fragment, what fits, the rest put together.

import * as api from "./api.js";
import { h, percent } from "./dom.js";
import { layFree, turnFree } from "./free.js";
import { legendSection } from "./panel.js";
import { progressBox } from "./solve_panel.js";
import { noteFields } from "./sheet.js";
import { count, t } from "./text.js";

const SIDES = ["left", "right", "above", "below"];

function assembleSection(app) {
  const { free } = app.state;
  if (app.solving) return h("section", {}, h("h2", {}, t("solving")), progressBox(app));
  const pins = free.poses.filter((pose) => pose.pinned).length;
  const components = new Set(free.poses.map((pose) => pose.component).filter((each) => each !== null));
  return h("section", {}, h("h2", {}, t("place-freely")), h("p", { class: "fine" }, t("free-text")),
    components.size ? h("p", {}, count("components", components.size)) : null,
    h("button", { type: "button", class: "primary wide", id: "assemble", onClick: () => app.work("free/assemble", undefined, "free") },
      t(pins ? "assemble-rest" : "assemble")),
    free.prepared ? null : h("button", { type: "button", class: "wide", id: "compare-fragments", onClick: () => app.work("free/compare", undefined, "free") }, t("compare-fragments")),
    h("label", { class: "check" }, h("input", {
      type: "checkbox", id: "snap", checked: app.snap ?? true, disabled: !free.prepared, onChange: (event) => (app.snap = event.target.checked),
    }), " ", t("snap")),
    h("div", { class: "row wrap" },
      h("button", { type: "button", class: "quiet", onClick: () => app.to("fragments") }, t("fragments-more")),
      app.state.board ? h("button", { type: "button", class: "quiet", onClick: () => app.to("board") }, t("back-to-board")) : null));
}

function fitList(app) {
  const { fits } = app.ui;
  if (!fits) return null;
  if (!fits.length) return h("p", { class: "fine" }, t("nothing-fits"));
  return h("ol", { class: "candidates", id: "fits" }, fits.map((fit, index) => h("li", {}, h("button", {
    type: "button", title: t("try-fit", { n: fit.piece + 1 }), "aria-label": t("fit-n", { place: index + 1, n: fit.piece + 1 }),
    onClick: () => layFree(app, [{ piece: fit.piece, x: fit.x, y: fit.y, angle: fit.angle }], false),
  }, h("img", { src: app.state.pieces[fit.piece].picture, alt: "", style: { transform: `rotate(${-fit.angle}deg)` } }),
  h("span", {}, `${fit.piece + 1}${fit.beside.length && fit.piece === app.ui.piece ? ` | ${fit.beside.map((each) => each + 1).join(" ")}` : ""}`)))));
}

function chosenSection(app) {
  const { state, ui } = app;
  if (ui.piece === null) return h("section", {}, h("p", { class: "fine" }, t("choose-one")));
  const pose = state.free.poses.find((each) => each.piece === ui.piece);
  const ask = (what, query) => app.attempt(async () => {
    ui.fits = await api.get(state.id, `free/${what}`, query);
    app.render();
  });
  const button = (text, onClick, extra = {}) => h("button", { type: "button", disabled: app.solving, onClick, ...extra }, text);
  const turn = (degrees) => button(`${degrees > 0 ? "↺" : "↻"} ${Math.abs(degrees)}°`, () => turnFree(app, degrees), { disabled: app.solving || !pose || pose.pinned });
  return h("section", {}, h("h2", {}, t("piece-n", { n: ui.piece + 1 })),
    h("p", { class: "fine" }, state.pieces[ui.piece].inventory || state.pieces[ui.piece].name,
      pose ? ` · ${pose.angle.toFixed(1)}°` : ` · ${t("in-tray")}`,
      pose && pose.confidence !== null ? ` · ${t("sure", { p: percent(pose.confidence) })}` : ""),
    h("div", { class: "row wrap" }, turn(15), turn(1), turn(-1), turn(-15)),
    h("div", { class: "row wrap" },
      pose ? button(t(pose.pinned ? "unpin" : "pin-here"), () => app.change("free/pin", { pieces: [ui.piece], pinned: !pose.pinned }), { id: "pin", "aria-pressed": String(pose.pinned) }) : null,
      pose ? button(t("put-aside"), () => app.change("free/place", { tray: [ui.piece] }), { disabled: app.solving || pose.pinned }) : null),
    state.free.prepared ? [
      h("h3", {}, t("what-fits")),
      h("div", { class: "row wrap" },
        button(t("where-fits"), () => ask("fits", { piece: ui.piece }), { id: "where-fits" }),
        button(t("partners"), () => ask("partners", { piece: ui.piece }), { id: "partners" })),
      h("div", { class: "row wrap", role: "group", "aria-label": t("at-edge") }, h("span", { class: "fine" }, t("at-edge")),
        SIDES.map((side) => button(t(side), () => ask("partners", { piece: ui.piece, side })))),
      fitList(app),
    ] : h("p", { class: "fine" }, t("compare-first")),
    noteFields(app, ui.piece));
}

export function freePanel(app) {
  return h("aside", { class: "panel", "aria-label": t("tools") }, assembleSection(app), chosenSection(app),
    legendSection(app, app.state.free.poses.map((pose) => pose.confidence)));
}
