//! A generated pi v3 session: turns of a person, a model and its tools.
//!
//! Sizes, in bytes: tool results log-normal with median 1120 and sigma 1.5 (a heavy tail, up to
//! 400 kB), short for `edit` and `write`; reasoning with median 330 on 45 % of assistant messages;
//! assistant text 160 to 420; user text 170, or in 8 % of turns a repeated short acknowledgement.
//! A turn has 2 to about 20 messages.

use std::fmt::Write as _;
use std::io;

use crate::line::{iso, quote};
use crate::random::Random;
use crate::words::{Kind, Words, put};

const ACKNOWLEDGEMENTS: [&str; 8] = [
    "continue",
    "yes",
    "go ahead",
    "ok, do it",
    "try again",
    "thanks",
    "looks good, next",
    "what's the status?",
];
/// Messages between two needles.
const NEEDLE_EVERY: u64 = 500;
/// 2025-06-15T15:06:40Z.
const START_MS: u64 = 1_750_000_000_000;

/// A unique word planted in a user message, to be found again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needle {
    /// The word.
    pub tag: String,
    /// Index of its message, from 0, not counting headers.
    pub message: u64,
}

/// The result of [`write_workload`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workload {
    /// Number of messages in whole turns, so at least the requested number.
    pub messages: u64,
    /// Turns.
    pub turns: u64,
    /// Bytes of the file, header included.
    pub bytes: u64,
    /// Bytes of text, reasoning, arguments and tool output alone.
    pub content_bytes: u64,
    /// Length in bytes of the longest line.
    pub longest_line: u64,
    /// The planted words, oldest first, one in every 500 messages.
    pub needles: Vec<Needle>,
}

/// Writes a pi v3 transcript: a header line, then whole turns until there are `messages` messages.
///
/// Equal seeds give equal bytes; a longer transcript begins with the shorter one.
///
/// # Errors
/// The error of `out`.
pub fn write_workload(out: &mut impl io::Write, messages: usize, seed: u64) -> io::Result<Workload> {
    let mut session = Session::new(seed);
    let mut workload = Workload::default();
    let mut buffer = session.header();
    while session.messages() < messages as u64 {
        let from = buffer.len();
        session.turn(&mut buffer);
        workload.turns += 1;
        let turn = buffer.as_bytes().get(from..).unwrap_or_default();
        let longest = turn.split(|byte| *byte == b'\n').map(<[u8]>::len).max().unwrap_or_default();
        workload.longest_line = workload.longest_line.max(longest as u64 + 1);
        if buffer.len() > 1 << 16 {
            out.write_all(buffer.as_bytes())?;
            workload.bytes += buffer.len() as u64;
            buffer.clear();
        }
    }
    out.write_all(buffer.as_bytes())?;
    workload.bytes += buffer.len() as u64;
    workload.messages = session.messages;
    workload.content_bytes = session.content_bytes;
    workload.needles = session.needles;
    Ok(workload)
}

/// A session that grows by one turn at a time.
pub struct Session {
    words: Words,
    seed: u64,
    now_ms: u64,
    last_id: Option<String>,
    messages: u64,
    content_bytes: u64,
    needles: Vec<Needle>,
    /// Text under construction, before it is escaped.
    text: String,
    /// JSON of the content blocks under construction.
    blocks: String,
}

/// A call whose result is due.
struct Call {
    id: String,
    tool: Tool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tool {
    #[default]
    Bash,
    Read,
    Edit,
    Write,
    Grep,
    Fetch,
}

impl Tool {
    const ALL: [Self; 6] = [Self::Bash, Self::Read, Self::Edit, Self::Write, Self::Grep, Self::Fetch];
    const WEIGHTS: [u32; 6] = [46, 26, 11, 4, 9, 4];

    const fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Write => "write",
            Self::Grep => "grep",
            Self::Fetch => "web_fetch",
        }
    }

    const fn output(self) -> Kind {
        match self {
            Self::Bash => Kind::Shell,
            Self::Read => Kind::Code,
            Self::Edit | Self::Write => Kind::Words,
            Self::Grep => Kind::Matches,
            Self::Fetch => Kind::Prose,
        }
    }
}

impl Session {
    /// A session before its first turn. Costs several ten milliseconds, for the vocabulary.
    pub fn new(seed: u64) -> Self {
        Self {
            words: Words::new(seed),
            seed,
            now_ms: START_MS,
            last_id: None,
            messages: 0,
            content_bytes: 0,
            needles: Vec::new(),
            text: String::new(),
            blocks: String::new(),
        }
    }

    /// The header line, with its newline.
    pub fn header(&self) -> String {
        let (id, time) = (self.session_id(), iso(START_MS));
        format!(
            "{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"timestamp\":\"{time}\",\"cwd\":\"/srv/project\"}}\n"
        )
    }

    /// The id in the header, a UUID.
    pub fn session_id(&self) -> String {
        format!("{:08x}-0000-4000-8000-{:012x}", self.seed & 0xffff_ffff, self.seed & 0xffff_ffff_ffff)
    }

    /// Number of messages so far.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// The words planted so far, oldest first.
    pub fn needles(&self) -> &[Needle] {
        &self.needles
    }

    /// Appends one turn: lines with their newlines, from a user message to a final assistant message.
    pub fn turn(&mut self, out: &mut String) {
        self.wait(5_000, 900_000);
        self.user_message(out);
        let steps = (self.random().exponential(2.0) as usize).min(9);
        for _ in 0..steps {
            self.thinking();
            if self.random().chance(0.55) {
                let bytes = self.random().log_normal(160.0, 0.8, 1, 20_000);
                self.text_block(bytes);
            }
            let count = self.random().weighted(&[80, 15, 5]) + 1;
            let calls: Vec<Call> = (0..count).map(|_| self.call()).collect();
            self.assistant_message(out, "toolUse");
            for call in &calls {
                self.result_message(out, call);
            }
        }
        self.thinking();
        let bytes = self.random().log_normal(420.0, 0.9, 1, 20_000);
        self.text_block(bytes);
        self.assistant_message(out, "stop");
    }

    fn random(&mut self) -> &mut Random {
        &mut self.words.random
    }

    fn wait(&mut self, low_ms: u64, high_ms: u64) {
        self.now_ms += self.random().between(low_ms, high_ms);
    }

    fn user_message(&mut self, out: &mut String) {
        self.text.clear();
        if self.random().chance(0.08) {
            let short = self.random().pick(&ACKNOWLEDGEMENTS);
            self.text.push_str(short);
        } else {
            let bytes = self.random().log_normal(170.0, 1.1, 12, 60_000);
            self.words.prose(&mut self.text, bytes);
        }
        let period = self.messages / NEEDLE_EVERY;
        if self.needles.last().is_none_or(|needle| needle.message / NEEDLE_EVERY < period) {
            let mut tag = format!("NDL{period:05}Q");
            self.words.hex(&mut tag, 6);
            put!(self.text, " (reference {tag} please remember)");
            self.needles.push(Needle { tag, message: self.messages });
        }
        self.entry(out);
        out.push_str("\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":");
        self.take_text(out);
        put!(out, "}}],\"timestamp\":{}}}}}\n", self.now_ms);
    }

    fn thinking(&mut self) {
        if !self.random().chance(0.45) {
            return;
        }
        let bytes = self.random().log_normal(330.0, 0.9, 1, 20_000);
        self.separator();
        self.blocks.push_str("{\"type\":\"thinking\",\"thinking\":");
        self.words.prose(&mut self.text, bytes);
        self.take_block_text();
        self.blocks.push_str(",\"thinkingSignature\":\"");
        self.words.letters(&mut self.blocks, 180);
        self.blocks.push_str("\"}");
    }

    fn text_block(&mut self, bytes: usize) {
        self.separator();
        self.blocks.push_str("{\"type\":\"text\",\"text\":");
        self.words.prose(&mut self.text, bytes);
        self.take_block_text();
        self.blocks.push('}');
    }

    fn call(&mut self) -> Call {
        let index = self.random().weighted(&Tool::WEIGHTS);
        let tool = Tool::ALL.get(index).copied().unwrap_or_default();
        let mut id = String::from("toolu_01");
        self.words.letters(&mut id, 22);
        self.separator();
        put!(
            self.blocks,
            "{{\"type\":\"toolCall\",\"id\":\"{id}\",\"name\":\"{}\",\"arguments\":{{",
            tool.name()
        );
        self.arguments(tool);
        self.blocks.push_str("}}");
        Call { id, tool }
    }

    fn arguments(&mut self, tool: Tool) {
        match tool {
            Tool::Bash => {
                self.text.push_str("cd ");
                self.words.folder(&mut self.text);
                self.text.push_str(" && ");
                let count = self.random().between(3, 18) as usize;
                self.words.words(&mut self.text, count);
                self.argument("command");
                let timeout = self.random().pick(&[30, 60, 120]);
                put!(self.blocks, ",\"timeout\":{timeout}");
            }
            Tool::Read => {
                self.path_argument();
                let (offset, limit) = (self.random().between(1, 400), self.random().pick(&[100, 200, 400]));
                put!(self.blocks, ",\"offset\":{offset},\"limit\":{limit}");
            }
            Tool::Edit => {
                self.path_argument();
                self.code_argument(250.0, "oldText");
                self.code_argument(350.0, "newText");
            }
            Tool::Write => {
                self.path_argument();
                let bytes = self.random().log_normal(2200.0, 0.9, 1, 60_000);
                self.words.tool_text(&mut self.text, Kind::Code, bytes);
                self.blocks.push(',');
                self.argument("content");
            }
            Tool::Grep => {
                self.words.words(&mut self.text, 1);
                self.argument("pattern");
                self.blocks.push(',');
                self.words.folder(&mut self.text);
                self.argument("path");
            }
            Tool::Fetch => {
                self.text.push_str("https://example.com/");
                self.words.words(&mut self.text, 1);
                self.text.push('/');
                self.words.hex(&mut self.text, 6);
                self.argument("url");
            }
        }
    }

    fn path_argument(&mut self) {
        self.words.path(&mut self.text);
        self.argument("path");
    }

    fn code_argument(&mut self, median: f64, name: &str) {
        let lines = (self.random().log_normal(median, 0.8, 1, 400_000) / 40).max(1);
        for line in 0..lines {
            if line > 0 {
                self.text.push('\n');
            }
            self.words.code_line(&mut self.text);
        }
        self.blocks.push(',');
        self.argument(name);
    }

    fn argument(&mut self, name: &str) {
        put!(self.blocks, "\"{name}\":");
        self.take_block_text();
    }

    fn assistant_message(&mut self, out: &mut String, stop: &str) {
        self.wait(1_500, 12_000);
        self.entry(out);
        out.push_str("\"role\":\"assistant\",\"content\":[");
        out.push_str(&self.blocks);
        out.push_str(
            "],\"api\":\"anthropic-messages\",\"provider\":\"anthropic\",\"model\":\"claude-opus-4-5\",\"responseId\":\"msg_01",
        );
        self.words.letters(out, 22);
        let output = self.blocks.len() as u64 / 4 + 5;
        self.blocks.clear();
        let (input, read) = (self.random().between(3, 400), self.random().between(8_000, 150_000));
        let write = self.random().between(100, 4_000);
        let total = input + output + read + write;
        // Prices in millionths of a dollar per token, times 100.
        let costs = [input * 300, output * 1500, read * 30, write * 375].map(|cost| cost as f64 / 1e8);
        let [cost_input, cost_output, cost_read, cost_write] = costs;
        let cost_total: f64 = costs.iter().sum();
        put!(
            out,
            "\",\"usage\":{{\"input\":{input},\"output\":{output},\"cacheRead\":{read},\"cacheWrite\":{write},\
             \"totalTokens\":{total},\"cost\":{{\"input\":{cost_input:.6},\"output\":{cost_output:.6},\
             \"cacheRead\":{cost_read:.6},\"cacheWrite\":{cost_write:.6},\"total\":{cost_total:.6}}}}},\
             \"stopReason\":\"{stop}\",\"timestamp\":{}}}}}\n",
            self.now_ms
        );
    }

    fn result_message(&mut self, out: &mut String, call: &Call) {
        self.wait(40, 4_000);
        let bytes = match call.tool {
            Tool::Edit | Tool::Write => self.random().log_normal(90.0, 0.4, 1, 400_000),
            _ => self.random().log_normal(1120.0, 1.5, 8, 400_000),
        };
        self.words.tool_text(&mut self.text, call.tool.output(), bytes);
        let failed = self.random().chance(0.05);
        self.entry(out);
        put!(
            out,
            "\"role\":\"toolResult\",\"toolCallId\":\"{}\",\"toolName\":\"{}\",\"content\":[{{\"type\":\"text\",\"text\":",
            call.id,
            call.tool.name()
        );
        self.take_text(out);
        put!(out, "}}],\"isError\":{failed},\"timestamp\":{}}}}}\n", self.now_ms);
    }

    /// Appends the envelope of the next message, up to and including the brace that opens the message.
    fn entry(&mut self, out: &mut String) {
        // The running number, mixed by an odd multiplier, is unique among 2^32 messages.
        let id = format!("{:08x}", (self.messages as u32).wrapping_mul(0x9e37_79b1) ^ (self.seed as u32));
        put!(out, "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":");
        match self.last_id.replace(id) {
            Some(parent) => put!(out, "\"{parent}\""),
            None => put!(out, "null"),
        };
        put!(out, ",\"timestamp\":\"{}\",\"message\":{{", iso(self.now_ms));
        self.messages += 1;
    }

    fn separator(&mut self) {
        if !self.blocks.is_empty() {
            self.blocks.push(',');
        }
    }

    fn take_text(&mut self, out: &mut String) {
        self.content_bytes += self.text.len() as u64;
        quote(out, &self.text);
        self.text.clear();
    }

    fn take_block_text(&mut self) {
        self.content_bytes += self.text.len() as u64;
        quote(&mut self.blocks, &self.text);
        self.text.clear();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
    use super::*;

    fn written(messages: usize, seed: u64) -> (String, Workload) {
        let mut bytes = Vec::new();
        let workload = write_workload(&mut bytes, messages, seed).unwrap();
        (String::from_utf8(bytes).unwrap(), workload)
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes() {
        assert_eq!(written(300, 1), written(300, 1));
        assert_ne!(written(300, 1).0, written(300, 2).0);
    }

    #[test]
    fn a_longer_session_begins_with_the_shorter_one() {
        let (short, long) = (written(200, 5).0, written(2000, 5).0);
        assert!(long.starts_with(&short));
        assert!(long.len() > 5 * short.len());
    }

    #[test]
    fn the_figures_are_those_of_the_file() {
        let (text, workload) = written(1500, 9);
        assert_eq!(workload.bytes, text.len() as u64);
        assert_eq!(workload.messages, text.lines().count() as u64 - 1);
        assert_eq!(workload.longest_line, text.lines().map(str::len).max().unwrap() as u64 + 1);
        assert_eq!(workload.turns, text.matches("\"role\":\"user\"").count() as u64);
        assert!((1500..1600).contains(&workload.messages), "{}", workload.messages);
        assert!(workload.content_bytes < workload.bytes);
    }

    #[test]
    fn a_needle_stands_once_in_the_message_it_names() {
        let (text, workload) = written(2100, 3);
        assert_eq!(workload.needles.len(), 5);
        for needle in &workload.needles {
            let lines: Vec<usize> = text
                .lines()
                .enumerate()
                .filter(|(_, line)| line.contains(&needle.tag))
                .map(|(n, _)| n)
                .collect();
            assert_eq!(lines, [needle.message as usize + 1], "{needle:?}");
        }
    }

    #[test]
    fn ids_are_unique_and_form_a_list() {
        let (text, _) = written(3000, 20_250_615);
        let mut seen = std::collections::BTreeSet::new();
        let mut last = String::from("null");
        for line in text.lines().skip(1) {
            let id = line[24..32].to_string();
            assert!(line.contains(&format!("\"parentId\":{last},")), "{line:.120}");
            assert!(seen.insert(id.clone()), "repeated {id}");
            last = format!("\"{id}\"");
        }
    }

    #[test]
    fn the_shape_is_that_of_real_sessions() {
        let (text, workload) = written(20_000, 4);
        let per_turn = workload.messages as f64 / workload.turns as f64;
        assert!((4.5..6.5).contains(&per_turn), "messages per turn {per_turn}");
        let per_message = workload.bytes / workload.messages;
        assert!((1_500..2_600).contains(&per_message), "bytes per message {per_message}");
        let calls = text.matches("\"type\":\"toolCall\"").count();
        assert_eq!(calls, text.matches("\"role\":\"toolResult\"").count(), "every call has its result");
    }
}
