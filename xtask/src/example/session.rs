//! Writes the lines of a pi v3 session.

use serde_json::{Value, json};
use unforget_bench::Random;

/// A call with its result.
pub(crate) struct Call {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    pub(crate) output: String,
    pub(crate) failed: bool,
}

impl Call {
    pub(crate) fn new(tool: &'static str, arguments: Value, output: String) -> Self {
        Self { tool, arguments, output, failed: false }
    }

    pub(crate) fn bash(command: &str, output: String) -> Self {
        Self::new("bash", json!({"command": command}), output)
    }

    pub(crate) fn read(path: &str, output: String) -> Self {
        Self::new("read", json!({"path": path}), output)
    }
}

/// A session under construction.
pub(crate) struct Session {
    pub(crate) random: Random,
    lines: Vec<String>,
    last: Value,
    count: u64,
    now_ms: u64,
    model: &'static str,
}

impl Session {
    /// Starts at 08:30 UTC on 2 March 2026.
    pub(crate) fn new(seed: u64) -> Self {
        let header = json!({
            "type": "session", "version": 3, "id": "0b7e1d42-5c1f-4a8e-9d57-71debca4d001",
            "timestamp": "2026-03-02T08:30:00.000Z", "cwd": "/home/mara/tideboard",
        });
        Self {
            random: Random::new(seed),
            lines: vec![header.to_string()],
            last: Value::Null,
            count: 0,
            now_ms: 1_772_440_200_000,
            model: "claude-opus-4-5",
        }
    }

    pub(crate) fn finish(self) -> String {
        self.lines.join("\n") + "\n"
    }

    /// The id of the newest entry, to come back to.
    pub(crate) fn place(&self) -> Value {
        self.last.clone()
    }

    /// Continues from an earlier entry.
    pub(crate) fn rewind(&mut self, place: Value) {
        self.last = place;
    }

    pub(crate) fn next_morning(&mut self) {
        let day = 86_400_000;
        self.now_ms = (self.now_ms / day + 1) * day + 8 * 3_600_000 + self.random.between(0, 3_000_000);
    }

    /// An entry of any type: its fields beyond the envelope.
    pub(crate) fn entry(&mut self, kind: &str, fields: Value) {
        self.count += 1;
        let id = format!("{:08x}", (self.count as u32).wrapping_mul(0x9e37_79b1));
        let mut line = json!({"type": kind, "id": id, "parentId": self.last, "timestamp": iso(self.now_ms)});
        if let (Value::Object(line), Value::Object(fields)) = (&mut line, fields) {
            line.extend(fields);
        }
        self.lines.push(line.to_string());
        self.last = json!(id);
    }

    pub(crate) fn model(&mut self, model: &'static str) {
        self.model = model;
        self.entry("model_change", json!({"provider": "anthropic", "modelId": model}));
    }

    pub(crate) fn user(&mut self, text: &str) {
        self.now_ms += self.random.between(20_000, 900_000);
        let time = self.now_ms;
        self.entry(
            "message",
            json!({"message": {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": time}}),
        );
    }

    /// A final answer.
    pub(crate) fn answer(&mut self, text: &str) {
        self.assistant(&[json!({"type": "text", "text": text})], json!({"stopReason": "stop"}));
    }

    /// An answer after some thought.
    pub(crate) fn think_and_answer(&mut self, thought: &str, text: &str) {
        let blocks = [self.thinking(thought), json!({"type": "text", "text": text})];
        self.assistant(&blocks, json!({"stopReason": "stop"}));
    }

    /// Calls in one message, then their results in order.
    pub(crate) fn work(&mut self, thought: &str, say: &str, calls: Vec<Call>) {
        let ids = self.ask_tools(thought, say, &calls);
        for (id, call) in ids.into_iter().zip(calls) {
            self.result(&id, &call);
        }
    }

    /// Calls that never get a result.
    pub(crate) fn ask_tools(&mut self, thought: &str, say: &str, calls: &[Call]) -> Vec<String> {
        let mut blocks = Vec::new();
        if !thought.is_empty() {
            blocks.push(self.thinking(thought));
        }
        if !say.is_empty() {
            blocks.push(json!({"type": "text", "text": say}));
        }
        let ids: Vec<String> = calls.iter().map(|_| self.token("toolu_01", 22)).collect();
        for (id, call) in ids.iter().zip(calls) {
            blocks
                .push(json!({"type": "toolCall", "id": id, "name": call.tool, "arguments": call.arguments}));
        }
        self.assistant(&blocks, json!({"stopReason": "toolUse"}));
        ids
    }

    fn result(&mut self, id: &str, call: &Call) {
        self.now_ms += self.random.between(40, 6_000);
        let time = self.now_ms;
        self.entry(
            "message",
            json!({"message": {"role": "toolResult", "toolCallId": id, "toolName": call.tool,
                "content": [{"type": "text", "text": call.output}], "isError": call.failed, "timestamp": time}}),
        );
    }

    pub(crate) fn assistant(&mut self, blocks: &[Value], end: Value) {
        self.now_ms += self.random.between(1_500, 14_000);
        let bytes: usize = blocks.iter().map(|block| block.to_string().len()).sum();
        let whole = end.get("errorMessage").is_none();
        let usage = if whole { self.usage(bytes as u64 / 4 + 5) } else { no_usage() };
        let mut message = json!({
            "role": "assistant", "content": blocks, "api": "anthropic-messages", "provider": "anthropic",
            "model": self.model, "usage": usage, "timestamp": self.now_ms,
        });
        if let (Value::Object(message), Value::Object(end)) = (&mut message, end) {
            message.extend(end);
        }
        self.entry("message", json!({"message": message}));
    }

    fn thinking(&mut self, text: &str) -> Value {
        let signature = self.token("Er", 178);
        json!({"type": "thinking", "thinking": text, "thinkingSignature": signature})
    }

    pub(crate) fn token(&mut self, head: &str, count: usize) -> String {
        let letters = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
        let random = &mut self.random;
        head.chars().chain((0..count).map(|_| char::from(random.pick(letters)))).collect()
    }

    fn usage(&mut self, output: u64) -> Value {
        let (input, read) = (self.random.between(3, 400), self.random.between(9_000, 140_000));
        let write = self.random.between(150, 4_000);
        json!({"input": input, "output": output, "cacheRead": read, "cacheWrite": write,
            "totalTokens": input + output + read + write})
    }
}

fn no_usage() -> Value {
    json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0})
}

/// Milliseconds since 1970 as ISO 8601. Right for March 2026, where the story plays.
fn iso(ms: u64) -> String {
    let march_ms = 1_772_323_200_000;
    let into = ms.saturating_sub(march_ms);
    format!(
        "2026-03-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        into / 86_400_000 + 1,
        into / 3_600_000 % 24,
        into / 60_000 % 60,
        into / 1_000 % 60,
        into % 1_000
    )
}
