//! `recall = tools`: the model looks up left-out content, and the client sees only the answer.

use std::sync::Arc;
use unforget_store::read_all;

use crate::support::daemon::{Running, form};
use crate::support::talk::{APIS, Client, Said, body, read, said, user, values};
use serde_json::{Value, json};
use unforget_engine::host::LaneKey;
use unforget_gateway::{Recall, Settings};
use unforget_testkit::upstream::{Came, Deed, Say, Script, Upstream};
use unforget_wire::Dialect;

const WINDOW: u64 = 16_000;

/// A client with a tool of its own, in a conversation that no longer fits.
struct World {
    running: Running,
    upstream: Upstream,
    client: Client,
    api: &'static str,
    dialect: Dialect,
    array: Vec<Value>,
    is_streamed: bool,
    _folder: tempfile::TempDir,
}

/// The model's output for a question about the past, by the number of requests for that question so far.
type Plan = Arc<dyn Fn(usize, &Value) -> Say + Send + Sync>;

fn history(request: &Value) -> &[Value] {
    let history = request.get("messages").or_else(|| request.get("input")).and_then(Value::as_array);
    history.map_or(&[], Vec::as_slice)
}

fn is_offered(request: &Value) -> bool {
    request["tools"].to_string().contains("\"unforget_search\"")
}

impl World {
    async fn new((api, dialect): (&'static str, Dialect), is_streamed: bool, plan: Plan) -> Self {
        let asked = std::sync::Mutex::new(0);
        let script: Script = Arc::new(move |request, number| {
            if !request.to_string().contains("LOOK") {
                return Say::text(
                    format!("Answer {number}, in many words that fill the window. ").repeat(100),
                );
            }
            let mut asked = asked.lock().unwrap();
            *asked += 1;
            plan(*asked - 1, request)
        });
        let folder = tempfile::tempdir().unwrap();
        let upstream = Upstream::start(WINDOW, script).await;
        let settings = Settings { recall: Recall::Tools, ..Settings::default() };
        let db = folder.path().join("a.db");
        let running = Running::start_with(&db, &upstream.url(), WINDOW, settings).await;
        let client = Client::new(&running.url(), Some("c"));
        let mut world =
            Self { running, upstream, client, api, dialect, array: Vec::new(), is_streamed, _folder: folder };
        for turn in 0..16 {
            world
                .array
                .push(user(&format!("Question {turn}: the word of the day is zebra{turn}x, keep it.")));
            world.ask().await;
        }
        world.upstream.came().clear();
        world
    }

    fn body(&self) -> Value {
        let mut body = body(self.dialect, &self.array, self.is_streamed);
        let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
        body["tools"] = match self.dialect {
            Dialect::Anthropic => json!([{"name": "read", "input_schema": schema}]),
            Dialect::OpenAiResponses => json!([{"type": "function", "name": "read", "parameters": schema}]),
            _ => json!([{"type": "function", "function": {"name": "read", "parameters": schema}}]),
        };
        if self.dialect == Dialect::OpenAiResponses {
            body["store"] = json!(false);
        }
        body
    }

    async fn send(&mut self, body: &Value) -> (u16, Vec<u8>) {
        let got = self.client.ask(self.api, body).await.unwrap();
        (got.status, got.bytes)
    }

    /// One call; returns the client's view of it.
    async fn ask(&mut self) -> (Said, String) {
        let (status, bytes) = self.send(&self.body()).await;
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert_eq!(status, 200, "{text}");
        let answered = read(self.dialect, &bytes, self.is_streamed);
        assert_eq!(answered.ended, unforget_wire::exchange::Ended::Complete, "{text}");
        let mut messages = values(&answered);
        let got = said(&messages);
        for message in &mut messages {
            message.as_object_mut().unwrap().remove("id");
        }
        self.array.extend(messages);
        (got, text)
    }

    /// The question about the past.
    async fn look(&mut self) -> (Said, String) {
        self.array.push(user("LOOK: what was the word of the day of question 3?"));
        self.ask().await
    }

    /// A result for every call of the client's tool in the newest answer.
    fn results(&mut self) {
        let last = self.array.last().unwrap().clone();
        match self.dialect {
            Dialect::Anthropic => {
                let calls =
                    last["content"].as_array().unwrap().iter().filter(|block| block["type"] == "tool_use");
                let results: Vec<Value> = calls.map(|call| json!({"type": "tool_result", "tool_use_id": call["id"], "content": "the file"})).collect();
                self.array.push(json!({"role": "user", "content": results}));
            }
            Dialect::OpenAiResponses => {
                self.array.push(
                    json!({"type": "function_call_output", "call_id": last["call_id"], "output": "the file"}),
                );
            }
            _ => {
                for call in last["tool_calls"].as_array().unwrap() {
                    self.array
                        .push(json!({"role": "tool", "tool_call_id": call["id"], "content": "the file"}));
                }
            }
        }
    }

    fn came(&self) -> Vec<Came> {
        let came = self.upstream.came().clone();
        for call in &came {
            assert_eq!(
                call.violations,
                Vec::<String>::new(),
                "{:?}: {}",
                self.dialect,
                String::from_utf8_lossy(&call.body)
            );
            assert!(call.tokens <= WINDOW, "{:?}: {}", self.dialect, call.tokens);
        }
        came
    }

    /// Every message of the client is stored once, in order, and none of ours. Returns the record of the rounds.
    async fn end(self) -> String {
        let Self { running, array, dialect, .. } = self;
        let host = Arc::clone(&running.host);
        running.end().await;
        let conversations = read_all(|page| host.engine().store().conversations(page)).unwrap();
        let key = conversations
            .iter()
            .find_map(|one| one.key.0.strip_prefix("journal:").filter(|key| !key.starts_with("register/")));
        let kept = host.path(&LaneKey(key.unwrap().to_owned()), form(dialect)).unwrap();
        let kept: Vec<Value> = kept
            .iter()
            .map(|text| {
                let mut message: Value = serde_json::from_str(text).unwrap();
                message.as_object_mut().unwrap().remove("id");
                message
            })
            .collect();
        let differs = kept.iter().zip(&array).position(|(kept, sent)| kept != sent);
        assert_eq!(
            (differs, kept.len()),
            (None, array.len()),
            "{dialect:?}: {:?} {:?}",
            kept.last(),
            array.last()
        );
        let id = conversations.iter().find(|one| one.key.0.ends_with(key.unwrap())).unwrap();
        let raw = host.engine().store().raw(id.id, 0..id.entries).unwrap();
        let lines = raw.iter().map(|raw| String::from_utf8_lossy(&raw.body).into_owned());
        lines.filter(|line| line.contains("recall-rounds")).collect::<Vec<_>>().join("\n")
    }
}

fn search(query: &str) -> Say {
    Say { text: "Let me look.".to_owned(), ..Say::deed("unforget_search", json!({ "query": query })) }
}

fn all() -> impl Iterator<Item = ((&'static str, Dialect), bool)> {
    APIS.into_iter().flat_map(|api| [(api, false), (api, true)])
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_looks_up_what_its_prompt_left_out() {
    for (api, is_streamed) in all() {
        let plan: Plan = Arc::new(|at, request| match at {
            0 => search("word of the day question 3 zebra3x"),
            1 => {
                let found = request.to_string().find("\"e:").is_some();
                let text = history(request).iter().rev().take(2).map(Value::to_string).collect::<String>();
                assert!(text.contains("zebra3x"), "{found}: {text}");
                let name = text.split("e:journal").nth(1).unwrap().split(' ').next().unwrap();
                Say::deed("unforget_expand", json!({ "name": format!("e:journal{name}"), "tokens": 20_000 }))
            }
            _ => Say::text("It was zebra3x."),
        });
        let mut world = World::new(api, is_streamed, plan).await;
        let ((text, calls), bytes) = world.look().await;
        assert!(text.contains("Let me look.") && text.ends_with("It was zebra3x."), "{api:?}: {text}");
        assert!(calls.is_empty() && !bytes.contains("unforget_"), "{api:?}: {bytes}");
        let came = world.came();
        assert_eq!(came.len(), 3, "{api:?}");
        let requests: Vec<Value> =
            came.iter().map(|call| serde_json::from_slice(&call.body).unwrap()).collect();
        assert!(requests.iter().all(is_offered), "{api:?}");
        assert!(requests[0].to_string().matches("\"read\"").count() == 1, "behind the client's own");
        let (first, second) = (history(&requests[0]), history(&requests[1]));
        assert_eq!(first, &second[..first.len()], "{api:?}: the prompt stays, so that a cache serves it");
        let stop = ["end_turn", "\"stop\"", "completed"];
        assert!(
            stop.iter().any(|stop| bytes.contains(stop)) && !bytes.contains("\"tool_use\""),
            "{api:?}: {bytes}"
        );
        // The next call continues as if nothing had happened.
        world.array.push(user("And now?"));
        world.ask().await;
        let noted = world.end().await;
        assert!(noted.contains("unforget_search") && noted.contains("unforget_expand"), "{api:?}: {noted}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_beside_those_of_the_client_are_dropped() {
    for (api, is_streamed) in all() {
        let plan: Plan = Arc::new(|at, _| match at {
            0 => Say {
                text: "Both.".to_owned(),
                deeds: ["unforget_search", "read", "unforget_search", "read"]
                    .iter()
                    .enumerate()
                    .map(|(n, name)| Deed {
                        name: (*name).to_owned(),
                        arguments: if *name == "read" {
                            json!({ "path": format!("p{n}") })
                        } else {
                            json!({ "query": "x" })
                        },
                    })
                    .collect(),
                ..Say::default()
            },
            _ => Say::text("Done."),
        });
        let mut world = World::new(api, is_streamed, plan).await;
        let ((_, calls), bytes) = world.look().await;
        assert_eq!(
            calls,
            [("read".to_owned(), json!({"path": "p1"})), ("read".to_owned(), json!({"path": "p3"}))],
            "{api:?}"
        );
        assert!(!bytes.contains("unforget_"), "{api:?}: {bytes}");
        if is_streamed && api.1 == Dialect::Anthropic {
            let indices: Vec<Value> = bytes
                .lines()
                .filter_map(|line| line.strip_prefix("data: "))
                .map(|data| serde_json::from_str::<Value>(data).unwrap())
                .filter(|event| event["type"] == "content_block_start")
                .map(|event| event["index"].clone())
                .collect();
            assert_eq!(indices, [json!(0), json!(1), json!(2)], "{bytes}");
        }
        if api.1 == Dialect::OpenAiResponses {
            // Two items, two results.
            let before = world.array[world.array.len() - 2].clone();
            world.results();
            world.array.push(
                json!({"type": "function_call_output", "call_id": before["call_id"], "output": "the file"}),
            );
        } else {
            world.results();
        }
        let ((text, _), _) = world.ask().await;
        assert_eq!(text, "Done.");
        assert_eq!(world.came().len(), 2, "{api:?}");
        let noted = world.end().await;
        assert!(noted.contains("dropped") && noted.contains("beside calls"), "{noted}");
    }
}

/// Wrong calls get an error with advice; a model that never stops is stopped.
#[tokio::test(flavor = "multi_thread")]
async fn what_models_do_wrong_table() {
    let big = "x".repeat(1 << 20);
    let table: [(&str, Value, std::ops::RangeInclusive<usize>, &str); 6] = [
        ("unforget_search", json!({}), 5..=5, "needs `query`"),
        ("unforget_search", json!({ "query": 7, "tokens": -1 }), 5..=5, "cannot be"),
        (
            "unforget_expand",
            json!({ "name": "e:journal:other:0-99", "conversation": "other" }),
            5..=5,
            "Next:",
        ),
        ("unforget_expand", json!({ "name": "../../etc/passwd" }), 5..=5, "Next:"),
        ("unforget_search", json!({ "query": "zebra1x", "tokens": 20_000 }), 3..=5, "zebra1x"),
        ("unforget_search", json!({ "query": big }), 2..=2, ""),
    ];
    for (api, is_streamed) in all().filter(|(api, is_streamed)| *is_streamed || api.1 == Dialect::OpenAiChat)
    {
        let deed = Arc::new(std::sync::Mutex::new(Say::default()));
        let says = Arc::clone(&deed);
        let plan: Plan = Arc::new(move |_, _| says.lock().unwrap().clone());
        let mut world = World::new(api, is_streamed, plan).await;
        for (row, (name, arguments, requests, told)) in table.iter().enumerate() {
            *deed.lock().unwrap() = Say::deed(name, arguments.clone());
            world.upstream.came().clear();
            world.array.push(user(&format!("LOOK: what was the word, for the {row}th time?")));
            let (status, bytes) = world.send(&world.body()).await;
            world.array.pop();
            let text = String::from_utf8(bytes.clone()).unwrap();
            assert_eq!(status, 200, "{text}");
            assert!(!text.contains("unforget_"), "{api:?}: {}", &text[..text.len().min(2_000)]);
            let answered = read(api.1, &bytes, is_streamed);
            assert_eq!(answered.ended, unforget_wire::exchange::Ended::Complete, "{api:?}: {text}");
            let came = world.came();
            assert!(requests.contains(&came.len()), "{api:?} {told}: {}", came.len());
            let last: Value = serde_json::from_slice(&came.last().unwrap().body).unwrap();
            assert!(!is_offered(&last), "{api:?}: in the end they are not offered");
            let second = String::from_utf8_lossy(&came[1].body).into_owned();
            assert!(
                second.contains(told),
                "{api:?}: {told}: {}",
                &second[second.len().saturating_sub(3_000)..]
            );
        }
    }
}

/// A provider that fails with the recalled text is asked once more without it.
#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_fails_in_a_later_round() {
    for (api, is_streamed) in all() {
        for is_dead in [false, true] {
            let plan: Plan = Arc::new(move |at, request| match at {
                0 => search("zebra3x"),
                1 => Say { refused: Some(500), ..Say::default() },
                2 => {
                    assert!(
                        !is_offered(request) && !request.to_string().contains("unforget_search"),
                        "{request}"
                    );
                    Say { refused: is_dead.then_some(529), ..Say::text("I do not remember.") }
                }
                _ => Say::text("Later."),
            });
            let mut world = World::new(api, is_streamed, plan).await;
            if !is_dead {
                let ((text, calls), _) = world.look().await;
                assert!(text.ends_with("I do not remember.") && calls.is_empty(), "{api:?}: {text}");
                assert_eq!(world.came().len(), 3);
                assert!(world.end().await.contains("given-up"));
                continue;
            }
            world.array.push(user("LOOK: what was it?"));
            let (status, bytes) = world.send(&world.body()).await;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            assert_eq!(status, if is_streamed { 200 } else { 502 }, "{api:?}: {text}");
            assert!(text.contains("cannot be reached") && !text.contains("unforget_"), "{api:?}: {text}");
        }
    }
}

/// The answer belongs to the gateway: a client that went away gets it by asking again.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_goes_away_between_the_rounds() {
    for api in APIS {
        let plan: Plan = Arc::new(|at, _| match at {
            0 => Say { pause: std::time::Duration::from_millis(2), ..search("zebra3x") },
            _ => Say {
                pause: std::time::Duration::from_millis(2),
                ..Say::text("It was zebra3x, as I said before.")
            },
        });
        let mut world = World::new(api, true, plan).await;
        world.array.push(user("LOOK: what was it?"));
        world.client.headers.push(("idempotency-key", "one".to_owned()));
        let body = world.body();
        let cut = world.client.cut(api.0, &body, 3).await.unwrap();
        assert!(!cut.is_whole);
        let ((text, _), _) = world.ask().await;
        assert!(text.starts_with("Let me look.") && text.ends_with("as I said before."), "{api:?}: {text}");
        assert_eq!(world.came().len(), 2, "{api:?}: asked once");
        assert!(world.end().await.contains("unforget_search"));
    }
}

/// When the tools are offered, and when not.
#[tokio::test(flavor = "multi_thread")]
async fn offers_table() {
    let named = |dialect| match dialect {
        Dialect::Anthropic => json!([{"name": "unforget_search", "input_schema": {"type": "object"}}]),
        Dialect::OpenAiResponses => {
            json!([{"type": "function", "name": "unforget_search", "parameters": {"type": "object"}}])
        }
        _ => {
            json!([{"type": "function", "function": {"name": "unforget_search", "parameters": {"type": "object"}}}])
        }
    };
    for (api, is_streamed) in all() {
        let plan: Plan = Arc::new(|_, _| Say::deed("unforget_search", json!({ "query": "mine" })));
        let mut world = World::new(api, is_streamed, plan).await;
        world.array.push(user("LOOK: is it there?"));
        let auto = if api.1 == Dialect::Anthropic { json!({"type": "auto"}) } else { json!("auto") };
        let none = if api.1 == Dialect::Anthropic { json!({"type": "none"}) } else { json!("none") };
        let table: [(&str, Value, bool, &str); 5] = [
            ("tool_choice", auto, true, "free"),
            ("tool_choice", none, false, "none"),
            ("tool_choice", json!({"type": "tool", "name": "read"}), false, "one tool"),
            ("tools", json!([]), false, "no tools of its own"),
            ("tools", named(api.1), false, "its own tool has the name"),
        ];
        for (field, value, want, why) in table {
            let mut body = world.body();
            body[field] = value;
            world.upstream.came().clear();
            let (status, bytes) = world.send(&body).await;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let came = world.upstream.came().clone();
            if status != 200 {
                assert!(came.iter().any(|call| !call.violations.is_empty()), "{api:?} {why}: {text}");
                continue;
            }
            let request: Value = serde_json::from_slice(&came[0].body).unwrap();
            let count = request["tools"].to_string().matches("\"unforget_").count();
            assert_eq!(count, if want { 2 } else { usize::from(why.contains("name")) }, "{api:?} {why}");
            assert_eq!(text.contains("unforget_search"), !want, "{api:?} {why}: what is the client's stays");
        }
    }
    // While everything fits, the request is the client's, byte for byte.
    let plan: Plan = Arc::new(|_, _| Say::text("Yes."));
    let world = World::new(APIS[0], false, plan).await;
    let fresh = Client::new(&world.running.url(), Some("new"));
    let sent = body(Dialect::Anthropic, &[user("LOOK")], false);
    fresh.ask("messages", &sent).await.unwrap();
    assert_eq!(world.upstream.came().last().unwrap().body, sent.to_string().into_bytes());
}
