// Small helpers: make elements, find them, speak to the person.

import { t } from "./text.js";

export const $ = (selector, root = document) => root.querySelector(selector);

/** Element `tag` with properties, listeners (onClick …), and children. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2).toLowerCase(), value);
    else if (name === "class") element.className = value;
    else if (name === "style") for (const [key, v] of Object.entries(value)) element.style.setProperty(key, v);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (value === true) element.setAttribute(name, "");
    else element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

/** Tell something to screen readers. */
export function say(text) {
  $("#status").textContent = text;
}

/** Show an error until it is dismissed. */
export function complain(text) {
  const place = $("#alert");
  place.replaceChildren(
    h("p", {}, text),
    h("button", { type: "button", class: "quiet icon", "aria-label": t("dismiss"), onClick: calm }, "×"),
  );
}

export function calm() {
  $("#alert").replaceChildren();
}

/** Cover the page while `promise` is pending. */
export async function busy(text, promise) {
  $("#busy-text").textContent = text;
  const timer = setTimeout(() => ($("#busy").hidden = false), 150);
  say(text);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    $("#busy").hidden = true;
  }
}

export const percent = (p) => (p === null || p === undefined ? "–" : `${Math.floor(100 * p + 0.5)} %`);

export const times = (grid) => `${grid.rows} × ${grid.cols}`;
