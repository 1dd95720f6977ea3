// Drives the page in Chromium. See `run`.
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";
import { hostile } from "./history.mjs";

const { UNFORGET_BIN, CHROMIUM, REPOSITORY, SHOTS } = process.env;
const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const work = fs.mkdtempSync(path.join(os.tmpdir(), "unforget-web-"));
const env = { ...process.env, XDG_CONFIG_HOME: work, HOME: work, TZ: "UTC" };
const db = path.join(work, "unforget.sqlite");
const started = [];
const failures = [];
const fail = (what) => {
  failures.push(what);
  console.error(`FAILED ${what}`);
};
const check = (is, what) => is || fail(what);

function unforget(...args) {
  const done = spawnSync(UNFORGET_BIN, ["--db", db, ...args], { env, encoding: "utf8" });
  if (done.status !== 0) throw new Error(`unforget ${args.join(" ")}: ${done.stderr}`);
  return done.stdout;
}

/** Starts a server and waits for its address. */
function serve(args, more = {}) {
  const child = spawn(UNFORGET_BIN, args, { env: { ...env, ...more }, stdio: ["ignore", "pipe", "pipe"] });
  started.push(child);
  return new Promise((resolve, reject) => {
    let text = "";
    const look = (data) => {
      text += data;
      const found = text.match(/http:\/\/127\.0\.0\.1:\d+/);
      if (found) resolve({ url: found[0], child });
    };
    child.stdout.on("data", look);
    child.stderr.on("data", look);
    child.on("exit", () => reject(new Error(`the server ended: ${text}`)));
  });
}

const key = (name) => encodeURIComponent(name).replace(/[.!~*'()-]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
const LONG = key("pi:0b7e1d42-5c1f-4a8e-9d57-71debca4d001");
const HOSTILE = key("pi:aaaa1111-0000-4000-8000-0000000000ff");

/** Every view, by its name. */
const views = {
  home: "/",
  conversations: "/web/conversations",
  "conversations-none": "/web/conversations?q=nothing-is-called-so",
  reader: `/web/c/${LONG}`,
  entry: `/web/c/${LONG}/entry/12`,
  context: `/web/c/${LONG}/context?window=32k`,
  "context-call": `/web/c/${LONG}/context?window=32k&at=120&e=40#call`,
  "context-summary": `/web/c/${LONG}/context?window=32k&at=190`,
  left: `/web/c/${LONG}/left?window=32k`,
  diff: `/web/c/${LONG}/diff?window=32k`,
  summaries: `/web/c/${LONG}/summaries?window=32k`,
  reject: `/web/c/${LONG}/left?window=32k&reject=s%3A12&line=retry`,
  ledger: `/web/c/${LONG}/ledger`,
  search: "/web/search?q=retry+budget",
  "search-none": "/web/search?q=zyzzyva",
  "search-empty": "/web/search",
  calls: "/web/calls",
  trust: "/web/trust",
  settings: "/web/settings",
  missing: "/web/c/nobody",
  "hostile-reader": `/web/c/${HOSTILE}?all=1`,
  "hostile-entry": `/web/c/${HOSTILE}/entry/3`,
  "hostile-context": `/web/c/${HOSTILE}/context?window=8k&at=200&e=10`,
  "hostile-left": `/web/c/${HOSTILE}/left?window=8k`,
  "hostile-diff": `/web/c/${HOSTILE}/diff?window=8k`,
  "hostile-summaries": `/web/c/${HOSTILE}/summaries?window=8k`,
  "hostile-ledger": `/web/c/${HOSTILE}/ledger`,
  "hostile-search": "/web/search?q=%3Cscript%3Ewindow.hacked",
};

/** A page that notes every complaint. */
async function watched(context, name) {
  const page = await context.newPage();
  const complaints = [];
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => console.error(`csp ${event.violatedDirective} ${event.blockedURI}`));
  });
  page.on("console", (message) => {
    const is404 = message.text().includes("the server responded with a status of 404");
    if (message.type() === "error" && !(is404 && name() === "missing")) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("dialog", (dialog) => {
    complaints.push(`dialog ${dialog.message()}`);
    void dialog.dismiss();
  });
  return { page, complaints };
}

/** Opens a view, also one that first says how far its reading is. */
async function open(page, url) {
  const answer = await page.goto(url, { waitUntil: "load" });
  await page.waitForFunction(() => !document.querySelector("[data-again]"), undefined, { timeout: 60_000 });
  return answer;
}

async function audited(page, name) {
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const result = await window.axe.run(document, { resultTypes: ["violations"] });
    return result.violations.map((one) => `${one.id} (${one.nodes.length}): ${one.nodes[0]?.html.slice(0, 160)} ${one.nodes[0]?.failureSummary?.slice(0, 200)}`);
  });
  for (const one of found) fail(`axe ${name}: ${one}`);
}

async function everyView(browser, base) {
  const links = new Set();
  const first = await browser.newPage();
  await open(first, base + views["context-call"]);
  const summary = await first.locator("a[href*='sum=']").first().getAttribute("href");
  views["context-summary"] = summary.split("#")[0];
  await first.close();
  for (const theme of ["light", "dark"]) {
    for (const [width, height] of [[390, 844], [1280, 900], [3840, 2160]]) {
      const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, reducedMotion: "reduce" });
      let name = "";
      const { page, complaints } = await watched(context, () => name);
      for (const [view, place] of Object.entries(views)) {
        name = view;
        const answer = await open(page, base + place);
        check((answer.status() === 200) === (view !== "missing"), `${view}: status ${answer.status()}`);
        check((answer.headers()["content-security-policy"] ?? "").startsWith("default-src 'self'"), `${view}: no policy`);
        // Before anything that adds attributes of its own: a screenshot hides carets, the audit adds elements.
        const inline = await page.evaluate(() => [...document.querySelectorAll("*")].filter((one) => [...one.attributes].some((a) => a.name.startsWith("on") || a.name === "style")).length);
        check(inline === 0, `${view}: ${inline} inline handlers or styles`);
        await page.screenshot({ path: path.join(SHOTS, `${view}-${width}-${theme}.png`) });
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        check(wide <= 0, `${view} at ${width}: ${wide} px too wide`);
        check((await page.evaluate(() => window.hacked)) === undefined, `${view}: a script of the transcript ran`);
        if (width === 1280 && theme === "light") {
          const found = await page.evaluate(() => [...document.querySelectorAll("a[href]")].map((a) => (typeof a.href === "string" ? a.href : new URL(a.href.baseVal, location.href).href)));
          found.filter((href) => href.startsWith(base)).slice(0, 4000).forEach((href) => links.add(href.split("#")[0]));
        }
        if (width === 1280) await audited(page, `${view} ${theme}`);
        complaints.splice(0).forEach((one) => fail(`${view} ${width} ${theme}: ${one}`));
      }
      await context.close();
    }
  }
  return links;
}


async function everyLink(links) {
  const all = [...links];
  // Every kind of link, and of cells and columns a part.
  const some = all.filter((href, at) => !href.endsWith(views.missing) && (!/[?&]e=|[?&]at=/.test(href) || at % 29 === 0)).slice(0, 900);
  let broken = 0;
  for (const href of some) {
    const answer = await fetch(href, { redirect: "manual" });
    await answer.arrayBuffer();
    if (answer.status !== 200 && ++broken <= 10) fail(`link ${href}: ${answer.status}`);
  }
  console.log(`${some.length} of ${all.length} links resolve`);
}

async function keys(browser, base) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const { page, complaints } = await watched(context, () => "keys");
  await open(page, `${base}${views.reader}`);
  await page.keyboard.press("j");
  check((await page.locator(".now").count()) === 1, "j chooses an entry");
  await page.keyboard.press("?");
  check(await page.locator("#keys").evaluate((one) => one.open), "? shows the keys");
  await page.keyboard.press("Escape");
  await page.keyboard.press("[");
  await page.waitForURL(/before=/);
  await page.keyboard.press("/");
  check(await page.evaluate(() => document.activeElement?.id === "find"), "/ goes to the search");
  await page.keyboard.type("heron");
  await page.keyboard.press("Enter");
  await page.waitForURL(/web\/search\?q=heron/);
  await open(page, `${base}/web/c/${LONG}/context?window=32k&at=120`);
  await page.evaluate(() => (window.same = 1));
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => document.getElementById("call")?.dataset.label === "121");
  check((await page.evaluate(() => window.same)) === 1, "stepping does not load the page anew");
  check(page.url().includes("at=121"), "the address follows");
  const box = await page.locator("#chart").boundingBox();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 100);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.3, box.y + 100);
  await page.mouse.up();
  await page.waitForFunction(() => document.getElementById("call")?.dataset.label !== "121");
  await page.keyboard.press("Tab");
  complaints.forEach((one) => fail(`keys: ${one}`));
  await context.close();
}

async function live(browser, base) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const { page, complaints } = await watched(context, () => "live");
  await open(page, `${base}/web/calls`);
  await page.waitForFunction(() => document.getElementById("feed-state")?.textContent?.startsWith("Listening"));
  fs.writeFileSync(path.join(work, "more.json"), JSON.stringify([{ role: "user", content: "hello otters" }, { role: "assistant", content: "hello" }]));
  unforget("import", path.join(work, "more.json"));
  await page.locator("#feed li").first().waitFor({ timeout: 10_000 });
  complaints.forEach((one) => fail(`live: ${one}`));
  await context.close();
}

async function withoutScripts(browser, base) {
  const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.goto(`${base}${views.reader}`);
  await page.locator("a[rel=prev]").first().click();
  check(page.url().includes("before="), "pages are links");
  check((await page.locator("[data-entry]").count()) > 5, "entries are read without JavaScript");
  await page.goto(`${base}/web/c/${LONG}/context?window=32k&at=200`);
  await page.locator(".steps a[data-step=prev]").click();
  check(page.url().includes("at=199"), "steps are links");
  await page.locator(".cell").nth(20).click();
  check((await page.locator("#words").count()) === 1, "a cell shows its words");
  await page.locator("#chart a.hit").nth(50).click();
  check(page.url().includes("at=51"), "a column is a link");
  await context.close();
}

/** What the owner decides on the page, without JavaScript: entries put back and statements rejected, and both undone. */
async function decisions(browser, base) {
  const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  const rows = (words) => page.locator("#decisions tr", { hasText: words });
  // A call at which a summary took over: an entry that a prompt only shows cut cannot be put back.
  const left = `${base}${views.left}&at=194`;
  await page.goto(left);
  await page.locator("td.acts button", { hasText: "put back" }).first().click();
  check(page.url().endsWith("#decisions") && (await rows("put back 1").count()) === 1, `an entry is put back: ${page.url()}`);
  const prompt = () => JSON.parse(unforget("prompt", decodeURIComponent(LONG), "--window", "32k", "--json")).certificate;
  check(prompt().raised.whole + prompt().raised.short >= 1, "and stands in the next prompt");
  await page.screenshot({ path: path.join(SHOTS, "decided-1280-light.png") });
  await rows("put back 1").locator("button").click();
  check((await rows("put back").count()) === 0, "undo takes it away");
  await page.locator("p button", { hasText: "put back" }).first().click();
  check((await rows("put back 2").count()) === 1, "all that left at a break is put back");
  await rows("put back 2").locator("button").click();
  await page.locator("td.acts a", { hasText: "reject" }).first().click();
  await page.fill("#why", "it was <b>another</b> one");
  await page.screenshot({ path: path.join(SHOTS, "reject-1280-light.png") });
  await page.locator("#reject button").click();
  check((await rows("rejected 1").count()) === 1, `a statement is rejected: ${page.url()} ${(await page.locator("main").innerText()).slice(0, 300)}`);
  check((await page.locator("#reject").count()) === 0, "and the form is gone");
  await rows("rejected 1").locator("button").click();
  check((await page.locator("#decisions").count()) === 0, "nothing is decided any more");
  await page.goto(`${base}${views.summaries}`);
  await page.getByText("Its lines").first().click();
  check((await page.locator("#lines tbody tr").count()) > 0, "a summary has lines");
  await page.locator("#lines button", { hasText: "put back" }).click();
  check((await rows("put back 3").count()) === 1, "a summary's entries are put back");
  await rows("put back 3").locator("button").click();
  await page.goto(`${base}${views.search}`);
  await page.locator("article.hit button", { hasText: "put back" }).first().click();
  check((await page.getByText("1 decision about this conversation").count()) === 1, "a hit is put back");
  await page.locator("article.hit a", { hasText: "reject" }).first().click();
  await page.fill("#why", "no longer so");
  await page.locator("#reject button").click();
  check((await page.getByText("marked: no longer so").count()) === 1, "a hit is marked");
  await page.goto(`${left}#decisions`);
  while ((await page.locator("#decisions button", { hasText: "undo" }).count()) > 0) await page.locator("#decisions button", { hasText: "undo" }).first().click();
  const token = await page.locator("#decide input[name=token]").getAttribute("value");
  const send = async (headers, body) => (await fetch(`${base}/web/c/${LONG}/decisions`, { method: "POST", redirect: "manual", headers: { "content-type": "application/x-www-form-urlencoded", ...headers }, body })).status;
  check((await send({ origin: base }, `token=${token}&raise=3`)) === 303, "a form of this page is taken");
  check((await send({ origin: base }, `token=${token}&lower=99`)) === 400, "what cannot be done is told");
  check((await send({ origin: base }, "token=x&raise=3")) === 403, "a form of no page is not");
  check((await send({}, `token=${token}&raise=3`)) === 403, "nor one without an origin");
  check((await send({ origin: "http://evil.example" }, `token=${token}&raise=3`)) === 403, "nor one of another site");
  await context.close();
}

/** Titles, stars and tags, without JavaScript; and the cost of breaks. */
async function labels(browser, base) {
  const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.goto(`${base}/web/c/${LONG}`);
  const before = await page.locator(".subject .title").innerText();
  await page.locator("details.label summary").click();
  await page.locator("details.label input[name=title]").fill("The release <b>of spring</b>");
  await page.locator("details.label input[name=tags]").fill("Later infra");
  await page.locator("details.label button").click();
  check((await page.locator(".subject .title").innerText()) === "The release <b>of spring</b>", "a title of one's own, as text");
  check((await page.locator(".subject a.tag").allInnerTexts()).join(" ") === "#infra #later", "tags");
  await page.locator(".starring button").click();
  check((await page.locator(".starring button").getAttribute("aria-pressed")) === "true", "a star");
  await page.goto(`${base}/web/conversations?star=1&tag=infra`);
  check((await page.locator("tr[data-row]").count()) === 1, "the list is filtered by star and tag");
  await page.screenshot({ path: path.join(SHOTS, "labelled-1280-light.png") });
  await page.locator("tr[data-row] button.star").click();
  check((await page.getByText("is like that").count()) === 1, "the star is taken away in the list");
  await page.goto(`${base}/web/c/${LONG}`);
  await page.locator("details.label summary").click();
  await page.locator("details.label input[name=title]").fill("");
  await page.locator("details.label input[name=tags]").fill("");
  await page.locator("details.label button").click();
  check((await page.locator(".subject .title").innerText()) === before, "an empty title takes it away");
  await page.goto(`${base}/web/c/${LONG}/context?window=32k`);
  check(/\$\d+\.\d\d more than from the cache/.test(await page.locator("details.breaks summary").innerText()), "breaks have a price");
  // Without JavaScript, a person looks again until the calls are played.
  do await page.goto(`${base}/web/c/${LONG}/context?window=32k&model=nobody-knows`);
  while ((await page.locator("[data-again]").count()) > 0);
  await page.locator("details.breaks summary").click();
  check((await page.getByText("No price is known for nobody-knows").count()) === 1, "what has no price is told");
  await page.goto(`${base}/`);
  check((await page.locator("#today").count()) === 1, "the cost of today");
  await context.close();
}

/** Conversations as files: read from the disk, without a request, and behind a passphrase. */
async function files(browser) {
  const passphrase = path.join(work, "passphrase");
  fs.writeFileSync(passphrase, "nine blue herons at dawn\n");
  const pages = {
    "file-long": [decodeURIComponent(LONG), "--window", "32k"],
    "file-hostile": [decodeURIComponent(HOSTILE), "--window", "8k", "--mask"],
    "file-sealed": [decodeURIComponent(LONG), "--window", "32k", "--encrypt", passphrase],
  };
  for (const [name, args] of Object.entries(pages)) {
    const file = path.join(work, `${name}.html`);
    unforget("export", ...args, "--html", "--output", file);
    const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
    const { page, complaints } = await watched(context, () => name);
    page.on("request", (request) => check(request.url().startsWith("file://"), `${name} asks for ${request.url()}`));
    await page.goto(`file://${file}`);
    if (name === "file-sealed") {
      check(!fs.readFileSync(file, "utf8").includes('class="turn"'), `${name}: turns are readable`);
      await audited(page, `${name}, shut`);
      await page.fill("[name=passphrase]", "nine blue heron at dawn");
      await page.click("button");
      await page.getByText("does not open").waitFor();
      await page.fill("[name=passphrase]", "nine blue herons at dawn");
      await page.click("button");
      await page.locator("#turns").waitFor();
    }
    check((await page.locator("[data-entry]").count()) > 5, `${name}: no turns`);
    check((await page.locator("#chart").count()) === 1, `${name}: no chart`);
    check((await page.evaluate(() => window.hacked)) === undefined, `${name}: a script of the transcript ran`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    check(wide <= 0, `${name}: ${wide} px too wide`);
    await page.screenshot({ path: path.join(SHOTS, `${name}.png`) });
    check(complaints.length === 0, `${name}: ${complaints.join("; ")}`);
    await context.close();
  }
}

async function withToken(browser) {
  const token = "uft_reader";
  const config = path.join(work, "unforget", "config.toml");
  fs.mkdirSync(path.dirname(config), { recursive: true });
  const own = spawnSync(UNFORGET_BIN, ["serve", "--new-token", "default", "--json"], { env, encoding: "utf8" });
  const made = JSON.parse(own.stdout);
  const owner = JSON.parse(spawnSync(UNFORGET_BIN, ["serve", "--new-token", "default", "--json"], { env, encoding: "utf8" }).stdout);
  const token_of = ({ digest }, scope) => `[[serve.tokens]]\ntenant = "default"\ndigest = "${digest}"\nscopes = ["${scope}"]\n`;
  fs.writeFileSync(config, token_of(made, "read") + token_of(owner, "admin"));
  spawnSync(UNFORGET_BIN, ["--db", path.join(work, "other.sqlite"), "import", path.join(REPOSITORY, "examples", "long-session.jsonl")], { env });
  const { url, child } = await serve(["--db", path.join(work, "other.sqlite"), "serve", "--listen", "127.0.0.1:0"]);
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const { page, complaints } = await watched(context, () => "token");
  await page.goto(`${url}/web/trust`);
  check(page.url().includes("/web/login"), "without a token there is a form");
  await page.screenshot({ path: path.join(SHOTS, "login-1280-light.png") });
  await audited(page, "login");
  await page.fill("#token", token);
  await page.click("button");
  await page.getByText("No such token").waitFor();
  check(page.url().includes("/web/login"), "a wrong token comes back");
  await page.fill("#token", made.token);
  await page.click("button");
  await page.getByText("Sign out").waitFor();
  check(new URL(page.url()).pathname === "/web/trust" || new URL(page.url()).pathname === "/", `a right token is let in: ${page.url()}`);
  const cookies = await context.cookies();
  check(cookies.length === 1 && cookies[0].httpOnly && cookies[0].sameSite === "Strict", "the cookie is for requests of this page only");
  const changed = await page.evaluate(async () => (await fetch("/api/v1/verify", { method: "POST" })).status);
  check(changed === 401, `a cookie changes nothing: ${changed}`);
  complaints.filter((one) => !one.includes("401")).forEach((one) => fail(`token: ${one}`));
  await open(page, url + views.left);
  check((await page.locator("[form=decide]").count()) === 0, "who only reads sees no button");
  await page.click("text=Sign out");
  await page.locator("#token").waitFor();
  await page.fill("#token", owner.token);
  await page.click("button");
  await page.getByText("Sign out").waitFor();
  await open(page, url + views.left);
  await page.locator("td.acts button", { hasText: "put back" }).first().click();
  check((await page.locator("#decisions tr", { hasText: "put back 1" }).count()) === 1, "the owner's token decides");
  await page.click("text=Sign out");
  await page.locator("#token").waitFor();
  await page.goto(url);
  check(page.url().includes("/web/login"), "signed out");
  await context.close();
  child.kill();
}

/** The pictures of docs/page.md, from the example session. */
async function pictures(browser, base) {
  const folder = path.join(REPOSITORY, "docs", "pictures");
  fs.mkdirSync(folder, { recursive: true });
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: "light", reducedMotion: "reduce" });
  const page = await context.newPage();
  const all = {
    conversations: "/web/conversations",
    reader: `/web/c/${LONG}?from=40`,
    context: `/web/c/${LONG}/context?window=32k&at=190`,
    cover: `/web/c/${LONG}/context?window=32k&at=190&e=60#call`,
    left: `/web/c/${LONG}/left?window=32k`,
    diff: `/web/c/${LONG}/diff?window=32k`,
    search: "/web/search?q=retry+budget",
  };
  for (const [name, place] of Object.entries(all)) {
    await open(page, base + place);
    await page.screenshot({ path: path.join(folder, `page-${name}.png`) });
  }
  await context.close();
}

async function main() {
  fs.rmSync(SHOTS, { recursive: true, force: true });
  fs.mkdirSync(SHOTS, { recursive: true });
  const example = (name) => path.join(REPOSITORY, "examples", name);
  const only = process.argv[2] === "pictures";
  unforget("import", example("long-session.jsonl"), example("short-claude-code.jsonl"), example("short-openai-chat.json"));
  if (!only) {
    fs.writeFileSync(path.join(work, "hostile.jsonl"), hostile());
    unforget("import", path.join(work, "hostile.jsonl"));
  }
  const { url } = await serve(["--db", db, "web", "--no-open"]);
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  try {
    if (only) return await pictures(browser, url);
    const links = await everyView(browser, url);
    await everyLink(links);
    await keys(browser, url);
    await withoutScripts(browser, url);
    await decisions(browser, url);
    await labels(browser, url);
    await live(browser, url);
    await files(browser);
    await withToken(browser);
  } finally {
    await browser.close();
  }
}

main()
  .catch((error) => fail(String(error?.stack ?? error)))
  .finally(() => {
    started.forEach((child) => child.kill());
    fs.rmSync(work, { recursive: true, force: true });
    if (failures.length > 0) {
      console.error(`== e2e web: ${failures.length} failures`);
      process.exitCode = 1;
    }
  });
