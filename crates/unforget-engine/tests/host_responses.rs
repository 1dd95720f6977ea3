//! A host that speaks OpenAI Responses: its items go in and come back as it sent them, in prompts that the provider takes.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod common;

use std::collections::{BTreeMap, HashSet};

use common::host::{delivered, lane, turn};
use serde_json::{Value, json};
use unforget_core::id::Timestamp;
use unforget_engine::Engine;
use unforget_engine::host::{Ask, Host, LaneKey, LiveArray};
use unforget_wire::{Bound, Checks, Dialect, FakeSigner, Format, Target, validate};

const FORM: Format = Format::OpenAiResponses;
const MODEL: &str = "gpt-5.5-codex";
const SIGNER: FakeSigner = FakeSigner { bound: Bound::Content, key: 3 };

struct World {
    engine: Engine,
    host: Host,
    lane: LaneKey,
    budget: u64,
    /// Items as the host sent them, without the ids of the provider's store.
    known: HashSet<String>,
    /// Items in prompts by type, as the host sent them and others.
    sent: BTreeMap<(String, bool), u64>,
    breaks: u64,
    calls: u64,
}

impl World {
    fn new(budget: u64) -> Self {
        let engine = Engine::in_memory();
        let host = Host::new(engine.clone(), || Timestamp(7));
        Self {
            engine,
            host,
            lane: lane("responses"),
            budget,
            known: HashSet::new(),
            sent: BTreeMap::new(),
            breaks: 0,
            calls: 0,
        }
    }

    /// An item that the host or the provider made.
    fn item(&mut self, item: &Value) -> String {
        let mut bare = item.clone();
        if item["type"] != "reasoning" {
            bare.as_object_mut().unwrap().shift_remove("id");
        }
        self.known.insert(bare.to_string());
        item.to_string()
    }

    /// One prompt, held against the provider's rules.
    fn prompt(&mut self, said: &[String]) -> String {
        let live = LiveArray { is_whole: false, messages: delivered(said) };
        let ask = Ask {
            live: Some(live),
            model: Some(MODEL.to_owned()),
            is_first: said.len() == 1,
            ..Ask::new(self.budget, Dialect::OpenAiResponses)
        };
        let assembled = self.host.assemble(&self.lane, FORM, &ask).unwrap();
        self.breaks += u64::from(assembled.broken.is_some_and(|cause| cause == "compaction"));
        assert!(assembled.tokens.upper <= self.budget, "call {}", self.calls);
        let body = format!(r#"{{"input":[{}]}}"#, assembled.messages.join(","));
        let target = Target::of(Dialect::OpenAiResponses, Some(MODEL));
        let checks = Checks { signer: Some(SIGNER), ..target.into() };
        validate(&body, checks).unwrap_or_else(|found| panic!("call {}: {found:?}: {body}", self.calls));
        for message in &assembled.messages {
            let kind = serde_json::from_str::<Value>(message).unwrap()["type"].as_str().unwrap().to_owned();
            let is_whole = self.known.contains(message);
            assert!(is_whole || kind != "reasoning", "call {}: {message}", self.calls);
            *self.sent.entry((kind, is_whole)).or_default() += 1;
        }
        self.calls += 1;
        body
    }

    /// Reasoning that the provider signed for a request.
    fn reasoning(&mut self, body: &str) -> String {
        let summary = json!([{ "type": "summary_text", "text": format!("thought number {}", self.calls) }]);
        let proof = SIGNER.sign(&summary.to_string(), body, Dialect::OpenAiResponses);
        self.item(&json!({ "type": "reasoning", "id": format!("rs_{}", self.calls), "summary": summary, "encrypted_content": proof }))
    }

    fn turn(&mut self, n: u64) {
        let text = format!("question {n} of many");
        let asked = json!({ "type": "message", "role": "user", "id": format!("msg_u{n}"), "content": [{ "type": "input_text", "text": text }] });
        let mut said = vec![self.item(&asked)];
        for step in 0..(if n % 40 == 20 { 9 } else { n % 3 }) {
            let body = self.prompt(&said);
            said.push(self.reasoning(&body));
            let id = format!("call_{n}_{step}");
            let output = format!("{} of {id}", "a line of output ".repeat(14));
            let (call, result) = match (n + step) % 4 {
                0 => (
                    json!({ "type": "custom_tool_call", "id": format!("ctc_{n}_{step}"), "call_id": id, "name": "apply_patch", "input": "*** Begin\n\"x\"", "status": "completed" }),
                    "custom_tool_call_output",
                ),
                1 => (
                    json!({ "type": "local_shell_call", "id": format!("lsh_{n}_{step}"), "call_id": id, "status": "completed", "action": { "type": "exec", "command": ["ls"] } }),
                    "function_call_output",
                ),
                _ => (
                    json!({ "type": "function_call", "id": format!("fc_{n}_{step}"), "call_id": id, "name": "shell", "arguments": "{\"cmd\": \"ls\"}", "status": "completed" }),
                    "function_call_output",
                ),
            };
            if step == 2 {
                let search = json!({ "type": "web_search_call", "id": format!("ws_{n}"), "status": "completed", "action": { "type": "search", "query": "x" } });
                said.push(self.item(&search));
            }
            said.push(self.item(&call));
            said.push(self.item(&json!({ "type": result, "call_id": id, "output": output })));
        }
        let body = self.prompt(&said);
        said.push(self.reasoning(&body));
        let answer = json!({ "type": "message", "id": format!("msg_{n}"), "role": "assistant", "status": "completed", "phase": "final_answer", "content": [{ "type": "output_text", "text": format!("so it is, says answer {n}"), "annotations": [] }] });
        said.push(self.item(&answer));
        self.host.commit_turn(&self.lane, FORM, turn(&n.to_string(), &said)).unwrap();
    }

    fn sent(&self, kind: &str, is_whole: bool) -> u64 {
        self.sent.get(&(kind.to_owned(), is_whole)).copied().unwrap_or_default()
    }
}

#[test]
fn f058_items_come_back_as_they_were_sent_in_prompts_that_are_taken() {
    let mut world = World::new(2_500);
    for n in 0..600 {
        if n % 97 == 96 {
            world.host = Host::new(world.engine.clone(), || Timestamp(7));
        }
        world.turn(n);
    }
    println!("{} calls, {} breaks, {:?}", world.calls, world.breaks, world.sent);
    assert!(world.breaks > 30, "it was tried: {}", world.breaks);
    for kind in
        ["reasoning", "custom_tool_call", "local_shell_call", "function_call", "web_search_call", "message"]
    {
        assert!(world.sent(kind, true) > 50, "{kind} comes back whole: {:?}", world.sent);
    }
    assert!(world.sent("custom_tool_call_output", true) > 50, "{:?}", world.sent);
    for kind in ["custom_tool_call", "local_shell_call", "function_call", "web_search_call"] {
        assert_eq!(world.sent(kind, false), 0, "{kind}: {:?}", world.sent);
    }
}

#[test]
fn tiny_windows_have_prompts_that_are_taken() {
    for budget in [300, 500, 800, 1_200] {
        let mut world = World::new(budget);
        for n in 0..40 {
            world.turn(n);
        }
    }
}
