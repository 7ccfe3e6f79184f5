// Light or dark: as the system says until the person says otherwise.

import { $, say } from "./dom.js";
import { t } from "./text.js";

export function installTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const kept = localStorage.getItem("theme");
  if (kept) document.documentElement.dataset.theme = kept;
  $("#theme").addEventListener("click", () => {
    const now = document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
    const next = now === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    localStorage.setItem("theme", next);
    say(t(`theme-${next}`));
  });
}
