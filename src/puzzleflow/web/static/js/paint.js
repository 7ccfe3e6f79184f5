// On the photograph: brush and lasso to mend an outline, two clicks on a ruler for the scale.

import { h, say } from "./dom.js";
import { saveSheet } from "./sheet.js";
import { askWith } from "./drops.js";
import { $ } from "./dom.js";
import { t } from "./text.js";

const TOOLS = ["brush", "lasso", "ruler"];
const drawn = { add: true, radius: 12 };

export function drawingTools(app) {
  const { ui } = app;
  const tool = (name) => h("button", {
    type: "button", id: `tool-${name}`, "aria-pressed": String(ui.tool === name), disabled: app.solving,
    title: t(`${name}-text`),
    onClick: () => {
      ui.tool = ui.tool === name ? null : name;
      app.render();
      $(`#tool-${name}`)?.focus();
      if (ui.tool) say(t(`${name}-text`));
    },
  }, t(name));
  const mending = ui.tool === "brush" || ui.tool === "lasso";
  const way = (add) => h("button", {
    type: "button", "aria-pressed": String(drawn.add === add), onClick: () => { drawn.add = add; app.render(); },
  }, t(add ? "add" : "take-away"));
  const one = [...ui.chosen].length === 1;
  return h("div", { class: "field", role: "group", "aria-label": t("drawing") },
    h("div", { class: "row wrap" }, TOOLS.map(tool)),
    ui.tool ? h("p", { class: "fine" }, t(`${ui.tool}-text`)) : null,
    mending ? h("div", { class: "row wrap" }, h("span", { class: "group" }, way(true), way(false)),
      h("span", { class: "fine" }, t(one ? "mends-chosen" : drawn.add ? "makes-new" : "mends-all"))) : null,
    ui.tool === "brush" ? h("label", { class: "field" }, h("span", {}, t("brush-size")),
      h("input", { type: "range", id: "brush-size", min: 3, max: 60, value: drawn.radius, onInput: (event) => (drawn.radius = Number(event.target.value)) })) : null);
}

/** Follow the pointer over the photograph; what was drawn goes to the server when it ends. */
export function installDrawing(app, stage) {
  const space = "http://www.w3.org/2000/svg";
  const { photo } = app.state;
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", `0 0 ${photo.width} ${photo.height}`);
  svg.setAttribute("class", "drawn");
  const line = document.createElementNS(space, app.ui.tool === "lasso" ? "polygon" : "polyline");
  svg.append(line);
  stage.append(svg);
  let points = [];
  const scale = () => photo.width / svg.getBoundingClientRect().width;
  const at = (event) => {
    const box = svg.getBoundingClientRect();
    return [(event.clientX - box.left) * scale(), (event.clientY - box.top) * scale()].map((v) => Math.round(v * 10) / 10);
  };
  const draw = () => {
    line.setAttribute("points", points.map((point) => point.join(",")).join(" "));
    line.setAttribute("stroke-width", app.ui.tool === "brush" ? 2 * drawn.radius * scale() : 2 * scale());
  };
  svg.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    if (app.ui.tool === "ruler") {
      points.push(at(event));
      draw();
      if (points.length === 2) measured(app, points);
      return;
    }
    svg.setPointerCapture(event.pointerId);
    points = [at(event)];
    draw();
  });
  svg.addEventListener("pointermove", (event) => {
    if (app.ui.tool === "ruler" || !svg.hasPointerCapture(event.pointerId)) return;
    if (points.length < 1900) points.push(at(event));
    draw();
  });
  svg.addEventListener("pointerup", (event) => {
    if (app.ui.tool === "ruler" || !svg.hasPointerCapture(event.pointerId)) return;
    const chosen = [...app.ui.chosen];
    app.change("paint", {
      tool: app.ui.tool, points, radius: Math.max(drawn.radius * scale(), 1),
      piece: chosen.length === 1 ? chosen[0] : null, add: drawn.add,
    });
    points = [];
  });
}

/** Two ends of a length on the ruler: ask how long it is. */
async function measured(app, [[x0, y0], [x1, y1]]) {
  const pixels = Math.hypot(x1 - x0, y1 - y0);
  const answer = await askWith("#length");
  const millimetres = Number($("#length-mm").value);
  app.ui.tool = null;
  if (answer === "save" && millimetres > 0 && pixels > 0) {
    await saveSheet(app, { px_per_mm: pixels / millimetres, fromState: true });
    say(t("scale-set"));
  }
  app.render();
}
