// Theme, keys and forms of every page.
import { takeToken } from "./token.js";

takeToken();

const store = {
  get(name) {
    try {
      return localStorage.getItem(name);
    } catch {
      return null;
    }
  },
  set(name, value) {
    try {
      localStorage.setItem(name, value);
    } catch {
      // Storage is off: nothing is kept.
    }
  },
};

const THEMES = { auto: "Auto", light: "Light", dark: "Dark" };
const MEDIA = { auto: "(prefers-color-scheme: dark)", light: "not all", dark: "all" };
const themeButton = document.getElementById("theme");

function showTheme() {
  const now = document.documentElement.dataset.theme;
  themeButton.textContent = `Theme: ${THEMES[now].toLowerCase()}`;
  themeButton.title = "Change the theme (t)";
}

function nextTheme() {
  const names = Object.keys(THEMES);
  const next = names[(names.indexOf(document.documentElement.dataset.theme) + 1) % names.length];
  document.documentElement.dataset.theme = next;
  document.getElementById("dark").media = MEDIA[next];
  store.set("paceline-theme", next);
  showTheme();
  window.dispatchEvent(new Event("paceline-theme"));
}

themeButton.addEventListener("click", nextTheme);
themeButton.hidden = false;
showTheme();

const help = document.getElementById("help");
const keysOn = document.getElementById("keys-on");
const helpButton = document.getElementById("keys");
keysOn.checked = store.get("paceline-keys") !== "off";
keysOn.addEventListener("change", () => store.set("paceline-keys", keysOn.checked ? "on" : "off"));
helpButton.addEventListener("click", () => help.showModal());
helpButton.hidden = false;

const pages = [...document.querySelectorAll("nav.pages a")];

// On a narrow page the names scroll: the present one is to be seen.
document.querySelector("nav.pages [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

function isTyping(target) {
  return target.closest("input, select, textarea, [contenteditable]") !== null;
}

document.addEventListener("keydown", (event) => {
  if (!keysOn.checked || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (help.open) return;
  const page = pages[Number(event.key) - 1];
  if (event.key >= "1" && event.key <= "9" && page) page.click();
  else if (event.key === "t") nextTheme();
  else if (event.key === "?") help.showModal();
  else if (event.key === "/") {
    const field = document.querySelector("main form :is(input:not([type=hidden]), select, textarea)");
    if (!field) return;
    field.focus();
  } else return;
  event.preventDefault();
});

// Fields that were left empty are no part of an answer's address.
for (const form of document.querySelectorAll("form[method=get]")) {
  form.addEventListener("formdata", (event) => {
    for (const [name, value] of [...event.formData]) if (value === "") event.formData.delete(name);
  });
  // A choice among what there is needs no button, where the form says so.
  for (const field of form.querySelectorAll("[data-at-once]")) {
    field.addEventListener("change", () => {
      // What was chosen of one may not be there of another.
      const other = form.elements[field.dataset.resets];
      if (other) other.value = "";
      form.requestSubmit();
    });
  }
}

// An answer that is on its way says so.
for (const form of document.querySelectorAll("form[method=get]")) {
  form.addEventListener("submit", () => form.setAttribute("aria-busy", "true"));
}
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[aria-busy]")) form.removeAttribute("aria-busy");
});
