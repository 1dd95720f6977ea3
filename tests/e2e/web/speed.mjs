// How fast the page is on a large session: 52,000 entries and 26,000 calls. See `run speed`.
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { chromium } from "playwright-core";

const { UNFORGET_BIN, CHROMIUM } = process.env;
const TURNS = Number(process.env.TURNS ?? 13_000);
const VISITS = 7;
const work = fs.mkdtempSync(path.join(os.tmpdir(), "unforget-speed-"));
const env = { ...process.env, XDG_CONFIG_HOME: work, HOME: work, TZ: "UTC" };
const db = path.join(work, "unforget.sqlite");
const ID = "0a0a1111-0000-4000-8000-00000000feed";

/** A session of pi: per turn a question, a call with its result, and an answer. */
function write(file) {
  const time = (n) => new Date(Date.UTC(2026, 0, 5) + n * 20_000).toISOString();
  const out = fs.openSync(file, "w");
  fs.writeSync(out, `${JSON.stringify({ type: "session", version: 3, id: ID, timestamp: time(0), cwd: "/home/ann/work" })}\n`);
  let parent = null;
  let n = 0;
  const add = (message) => {
    n += 1;
    const id = n.toString(16).padStart(8, "0");
    const line = { type: "message", id, parentId: parent, timestamp: time(n), message: { ...message, timestamp: Date.UTC(2026, 0, 5) + n * 20_000 } };
    fs.writeSync(out, `${JSON.stringify(line)}\n`);
    parent = id;
  };
  const model = { api: "anthropic-messages", provider: "anthropic", model: "claude" };
  for (let turn = 0; turn < TURNS; turn += 1) {
    const file = `src/part_${turn % 211}.rs`;
    add({ role: "user", content: [{ type: "text", text: `Change the limit of ${file} to ${turn}, and say why it was ${turn - 1}.` }] });
    add({ role: "assistant", ...model, stopReason: "toolUse", content: [{ type: "text", text: `Reading ${file} first.` }, { type: "toolCall", id: `c${turn}`, name: "read", arguments: { path: file } }] });
    add({ role: "toolResult", toolCallId: `c${turn}`, toolName: "read", isError: false, content: [{ type: "text", text: `// ${file}\n${`pub const LIMIT_${turn}: u64 = ${turn};\nfn step_${turn}(from: u64) -> u64 { from + ${turn} }\n`.repeat(12)}` }] });
    add({ role: "assistant", ...model, stopReason: "stop", content: [{ type: "text", text: `The limit of \`${file}\` is ${turn} now.\n\n- it was ${turn - 1}, because of the queue\n- the test \`limit_${turn}\` says so` }] });
  }
  fs.closeSync(out);
  return { entries: n, calls: TURNS * 2 };
}

function serve() {
  const child = spawn(UNFORGET_BIN, ["--db", db, "web", "--no-open"], { env, stdio: ["ignore", "pipe", "pipe"] });
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

const median = (all) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)];

/** Milliseconds of one visit: until the answer is read, until there is content, and until all is drawn. */
async function visit(browser, url) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  const answer = await page.goto(url, { waitUntil: "load" });
  const times = await page.evaluate(
    () =>
      new Promise((resolve) => {
        const done = () => {
          const [navigation] = performance.getEntriesByType("navigation");
          const paint = performance.getEntriesByName("first-contentful-paint")[0];
          if (!paint || navigation.loadEventEnd === 0) return requestAnimationFrame(done);
          return resolve({ answer: navigation.responseEnd, content: paint.startTime, drawn: Math.max(paint.startTime, navigation.loadEventEnd) });
        };
        done();
      }),
  );
  times.bytes = (await answer.body()).length;
  await context.close();
  return times;
}

/** Seconds of processor time that a process has taken: unlike the time on the clock, it does not depend on what else runs. */
function processor(child) {
  const fields = fs.readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function measured({ browser, child }, name, url) {
  const all = [];
  const before = processor(child);
  for (let n = 0; n < VISITS; n += 1) all.push(await visit(browser, url));
  const server = ((processor(child) - before) / VISITS) * 1000;
  const of = (what) => all.map((one) => one[what]);
  const line = (what) => `${what} ${median(of(what)).toFixed(0)} ms (${Math.min(...of(what)).toFixed(0)} to ${Math.max(...of(what)).toFixed(0)}, first ${of(what)[0].toFixed(0)})`;
  console.log(`${name}: server's processor ${server.toFixed(0)} ms, ${line("answer")}, ${line("content")}, ${line("drawn")}, ${(all[0].bytes / 1024).toFixed(0)} kB`);
}

async function main() {
  const file = path.join(work, "large.jsonl");
  const { entries, calls } = write(file);
  console.log(`${entries} entries, ${calls} calls, ${(fs.statSync(file).size / 1e6).toFixed(0)} MB`);
  const done = spawnSync(UNFORGET_BIN, ["--db", db, "import", "-q", file], { env, encoding: "utf8" });
  if (done.status !== 0) throw new Error(done.stderr);
  const { url, child } = await serve();
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  const at = { browser, child };
  const base = `${url}/web/c/pi%3A${ID.replaceAll("-", "%2D")}`;
  try {
    await measured(at, "a page without data", `${url}/web/login`);
    await measured(at, "conversations", `${url}/web/conversations`);
    await measured(at, "reader, its end", base);
    await measured(at, "reader, its middle", `${base}?from=${entries / 2}`);
    await measured(at, "one entry", `${base}/entry/${entries / 2}`);
    const began = Date.now();
    const page = await browser.newPage();
    await page.goto(`${base}/context?window=200k`);
    await page.waitForFunction(() => !document.querySelector("[data-again]"), undefined, { timeout: 1_800_000 });
    await page.close();
    console.log(`load of the machine: ${os.loadavg()[0].toFixed(1)} on ${os.cpus().length} cores`);
    console.log(`playing all calls once: ${((Date.now() - began) / 1000).toFixed(0)} s`);
    await measured(at, "context, the newest call", `${base}/context?window=200k`);
    await measured(at, "context, a call in the middle", `${base}/context?window=200k&at=${calls / 2}`);
    await measured(at, "what left", `${base}/left?window=200k`);
    await measured(at, "diff", `${base}/diff?window=200k`);
    await measured(at, "summaries", `${base}/summaries?window=200k`);
  } finally {
    await browser.close();
    child.kill();
  }
}

main()
  .catch((error) => {
    console.error(error);
    process.exitCode = 1;
  })
  .finally(() => fs.rmSync(work, { recursive: true, force: true }));
