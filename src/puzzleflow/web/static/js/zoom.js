// Looking closer: wheel, pinch and keys zoom, dragging beside the board pans, a loupe follows.

import { h } from "./dom.js";
import { followPointer } from "./drag.js";
import { t } from "./text.js";

const MOST = 12;
const STEP = 1.25;

/** Zoom by `factor` about a point of the view; the point stays where it is. */
export function zoomBy(app, factor, at = { x: 0, y: 0 }) {
  const { zoom } = app.ui;
  const scale = Math.min(MOST, Math.max(1, zoom.scale * factor));
  const ratio = scale / zoom.scale;
  Object.assign(zoom, scale === 1 ? { scale, x: 0, y: 0 }
    : { scale, x: at.x - ratio * (at.x - zoom.x), y: at.y - ratio * (at.y - zoom.y) });
  app.drawZoom?.();
}

export function panBy(app, dx, dy) {
  const { zoom } = app.ui;
  if (zoom.scale === 1) return;
  zoom.x += dx;
  zoom.y += dy;
  app.drawZoom?.();
}

export const zoomKeys = {
  "+": (app) => zoomBy(app, STEP), "=": (app) => zoomBy(app, STEP), "-": (app) => zoomBy(app, 1 / STEP), 0: (app) => zoomBy(app, 0),
};

export function zoomButtons(app) {
  const button = (id, text, label, onClick, extra = {}) =>
    h("button", { type: "button", id, class: "icon", "aria-label": label, title: label, onClick, ...extra }, text);
  return h("span", { class: "group", role: "group", "aria-label": t("zoom") },
    button("zoom-out", "−", t("zoom-out"), () => zoomBy(app, 1 / STEP)),
    button("zoom-reset", "⊡", t("zoom-reset"), () => zoomBy(app, 0)),
    button("zoom-in", "+", t("zoom-in"), () => zoomBy(app, STEP)),
    button("loupe", "⌕", t("loupe"), () => { app.ui.loupe = !app.ui.loupe; app.render(); }, { "aria-pressed": String(app.ui.loupe) }));
}

/** `inner` is moved and scaled inside `view`. */
export function installZoom(app, view, inner) {
  app.drawZoom = () => {
    const { scale, x, y } = app.ui.zoom;
    inner.style.setProperty("transform", scale === 1 ? "none" : `translate(${x}px, ${y}px) scale(${scale})`);
    view.classList.toggle("zoomed", scale > 1);
  };
  const middle = (event) => {
    const box = view.getBoundingClientRect();
    return { x: event.clientX - box.left - box.width / 2, y: event.clientY - box.top - box.height / 2 };
  };
  view.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoomBy(app, Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), middle(event));
  }, { passive: false });
  const touches = new Map();
  view.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch") touches.set(event.pointerId, event);
    const beside = !event.target.closest(".cell, .free-piece, button");
    if ((event.button === 1 || (event.button === 0 && beside && !event.shiftKey)) && touches.size < 2) {
      event.preventDefault();
      let last = event;
      followPointer(event, (next) => {
        if (touches.size < 2) panBy(app, next.clientX - last.clientX, next.clientY - last.clientY);
        last = next;
      }, () => {});
    }
  });
  view.addEventListener("pointermove", (event) => {
    if (!touches.has(event.pointerId)) return;
    const other = [...touches.values()].find((each) => each.pointerId !== event.pointerId);
    if (other) {
      const before = touches.get(event.pointerId);
      const apart = (a) => Math.hypot(a.clientX - other.clientX, a.clientY - other.clientY);
      zoomBy(app, apart(event) / Math.max(apart(before), 1), middle(other));
    }
    touches.set(event.pointerId, event);
  });
  for (const name of ["pointerup", "pointercancel", "pointerleave"]) {
    view.addEventListener(name, (event) => touches.delete(event.pointerId));
  }
  app.drawZoom();
}

/** A round glass over a seam: the board three times as large under the pointer. */
export function installLoupe(view, inner) {
  const glass = h("div", { class: "loupe", "aria-hidden": "true" });
  const LARGER = 3;
  view.addEventListener("pointermove", (event) => {
    const box = inner.getBoundingClientRect();
    if (!glass.firstChild) {
      const copy = inner.cloneNode(true);
      copy.removeAttribute("role");
      copy.style.setProperty("width", `${box.width}px`);
      copy.style.setProperty("transform-origin", "0 0");
      glass.append(copy);
      view.append(glass);
    }
    const half = 90;
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const place = view.getBoundingClientRect();
    glass.style.setProperty("left", `${event.clientX - place.left - half}px`);
    glass.style.setProperty("top", `${event.clientY - place.top - half}px`);
    glass.firstChild.style.setProperty("transform", `translate(${half - LARGER * x}px, ${half - LARGER * y}px) scale(${LARGER})`);
  });
  view.addEventListener("pointerleave", () => glass.replaceChildren() ?? glass.remove());
}
