// A hostile history: markup, scripts, controls, marks of direction and long names in every field that a transcript has.
export const XSS = [
  "<script>window.hacked=1</script>",
  "<img src=x onerror=window.hacked=2>",
  "\"><svg onload=window.hacked=3>",
  "'onmouseover='window.hacked=4",
  "[click](javascript:window.hacked=5)",
  "<a href=\"javascript:window.hacked=6\">x</a>",
  "</title></style></script><b>",
  "\u001b]52;c;ZXZpbA==\u0007\u202egnihtemos",
  "العربية مع <b>نص</b>",
  "修复 🦀 " + "very-long-name-without-a-break".repeat(20),
];

const time = (n) => new Date(Date.UTC(2026, 2, 2, 9, 0, n)).toISOString();

/** A session of pi whose every text is hostile. */
export function hostile() {
  const nasty = (n) => XSS[n % XSS.length];
  const lines = [{ type: "session", version: 3, id: "aaaa1111-0000-4000-8000-0000000000ff", timestamp: time(0), cwd: `/home/ann/${nasty(0)}` }];
  let parent = null;
  let n = 0;
  const add = (message) => {
    const id = `0000${(++n).toString(16).padStart(4, "0")}`;
    lines.push({ type: "message", id, parentId: parent, timestamp: time(n), message: { ...message, timestamp: n } });
    parent = id;
  };
  for (let turn = 0; turn < 120; turn += 1) {
    add({ role: "user", content: [{ type: "text", text: `${nasty(turn)} never do ${nasty(turn + 1)}; port ${8000 + turn}` }] });
    add({
      role: "assistant", api: "anthropic-messages", provider: "anthropic", model: `model-${nasty(turn)}`, stopReason: "toolUse",
      content: [
        { type: "thinking", thinking: nasty(turn + 2) },
        { type: "text", text: `# ${nasty(turn + 3)}\n\n- **bold** ${nasty(turn + 4)}\n\n\`\`\`${nasty(turn)}\n${nasty(turn + 5)}\n\`\`\`\nWe decided to use ${nasty(turn)} because it is faster.` },
        { type: "toolCall", id: `call-${turn}-${nasty(turn)}`, name: turn % 3 ? "bash" : `tool ${nasty(turn)}`, arguments: { command: `cat ${nasty(turn + 6)}`, path: `/home/ann/${nasty(turn + 7)}`, oldText: nasty(turn), newText: nasty(turn + 1) } },
      ],
    });
    add({ role: "toolResult", toolCallId: `call-${turn}-${nasty(turn)}`, toolName: "bash", isError: turn % 4 === 0, content: [{ type: "text", text: `${nasty(turn + 8)}\nexit code 1\n${"line of output ".repeat(60)}` }] });
    add({ role: "assistant", api: "anthropic-messages", provider: "anthropic", model: "m", stopReason: "stop", content: [{ type: "text", text: `Done: ${nasty(turn + 9)}` }] });
  }
  return lines.map((line) => JSON.stringify(line)).join("\n") + "\n";
}
