// Keys, and modules that a view asks for. Everything works without this file.
// @ts-check

import { live } from "./live.js";
import { context } from "./context.js";

const typing = /** @param {EventTarget | null} target */ (target) =>
  target instanceof HTMLElement && target.matches("input, select, textarea, [contenteditable]");

/** The things that j and k go through: entries, rows, hits. @returns {HTMLElement[]} */
const stops = () =>
  /** @type {HTMLElement[]} */ ([...document.querySelectorAll("main [data-entry], main [data-row]")]).filter((one) => one.offsetParent !== null);

/** @type {HTMLElement | null} */
let now = null;

/** @param {number} by */
function step(by) {
  const all = stops();
  if (all.length === 0) return;
  let at = now ? all.indexOf(now) : -1;
  if (at < 0) {
    const first = all.findIndex((one) => one.getBoundingClientRect().top > 60);
    at = first < 0 ? all.length - 1 : by > 0 ? first : first + 1;
  } else {
    at = Math.min(Math.max(at + by, 0), all.length - 1);
  }
  now?.classList.remove("now");
  now = all[at] ?? null;
  now?.classList.add("now");
  now?.scrollIntoView({ block: "nearest" });
}

/** @param {string} selector */
function follow(selector) {
  const link = document.querySelector(selector);
  if (link instanceof HTMLAnchorElement) location.assign(link.href);
}

function open() {
  if (!now) return;
  const summary = now.querySelector("summary");
  const link = now.querySelector("a[href]");
  if (summary instanceof HTMLElement) summary.click();
  else if (link instanceof HTMLAnchorElement) location.assign(link.href);
}

let last = "";

addEventListener("keydown", (event) => {
  const find = document.getElementById("find");
  if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    find?.focus();
    return;
  }
  if (event.metaKey || event.ctrlKey || event.altKey || typing(event.target)) {
    if (event.key === "Escape" && event.target instanceof HTMLElement && typing(event.target)) event.target.blur();
    return;
  }
  const keys = document.getElementById("keys");
  const before = last;
  last = event.key;
  switch (before === "g" ? `g${event.key}` : event.key) {
    case "/":
      event.preventDefault();
      find?.focus();
      break;
    case "?":
      if (keys instanceof HTMLDialogElement && !keys.open) keys.showModal();
      break;
    case "j":
      step(1);
      break;
    case "k":
      step(-1);
      break;
    case "[":
      follow("a[rel=prev]");
      break;
    case "]":
      follow("a[rel=next]");
      break;
    case "gh":
      location.assign("/");
      break;
    case "gc":
      location.assign("/web/conversations");
      break;
    case "Enter":
      if (document.activeElement === document.body || document.activeElement?.id === "main") open();
      break;
  }
});

// A view that is still being made looks again.
const again = document.querySelector("[data-again]");
if (again instanceof HTMLElement) setTimeout(() => location.reload(), Number(again.dataset.again));

live();
context();
