// The menu of files to keep.

import { exportAddress } from "./api.js";
import { h } from "./dom.js";
import { t } from "./text.js";

const FILES = {
  board: ["picture.png", "report.html", "layout.csv", "layout.json", "picture.svg", "picture.psd", "life-size.html", "fragments.zip", "workbench.zip"],
  free: ["picture.png", "report.html", "picture.svg", "picture.psd", "life-size.html", "fragments.zip", "workbench.zip"],
  fragments: ["fragments.zip", "workbench.zip"],
};

export function saveMenu(app, screen) {
  const { state } = app;
  if (!state.pieces.length) return null;
  const query = screen === "free" ? { free: true } : { gap: app.gap };
  const shown = FILES[screen].filter((kind) =>
    (kind !== "picture.psd" || app.about.psd) && (kind !== "life-size.html" || state.px_per_mm));
  return h("details", { class: "menu", id: "save" },
    h("summary", { class: "button" }, t("save")),
    h("ul", { class: "files" }, shown.map((kind) => h("li", {}, h("a", {
      href: exportAddress(state.id, kind, query), download: kind, dataset: { export: kind },
    }, h("b", {}, t(`file-${kind}`)), h("span", { class: "fine" }, t(`file-${kind}-text`)))))));
}
