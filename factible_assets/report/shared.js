"use strict";
// For every page: colours follow the system until the reader chooses.
(() => {
  const KEY = "factible-theme";
  const MODES = ["auto", "light", "dark"];
  const root = document.documentElement;

  // A page from disk may have no storage. Then the choice lasts as long as the page.
  const stored = () => {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null;
    }
  };
  const store = (mode) => {
    try {
      localStorage.setItem(KEY, mode);
    } catch {
      // See above.
    }
  };
  const apply = (mode) => {
    if (mode === "auto") delete root.dataset.theme;
    else root.dataset.theme = mode;
  };

  let mode = MODES.includes(stored()) ? stored() : "auto";
  apply(mode);
  root.classList.add("scripted");

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const label = () => {
      button.textContent = `Colours: ${mode}`;
    };
    label();
    button.addEventListener("click", () => {
      mode = MODES[(MODES.indexOf(mode) + 1) % MODES.length];
      apply(mode);
      store(mode);
      label();
    });
  });
})();
