//! Histories with everything that hosts, providers and people were observed to do wrong.

use proptest::prelude::{Strategy, any};
use unforget_bench::Random;
use unforget_core::entry::{Entry, HostParent, Media, Origin, Part, Role, Status, ToolCall, ToolResult};
use unforget_core::id::Timestamp;

use crate::text::{Texts, text};

/// The size limits of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Number of steps; each makes from 1 to some 250 entries, usually below 10.
    pub steps: usize,
    /// Most bytes of one text. One text in about 50 comes close; the others are short.
    pub text_bytes: usize,
}

impl Size {
    /// For thousands of cases: up to 12 steps, texts up to 4 kB.
    pub const SMALL: Self = Self { steps: 12, text_bytes: 4_000 };
    /// For hundreds of cases: up to 80 steps, texts up to 200 kB.
    pub const LARGE: Self = Self { steps: 80, text_bytes: 200_000 };
}

/// An event in a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Step {
    /// A person says something.
    #[default]
    Human,
    /// The host puts something in, possibly several times.
    Injected,
    /// System instructions, possibly in the middle.
    System,
    /// The model answers in words.
    Answer,
    /// The model thinks, with or without a signature, and answers.
    Thinking,
    /// From 1 to 16 calls in parallel, with all their results, in some order.
    Round,
    /// As `Round`, with all results in one entry.
    RoundInOne,
    /// A long loop of calls without a person in between.
    Loop,
    /// A message stopped by a person, with whole and cut-off calls; sometimes with results.
    Aborted,
    /// A message stopped by the provider, likewise.
    Failed,
    /// A call whose arguments broke off, in a message marked complete.
    CutOff,
    /// Results that arrive before their calls.
    ResultsFirst,
    /// Calls, some of which never get a result.
    Missing,
    /// A result that arrives twice, with different content.
    Duplicate,
    /// A result without a call.
    Stray,
    /// Calls whose ids were used before.
    RepeatedIds,
    /// Calls and results with empty ids.
    EmptyIds,
    /// A person speaks between a call and its result.
    Interrupted,
    /// A block of an unknown type.
    Unknown,
    /// An image.
    Image,
    /// A message without any block.
    Hollow,
    /// Bookkeeping, copies, opaque records, host summaries.
    Noise,
}

impl Step {
    /// Every step.
    pub const ALL: [Self; 22] = [
        Self::Human,
        Self::Injected,
        Self::System,
        Self::Answer,
        Self::Thinking,
        Self::Round,
        Self::RoundInOne,
        Self::Loop,
        Self::Aborted,
        Self::Failed,
        Self::CutOff,
        Self::ResultsFirst,
        Self::Missing,
        Self::Duplicate,
        Self::Stray,
        Self::RepeatedIds,
        Self::EmptyIds,
        Self::Interrupted,
        Self::Unknown,
        Self::Image,
        Self::Hollow,
        Self::Noise,
    ];
}

/// A history from a seed. About one in 30 is empty, and some start with the model or with results.
pub fn history(seed: u64, size: Size) -> Vec<Entry> {
    let mut random = Random::new(seed);
    let steps = if random.chance(0.03) { 0 } else { random.below(size.steps) + 1 };
    let mut builder = Builder::new(size.text_bytes);
    // Half of the histories begin like real ones.
    if steps > 0 && random.chance(0.5) {
        builder.step(Step::Human, &mut random);
    }
    for _ in 0..steps {
        let step = if random.chance(0.4) {
            random.pick(&[Step::Human, Step::Answer, Step::Round, Step::Thinking])
        } else {
            random.pick(&Step::ALL)
        };
        builder.step(step, &mut random);
    }
    builder.entries
}

/// Histories as a strategy. Shrinks by leaving out steps.
pub fn histories(size: Size) -> impl Strategy<Value = Vec<Entry>> {
    let step = (proptest::sample::select(&Step::ALL[..]), any::<u64>());
    proptest::collection::vec(step, 0..=size.steps).prop_map(move |steps| of_steps(&steps, size.text_bytes))
}

/// The history of these steps, each with the seed of its details.
pub fn of_steps(steps: &[(Step, u64)], text_bytes: usize) -> Vec<Entry> {
    let mut builder = Builder::new(text_bytes);
    for (step, seed) in steps {
        builder.step(*step, &mut Random::new(*seed));
    }
    builder.entries
}

struct Builder {
    entries: Vec<Entry>,
    text_bytes: usize,
    calls: usize,
}

impl Builder {
    fn new(text_bytes: usize) -> Self {
        Self { entries: Vec::new(), text_bytes, calls: 0 }
    }

    fn step(&mut self, step: Step, random: &mut Random) {
        match step {
            Step::Human => self.say(Role::User, Origin::Human, random),
            Step::Injected => {
                for _ in 0..=random.below(4) {
                    self.say(Role::User, Origin::Injected, random);
                }
            }
            Step::System => self.say(Role::System, Origin::Injected, random),
            Step::Answer => self.say(Role::Assistant, Origin::Model, random),
            Step::Thinking => {
                let parts = vec![self.thinking(random), self.words(random)];
                self.push(Role::Assistant, Origin::Model, Status::Complete, parts);
            }
            Step::Round | Step::RoundInOne | Step::Interrupted | Step::Missing | Step::Duplicate => {
                self.round(step, random);
            }
            Step::Loop => {
                for _ in 0..=random.below(16) {
                    self.round(Step::Round, random);
                }
            }
            Step::Aborted => self.stopped(Status::Aborted, random),
            Step::Failed => self.stopped(Status::Error, random),
            Step::CutOff => {
                let mut call = self.call(random);
                cut(&mut call);
                self.push(Role::Assistant, Origin::Model, Status::Complete, vec![Part::ToolCall(call)]);
            }
            Step::ResultsFirst => {
                let calls = self.calls(random);
                self.results(&calls, random);
                self.push(Role::Assistant, Origin::Model, Status::Complete, calls_as_parts(&calls));
            }
            Step::Stray => {
                let call = self.call(random);
                self.results(&[call], random);
            }
            Step::RepeatedIds | Step::EmptyIds => {
                let id = if step == Step::EmptyIds { "" } else { "call_0" };
                let calls: Vec<ToolCall> = self
                    .calls(random)
                    .into_iter()
                    .map(|call| ToolCall { id: id.to_string(), ..call })
                    .collect();
                self.push(Role::Assistant, Origin::Model, Status::Complete, calls_as_parts(&calls));
                self.results(&calls, random);
            }
            Step::Unknown => {
                let (role, origin) = random.pick_pair();
                let part = self.unknown(random);
                let words = self.words(random);
                self.push(role, origin, Status::Complete, vec![part, words]);
            }
            Step::Image => {
                let part = image(random);
                self.push(Role::User, Origin::Human, Status::Complete, vec![part]);
            }
            Step::Hollow => {
                let (role, origin) = random.pick_pair();
                self.push(role, origin, Status::Complete, Vec::new());
            }
            Step::Noise => self.noise(random),
        }
    }

    fn push(&mut self, role: Role, origin: Origin, status: Status, parts: Vec<Part>) {
        let index = self.entries.len();
        let entry = Entry {
            role,
            status,
            host_id: Some(format!("{index:08x}")),
            parent: HostParent::Previous,
            message_id: None,
            // Clocks sometimes run backwards.
            time: Some(Timestamp(1_750_000_000_000 + (index as i64 * 7_919) % 100_000)),
            model: (role == Role::Assistant).then(|| "test-model".to_string()),
            parts,
            ..Entry::bare(origin)
        };
        self.entries.push(entry);
    }

    fn say(&mut self, role: Role, origin: Origin, random: &mut Random) {
        let parts = (0..=random.below(2)).map(|_| self.words(random)).collect();
        self.push(role, origin, Status::Complete, parts);
    }

    fn any_text(&self, random: &mut Random) -> String {
        let kind = random.pick_text();
        let most = if random.chance(0.02) { self.text_bytes } else { self.text_bytes.min(600) };
        let bytes = random.below(most + 1);
        text(kind, bytes, random)
    }

    fn words(&self, random: &mut Random) -> Part {
        Part::Text(self.any_text(random))
    }

    fn thinking(&self, random: &mut Random) -> Part {
        let text = if random.chance(0.3) { String::new() } else { self.any_text(random) };
        let signature = random.chance(0.7).then(|| crate::text::text(Texts::Base64, 120, random));
        Part::Thinking { text, signature, raw: None }
    }

    fn unknown(&self, random: &mut Random) -> Part {
        let kind = random.pick(&["server_tool_use", "redacted_thinking", "container_upload", ""]);
        let payload = serde_json::json!({"type": kind, "payload": self.any_text(random)});
        Part::Opaque { kind: kind.to_string(), raw: payload.to_string().into_boxed_str() }
    }

    fn call(&mut self, random: &mut Random) -> ToolCall {
        self.calls += 1;
        let arguments = match random.below(6) {
            0 => "{}".to_string(),
            1 => String::new(),
            2 => serde_json::json!({"content": self.any_text(random)}).to_string(),
            _ => serde_json::json!({"command": self.any_text(random), "timeout": 30}).to_string(),
        };
        ToolCall {
            id: format!("call_{}", self.calls),
            name: random.pick(&["bash", "read", "edit", "grep", "mcp__db__query", ""]).to_string(),
            arguments,
            complete: true,
            raw: None,
        }
    }

    fn calls(&mut self, random: &mut Random) -> Vec<ToolCall> {
        let most = if random.chance(0.2) { 16 } else { 3 };
        (0..=random.below(most)).map(|_| self.call(random)).collect()
    }

    fn result(&self, call: &ToolCall, random: &mut Random) -> Part {
        let mut content: Vec<Part> = (0..random.below(3)).map(|_| self.words(random)).collect();
        if random.chance(0.05) {
            content.push(image(random));
        }
        let is_error = random.chance(0.1);
        Part::ToolResult(ToolResult {
            call_id: call.id.clone(),
            name: call.name.clone(),
            content,
            is_error,
            exit_code: random.chance(0.5).then_some(i64::from(is_error)),
        })
    }

    fn results(&mut self, calls: &[ToolCall], random: &mut Random) {
        for call in calls {
            let part = self.result(call, random);
            self.push(Role::Tool, Origin::Tool, Status::Complete, vec![part]);
        }
    }

    fn round(&mut self, step: Step, random: &mut Random) {
        let mut calls = self.calls(random);
        let mut parts = Vec::new();
        if random.chance(0.4) {
            parts.push(self.thinking(random));
        }
        if random.chance(0.4) {
            parts.push(self.words(random));
        }
        parts.extend(calls_as_parts(&calls));
        self.push(Role::Assistant, Origin::Model, Status::Complete, parts);
        if random.chance(0.3) {
            calls.reverse();
        }
        match step {
            Step::RoundInOne => {
                let parts = calls.iter().map(|call| self.result(call, random)).collect();
                self.push(Role::Tool, Origin::Tool, Status::Complete, parts);
                return;
            }
            Step::Interrupted => self.say(Role::User, Origin::Human, random),
            Step::Missing => calls.truncate(random.below(calls.len())),
            _ => {}
        }
        self.results(&calls, random);
        if step == Step::Duplicate {
            self.results(calls.get(..1).unwrap_or_default(), random);
        }
    }

    fn stopped(&mut self, status: Status, random: &mut Random) {
        let mut calls = self.calls(random);
        if let Some(last) = calls.last_mut()
            && random.chance(0.7)
        {
            cut(last);
        }
        let mut parts = Vec::new();
        if random.chance(0.5) {
            parts.push(self.words(random));
        }
        if random.chance(0.8) {
            parts.extend(calls_as_parts(&calls));
        }
        self.push(Role::Assistant, Origin::Model, status, parts);
        if random.chance(0.3) {
            self.results(&calls, random);
        }
    }

    fn noise(&mut self, random: &mut Random) {
        for _ in 0..=random.below(5) {
            match random.below(4) {
                0 => self.entries.push(Entry::bare(Origin::Bookkeeping)),
                1 => self.entries.push(Entry::bare(Origin::Opaque)),
                2 => self.say(Role::User, Origin::HostSummary, random),
                _ => self.say(Role::User, Origin::Copy, random),
            }
        }
    }
}

/// Draws of this module's own.
trait Draw {
    fn pick_text(&mut self) -> Texts;
    fn pick_pair(&mut self) -> (Role, Origin);
}

impl Draw for Random {
    fn pick_text(&mut self) -> Texts {
        let index = self.below(Texts::ALL.len());
        Texts::ALL.get(index).copied().unwrap_or(Texts::Empty)
    }

    fn pick_pair(&mut self) -> (Role, Origin) {
        if self.chance(0.5) { (Role::User, Origin::Human) } else { (Role::Assistant, Origin::Model) }
    }
}

fn calls_as_parts(calls: &[ToolCall]) -> Vec<Part> {
    calls.iter().cloned().map(Part::ToolCall).collect()
}

/// Cuts a call off in the middle of its arguments.
fn cut(call: &mut ToolCall) {
    call.complete = false;
    let half = call.arguments.len() / 2;
    let end = (0..=half).rev().find(|end| call.arguments.is_char_boundary(*end)).unwrap_or_default();
    call.arguments.truncate(end);
}

fn image(random: &mut Random) -> Part {
    let data = text(Texts::Base64, 400, random);
    let raw = serde_json::json!({
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": data},
    });
    let size = random.chance(0.5).then_some((1024, 768));
    Part::Media(Media { mime: "image/png".to_string(), size, raw: raw.to_string().into_boxed_str() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn equal_seeds_give_equal_histories() {
        for seed in 0..50 {
            assert_eq!(history(seed, Size::SMALL), history(seed, Size::SMALL));
        }
    }

    /// A generator that misses the interesting cases would prove nothing.
    #[test]
    fn the_interesting_cases_are_reached() {
        let all: Vec<Vec<Entry>> = (0..400).map(|seed| history(seed, Size::SMALL)).collect();
        let some = |what: &str, found: &dyn Fn(&[Entry]) -> bool| {
            assert!(all.iter().any(|history| found(history)), "no history {what}");
        };
        let starts_with = |role| move |h: &[Entry]| h.first().is_some_and(|entry| entry.role == role);
        some("is empty", &<[Entry]>::is_empty);
        some("starts with the model", &starts_with(Role::Assistant));
        some("starts with a result", &starts_with(Role::Tool));
        some("has no person", &|h| h.len() > 5 && h.iter().all(|e| e.origin != Origin::Human));
        some("has 16 calls in one message", &|h| h.iter().any(|e| e.live_calls().count() == 16));
        some("has an aborted call", &|h| h.iter().any(|e| e.status == Status::Aborted && e.parts.len() > 1));
        some("has an empty call id", &|h| h.iter().any(|e| e.live_calls().any(|c| c.id.is_empty())));
        some("has a cut-off call", &|h| {
            h.iter().flat_map(|e| &e.parts).any(|p| matches!(p, Part::ToolCall(call) if !call.complete))
        });
        some("has signed thinking", &|h| {
            h.iter().flat_map(|e| &e.parts).any(|p| matches!(p, Part::Thinking { signature: Some(_), .. }))
        });
        some("has an unknown block", &|h| {
            h.iter().flat_map(|e| &e.parts).any(|p| matches!(p, Part::Opaque { .. }))
        });
        some("has several results in one entry", &|h| h.iter().any(|e| e.results().count() > 3));
        some("has a loop of 20 entries without a person", &|h| {
            h.chunk_by(|a, b| a.origin != Origin::Human && b.origin != Origin::Human)
                .any(|run| run.len() > 20)
        });
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
        /// The strategy makes the histories of its steps, under distinct host ids.
        #[test]
        fn strategies_make_histories(history in histories(Size::SMALL)) {
            let named: Vec<&String> = history.iter().filter_map(|entry| entry.host_id.as_ref()).collect();
            let distinct: std::collections::BTreeSet<&String> = named.iter().copied().collect();
            proptest::prop_assert_eq!(distinct.len(), named.len());
            proptest::prop_assert!(history.len() <= 12 * 16 * 17);
        }
    }

    #[test]
    fn a_large_history_keeps_to_its_cap() {
        let longest = (0..30)
            .flat_map(|seed| history(seed, Size::LARGE))
            .flat_map(|entry| entry.parts)
            .filter_map(|part| match part {
                Part::Text(text) => Some(text.len()),
                _ => None,
            })
            .max()
            .unwrap();
        assert!((50_000..200_100).contains(&longest), "{longest}");
    }
}
