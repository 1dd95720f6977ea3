//! Reasoning signed by a provider, over ten thousand turns: byte-equal or absent, and never refused.
use std::collections::HashSet;

use crate::common::host::{delivered, lane, result, turn, usage, user};
use serde_json::{Value, json};
use unforget_core::id::Timestamp;
use unforget_engine::Engine;
use unforget_engine::host::{Ask, Event, Host, LaneKey, LiveArray};
use unforget_wire::{Bound, Checks, Dialect, FakeSigner, Format, Target, validate};

/// Models of a session, each with the key of its signer. The first two accept each other's reasoning.
const MODELS: [(&str, u64); 3] = [("claude-opus-4-5", 1), ("claude-sonnet-4-5", 1), ("gemini-3-pro", 2)];

/// Small, so that the context breaks often. pi's own fields are larger than its words.
const fn budget(form: Format) -> u64 {
    match form {
        Format::Pi => 3_500,
        _ => 2_000,
    }
}

/// A host, its provider, and the blocks signed by the provider.
struct World {
    engine: Engine,
    host: Host,
    lane: LaneKey,
    form: Format,
    dialect: Dialect,
    model: (&'static str, u64),
    /// Signed blocks as the provider wrote them.
    signed: HashSet<String>,
    calls: u64,
    /// Number of signed blocks in requests.
    sent: u64,
    /// Number of these blocks in an open loop during which the context broke.
    moved: u64,
    breaks: u64,
}

impl World {
    fn new(form: Format, dialect: Dialect) -> Self {
        let engine = Engine::in_memory();
        let host = Host::new(engine.clone(), || Timestamp(7));
        Self {
            engine,
            host,
            lane: lane("signed"),
            form,
            dialect,
            model: MODELS[0],
            signed: HashSet::new(),
            calls: 0,
            sent: 0,
            moved: 0,
            breaks: 0,
        }
    }

    /// The host dies and starts again.
    fn reopen(&mut self) {
        self.host = Host::new(self.engine.clone(), || Timestamp(7));
    }

    fn switch(&mut self, model: (&'static str, u64)) {
        self.model = model;
        self.host.event(&self.lane, self.form, &Event::Model { name: model.0.to_owned() }).unwrap();
    }

    /// One call: the request is checked against the provider's rules, and the answer is signed.
    ///
    /// * `said` - the messages of the turn that the host holds.
    /// * `call` - id of the tool call at the end of the answer; without one the turn ends.
    fn call(&mut self, said: &[String], call: Option<&str>) -> String {
        let is_first = said.len() == 1;
        let live = LiveArray { is_whole: false, messages: delivered(said) };
        let model = Some(self.model.0.to_owned());
        let ask = Ask { live: Some(live), model, is_first, ..Ask::new(budget(self.form), self.dialect) };
        let assembled = self.host.assemble(&self.lane, self.form, &ask).unwrap();
        self.breaks += u64::from(assembled.broken.is_some_and(|broken| broken.cause.name() == "compaction"));
        let mut messages: Vec<Value> =
            assembled.messages.iter().map(|message| serde_json::from_str(message).unwrap()).collect();
        for message in &mut messages {
            self.leave_out_foreign(message);
        }
        let body = json!({ "messages": messages }).to_string();
        let signer = FakeSigner { bound: Bound::Prefix, key: self.model.1 };
        let target = Target::of(self.dialect, Some(self.model.0));
        let wrong =
            validate(&body, Checks { signer: Some(signer), ..target.into() }).err().unwrap_or_default();
        let open = messages.iter().rposition(is_persons).unwrap_or(0);
        for violation in wrong {
            // Messages that led to the open loop must stay with it, even if the prompt before it changes.
            let at: usize = violation.place.split('/').nth(2).unwrap().parse().unwrap();
            let is_open = violation.rule == "signature-prefix" && at > open && !is_first;
            assert!(is_open, "call {}: {violation:?}", self.calls);
            self.moved += 1;
        }
        for block in messages.iter().flat_map(blocks).filter(|block| block["type"] == "thinking") {
            assert!(self.signed.contains(&block.to_string()), "call {}: {block}", self.calls);
            self.sent += 1;
        }
        self.calls += 1;
        self.answer(&body, signer, call)
    }

    /// pi gets every message as stored and leaves out reasoning signed by other providers itself.
    fn leave_out_foreign(&self, message: &mut Value) {
        let by = MODELS.iter().find(|(name, _)| message["model"] == *name);
        if by.is_some_and(|(_, key)| *key != self.model.1)
            && let Some(blocks) = message["content"].as_array_mut()
        {
            blocks.retain(|block| block["type"] != "thinking");
        }
    }

    /// The provider's answer to a request.
    fn answer(&mut self, body: &str, signer: FakeSigner, call: Option<&str>) -> String {
        let thought = format!("thought number {}", self.calls);
        let proof = signer.sign(&thought, body, self.dialect);
        let (field, kind, arguments) = match self.form {
            Format::Pi => ("thinkingSignature", "toolCall", "arguments"),
            _ => ("signature", "tool_use", "input"),
        };
        let block = json!({ "type": "thinking", "thinking": thought, field: proof });
        self.signed.insert(block.to_string());
        let last = match call {
            Some(id) => json!({ "type": kind, "id": id, "name": "read", arguments: {} }),
            None => json!({ "type": "text", "text": format!("so it is, says answer {}", self.calls) }),
        };
        let content = json!([block, last]);
        let message = match self.form {
            Format::Pi => json!({ "role": "assistant", "content": content, "api": "a", "provider": "p",
                "model": self.model.0, "usage": usage(), "timestamp": self.calls,
                "stopReason": if call.is_some() { "toolUse" } else { "stop" } }),
            _ => json!({ "role": "assistant", "content": content }),
        };
        message.to_string()
    }

    fn turn(&mut self, n: u64) {
        let time = i64::try_from(n).unwrap();
        let mut said = match self.form {
            Format::Pi => vec![user(&format!("question {n} of many"), time)],
            _ => vec![json!({ "role": "user", "content": format!("question {n} of many") }).to_string()],
        };
        // Most turns are short; some are loops during which the context breaks.
        let loops = match n % 100 {
            50 => 12,
            at if at.is_multiple_of(20) => 2,
            _ => 0,
        };
        for at in 0..loops {
            let id = format!("call_{n}_{at}");
            let called = self.call(&said, Some(&id));
            let text = "a line of output ".repeat(12);
            let returned = match self.form {
                Format::Pi => result(&id, &text, time),
                _ => json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": id, "content": text }] })
                    .to_string(),
            };
            said.extend([called, returned]);
        }
        said.push(self.call(&said, None));
        self.host.commit_turn(&self.lane, self.form, turn(&n.to_string(), &said)).unwrap();
    }
}

/// Whether the message is a person's or ours in a person's place, not a result of a call.
fn is_persons(message: &Value) -> bool {
    let is_result = |block: &&Value| block["type"] == "tool_result";
    message["role"] == "user" && !blocks(message).any(|block| is_result(&block))
}

fn blocks(message: &Value) -> impl Iterator<Item = &Value> {
    message["content"].as_array().into_iter().flatten()
}

/// Plays turns with all events that change a prompt: breaks inside and between loops, other models, restarts.
fn play(form: Format, dialect: Dialect, turns: u64) {
    let mut world = World::new(form, dialect);
    for n in 0..turns {
        if n % 137 == 136 && form == Format::Pi {
            world.switch(MODELS[(n / 137 % 3) as usize]);
        }
        if n % 211 == 210 {
            world.reopen();
        }
        world.turn(n);
    }
    let World { calls, breaks, sent, moved, .. } = world;
    println!("{}: {calls} calls, {breaks} breaks, {sent} blocks sent, {moved} moved", form.name());
    assert!(breaks > 300 && sent > 5_000 && moved > 300, "it was tried");
}

#[test]
fn f054_signatures_bound_to_the_prefix_over_four_thousand_turns_and_three_models() {
    play(Format::Pi, Dialect::Pi, 4_000);
}

#[test]
fn f054_signatures_bound_to_the_prefix_over_six_thousand_turns() {
    play(Format::AnthropicMessages, Dialect::Anthropic, 6_000);
}
