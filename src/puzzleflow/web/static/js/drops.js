// Files that are dropped anywhere on the page or chosen: what they are decides what happens.

import * as api from "./api.js";
import { $, complain } from "./dom.js";
import { t } from "./text.js";

const isZip = (file) => /\.zip$/i.test(file.name) || /zip/.test(file.type);

/** Ask with one of the page's dialogs; the value of the button that closed it. */
export function askWith(selector) {
  const dialog = $(selector);
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) =>
    dialog.addEventListener("close", () => resolve(dialog.returnValue), { once: true }),
  );
}

/** Open `files` as `kind`: "photo", "cut", "pieces", "saved", or by what they are. */
export async function openFiles(app, files, kind = null, cutting = {}) {
  const given = [...files];
  if (!given.length) return;
  const problem = api.tooMuch(given, app.about.limits);
  if (problem) {
    complain(problem);
    return;
  }
  if (!kind) {
    if (given.length === 1 && isZip(given[0])) kind = "saved";
    else if (given.length > 1) kind = "pieces";
    else kind = await askWith("#what");
  }
  const [first] = given;
  const openings = {
    photo: [t("reading-photo"), () => api.openPhoto(first)],
    cut: [t("cutting"), () => api.openCut(first, cutting)],
    pieces: [t("reading-pictures", { n: given.length }), () => api.openPieces(given)],
    saved: [t("opening"), () => api.openSaved(first)],
  };
  if (openings[kind]) await app.open(...openings[kind]);
}

export function installDrops(app) {
  let depth = 0;
  const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  const show = (on) => ($("#dropping").hidden = !on);
  addEventListener("dragenter", (event) => {
    if (hasFiles(event)) show(++depth > 0);
  });
  addEventListener("dragleave", (event) => {
    if (hasFiles(event)) show(--depth > 0);
  });
  addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth = 0;
    show(false);
    openFiles(app, event.dataTransfer.files);
  });
}
