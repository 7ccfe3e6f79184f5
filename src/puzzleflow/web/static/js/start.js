// The start page: ways to put fragments in.

import * as api from "./api.js";
import { h, times } from "./dom.js";
import { openFiles } from "./drops.js";

const GRIDS = [[2, 2], [2, 3], [3, 3], [4, 4], [5, 5]].map(([rows, cols]) => ({ rows, cols }));
const PICTURES = "image/png,image/jpeg,image/webp,image/tiff,image/bmp,image/gif";
const chosen = { grid: 2, erosion: "vae" };

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
  return [
    select("cut-grid", "Pieces", GRIDS.map((grid, index) => [index, times(grid)]), chosen.grid, (v) => (chosen.grid = Number(v))),
    select("cut-edges", "Edges", Object.entries(app.about.erosions), chosen.erosion, (v) => (chosen.erosion = v)),
  ];
}

const seed = () => Math.floor(Math.random() * 2 ** 31);

function samples(app) {
  return h("ul", { class: "samples" }, app.about.samples.map((sample) =>
    h("li", {}, h("button", {
      type: "button", title: `${sample.title}${sample.artist ? `, ${sample.artist}` : ""}, ${sample.date}`,
      "aria-label": `Try it with ${sample.title}`, dataset: { sample: sample.name },
      onClick: () => app.open("Cutting the picture", () => api.openSample({
        sample: sample.name, grid: GRIDS[chosen.grid], erosion: chosen.erosion, seed: seed(),
      })),
    }, h("img", { src: `api/samples/${sample.name}.jpg`, alt: "", loading: "lazy" }), h("span", {}, sample.title)))));
}

export function startScreen(app, main) {
  const { limits } = app.about;
  const megapixels = Math.round(limits.max_pixels / 1e6);
  const card = (title, text, ...content) =>
    h("section", { class: "card" }, h("h3", {}, title), h("p", {}, text), h("div", { class: "row" }, content));
  main.className = "start";
  main.replaceChildren(
    h("div", { class: "hero" },
      h("h2", {}, "Put broken pictures back together"),
      h("p", {}, "Drop pictures anywhere on this page, or choose how to begin. You see how sure "
        + "each piece is, move and fix what you know better, and have the rest laid again.")),
    h("div", { class: "cards" },
      card("A photograph of fragments", "Several fragments on a plain ground, seen from above.",
        filePicker(app, "file-photo", "Choose a photograph", "photo", { accept: PICTURES })),
      card("One picture per fragment", "With a transparent or a plain ground, all at one scale.",
        filePicker(app, "file-pieces", "Choose pictures", "pieces", { accept: PICTURES, multiple: true })),
      card("A picture of your own", "It is cut up and worn, then put together again.",
        filePicker(app, "file-cut", "Choose a picture", "cut", {
          accept: PICTURES, options: () => ({ ...GRIDS[chosen.grid], erosion: chosen.erosion, seed: seed() }),
        })),
      card("A saved workbench", "Pieces, pins and history as you left them.",
        filePicker(app, "file-saved", "Open a file", "saved", { accept: ".zip,application/zip" }))),
    h("section", { class: "try" },
      h("div", { class: "row spread" }, h("h2", {}, "Try it with a painting"),
        h("div", { class: "row" }, cutOptions(app))),
      samples(app),
      h("p", { class: "fine" }, "Pictures: The Metropolitan Museum of Art, Open Access (CC0).")),
    h("p", { class: "fine" },
      `At most ${limits.max_files} files of ${Math.round(limits.max_file_bytes / 1048576)} MB and ${megapixels} `
      + `megapixels each, ${limits.max_pieces} pieces. Nothing leaves this machine. `
      + `PuzzleFlow ${app.about.version}.`),
  );
}
