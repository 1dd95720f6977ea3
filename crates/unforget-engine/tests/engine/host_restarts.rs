//! What providers said about a lane survives a restart.
use unforget_core::id::Timestamp;
use unforget_engine::Engine;
use unforget_engine::host::{Array, Ask, Brings, Counted, DeliveredArray, Host, LaneKey, TakenArray};
use unforget_wire::{Dialect, Format};

use crate::common::host::lane;

const FORM: Format = Format::OpenAiChat;
const BUDGET: u64 = 16_000;

fn message(role: &str, text: &str) -> String {
    serde_json::json!({ "role": role, "content": text }).to_string()
}

/// A client of a provider that counts fewer tokens than our bound.
struct Client {
    host: Host,
    lane: LaneKey,
    bodies: Vec<String>,
    /// Whether the host starts again before each call of the engine.
    restarts: bool,
}

/// One prompt.
#[derive(Debug, PartialEq, Eq)]
struct SentPrompt {
    messages: Vec<String>,
    bound: u64,
}

impl Client {
    fn new(restarts: bool) -> Self {
        let host = Host::new(Engine::in_memory(), || Timestamp(7));
        Self { host, lane: lane("counts"), bodies: Vec::new(), restarts }
    }

    fn restart(&mut self) {
        self.host = Host::new(self.host.engine().clone(), || Timestamp(7));
    }

    fn perhaps_restart(&mut self) {
        if self.restarts {
            self.restart();
        }
    }

    /// Sends everything so far and a question, and takes the answer.
    fn call(&mut self, question: &str) -> SentPrompt {
        self.bodies.push(message("user", question));
        self.perhaps_restart();
        let array = Array::read(FORM, self.bodies.iter().map(String::as_bytes), &Array::default()).unwrap();
        let delivered = DeliveredArray { brings: Brings::All, array: &array };
        let head = self.host.take(&self.lane, FORM, delivered, None).unwrap().head;
        let taken = TakenArray { brings: Brings::All, array: &array, head };
        let ask = Ask::new(BUDGET, Dialect::OpenAiChat);
        self.perhaps_restart();
        let (prompt, head) = self.host.assemble_at(&self.lane, FORM, taken, &ask).unwrap();
        let input = prompt.tokens.expected * 9 / 10;
        let counted = Counted { head, input, weighed: prompt.weighed, ..Counted::default() };
        self.perhaps_restart();
        assert_eq!(self.host.counted(&self.lane, FORM, &counted).unwrap(), None);
        self.bodies.push(message("assistant", "done"));
        SentPrompt { messages: prompt.messages, bound: prompt.tokens.upper }
    }
}

#[test]
fn f052_prompts_are_the_same_with_a_restart_before_each_call() {
    let (mut stays, mut restarts) = (Client::new(false), Client::new(true));
    let mut breaks = 0;
    let mut last: Vec<String> = Vec::new();
    for n in 0..90 {
        let question = format!("{n}: {}", "src/store/log.rs:812 wrote 4096 bytes ".repeat(40 + n % 7));
        let (one, other) = (stays.call(&question), restarts.call(&question));
        assert_eq!(one, other, "call {n}");
        breaks += usize::from(!one.messages.starts_with(&last));
        last = one.messages;
    }
    assert!(breaks >= 2, "{breaks} breaks: the window was not filled");
}

#[test]
fn f006_the_limit_of_a_model_is_known_after_a_restart() {
    let mut client = Client::new(false);
    let long = "a few words that say little ".repeat(1_500);
    for n in 0..3 {
        client.bodies.push(message("user", &format!("{n} {long}")));
        let array = Array::read(FORM, client.bodies.iter().map(String::as_bytes), &Array::default()).unwrap();
        let delivered = DeliveredArray { brings: Brings::All, array: &array };
        let head = client.host.take(&client.lane, FORM, delivered, None).unwrap().head;
        let taken = TakenArray { brings: Brings::All, array: &array, head };
        let ask = Ask::new(BUDGET, Dialect::OpenAiChat);
        let (prompt, head) = client.host.assemble_at(&client.lane, FORM, taken, &ask).unwrap();
        let counted = Counted { head, input: 4_096, weighed: prompt.weighed, ..Counted::default() };
        client.host.counted(&client.lane, FORM, &counted).unwrap();
        client.bodies.push(message("assistant", "done"));
    }
    let before = client.host.known_lane(&client.lane, FORM, None).unwrap().cap;
    assert!(before < BUDGET, "the provider reads 4,096 tokens of each prompt");
    client.restart();
    assert_eq!(client.host.known_lane(&client.lane, FORM, None).unwrap().cap, before);
}
