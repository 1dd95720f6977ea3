// What changes while somebody looks: server-sent events of the API.
// @ts-check

/** Most lines of the feed. */
const LINES = 100;

/**
 * @typedef {object} Changed
 * @property {string} conversation
 * @property {number} entries
 */

const WORDS = /** @type {Record<string, string>} */ ({
  conversation: "new conversation",
  entries: "entries",
  compaction: "summaries",
  pins: "pins",
  raised: "put back",
  label: "label",
  prompt: "prompt",
  jobs: "jobs",
  purge: "purge",
});

export function live() {
  const subject = document.querySelector("[data-conversation]");
  const feed = document.getElementById("feed");
  const mark = document.getElementById("live");
  if (!feed && !document.getElementById("today") && !(subject instanceof HTMLElement && mark)) return;
  const of = subject instanceof HTMLElement ? `?conversation=${encodeURIComponent(subject.dataset.conversation ?? "")}` : "";
  const source = new EventSource(`/api/v1/events${subject && !feed ? of : ""}`);
  const state = document.getElementById("feed-state");
  source.onopen = () => {
    if (state) state.textContent = "Listening. What happens is listed here.";
  };
  source.onerror = () => {
    if (state) state.textContent = "The daemon does not answer. The list goes on when it is back.";
  };
  const known = subject instanceof HTMLElement ? Number(subject.dataset.entries) : 0;
  const today = document.getElementById("today");
  for (const name of Object.keys(WORDS)) {
    source.addEventListener(name, (event) => {
      /** @type {Changed} */
      const changed = JSON.parse(/** @type {MessageEvent} */ (event).data);
      if (today && name === "entries") again();
      if (feed) line(feed, name, changed);
      else if (mark && name === "entries" && changed.entries > known) grew(mark, changed.entries - known);
    });
  }
  source.addEventListener("reset", () => {
    if (state) state.textContent = "More happened than is kept: load the page again to see all of it.";
  });
  addEventListener("pagehide", () => source.close());
}

/** @param {HTMLElement} feed @param {string} name @param {Changed} changed */
function line(feed, name, changed) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = `/web/c/${encodeURIComponent(changed.conversation)}`;
  link.textContent = changed.conversation;
  item.append(`${new Date().toLocaleTimeString()}  ${WORDS[name]}  `, link, `  ${changed.entries} entries`);
  feed.prepend(item);
  while (feed.childElementCount > LINES) feed.lastElementChild?.remove();
}

/** @param {HTMLElement} mark @param {number} more */
function grew(mark, more) {
  const link = document.createElement("a");
  link.href = location.pathname;
  link.textContent = `● live: ${more} new`;
  mark.replaceChildren(link);
}

/** Whether the cost of today is asked for. */
let isAsked = false;

/** Shows the cost of today again, at most every five seconds. */
function again() {
  if (isAsked) return;
  isAsked = true;
  setTimeout(async () => {
    isAsked = false;
    const answer = await fetch("/web/today").catch(() => undefined);
    if (!answer?.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("today");
    if (fresh) document.getElementById("today")?.replaceWith(document.adoptNode(fresh));
  }, 5_000);
}
