"use strict";
// For every page: the reader's choices, and colours, which follow the system until one is chosen.

// A page from disk may have no storage, and a browser may forbid it. Then a choice lasts as long as
// the page.
const choices = {
  read(key) {
    try { return localStorage.getItem(key); } catch { return null; }
  },
  keep(key, value) {
    try { localStorage.setItem(key, value); } catch { /* See above. */ }
  },
};

(() => {
  const KEY = "factible-theme";
  const MODES = ["auto", "light", "dark"];
  const { dataset, classList } = document.documentElement;
  const kept = choices.read(KEY);
  dataset.theme = MODES.includes(kept) ? kept : "auto";
  classList.add("scripted");

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const label = () => {
      button.textContent = `Colours: ${dataset.theme}`;
    };
    label();
    button.addEventListener("click", () => {
      dataset.theme = MODES[(MODES.indexOf(dataset.theme) + 1) % MODES.length];
      choices.keep(KEY, dataset.theme);
      label();
    });
  });
})();
