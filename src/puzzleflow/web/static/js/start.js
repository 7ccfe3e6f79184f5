// The start page: ways to put fragments in, and what was worked on before.

import * as api from "./api.js";
import { h, times } from "./dom.js";
import { openFiles } from "./drops.js";
import { count, language, t } from "./text.js";

const GRIDS = [[2, 2], [2, 3], [3, 3], [4, 4], [5, 5]].map(([rows, cols]) => ({ rows, cols }));
const PICTURES = "image/png,image/jpeg,image/webp,image/tiff,image/bmp,image/gif";
const chosen = { grid: 2, erosion: "vae" };
const SHOWN = 8;

function filePicker(app, id, label, kind, { accept, multiple = false, options = () => ({}) }) {
  const input = h("input", {
    type: "file", id, accept, multiple, class: "hidden", tabindex: "-1", "aria-hidden": "true",
    onChange: (event) => {
      openFiles(app, event.target.files, kind, options());
      event.target.value = "";
    },
  });
  const button = h("button", { type: "button", onClick: () => input.click() }, label);
  return [button, input];
}

function select(id, label, entries, value, onChange) {
  return h("label", { class: "field" }, h("span", {}, label),
    h("select", { id, onChange: (event) => onChange(event.target.value) },
      entries.map(([key, text]) => h("option", { value: key, selected: String(key) === String(value) }, text))));
}

function cutOptions(app) {
  const edges = app.about.erosions.map((name) => [name, t(`edges-${name}`)]);
  return [
    select("cut-grid", t("pieces"), GRIDS.map((grid, index) => [index, times(grid)]), chosen.grid, (v) => (chosen.grid = Number(v))),
    select("cut-edges", t("edges"), edges, chosen.erosion, (v) => (chosen.erosion = v)),
  ];
}

const seed = () => Math.floor(Math.random() * 2 ** 31);

function samples(app) {
  return h("ul", { class: "samples" }, app.about.samples.map((sample) =>
    h("li", {}, h("button", {
      type: "button", title: `${sample.title}${sample.artist ? `, ${sample.artist}` : ""}, ${sample.date}`,
      "aria-label": t("try-with", { title: sample.title }), dataset: { sample: sample.name },
      onClick: () => app.open(t("cutting"), () => api.openSample({
        sample: sample.name, grid: GRIDS[chosen.grid], erosion: chosen.erosion, seed: seed(),
      })),
    }, h("img", { src: `api/samples/${sample.name}.jpg`, alt: "", loading: "lazy" }), h("span", {}, sample.title)))));
}

/** Workbenches of before; filled when the server has answered. */
function recent(app) {
  const list = h("ul", { class: "recent" });
  const section = h("section", { class: "try", hidden: true }, h("h2", {}, t("recent")), list,
    app.about.keeps ? null : h("p", { class: "warning" }, t("keeps-nothing")));
  app.attempt(async () => {
    const found = await api.recent();
    section.hidden = !found.length;
    const when = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
    const entry = (each) => h("li", {},
      h("a", { href: `#w=${each.id}`, dataset: { recent: each.id } }, each.title),
      h("span", { class: "fine" }, `${count("pieces", each.num_pieces)}${each.solved ? ` · ${t("laid")}` : ""} · ${when.format(1000 * each.changed_at)}`),
      h("button", { type: "button", class: "quiet", "aria-label": t("forget-this", { title: each.title }), onClick: () => app.forget(each.id) }, t("forget")));
    list.replaceChildren(...found.slice(0, SHOWN).map(entry));
    if (found.length > SHOWN) {
      list.append(h("li", {}, h("button", {
        type: "button", class: "quiet", onClick: () => list.replaceChildren(...found.map(entry)),
      }, t("all-recent", { n: found.length }))));
    }
  });
  return section;
}

export function startScreen(app, main) {
  const { limits } = app.about;
  const megapixels = Math.round(limits.max_pixels / 1e6);
  const accept = app.about.heic ? `${PICTURES},image/heic,image/heif,.heic,.heif` : PICTURES;
  const card = (name, ...content) => h("section", { class: "card" }, h("h3", {}, t(`card-${name}`)),
    h("p", {}, t(`card-${name}-text`)), h("div", { class: "row" }, content));
  main.className = "start";
  main.replaceChildren(
    h("div", { class: "hero" }, h("h2", {}, t("hero")), h("p", {}, t("hero-text"))),
    h("div", { class: "cards" },
      card("photo", filePicker(app, "file-photo", t("choose-photo"), "photo", { accept })),
      card("pieces", filePicker(app, "file-pieces", t("choose-pictures"), "pieces", { accept, multiple: true })),
      card("cut", filePicker(app, "file-cut", t("choose-picture"), "cut", {
        accept, options: () => ({ ...GRIDS[chosen.grid], erosion: chosen.erosion, seed: seed() }),
      })),
      card("saved", filePicker(app, "file-saved", t("open-file"), "saved", { accept: ".zip,application/zip" }))),
    recent(app),
    h("section", { class: "try" },
      h("div", { class: "row spread" }, h("h2", {}, t("try")),
        h("div", { class: "row" }, cutOptions(app))),
      samples(app),
      h("p", { class: "fine" }, t("sample-rights"))),
    h("p", { class: "fine" }, t("limits", {
      files: limits.max_files, mb: Math.round(limits.max_file_bytes / 1048576), mp: megapixels,
      pieces: limits.max_pieces, version: app.about.version,
    })),
  );
}
