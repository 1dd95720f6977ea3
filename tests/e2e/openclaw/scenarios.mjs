// One scenario for each behaviour of hosts, modelled on recorded calls of the real host. Each has a lane of its own.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";

import { checkHost, checkRequests, checkStore, checkWords, keys, session, stored, transcript, want } from "./check.mjs";
import { until } from "./host.mjs";

const script = (text, more) => `${text}\n#: ${JSON.stringify(more)}`;
const say = (text, answer) => script(text, { steps: [{ say: answer }] });
/** A call of a tool. The newer host hides most tools behind one. */
const ask = ({ hasFiles }, id, args) => ({ call: hasFiles ? [id, args] : ["tool_call", { id, args }] });
const spawnChild = (host, text, task, context) =>
  script(text, { steps: [ask(host, "sessions_spawn", { task, context }), { say: `${text} done` }] });

/** Text of about the given number of tokens by the scripted model's count. */
const filler = (tokens, word) => Array.from({ length: Math.ceil((tokens * 4) / (word.length + 5)) }, (_, n) => `${word}${String(n).padStart(4, "0")}`).join(" ");

/** The requests of a turn. Others belong to sub-agents, announcements, summaries or resumed turns. */
function ownRequests(requests, message) {
  const own = requests.filter(({ key }) => message.endsWith(`#: ${key}`));
  want(own.length > 0, `${message.split("\n")[0].slice(0, 60)}: the model was not asked`);
  return own;
}

/** One lane at a host. Remembers the requests to its model. */
class Scene {
  constructor(stage, name, window) {
    Object.assign(this, stage, { name, window, key: `agent:main:${name}`, from: stage.model.requests.length });
  }

  get requests() {
    return this.model.requests.slice(this.from);
  }

  /** A turn answered with `answer`; checks that the request contains the user's text and the further `words`. */
  async turn(message, answer, words = {}) {
    const from = this.model.requests.length;
    const done = await this.host.turn(this.key, message, { model: this.window });
    want(done.status === "ok", `${this.name}: the turn ended with ${done.status}: ${done.text}`);
    if (answer !== undefined) want(done.text.includes(answer), `${this.name}: ${JSON.stringify(done.text.slice(0, 300))} in place of ${answer}`);
    const sent = ownRequests(this.model.requests.slice(from), message);
    const request = message.split("\n")[0].slice(0, 60);
    checkWords(sent, { has: [request, ...(words.has ?? [])], hasNot: words.hasNot });
    return sent;
  }

  /** Checks all conditions once the lane is at rest. */
  async check({ allowed } = {}) {
    checkRequests(this.requests);
    await checkHost(this.host, { allowed });
    // The transcript of an uncommitted turn is read at the next turn.
    await this.turn(say("and this is the last question", "LAST"), "LAST");
    await this.settle();
    checkRequests(this.requests);
    return checkStore(this.host, session(this.host, this.key));
  }

  /** Waits until the host has finished its work after the reply. */
  async settle() {
    let seen = -1;
    await until(
      () => {
        const count = transcript(this.host, session(this.host, this.key)).flat().length;
        const isSame = count === seen;
        seen = count;
        return isSame;
      },
      20_000,
      "the transcript keeps growing",
    );
  }
}

export const scenarios = {
  async basic(stage) {
    const scene = new Scene(stage, "basic");
    await scene.turn(say("one", "A1"), "A1");
    await scene.turn(say("two", "A2"), "A2", { has: ["A1", "one"] });
    return scene.check();
  },

  async tools(stage) {
    const scene = new Scene(stage, "tools");
    await scene.turn(script("read it three times", { steps: [...Array(3).fill({ call: ["read", { path: "a.txt" }] }), { say: "T1" }] }), "T1");
    await scene.turn(say("and now", "T2"), "T2", { has: ["alpha beta gamma"] });
    return scene.check();
  },

  async image(stage) {
    const scene = new Scene(stage, "image");
    const content = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const attachments = [{ type: "image", mimeType: "image/png", fileName: "owl.png", content }];
    await stage.host.begin(scene.key, say("look at this picture", "G1"), { attachments });
    await until(() => scene.requests.some((one) => one.step.say === "G1"), 60_000, "no answer");
    await scene.settle();
    const words = ["look at this picture", "[image: image/png", "media://inbound/"];
    // The host loads images of the last three turns.
    const [sent] = await scene.turn(say("and now", "G2"), "G2", { has: words });
    want(JSON.stringify(sent.body).includes(`base64,${content}`), "the image is gone one turn later");
    for (const n of [3, 4, 5, 6]) await scene.turn(say(`turn ${n}`, `G${n}`), `G${n}`, { has: words });
    return scene.check();
  },

  async parallel(stage) {
    const scene = new Scene(stage, "parallel");
    const both = { calls: [["read", { path: "a.txt" }], ["exec", { command: "echo parallel-result" }]] };
    await scene.turn(script("both at once", { steps: [both, { say: "P1" }] }), "P1");
    await scene.turn(say("and now", "P2"), "P2", { has: ["alpha beta gamma", "parallel-result"] });
    return scene.check();
  },

  async unknownTool(stage) {
    const scene = new Scene(stage, "unknown");
    // Some hosts answer by themselves.
    await scene.turn(script("call what is not there", { steps: [{ call: ["no_such_tool", { x: 1 }] }, { say: "no_such_tool U1" }] }), "no_such_tool");
    await scene.turn(say("and now", "U2"), "U2");
    return scene.check();
  },

  async reset(stage) {
    const scene = new Scene(stage, "reset");
    await scene.turn(say("the secret is PELICAN", "R1"), "R1");
    const before = session(stage.host, scene.key);
    await stage.host.call("sessions.reset", { key: scene.key });
    want((session(stage.host, scene.key).id === before.id) === !stage.host.hasFiles, "a session id stays in a reset, or not, as it always did");
    await scene.turn(say("what is the secret", "R2"), "R2", { hasNot: ["PELICAN"] });
    await scene.turn(say("and again", "R3"), "R3", { has: ["what is the secret"], hasNot: ["PELICAN"] });
    await stage.host.call("sessions.reset", { key: scene.key });
    await stage.host.call("sessions.reset", { key: scene.key });
    await scene.turn(say("twice in a row", "R4"), "R4", { hasNot: ["PELICAN", "what is the secret"] });
    // An uncommitted turn, and a reset before the next turn reads it.
    await scene.abort(script("aborted before a reset", { steps: [{ stall: 60_000 }] }), 1);
    await stage.host.call("sessions.reset", { key: scene.key });
    await scene.turn(say("after all that", "R5"), "R5", { hasNot: ["PELICAN", "twice in a row", "aborted before"] });
    const { all } = stored(stage.host, scene.key);
    want(JSON.stringify(all).includes("aborted before a reset"), "what was said last before a reset is lost");
    return scene.check();
  },

  /**
   * After a long pause the host starts a new context and keeps the end of the old one, by a reset that names its first
   * kept entry.
   */
  async tailReset(stage) {
    const scene = new Scene(stage, "tail");
    const read = (n) => script(`question ${n}`, { steps: [{ call: ["read", { path: "a.txt" }] }, { say: `TAIL-${n}` }] });
    for (const n of [1, 2, 3, 4]) await scene.turn(say(`question ${n}`, `TAIL-${n}`), `TAIL-${n}`);
    await scene.turn(read(5), "TAIL-5");
    await scene.later(say("question 6", "TAIL-6"), "TAIL-6", { has: ["question 5", "TAIL-5", "alpha beta gamma"], hasNot: ["question 1", "TAIL-1"] });
    // An uncommitted turn, then another reset: both are behind the cursor.
    await scene.abort(script("question 7", { steps: [{ stall: 60_000 }] }), 1);
    await scene.later(say("question 8", "TAIL-8"), "TAIL-8", { has: ["question 7"], hasNot: ["question 1"] });
    await scene.turn(say("question 9", "TAIL-9"), "TAIL-9", { has: ["question 8", "TAIL-8"], hasNot: ["question 1"] });
    return scene.check();
  },

  async manualCompact(stage) {
    const scene = new Scene(stage, "manual");
    for (const n of [1, 2, 3, 4]) await scene.turn(say(`part ${n}: ${filler(2_500, `m${n}x`)}`, `M${n}`), `M${n}`);
    const done = await stage.host.call("sessions.compact", { key: scene.key }, { timeoutMs: 120_000 });
    want(done.ok !== false, `compaction: ${JSON.stringify(done)}`);
    await scene.turn(say("after it", "M5"), "M5");
    return scene.check();
  },

  async overflowAtStart(stage) {
    const scene = new Scene(stage, "overflow");
    for (const n of [1, 2, 3, 4]) await scene.turn(say(`part ${n}: ${filler(3_000, `o${n}x`)}`, `O${n}`), `O${n}`);
    await scene.turn(script("refused at first", { refuse: 1, steps: [{ say: "O5" }] }), "O5");
    await scene.turn(script("refused twice", { refuse: 2, steps: [{ say: "O6" }] }), "O6");
    return scene.check();
  },

  async overflowMidLoop(stage) {
    const scene = new Scene(stage, "midloop");
    for (const n of [1, 2, 3]) await scene.turn(say(`part ${n}: ${filler(3_000, `q${n}x`)}`, `Q${n}`), `Q${n}`);
    writeFileSync(join(stage.host.workspace, "big.txt"), filler(6_000, "big"));
    const steps = [{ call: ["read", { path: "a.txt" }] }, { call: ["read", { path: "big.txt" }] }, { say: "Q4" }];
    const sent = await scene.turn(script("read much and go on", { refuseOver: 20_000, steps }), "Q4");
    want(sent.some((one) => one.isRefused), "nothing was refused: the scenario shows nothing");
    return scene.check();
  },

  /** A turn whose results leave less room than the smallest prompt needs: the host shortens it, and nothing is degraded. */
  async largeLoop(stage) {
    const scene = new Scene(stage, "largeloop", "small");
    for (const n of [1, 2]) await scene.turn(say(`part ${n}: ${filler(1_500, `p${n}x`)}`, `P${n}`), `P${n}`);
    writeFileSync(join(stage.host.workspace, "large.txt"), filler(5_000, "large"));
    const steps = [...Array(5).fill({ call: ["read", { path: "large.txt" }] }), { say: "P3" }];
    await scene.turn(script("read it again and again", { steps }), "P3");
    return scene.check();
  },

  async abortMidStream(stage) {
    const scene = new Scene(stage, "abort");
    await scene.turn(say("one", "B1"), "B1");
    await scene.abort(script("two is aborted", { steps: [{ stall: 60_000 }] }), 1);
    await scene.turn(say("three", "B3"), "B3", { has: ["two is aborted"] });
    return scene.check();
  },

  async abortAfterTool(stage) {
    const scene = new Scene(stage, "aborttool");
    await scene.turn(say("one", "B1"), "B1");
    await scene.abort(script("two is aborted", { steps: [{ call: ["read", { path: "a.txt" }] }, { stall: 60_000 }] }), 2);
    await scene.turn(say("three", "B3"), "B3", { has: ["two is aborted", "alpha beta gamma"] });
    return scene.check();
  },

  async steer(stage) {
    const scene = new Scene(stage, "steer");
    await scene.turn(say("one", "L1"), "L1");
    await stage.host.begin(scene.key, script("two takes long", { steps: [{ call: ["exec", { command: "sleep 3; echo slept" }] }, { say: "L2" }] }));
    await until(() => scene.requests.length >= 2, 30_000, "the tool was not called");
    await new Promise((resolve) => setTimeout(resolve, 500));
    const steering = say("steered into it", "STEERED");
    // The older host loses its own turn if a message is sent into it (with any engine), but has a call that interrupts
    // the turn.
    if (stage.host.hasFiles) await stage.host.call("sessions.steer", { key: scene.key, message: steering });
    else await stage.host.begin(scene.key, steering, { queueMode: "steer" });
    await until(() => scene.requests.some((one) => one.step.say === "STEERED"), 60_000, "the steering message was not sent");
    await scene.settle();
    const result = stage.host.hasFiles ? [] : ["slept"];
    await scene.turn(say("three", "L3"), "L3", { has: ["two takes long", "steered into it", ...result] });
    // The host itself reports that it cannot hand over such a turn; the transcript has it.
    return scene.check();
  },

  async isolatedSubagent(stage) {
    const scene = new Scene(stage, "isolated");
    await scene.turn(say("one parent secret HERON", "C1"), "C1");
    await scene.turn(spawnChild(stage.host, "spawn it", say("child task", "CHILD-DONE"), "isolated"), "spawn it done");
    const child = await scene.child("child task");
    checkWords(child.requests, { hasNot: ["HERON"] });
    await scene.turn(say("after the announcement", "C3"), "C3", { has: ["CHILD-DONE"] });
    checkStore(stage.host, session(stage.host, child.key));
    return scene.check();
  },

  async forkedSubagent(stage) {
    const scene = new Scene(stage, "forked");
    await scene.turn(say("one parent secret HERON", "F1"), "F1");
    await scene.turn(spawnChild(stage.host, "spawn it", say("child task", "CHILD-DONE"), "fork"), "spawn it done");
    const child = await scene.child("child task");
    checkWords(child.requests, { has: ["HERON"] });
    await scene.turn(say("after the announcement", "F3"), "F3", { has: ["CHILD-DONE"] });
    checkStore(stage.host, session(stage.host, child.key));
    return scene.check();
  },

  async maxLines(stage) {
    const scene = new Scene(stage, "lines");
    for (const n of [1, 2, 3]) await scene.turn(say(`line ${n}`, `N${n}`), `N${n}`);
    await stage.host.call("sessions.compact", { key: scene.key, maxLines: 2 });
    await scene.turn(say("after the cut", "N4"), "N4", { has: ["line 3"] });
    // Text that a person cuts out of the transcript stays in the store: nothing is lost.
    checkRequests(scene.requests);
    await checkHost(stage.host);
    await scene.settle();
    const now = transcript(stage.host, session(stage.host, scene.key)).at(-1);
    const { path } = stored(stage.host, scene.key);
    const end = path.slice(-now.length).map(({ message }) => message);
    want(isDeepStrictEqual(end, now.map(({ message }) => message)), "the store does not end as the transcript does");
    want(JSON.stringify(path[0].message).includes("line 1"), "the first message is gone");
    return path.length;
  },

  async recall(stage) {
    const scene = new Scene(stage, "recall");
    await scene.turn(say("the password is CORMORANT-5", "V1"), "V1");
    await stage.host.call("sessions.reset", { key: scene.key });
    const { host } = stage;
    const search = [ask(host, "unforget_search", { query: "password" }), { say: "V2" }];
    const [, second] = await scene.turn(script("look it up", { steps: search }), "V2");
    checkWords([second], { has: ["CORMORANT-5"] });
    const steps = [
      ask(host, "unforget_grep", { pattern: "CORMORANT-\\d" }),
      ask(host, "unforget_describe", { name: "s:1" }),
      ask(host, "unforget_expand", { name: "s:1-3" }),
      ask(host, "unforget_answer", { question: "what is the password" }),
      { say: "V3" },
    ];
    const sent = await scene.turn(script("in all other ways", { steps }), "V3");
    const results = sent.at(-1).body.messages.filter((message) => message.role === "tool").slice(-4);
    for (const result of results) want(/Recalled: a record/.test(JSON.stringify(result)), `not recalled: ${JSON.stringify(result).slice(0, 300)}`);
    return scene.check();
  },

  async command(stage) {
    const scene = new Scene(stage, "command");
    await scene.turn(say("one", "X1"), "X1");
    const table = [
      ["status", /messages of .* entries[\s\S]*engine: up[\s\S]*degraded: /],
      ["pin Always answer in Dutch.", /Pinned as \d/],
      ["pins", /Always answer in Dutch/],
      ["unpin x", /Not a number of a pin: "x"/],
      ["unpin 77", /77/],
      ["doctor", /nothing to mend/],
      ["backup", /backups|verified|written/i],
      ["import", /histories of \d+ agents? are in the store/],
      ["nonsense", /\/unforget status/],
    ];
    for (const [words, answer] of table) {
      const said = await stage.host.command(scene.key, `/unforget ${words}`);
      want(answer.test(said), `/unforget ${words}: ${said.slice(0, 500)}`);
    }
    const [sent] = await scene.turn(say("two", "X2"), "X2");
    checkWords([sent], { has: ["Always answer in Dutch."] });
    return scene.check();
  },

  async cursorAcrossReset(stage) {
    const scene = new Scene(stage, "cursor");
    for (const n of [1, 2]) await scene.turn(say(`before ${n} OSPREY`, `G${n}`), `G${n}`);
    await stage.host.call("sessions.reset", { key: scene.key });
    for (const n of [3, 4]) await scene.turn(say(`after ${n}`, `G${n}`), `G${n}`, { hasNot: ["OSPREY"] });
    await stage.host.call("sessions.delete", { key: scene.key });
    await scene.turn(say("after its deletion", "G5"), "G5", { hasNot: ["OSPREY", "after 3"] });
    return scene.check();
  },

  async rewind(stage) {
    const scene = new Scene(stage, "rewind");
    for (const n of [1, 2, 3]) await scene.turn(say(`question ${n}`, `W${n}`), `W${n}`);
    const entries = transcript(stage.host, session(stage.host, scene.key)).at(-1);
    const second = entries.find(({ message }) => JSON.stringify(message.content).includes("question 2"));
    await stage.host.call("sessions.rewind", { sessionKey: scene.key, entryId: second.id });
    await scene.turn(say("another second", "W4"), "W4", { has: ["question 1"], hasNot: ["question 2", "question 3"] });
    return scene.check();
  },

  async smallWindow(stage) {
    const scene = new Scene(stage, "window", "small");
    await scene.turn(say("the first fact is KESTREL-9", "I0"), "I0");
    for (const n of [1, 2, 3, 4, 5, 6, 7, 8]) await scene.turn(say(`part ${n}: ${filler(1_500, `i${n}x`)}`, `I${n}`), `I${n}`);
    return scene.check();
  },

  async preflight(stage) {
    const scene = new Scene(stage, "preflight", "small");
    for (const n of [1, 2, 3]) await scene.turn(say(`part ${n}: ${filler(2_500, `j${n}x`)}`, `J${n}`), `J${n}`);
    // One turn that ends so near the window that the host wants to compact before the next turn.
    writeFileSync(join(stage.host.workspace, "near.txt"), filler(5_000, "near"));
    await scene.turn(script("read what is near", { steps: [{ call: ["read", { path: "near.txt" }] }, { say: "J4" }] }), "J4");
    for (const n of [5, 6]) await scene.turn(say(`part ${n}`, `J${n}`), `J${n}`);
    return scene.check();
  },

  async engineKilled(stage) {
    const scene = new Scene(stage, "killed");
    await scene.turn(say("one", "E1"), "E1");
    const [pid, ...others] = stage.host.engines();
    want(pid && others.length === 0, `one engine per host: ${[pid, ...others]}`);
    process.kill(pid, "SIGKILL");
    await scene.turn(say("two", "E2"), "E2", { has: ["one"] });
    await stage.host.begin(scene.key, script("three", { steps: [{ call: ["exec", { command: "sleep 2" }] }, { say: "E3" }] }));
    await until(() => scene.requests.some((one) => one.step.call), 30_000, "the tool was not called");
    for (const engine of stage.host.engines()) process.kill(engine, "SIGKILL");
    await until(() => scene.requests.some((one) => one.step.say === "E3"), 60_000, "the turn did not end");
    await scene.settle();
    await scene.turn(say("four", "E4"), "E4", { has: ["one", "two", "three"] });
    return scene.check({ allowed: [/the engine is gone/] });
  },

  async engineSlow(stage) {
    const scene = new Scene(stage, "slow");
    await scene.turn(say("one", "S1"), "S1");
    for (const pid of stage.host.engines()) process.kill(pid, "SIGSTOP");
    await scene.turn(say("two while it hangs", "S2"), "S2", { has: ["one"] });
    for (const pid of stage.host.engines()) process.kill(pid, "SIGCONT");
    await scene.turn(say("three", "S3"), "S3", { has: ["one", "two while it hangs"] });
    const status = await stage.host.said();
    want(/unforget: degraded in agent:main:slow/.test(status), "that it hung was not said");
    return scene.check({ allowed: [/unforget: degraded/] });
  },
};

/** Scenarios that restart the gateway. */
export const restarts = {
  async restart(stage) {
    const scene = new Scene(stage, "restart");
    await scene.turn(say("one before the restart", "F1"), "F1");
    await stage.host.stop();
    stage.usePath();
    stage.host.set("plugins.slots.memory", "memory-core");
    stage.host.set("plugins.allow", ["unforget", "memory-core"]);
    stage.host.set("plugins.entries.unforget.config.summaries", "host");
    await stage.host.start();
    await scene.turn(say("two", "F2"), "F2", { has: ["one before the restart"] });
    return scene.check();
  },

  async memory(stage) {
    const scene = new Scene(stage, "memory");
    // The host leaves this out for all context engines except its own.
    await scene.turn(say("one", "Y1"), "Y1", { has: ["## Memory Recall"] });
    return scene.check();
  },

  async hostSummaries(stage) {
    return summaries(stage, "host-summaries", ["large", "small"]);
  },

  async transcriptRewrite(stage) {
    const scene = new Scene(stage, "rewrite");
    await scene.turn(script("read it", { steps: [{ call: ["read", { path: "a.txt" }] }, { say: "J1" }] }), "J1", {});
    mkdirSync(stage.host.folder, { recursive: true });
    writeFileSync(join(stage.host.folder, "rewrite"), scene.key);
    await scene.turn(say("two", "J2"), "J2");
    await until(() => transcript(stage.host, session(stage.host, scene.key)).flat().some(({ message }) => JSON.stringify(message).includes("REWRITTEN")), 20_000, "nothing was rewritten");
    await scene.turn(say("three", "J3"), "J3", { has: ["read it", "two"] });
    return scene.check();
  },

  async killed(stage) {
    const scene = new Scene(stage, "kill9");
    await scene.turn(say("one", "K1"), "K1");
    const steps = [{ call: ["read", { path: "a.txt" }] }, { stall: 60_000 }];
    await stage.host.begin(scene.key, script("two is cut by a kill", { name: "cut by a kill", steps }));
    await until(() => scene.requests.some((one) => one.step.stall), 30_000, "the second call did not come");
    await stage.host.stop("SIGKILL");
    stage.model.forgive(/cut by a kill/);
    await stage.host.start();
    // The host may resume the turn by itself.
    await scene.quiet();
    await scene.turn(say("three", "K3"), "K3", { has: ["one", "two is cut by a kill", "alpha beta gamma"] });
    return scene.check();
  },

  async socket(stage) {
    const scene = new Scene(stage, "socket");
    await scene.turn(say("one", "N1"), "N1");
    const { host } = stage;
    await host.stop();
    const path = join(host.folder, "engine.sock");
    host.set("plugins.entries.unforget.config.socket", path);
    host.set("plugins.entries.unforget.config.summaries", "engine");
    await host.listen(path);
    await host.start();
    await scene.turn(say("two", "N2"), "N2", { has: ["one"] });
    want(host.engines().length === 1, "another engine was started");
    // A maintenance call is reported as degraded if its engine is killed meanwhile, and this is correct.
    await scene.quiet();
    await host.listen(path);
    await scene.turn(say("three, at another engine", "N3"), "N3", { has: ["one", "two"] });
    return scene.check({ allowed: [/the engine is gone/] });
  },

  async ownSummaries(stage) {
    const folder = join(stage.host.folder, ".config/unforget");
    mkdirSync(folder, { recursive: true });
    const models = `[[summariser.models]]\nkind = "openai"\nmodel = "recorder"\nbase = "${stage.model.url}"\n`;
    writeFileSync(join(folder, "config.toml"), models);
    // A running engine reads its settings again after a while; a new one has them from the beginning.
    await new Scene(stage, "own-summaries").quiet();
    await stage.host.listen(join(stage.host.folder, "engine.sock"));
    return summaries(stage, "own-summaries", ["recorder"], [/the engine is gone/]);
  },

  /** All senders share one session, whose key is equal for every agent: each agent still has a lane of its own. */
  async globalScope(stage) {
    const { host } = stage;
    await host.stop();
    host.set("session.scope", "global");
    host.set("agents.list", [{ id: "main", default: true }, { id: "second" }]);
    await host.start();
    const ask = async (agentId, text, answer, words) => {
      const from = stage.model.requests.length;
      const message = say(text, answer);
      const params = { agentId, message, deliver: false, idempotencyKey: `${agentId} ${text}` };
      const done = await host.call("agent", params, { expectFinal: true, timeoutMs: 90_000 });
      want(done.status === "ok" && JSON.stringify(done.result?.payloads).includes(answer), `${text}: ${JSON.stringify(done).slice(0, 300)}`);
      const sent = ownRequests(stage.model.requests.slice(from), message);
      checkRequests(sent);
      checkWords(sent, { has: [text, ...(words.has ?? [])], hasNot: words.hasNot });
    };
    await ask("main", "the first agent saw EGRET", "GA1", {});
    await ask("second", "the second agent saw PLOVER", "GB1", { hasNot: ["EGRET"] });
    await ask("main", "what did you see", "GA2", { has: ["EGRET"], hasNot: ["PLOVER"] });
    await ask("second", "and you", "GB2", { has: ["PLOVER"], hasNot: ["EGRET"] });
    await checkHost(host);
    const both = ["main", "second"].map((agent) => checkStore(host, session(host, "global", `agent:${agent}:global`)));
    return both.reduce((all, count) => all + count);
  },
};

/** Summaries are written by one of these models and appear in a later prompt. */
async function summaries(stage, name, writers, allowed = []) {
  const scene = new Scene(stage, name, "small");
  const isWritten = () => scene.requests.some((one) => one.isRecord && writers.includes(one.model) && !one.isRefused);
  const words = writers.map((writer) => `The model ${writer} wrote down`);
  const isUsed = () => scene.requests.some(({ isRecord, body }) => !isRecord && words.some((word) => JSON.stringify(body.messages).includes(word)));
  for (let n = 1; n <= 30 && !isUsed(); n++) {
    await scene.turn(say(`part ${n}: ${filler(1_500, `z${n}x`)}`, `Z${n}`), `Z${n}`);
    if (n === 12) await until(isWritten, 60_000, `${writers} was not asked for a summary`);
  }
  want(isUsed(), `what ${writers} wrote is in no prompt`);
  return scene.check({ allowed });
}

/** Scenarios that hosts with files support, too. */
export const withFiles = new Set(
  "globalScope basic largeLoop tools parallel unknownTool steer memory hostSummaries ownSummaries socket reset recall command isolatedSubagent forkedSubagent cursorAcrossReset manualCompact overflowAtStart overflowMidLoop abortMidStream abortAfterTool smallWindow preflight engineKilled engineSlow restart killed".split(" "),
);

Object.assign(Scene.prototype, {
  /** A turn typed long after the previous one. */
  async later(message, answer, words) {
    const resets = transcript(this.host, session(this.host, this.key)).length;
    await this.host.idle(this.key, 24 * 3_600_000);
    const from = this.model.requests.length;
    await this.host.begin(this.key, message);
    const isSaid = () => JSON.stringify(transcript(this.host, session(this.host, this.key)).at(-1)).includes(`"${answer}"`);
    await until(isSaid, 60_000, `${this.name}: no answer to ${message}`);
    want(transcript(this.host, session(this.host, this.key)).length === resets + 1, `${this.name}: the host did not begin anew`);
    await this.settle();
    checkWords(this.model.requests.slice(from), { has: [message.split("\n")[0], ...(words.has ?? [])], hasNot: words.hasNot });
  },

  /** Begins a turn and aborts it after the given number of requests to the model. */
  async abort(message, calls) {
    const from = this.model.requests.length;
    const { runId } = await this.host.begin(this.key, message);
    await until(() => this.model.requests.length >= from + calls, 60_000, `${this.name}: the model was not asked`);
    await new Promise((resolve) => setTimeout(resolve, 400));
    await this.host.call("chat.abort", { sessionKey: this.key, runId });
    await this.settle();
  },

  /** The requested sub-agent, once its answer was announced. */
  async child(task) {
    const children = () => this.requests.filter((one) => one.body.messages.some((message) => JSON.stringify(message).includes("[Subagent Task]")));
    await until(() => children().length > 0, 60_000, `${this.name}: no sub-agent was started`);
    await until(() => this.requests.some((one) => JSON.stringify(one.body.messages.at(-1)).includes("CHILD-DONE")), 60_000, `${this.name}: nothing was announced`);
    await this.quiet();
    const own = keys(this.host, "agent:main:subagent:").filter((key) => !this.host.children?.has(key));
    this.host.children = new Set([...(this.host.children ?? []), ...own]);
    want(own.length === 1, `${task}: one sub-agent, not ${own.length}`);
    return { key: own[0], requests: children() };
  },

  /** Waits until the model has received no request for a while. */
  async quiet() {
    let at = Date.now();
    let seen = this.model.requests.length;
    await until(
      () => {
        if (this.model.requests.length !== seen) at = Date.now();
        seen = this.model.requests.length;
        return Date.now() - at > 1_500;
      },
      60_000,
      "it does not come to rest",
    );
  },
});
