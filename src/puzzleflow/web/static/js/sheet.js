// Title, author, date and scale of a workbench; and notes on one piece.

import * as api from "./api.js";
import { $, h } from "./dom.js";
import { t } from "./text.js";

const value = (id) => $(`#${id}`).value;

/** The dialog of the whole workbench. */
export function installSheet(app) {
  const dialog = $("#sheet");
  $("#sheet-button").addEventListener("click", () => {
    const { state } = app;
    $("#sheet-title").value = state.title;
    $("#sheet-author").value = state.author;
    $("#sheet-date").value = state.date;
    $("#sheet-scale").value = state.px_per_mm === null ? "" : Number((10 * state.px_per_mm).toPrecision(6));
    dialog.showModal();
  });
  dialog.addEventListener("close", () => {
    if (dialog.returnValue === "save") saveSheet(app, { px_per_mm: Number(value("sheet-scale")) / 10 || null });
  });
}

/** Write the sheet as the fields of the dialog say, or with the scale just measured. */
export function saveSheet(app, { px_per_mm, fromState = false }) {
  const { state } = app;
  const body = fromState
    ? { title: state.title, author: state.author, date: state.date, px_per_mm }
    : { title: value("sheet-title"), author: value("sheet-author"), date: value("sheet-date"), px_per_mm };
  return app.attempt(async () => app.show(await api.setSheet(state.id, body)));
}

/** Fields for the inventory number and a note of one piece; saved when they are left. */
export function noteFields(app, piece) {
  const info = app.state.pieces[piece];
  const save = () => {
    const [inventory, note] = [value("inventory"), value("note")];
    if (inventory !== info.inventory || note !== info.note) app.change("describe", { piece, inventory, note });
  };
  const field = (label, input) => h("label", { class: "field" }, h("span", {}, label), input);
  const input = h("input", { id: "inventory", maxlength: 80, onChange: save });
  const area = h("textarea", { id: "note", rows: 2, maxlength: 2000, onChange: save });
  input.value = info.inventory;
  area.value = info.note;
  return h("details", { open: Boolean(info.inventory || info.note) }, h("summary", {}, t("notes")),
    field(t("inventory"), input), field(t("note"), area));
}

/** A scale bar for something that is `width_px` pixels of the pieces wide, or null. */
export function scaleBar(app, width_px) {
  const scale = app.state.px_per_mm;
  if (!scale) return null;
  const target = (0.25 * width_px) / scale;
  const power = 10 ** Math.floor(Math.log10(target));
  const length = [5, 2, 1].map((step) => step * power).find((each) => each <= target) ?? power;
  const label = length >= 10 ? `${length / 10} cm` : `${length} mm`;
  return h("p", { class: "scale-bar", style: { width: `${(100 * length * scale) / width_px}%` } }, label);
}
