// Free placing: fragments where they lie, at any place and angle.

import { h, say } from "./dom.js";
import { bandColour, picture } from "./cells.js";
import { followPointer, swallowClick } from "./drag.js";
import { freePanel } from "./free_panel.js";
import { installLoupe, installZoom, zoomButtons } from "./zoom.js";
import { saveMenu } from "./save.js";
import { scaleBar } from "./sheet.js";
import { spoken, t } from "./text.js";

const FAR_ENOUGH_PX = 4;
const MARGIN = 0.06;

/** The part of the plane that is shown: everything that lies there, and a margin. */
function extent(app) {
  const { state } = app;
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const { piece, x, y } of state.free.poses) {
    const reach = Math.hypot(state.pieces[piece].width, state.pieces[piece].height) / 2;
    [left, top] = [Math.min(left, x - reach), Math.min(top, y - reach)];
    [right, bottom] = [Math.max(right, x + reach), Math.max(bottom, y + reach)];
  }
  if (left === Infinity) [left, top, right, bottom] = [0, 0, 1000, 750];
  const margin = MARGIN * Math.max(right - left, bottom - top);
  return { left: left - margin, top: top - margin, width: right - left + 2 * margin, height: bottom - top + 2 * margin };
}

/** Lay one fragment, or several, elsewhere. */
export function layFree(app, poses, snap) {
  return app.change("free/place", { poses, snap: snap && app.state.free.prepared });
}

/** Turn the chosen fragment where it lies. */
export function turnFree(app, degrees) {
  const pose = app.state.free.poses.find((each) => each.piece === app.ui.piece);
  if (pose && !pose.pinned) layFree(app, [{ piece: pose.piece, x: pose.x, y: pose.y, angle: wrapped(pose.angle + degrees) }], false);
}

const wrapped = (angle) => ((((angle + 180) % 360) + 360) % 360) - 180;

function piece(app, view, table, pose) {
  const { state, ui } = app;
  const info = state.pieces[pose.piece];
  const chosen = ui.piece === pose.piece;
  const element = h("div", {
    class: `free-piece${chosen ? " selected" : ""}${pose.pinned ? " pinned" : ""}`, role: "button", tabindex: "0",
    "aria-pressed": String(chosen), dataset: { piece: pose.piece },
    "aria-label": `${t("piece-n", { n: pose.piece + 1 })}${pose.pinned ? `, ${t("pinned-word")}` : ""}`,
    style: {
      left: `${(100 * (pose.x - info.width / 2 - view.left)) / view.width}%`,
      top: `${(100 * (pose.y - info.height / 2 - view.top)) / view.height}%`,
      width: `${(100 * info.width) / view.width}%`, height: `${(100 * info.height) / view.height}%`,
      transform: `rotate(${-pose.angle}deg)`,
      "--band": ui.view === "confidence" && !pose.pinned ? bandColour(app, pose.confidence) : "transparent",
    },
    onPointerdown: (event) => grab(app, event, view, table, pose),
    onClick: () => choose(app, pose.piece),
    onKeydown: (event) => handleFreeKey(app, event, pose, view),
  }, picture(info));
  if (chosen && !pose.pinned && !app.solving) {
    element.append(h("span", { class: "handle", "aria-hidden": "true", onPointerdown: (event) => twist(app, event, element, pose) }));
  }
  return element;
}

function choose(app, number) {
  Object.assign(app.ui, { piece: number, fits: null });
  app.render();
  document.querySelector(`.free-piece[data-piece="${number}"]`)?.focus({ preventScroll: true });
}

const pixelsPer = (view, table) => view.width / table.getBoundingClientRect().width;

function grab(app, event, view, table, pose) {
  if (event.button !== 0 || !event.isPrimary || app.solving || event.target.classList.contains("handle")) return;
  const element = event.currentTarget;
  const start = { x: event.clientX, y: event.clientY };
  const scale = pixelsPer(view, table);
  let moved = false;
  followPointer(event, (next) => {
    const [dx, dy] = [next.clientX - start.x, next.clientY - start.y];
    if (pose.pinned || (!moved && Math.hypot(dx, dy) < FAR_ENOUGH_PX)) return;
    moved = true;
    const zoom = app.ui.zoom.scale;
    element.style.setProperty("translate", `${dx / zoom}px ${dy / zoom}px`);
  }, (last) => {
    if (!moved) return;
    swallowClick();
    if (last.type !== "pointerup") {
      element.style.removeProperty("translate");
      return;
    }
    app.ui.piece = pose.piece;
    app.ui.fits = null;
    const overTray = document.elementsFromPoint(last.clientX, last.clientY).some((each) => each.closest(".waiting-tray"));
    if (overTray) app.change("free/place", { tray: [pose.piece] });
    else layFree(app, [{ piece: pose.piece, x: pose.x + scale * (last.clientX - start.x), y: pose.y + scale * (last.clientY - start.y), angle: pose.angle }], app.snap ?? true);
  });
}

/** The handle of the chosen fragment: turn it about its middle. */
function twist(app, event, element, pose) {
  event.stopPropagation();
  event.preventDefault();
  const box = element.getBoundingClientRect();
  const centre = { x: box.left + box.width / 2, y: box.top + box.height / 2 };
  const angleAt = (each) => (Math.atan2(each.clientY - centre.y, each.clientX - centre.x) * 180) / Math.PI;
  const start = angleAt(event);
  let angle = pose.angle;
  followPointer(event, (next) => {
    angle = wrapped(pose.angle - (angleAt(next) - start));
    element.style.setProperty("transform", `rotate(${-angle}deg)`);
  }, (last) => {
    swallowClick();
    if (last.type !== "pointerup") element.style.setProperty("transform", `rotate(${-pose.angle}deg)`);
    else if (angle !== pose.angle) layFree(app, [{ piece: pose.piece, x: pose.x, y: pose.y, angle }], false);
  });
}

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function handleFreeKey(app, event, pose, view) {
  if (event.ctrlKey || event.metaKey || event.altKey || app.solving) return;
  const step = STEPS[event.key];
  if (step && !pose.pinned) {
    event.preventDefault();
    app.ui.piece = pose.piece;
    const by = view.width * (event.shiftKey ? 0.001 : 0.01);
    layFree(app, [{ piece: pose.piece, x: pose.x + by * step[0], y: pose.y + by * step[1], angle: pose.angle }], false);
  } else if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    choose(app, pose.piece);
  } else if (event.key.toLowerCase() === "r") {
    app.ui.piece = pose.piece;
    turnFree(app, event.key === "R" ? 1 : 15);
  } else if (event.key === "Delete" && !pose.pinned) app.change("free/place", { tray: [pose.piece] });
}

function waitingTray(app, view) {
  const { free, pieces } = app.state;
  return h("section", { class: "waiting-tray", "aria-label": t("tray") }, h("h2", {}, t("tray")),
    free.tray.length ? null : h("p", { class: "fine" }, t("free-tray-empty")),
    h("ul", {}, free.tray.map((number) => h("li", {}, h("button", {
      type: "button", class: `waiting${app.ui.piece === number ? " selected" : ""}`, dataset: { tray: number },
      "aria-label": t("lay-on-table", { n: number + 1 }), disabled: app.solving,
      onClick: () => {
        app.ui.piece = number;
        layFree(app, [{ piece: number, x: view.left + view.width / 2, y: view.top + view.height / 2, angle: 0 }], false);
      },
    }, h("img", { src: pieces[number].picture, alt: "" }), h("span", {}, number + 1))))));
}

function toolbar(app) {
  const { free } = app.state;
  const { ui } = app;
  const button = (id, text, title, enabled, onClick) => h("button", { type: "button", id, title, disabled: !enabled || app.solving, onClick }, text);
  return h("div", { class: "toolbar", role: "toolbar", "aria-label": t("table") },
    button("undo", `↶ ${t("undo")}`, free.undo ? t("undo-what", { what: spoken(free.undo) }) : t("nothing-to-undo"), free.undo, () => app.change("free/undo")),
    button("redo", `↷ ${t("redo")}`, free.redo ? t("redo-what", { what: spoken(free.redo) }) : t("nothing-to-redo"), free.redo, () => app.change("free/redo")),
    h("span", { class: "group", role: "group", "aria-label": t("view") }, ["picture", "confidence"].map((name) => h("button", {
      type: "button", id: `view-${name}`, "aria-pressed": String(ui.view === name), onClick: () => { ui.view = name; app.render(); },
    }, t(`view-${name}`)))),
    zoomButtons(app), saveMenu(app, "free"));
}

export function freeScreen(app, main) {
  const { state, ui } = app;
  if (ui.piece !== null && ui.piece >= state.pieces.length) ui.piece = null;
  const view = extent(app);
  const ratio = view.width / view.height;
  const focused = document.activeElement?.id;
  const focusedPiece = document.activeElement?.closest?.(".free-piece")?.dataset.piece;
  const table = h("div", {
    class: `table view-${ui.view}${app.solving ? " solving" : ""}`, role: "group", "aria-label": t("table"),
    style: { "--ratio": ratio, "aspect-ratio": String(ratio) },
  });
  for (const pose of state.free.poses) table.append(piece(app, view, table, pose));
  const bar = scaleBar(app, view.width);
  if (bar) table.append(bar);
  const stage = h("div", { class: "fit", dataset: { colour: app.boardColour } }, table);
  main.className = "bench";
  main.replaceChildren(
    h("section", { class: "stage", "aria-label": t("table") }, toolbar(app), stage,
      h("p", { class: "caption" }, `${t("last")} ${spoken(state.free.label)}`), waitingTray(app, view)),
    freePanel(app));
  installZoom(app, stage, table);
  if (ui.loupe) installLoupe(stage, table);
  if (focusedPiece !== undefined) table.querySelector(`[data-piece="${focusedPiece}"]`)?.focus({ preventScroll: true });
  else if (focused) document.getElementById(focused)?.focus();
  if (app.solving) say(t("solving"));
}
