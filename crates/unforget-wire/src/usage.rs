//! Tokens that a transcript says a model used. A host writes them beside its messages, each in its own way.
//!
//! | host | where | notes |
//! |---|---|---|
//! | Claude Code | `message.usage` of an assistant line | a message comes as several lines with one `message.id`; the last one has all of its output |
//! | Codex | `token_count` events, `last_token_usage` | input includes the cached part; an event comes again when only the limits changed |
//! | pi, OpenClaw | `message.usage`, with its `cost` | |
//! | Gemini CLI | `tokens` of a message | input includes the cached part; thoughts are output |
//!
//! Other formats record no usage.

use unforget_core::id::Timestamp;

use crate::Format;
use crate::format::openclaw;
use crate::format::opencode::Said;
use crate::json::{Object, Tape, Value};

/// Tokens of calls of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenUsage {
    /// Input that was neither read from a cache nor written to one.
    pub input: u64,
    /// Input read from the provider's cache.
    pub cache_read: u64,
    /// Input written to the provider's cache.
    pub cache_write: u64,
    /// Output, thinking included.
    pub output: u64,
}

impl TokenUsage {
    /// All tokens.
    pub const fn total(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
            .saturating_add(self.output)
    }

    /// Adds the tokens of other calls.
    pub const fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.output = self.output.saturating_add(other.output);
    }
}

/// One call of a model, as a transcript records it.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedCall {
    /// Equal for copies of the call in other transcripts, such as forks.
    pub id: String,
    /// Name of the model. `None` if the transcript does not say.
    pub model: Option<String>,
    /// The host's time.
    pub time: Option<Timestamp>,
    /// The folder in which the host worked.
    pub folder: Option<String>,
    /// Tokens.
    pub tokens: TokenUsage,
    /// Cost in dollars, where the host says it.
    pub cost: Option<f64>,
}

/// Reads the calls of one transcript, record by record.
#[derive(Debug)]
pub struct UsageReader {
    format: Format,
    tape: Tape,
    model: Option<String>,
    folder: Option<String>,
    /// A call that may go on in the next record.
    open: Option<RecordedCall>,
    /// Codex: the running total of the latest event.
    total: Option<TokenUsage>,
}

impl UsageReader {
    /// A reader for a transcript. `None` for a format without usage.
    pub fn new(format: Format) -> Option<Self> {
        let has_usage = matches!(
            format,
            Format::ClaudeCode
                | Format::Codex
                | Format::Pi
                | Format::OpenClaw
                | Format::GeminiCli
                | Format::Opencode
        );
        has_usage.then(|| Self {
            format,
            tape: Tape::default(),
            model: None,
            folder: None,
            open: None,
            total: None,
        })
    }

    /// Reads the next record, and returns a call that is complete with it. An unreadable record has no call.
    ///
    /// Cost: one pass over the record.
    pub fn read(&mut self, record: &str) -> Option<RecordedCall> {
        let mut tape = std::mem::take(&mut self.tape);
        let is_read = tape.read(record.as_bytes()).is_ok();
        let value = if is_read { tape.value(record) } else { None };
        let done = value.and_then(Value::obj).and_then(|record| self.object(record));
        self.tape = tape;
        done
    }

    /// The last call, if it was still open at the end of the transcript.
    pub fn finish(self) -> Option<RecordedCall> {
        self.open
    }

    fn object(&mut self, record: Object<'_>) -> Option<RecordedCall> {
        match self.format {
            Format::ClaudeCode => self.claude_code(record),
            Format::Codex => self.codex(record),
            Format::Pi => self.pi(record),
            Format::OpenClaw => openclaw::event(record).and_then(|event| self.pi(event)),
            Format::Opencode => self.opencode(record),
            _ => self.gemini_cli(record),
        }
    }

    fn claude_code(&mut self, record: Object<'_>) -> Option<RecordedCall> {
        self.folder = record.string("cwd").or(self.folder.take());
        let message = record.obj("message")?;
        let usage = message.obj("usage")?;
        let tokens = TokenUsage {
            input: number(usage, "input_tokens"),
            cache_read: number(usage, "cache_read_input_tokens"),
            cache_write: number(usage, "cache_creation_input_tokens"),
            output: number(usage, "output_tokens"),
        };
        // Placeholders and API errors of the host's own.
        if message.is("model", "<synthetic>") || tokens.total() == 0 {
            return None;
        }
        let id = message.string("id").or_else(|| record.string("uuid"))?;
        let call = self.call(id, message.string("model"), record.time("timestamp"), tokens);
        match &mut self.open {
            Some(open) if open.id == call.id => {
                *open = RecordedCall { time: open.time, ..call };
                None
            }
            open => open.replace(call),
        }
    }

    fn codex(&mut self, record: Object<'_>) -> Option<RecordedCall> {
        let payload = record.obj("payload")?;
        if record.is("type", "turn_context") || record.is("type", "session_meta") {
            self.model = payload.string("model").or(self.model.take());
            self.folder = payload.string("cwd").or(self.folder.take());
        }
        if !payload.is("type", "token_count") {
            return None;
        }
        let info = payload.obj("info")?;
        let (last, total) =
            (of_codex(info.obj("last_token_usage")?), of_codex(info.obj("total_token_usage")?));
        if self.total.replace(total) == Some(total) || last.total() == 0 {
            return None;
        }
        let at = record.string("timestamp").unwrap_or_default();
        Some(self.call(format!("{at} {}", total.total()), self.model.clone(), record.time("timestamp"), last))
    }

    fn pi(&mut self, record: Object<'_>) -> Option<RecordedCall> {
        if record.is("type", "session") {
            self.folder = record.string("cwd");
        }
        let message = record.obj("message")?;
        let usage = message.obj("usage")?;
        let tokens = TokenUsage {
            input: number(usage, "input"),
            cache_read: number(usage, "cacheRead"),
            cache_write: number(usage, "cacheWrite"),
            output: number(usage, "output"),
        };
        let cost = usage.obj("cost").and_then(|cost| cost.raw("total")).and_then(|cost| cost.parse().ok());
        let at = record.string("timestamp").unwrap_or_default();
        let id = format!("{at} {}", tokens.total());
        let call = self.call(id, message.string("model"), record.time("timestamp"), tokens);
        (tokens.total() > 0).then_some(RecordedCall { cost, ..call })
    }

    /// A message has figures when its answer is complete.
    fn opencode(&self, record: Object<'_>) -> Option<RecordedCall> {
        let said = Said::read(record)?;
        let used = said.data.obj("tokens")?;
        let cache = used.obj("cache");
        let cached = |key| cache.map(|cache| number(cache, key)).unwrap_or_default();
        let tokens = TokenUsage {
            input: number(used, "input"),
            cache_read: cached("read"),
            cache_write: cached("write"),
            output: number(used, "output").saturating_add(number(used, "reasoning")),
        };
        let folder = said.data.obj("path").and_then(|path| path.string("cwd"));
        let time = said.data.obj("time").and_then(|time| time.time("created"));
        let cost = said.data.raw("cost").and_then(|cost| cost.parse().ok());
        let call = self.call(said.id?, said.data.string("modelID"), time, tokens);
        (tokens.total() > 0).then_some(RecordedCall { folder, cost, ..call })
    }

    fn gemini_cli(&self, record: Object<'_>) -> Option<RecordedCall> {
        let used = record.obj("tokens")?;
        let cached = number(used, "cached");
        let tokens = TokenUsage {
            input: number(used, "input").saturating_sub(cached),
            cache_read: cached,
            cache_write: 0,
            output: number(used, "output").saturating_add(number(used, "thoughts")),
        };
        let id = record.string("id")?;
        let call = self.call(id, record.string("model"), record.time("timestamp"), tokens);
        (tokens.total() > 0).then_some(call)
    }

    fn call(
        &self,
        id: String,
        model: Option<String>,
        time: Option<Timestamp>,
        tokens: TokenUsage,
    ) -> RecordedCall {
        RecordedCall { id, model, time, folder: self.folder.clone(), tokens, cost: None }
    }
}

fn of_codex(usage: Object<'_>) -> TokenUsage {
    let cached = number(usage, "cached_input_tokens");
    TokenUsage {
        input: number(usage, "input_tokens").saturating_sub(cached),
        cache_read: cached,
        cache_write: 0,
        output: number(usage, "output_tokens"),
    }
}

/// A count; 0 for a missing or negative one.
fn number(object: Object<'_>, key: &str) -> u64 {
    object.i64(key).and_then(|count| u64::try_from(count).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// Model, folder, input, read, written, output and cost of the calls of a transcript.
    fn calls(format: Format, lines: &[&str]) -> Vec<String> {
        let mut reader = UsageReader::new(format).unwrap();
        let mut calls: Vec<_> = lines.iter().filter_map(|line| reader.read(line)).collect();
        calls.extend(reader.finish());
        let shown = |call: &RecordedCall| {
            let TokenUsage { input, cache_read, cache_write, output } = call.tokens;
            let (model, folder) = (call.model.as_deref(), call.folder.as_deref());
            let cost = call.cost.map(|cost| format!(" ${cost}")).unwrap_or_default();
            format!(
                "{} {} {input}+{cache_read}+{cache_write} {output}{cost}",
                model.unwrap_or("?"),
                folder.unwrap_or("?")
            )
        };
        calls.iter().map(shown).collect()
    }

    #[test]
    fn a_message_of_claude_code_is_one_call_however_many_lines_it_has() {
        let line = |id: &str, output: u64| {
            format!(
                r#"{{"type":"assistant","cwd":"/w","timestamp":"2026-03-02T08:00:00Z","message":{{"id":"{id}","model":"claude-x","usage":{{"input_tokens":3,"cache_creation_input_tokens":20,"cache_read_input_tokens":100,"output_tokens":{output}}}}}}}"#
            )
        };
        let lines = [
            line("m1", 1),
            line("m1", 9),
            r#"{"type":"user","message":{"content":"go on"}}"#.into(),
            line("m2", 4),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        assert_eq!(calls(Format::ClaudeCode, &lines), ["claude-x /w 3+100+20 9", "claude-x /w 3+100+20 4"]);
        let own =
            r#"{"message":{"id":"m","model":"<synthetic>","usage":{"input_tokens":1,"output_tokens":1}}}"#;
        assert!(calls(Format::ClaudeCode, &[own]).is_empty(), "the host's own placeholder");
    }

    #[test]
    fn an_event_of_codex_counts_once() {
        let event = |last: u64, total: u64| {
            format!(
                r#"{{"timestamp":"2026-03-02T08:00:00Z","type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{{"input_tokens":{total},"cached_input_tokens":0,"output_tokens":0}},"last_token_usage":{{"input_tokens":{last},"cached_input_tokens":40,"output_tokens":7}}}}}}}}"#
            )
        };
        let context = r#"{"type":"turn_context","payload":{"cwd":"/w","model":"gpt-x"}}"#;
        let (first, second) = (event(100, 100), event(60, 160));
        let lines = [context, &first, &first, r#"{"payload":{"type":"token_count","info":null}}"#, &second];
        assert_eq!(calls(Format::Codex, &lines), ["gpt-x /w 60+40+0 7", "gpt-x /w 20+40+0 7"]);
    }

    #[test]
    fn pi_says_what_a_call_cost() {
        let lines = [
            r#"{"type":"session","cwd":"/w"}"#,
            r#"{"type":"message","message":{"role":"assistant","model":"m","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"cost":{"total":0.25}}}}"#,
            r#"{"type":"message","message":{"role":"assistant","model":"m","usage":{"input":0,"output":0}}}"#,
        ];
        assert_eq!(calls(Format::Pi, &lines), ["m /w 1+3+4 2 $0.25"]);
    }

    #[test]
    fn hostile_records_have_no_call() {
        let deep = "[".repeat(100_000);
        for record in ["", "null", "[1]", "{", "{\"message\":7}", "{\"message\":{\"usage\":[]}}", &deep] {
            for format in Format::ALL {
                if let Some(mut reader) = UsageReader::new(format) {
                    assert_eq!(reader.read(record), None, "{format:?} {record:.40}");
                }
            }
        }
        let huge = r#"{"id":"a","tokens":{"input":9223372036854775807,"output":9223372036854775807,"thoughts":9223372036854775807}}"#;
        let call = UsageReader::new(Format::GeminiCli).unwrap().read(huge).unwrap();
        assert_eq!(call.tokens.total(), u64::MAX);
    }
}
