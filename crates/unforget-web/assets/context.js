// Stepping and dragging in the context view, without loading the page anew.
// @ts-check

/** @type {AbortController | null} */
let running = null;

/** Shows another call in place. @param {string} href */
async function go(href) {
  running?.abort();
  const mine = new AbortController();
  running = mine;
  try {
    const answer = await fetch(href, { signal: mine.signal });
    if (!answer.ok) throw new Error(String(answer.status));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const id of ["call", "chart"]) {
      const [old, made] = [document.getElementById(id), page.getElementById(id)];
      if (!old || !made) throw new Error(id);
      old.replaceWith(document.importNode(made, true));
    }
    history.replaceState(null, "", href);
    listen();
  } catch (error) {
    if (!(error instanceof DOMException && error.name === "AbortError")) location.assign(href);
  }
}

/** The call whose column is nearest. @param {SVGSVGElement} chart @param {number} x @returns {SVGAElement | null} */
function nearest(chart, x) {
  let best = null;
  let least = Infinity;
  for (const hit of /** @type {NodeListOf<SVGAElement>} */ (chart.querySelectorAll("a.hit"))) {
    const box = hit.getBoundingClientRect();
    const far = Math.abs(box.left + box.width / 2 - x);
    if (far < least) [best, least] = [hit, far];
  }
  return best;
}

function listen() {
  const chart = document.getElementById("chart");
  if (!(chart instanceof SVGSVGElement)) return;
  let dragging = false;
  const cursor = chart.querySelector(".cursor");
  /** @param {PointerEvent} event */
  const move = (event) => {
    const hit = nearest(chart, event.clientX);
    const box = hit?.querySelector("rect");
    if (box && cursor) cursor.setAttribute("x", box.getAttribute("x") ?? "0");
    return hit;
  };
  chart.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    dragging = true;
    chart.setPointerCapture(event.pointerId);
    move(event);
    event.preventDefault();
  });
  chart.addEventListener("pointermove", (event) => {
    if (dragging) move(event);
  });
  chart.addEventListener("pointerup", (event) => {
    if (!dragging) return;
    dragging = false;
    const hit = move(event);
    if (hit) void go(hit.href.baseVal);
  });
  chart.addEventListener("click", (event) => event.preventDefault());
  for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll(".steps a[data-step]"))) {
    link.addEventListener("click", (event) => {
      if (event.metaKey || event.ctrlKey) return;
      event.preventDefault();
      void go(link.href);
    });
  }
}

/** Arrow keys among the cells of the map. @param {KeyboardEvent} event @param {HTMLElement} cell */
function among(event, cell) {
  const all = /** @type {HTMLElement[]} */ ([...(cell.parentElement?.children ?? [])]);
  const at = all.indexOf(cell);
  const row = Math.max(1, all.findIndex((one) => one.offsetTop > (all[0]?.offsetTop ?? 0)));
  const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -row, ArrowDown: row }[event.key];
  const next = by === undefined ? undefined : all[at + by];
  if (!next) return;
  event.preventDefault();
  cell.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

export function context() {
  if (!document.getElementById("chart")) return;
  listen();
  addEventListener("keydown", (event) => {
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    const target = event.target;
    if (target instanceof HTMLElement && target.matches(".cell")) return among(event, target);
    if (target instanceof HTMLElement && target.matches("input, select, textarea, pre")) return;
    const name = { ArrowLeft: event.shiftKey ? "prev-break" : "prev", ArrowRight: event.shiftKey ? "next-break" : "next", Home: "first", End: "last" }[event.key];
    const link = name ? document.querySelector(`.steps a[data-step="${name}"]`) : null;
    if (link instanceof HTMLAnchorElement) {
      event.preventDefault();
      void go(link.href);
    }
  });
}
