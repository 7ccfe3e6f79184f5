// The words of the page: one file for each language in lang/, the same keys in all.

export const LANGUAGES = { en: "English", it: "Italiano" };
let texts = {};
export let language = "en";

/** Load the words: as chosen before, else as the browser wishes. */
export async function loadTexts(wanted = localStorage.getItem("language")) {
  const wishes = [wanted, ...navigator.languages].filter(Boolean).map((each) => each.slice(0, 2));
  language = wishes.find((each) => each in LANGUAGES) ?? "en";
  texts = await (await fetch(`lang/${language}.json`)).json();
  document.documentElement.lang = language;
  for (const element of document.querySelectorAll("[data-t]")) element.textContent = t(element.dataset.t);
  for (const element of document.querySelectorAll("[data-t-label]")) {
    element.setAttribute("aria-label", t(element.dataset.tLabel));
    if (element.title) element.title = t(element.dataset.tLabel);
  }
}

/** The text of a key; {name} is filled from `values`. */
export function t(key, values = {}) {
  const text = texts[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

export const known = (key) => key in texts;

/** "1 fragment", "3 fragments". */
export const count = (key, n) => t(`${key}.${n === 1 ? "one" : "other"}`, { n });

/** A sentence of the server in this language, where it is known; numbers, lists of them and names of methods stay. */
export function spoken(sentence) {
  const kept = [];
  const keep = (mark) => (value) => {
    kept.push(value);
    return mark;
  };
  const pattern = String(sentence)
    .replace(/(?<=^(?:solve with|Loading the solver) ).+$/, keep("%"))
    .replace(/\d+(?:[.,]\d+)*(?:, \d+(?:[.,]\d+)*)*/g, keep("#"));
  const found = texts[`said:${pattern}`];
  return found === undefined ? String(sentence) : found.replace(/[#%]/g, () => kept.shift());
}
