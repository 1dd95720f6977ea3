//! A host that speaks OpenAI Responses: its items come back unchanged, in prompts that the provider accepts.
use std::collections::{BTreeMap, HashSet};

use crate::common::host::{delivered, lane, turn};
use serde_json::{Value, json};
use unforget_core::id::Timestamp;
use unforget_engine::Engine;
use unforget_engine::host::{Array, Ask, Brings, DeliveredArray, Host, LaneKey, LiveArray, TakenArray};
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
    /// Items in prompts by type and by whether the host had sent them.
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

    /// An item made by the host or the provider.
    fn item(&mut self, item: &Value) -> String {
        let mut bare = item.clone();
        if item["type"] != "reasoning" {
            bare.as_object_mut().unwrap().shift_remove("id");
        }
        self.known.insert(bare.to_string());
        item.to_string()
    }

    /// One prompt, checked against the provider's rules.
    fn prompt(&mut self, said: &[String]) -> String {
        let live = LiveArray { is_whole: false, messages: delivered(said) };
        let ask = Ask {
            live: Some(live),
            model: Some(MODEL.to_owned()),
            is_first: said.len() == 1,
            ..Ask::new(self.budget, Dialect::OpenAiResponses)
        };
        let assembled = self.host.assemble(&self.lane, FORM, &ask).unwrap();
        self.breaks += u64::from(assembled.broken.is_some_and(|broken| broken.cause.name() == "compaction"));
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

    /// Reasoning signed by the provider for a request.
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

/// Items and parts of unknown kinds appear in prompts exactly as the client sent them, or not at all.
#[test]
fn what_is_not_known_comes_back_as_it_was_sent() {
    let host = Host::new(Engine::in_memory(), || Timestamp(7));
    let (key, mut array) = (lane("unknown"), Vec::new());
    let mut head = None;
    let (mut whole, mut broken, mut fewer) = (0, 0, 0);
    for n in 0..120 {
        let id = format!("call_{n}");
        let items = [
            json!({ "role": "user", "content": [
                { "type": "input_text", "text": format!("question {n} of many, {}", "with words ".repeat(20)) },
                { "type": "input_file", "filename": format!("f{n}.pdf"), "file_data": "data:application/pdf;base64,JVBERi0=" },
                { "type": "input_hologram", "n": n },
            ] }),
            json!({ "type": "screen_call", "id": format!("sc_{n}"), "call_id": id, "action": { "kind": "click", "n": n } }),
            json!({ "type": "screen_call_output", "call_id": id, "output": { "type": "screenshot", "n": n } }),
            json!({ "type": "memory_note", "id": format!("mn_{n}"), "about": n }),
            json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": format!("answer {n}") }] }),
        ];
        let items = items.map(|item| item.to_string());
        let before = array.len();
        array.extend(items);
        for end in [before + 1, before + 3] {
            let bodies = array[..end].iter().map(|item: &String| item.as_bytes());
            let taken = Array::read(FORM, bodies, &Array::default()).unwrap();
            head = host
                .take(&key, FORM, DeliveredArray { brings: Brings::All, array: &taken }, None)
                .unwrap()
                .head
                .or(head);
            let ask = Ask::new(4_000, Dialect::OpenAiResponses);
            let (assembled, _) = host
                .assemble_at(&key, FORM, TakenArray { brings: Brings::All, array: &taken, head }, &ask)
                .unwrap();
            assert!(assembled.tokens.upper <= 4_000, "{n}");
            broken += u64::from(assembled.broken.is_some_and(|broken| broken.cause.name() == "compaction"));
            fewer += u64::from(assembled.wordless < taken.wordless());
            let newest = &array[before..end];
            assert!(
                newest.iter().all(|item| assembled.messages.contains(item)),
                "{n}: {:?}",
                assembled.messages
            );
            for message in &assembled.messages {
                let is_ours = !array.contains(message);
                let told = ["input_hologram", "screen_call", "memory_note", "input_file"];
                assert!(
                    !is_ours || !told.iter().any(|kind| message.contains(&format!(r#""type":"{kind}"#))),
                    "{n}: {message}"
                );
                whole += u64::from(message.contains("memory_note"));
            }
            let is_in = |kind: &str, n: i32| {
                let marks = [format!(r#""type":"{kind}""#), format!(r#""call_id":"call_{n}""#)];
                assembled.messages.iter().any(|message| marks.iter().all(|mark| message.contains(mark)))
            };
            for other in 0..n {
                assert_eq!(is_in("screen_call", other), is_in("screen_call_output", other), "{n}: {other}");
            }
        }
    }
    assert!(broken > 3 && whole > 100 && fewer > 100, "{broken} {whole} {fewer}");
}
