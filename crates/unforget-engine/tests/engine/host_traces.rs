//! The recorded calls of the real host (`../shared/openclaw/traces`), replayed by a scripted host.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use unforget_core::id::Timestamp;
use unforget_engine::Engine;
use unforget_engine::host::{Ask, Assembled, Delivered, Event, Host, HostError, LaneKey, LiveArray, Turn};
use unforget_wire::{Dialect, Format, validate};

fn traces() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/openclaw/traces");
    let Ok(found) = std::fs::read_dir(folder) else {
        println!("skipped: there is no ../shared/openclaw/traces");
        return Vec::new();
    };
    let mut found: Vec<_> = found.map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

fn delivered(messages: &Value) -> Vec<Delivered> {
    let messages = messages.as_array().into_iter().flatten();
    messages.map(|message| Delivered::new(message.to_string())).collect()
}

/// History of a lane as the host showed it.
#[derive(Default)]
struct Seen {
    /// The transcript as last shown by the host, plus the messages committed since.
    truth: Vec<Value>,
    /// Keys of committed turns.
    turns: Vec<(String, Vec<Delivered>)>,
    calls: usize,
}

/// The content of a message, without fields that hosts rewrite.
fn words(message: &Value) -> String {
    let content = &message["content"];
    let blocks = content.as_array().cloned().unwrap_or_else(|| vec![content.clone()]);
    let word = |block: &Value| match block["type"].as_str() {
        Some("toolCall") => format!("?{}", plain(&block["id"])),
        Some("text") => block["text"].as_str().unwrap_or_default().to_owned(),
        _ => block.as_str().unwrap_or_default().to_owned(),
    };
    let words: String = blocks.iter().map(word).collect();
    let call = if message["role"] == "toolResult" {
        format!("!{}", plain(&message["toolCallId"]))
    } else {
        String::new()
    };
    format!("{call}{words}").split_whitespace().collect()
}

/// The fields of a message that hosts keep when they rewrite it.
fn who(message: &Value) -> (String, i64, String) {
    (
        message["role"].to_string(),
        message["timestamp"].as_i64().unwrap_or_default(),
        plain(&message["toolCallId"]),
    )
}

fn plain(id: &Value) -> String {
    id.as_str().unwrap_or_default().chars().filter(char::is_ascii_alphanumeric).collect()
}

/// The probe's own summaries, returned to the host as user messages of the year 1970.
fn is_of_the_probe(message: &Value) -> bool {
    message["timestamp"].as_i64().is_some_and(|time| time < 1_000_000)
        || message["role"] == "compactionSummary"
        || message["role"] == "custom"
        || message["role"] == "branchSummary"
}

struct Script<'a> {
    host: Host,
    name: &'a str,
    lanes: BTreeMap<String, Seen>,
}

impl Script<'_> {
    fn key(params: &Value) -> Option<LaneKey> {
        params["sessionKey"].as_str().map(|key| LaneKey(key.to_owned()))
    }

    fn play(&mut self, line: &Value) {
        let (method, params) = (line["method"].as_str().unwrap_or_default(), &line["params"]);
        let Some(key) = Self::key(params) else { return };
        match method {
            "assemble" => self.assemble(&key, params),
            "commitTurn" => self.commit(&key, params),
            "afterTurn" => {
                let before = params["prePromptMessageCount"].as_u64().unwrap() as usize;
                let messages = delivered(&params["messages"]);
                self.host.after_turn(&key, Format::Pi, messages, before).unwrap();
            }
            "hook:session_end" if params["reason"] == "reset" || params["reason"] == "deleted" => {
                self.host.event(&key, Format::Pi, &Event::Reset).unwrap();
                self.lanes.insert(key.0, Seen::default());
            }
            "compact" => {
                let budget = params["tokenBudget"].as_u64().unwrap_or(64_000);
                let ask = Ask::new(budget, Dialect::Pi);
                let done = self.host.compact(&key, Format::Pi, &ask, params["force"] == true).unwrap();
                assert!(done.after <= done.before);
            }
            _ => {}
        }
    }

    fn assemble(&mut self, key: &LaneKey, params: &Value) {
        let is_first = params["runtimeSettings"]["limits"]["maxOutputTokens"].is_number();
        let live = LiveArray { is_whole: false, messages: delivered(&params["messages"]) };
        let budget = params["tokenBudget"].as_u64().unwrap();
        let prompt = params["prompt"].as_str().map(str::to_owned);
        let model = params["model"].as_str().map(str::to_owned);
        let ask = Ask { live: Some(live), prompt, model, is_first, ..Ask::new(budget, Dialect::Pi) };
        let assembled = match self.host.assemble(key, Format::Pi, &ask) {
            Ok(assembled) => assembled,
            Err(HostError::Engine(error)) => panic!("{}: {error}", self.name),
            Err(error) => panic!("{}: {error}", self.name),
        };
        let seen = self.lanes.entry(key.0.clone()).or_default();
        seen.calls += 1;
        let shown: Vec<Value> = params["messages"].as_array().unwrap().clone();
        if is_first && !shown.iter().any(is_of_the_probe) {
            seen.truth = shown;
        }
        self.check(key, &ask, &assembled, params);
    }

    fn check(&self, key: &LaneKey, ask: &Ask, assembled: &Assembled, params: &Value) {
        let name = self.name;
        assert!(assembled.tokens.upper <= ask.budget, "{name}: over budget");
        let parts = assembled.certificate.sections.total();
        assert_eq!(assembled.tokens, parts, "{name}: the report sums exactly");
        let prompt = serde_json::json!({ "role": "user", "content": ask.prompt.clone().unwrap_or_else(|| "go on".into()), "timestamp": 1 });
        let mut messages = assembled.messages.clone();
        let out: Vec<Value> = messages.iter().map(|message| serde_json::from_str(message).unwrap()).collect();
        messages.push(prompt.to_string());
        let body = format!("{{\"messages\":[{}]}}", messages.join(","));
        assert_eq!(
            validate(&body, Dialect::Pi).map_err(|found| format!("{found:?} in {body}")),
            Ok(()),
            "{name}"
        );
        // The newest message of the host is there, once.
        if let Some(last) =
            params["messages"].as_array().unwrap().iter().rfind(|message| !is_of_the_probe(message))
        {
            let count = out.iter().filter(|message| words(message).contains(&words(last))).count();
            assert!(count >= 1, "{name} {}: the newest live message is missing: {last}", key.0);
        }
        if params["messages"].as_array().unwrap().is_empty() {
            let seen = &self.lanes[&key.0];
            if seen.turns.is_empty() {
                assert_eq!(out, Vec::<Value>::new(), "{name}: nothing of an earlier generation");
            }
        }
    }

    fn commit(&mut self, key: &LaneKey, params: &Value) {
        let turn = Turn {
            key: params["advancementKey"].as_str().unwrap().to_owned(),
            messages: delivered(&params["messages"]),
        };
        let first = self.host.commit_turn(key, Format::Pi, turn.clone()).unwrap();
        let again = self.host.commit_turn(key, Format::Pi, turn.clone()).unwrap();
        assert!(!first.is_duplicate || self.lanes[&key.0].turns.iter().any(|(key, _)| *key == turn.key));
        assert!(again.is_duplicate, "committing is idempotent");
        let seen = self.lanes.entry(key.0.clone()).or_default();
        seen.turns.push((turn.key, turn.messages));
        if !first.is_duplicate {
            for message in params["messages"].as_array().unwrap() {
                // A retry in the middle of the turn has already shown some of it.
                if !seen.truth.iter().any(|other| who(other) == who(message)) {
                    seen.truth.push(message.clone());
                }
            }
        }
        self.check_store(key);
    }

    /// The path equals the host's transcript.
    fn check_store(&self, key: &LaneKey) {
        let stored = self.host.path(key, Format::Pi).unwrap();
        let text = |messages: &mut dyn Iterator<Item = Value>| -> String {
            messages
                .filter(|message| message["excludeFromContext"] != true)
                .map(|message| words(&message))
                .collect()
        };
        let stored = text(&mut stored.iter().map(|text| serde_json::from_str(text).unwrap()));
        let mut truth = text(&mut self.lanes[&key.0].truth.iter().cloned());
        if self.name == "j2-rewrite-transcript.jsonl" {
            // The probe made the host replace a result by a stub: a window with fewer words removes nothing from the
            // store.
            truth = truth.replace("PROBE-REWRITTENstub", "alphabetagamma");
        }
        let same = stored.bytes().zip(truth.bytes()).take_while(|(a, b)| a == b).count();
        let rest =
            |text: &str| String::from_utf8_lossy(&text.as_bytes()[same.saturating_sub(40)..]).into_owned();
        assert_eq!(rest(&stored), rest(&truth), "{} {}", self.name, key.0);
    }
}

#[test]
fn recorded_traces_leave_the_store_as_the_transcript() {
    for path in traces() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        println!("{name}");
        let host = Host::new(Engine::in_memory(), || Timestamp(1));
        let mut script = Script { host, name: &name, lanes: BTreeMap::new() };
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            script.play(&serde_json::from_str(line).unwrap());
        }
    }
}
