// Before anything is drawn: the theme that was chosen here, else the system's.
(() => {
  "use strict";
  let chosen = "auto";
  try {
    chosen = localStorage.getItem("paceline-theme") || "auto";
  } catch {
    // Storage is off: the system's theme it is.
  }
  const media = { dark: "all", light: "not all" };
  document.getElementById("dark").media = media[chosen] || "(prefers-color-scheme: dark)";
  document.documentElement.dataset.theme = media[chosen] ? chosen : "auto";
})();
