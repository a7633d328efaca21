// The theme: that of the system, or light or dark as chosen. The choice is the only thing that the
// console keeps in the browser.
import { el } from "./dom.js";
import { words } from "./words.js";

const KEY = "skein-theme";
const THEMES = ["system", "light", "dark"];

/** Apply the chosen theme; return the control that changes it. */
export function themeSwitch() {
  let theme = localStorage.getItem(KEY);
  if (!THEMES.includes(theme)) theme = "system";
  const control = el("button", { type: "button", class: "quiet", on: { click: next } });
  function next() {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    localStorage.setItem(KEY, theme);
    apply();
  }
  function apply() {
    document.documentElement.dataset.theme = theme;
    control.textContent = words.theme[theme];
  }
  apply();
  return control;
}
