//! Clients of a provider's API by seed: one to four conversations with side requests, and their calls in any order.
//!
//! A model of each conversation determines its required path. After each call: the lane's path is exactly the
//! conversation's array; a lane belongs to one conversation and its forks; the prompt contains only messages of the
//! array; a repeated array is up to date. In the end every message ever sent is stored and the store is sound.
//!
//! Two documented differences between path and array are allowed. An old message that the client rewrote in place has
//! its old or its new text. Old messages that the client omits at the beginning are present or, if it changed more at
//! once, absent.
use std::collections::{BTreeMap, BTreeSet};
use unforget_store::read_all;

use serde_json::{Value, json};
use unforget_core::deliver::DeliveryOutcome;
use unforget_core::id::{Seq, Timestamp};
use unforget_engine::host::{
    Array, Ask, Asking, Brings, DeliveredAnswer, DeliveredArray, Host, HostError, Recognised, RegisterAnswer,
    TakenArray, WriteLatency,
};
use unforget_engine::{Engine, EngineError};
use unforget_wire::{Dialect, Format};

/// Steps of a seed.
const STEPS: u64 = 60;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

struct Random(u64);

impl Random {
    /// Source: splitmix64.
    fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// A conversation from its client's point of view.
#[derive(Clone)]
struct Talk {
    /// Its forks have the same number.
    family: usize,
    tenant: &'static str,
    session: Option<String>,
    is_named: bool,
    kind: String,
    form: Format,
    /// The messages that it sends.
    messages: Vec<Value>,
    /// Messages at the beginning of the path that it leaves out.
    slid: Vec<Value>,
    /// A call that is not answered yet.
    open: Option<Open>,
}

#[derive(Clone)]
struct Open {
    lane: Recognised,
    asked_at: Option<Seq>,
    array: Vec<Value>,
}

impl Talk {
    fn asking(&self) -> Asking<'_> {
        Asking {
            tenant: self.tenant,
            session: self.session.as_deref(),
            is_named: self.is_named,
            user: Some(if self.session.is_some() { "" } else { "key" }),
            kind: &self.kind,
            is_bare: false,
            form: self.form,
        }
    }

    /// Its required path, without text that was put before old messages.
    fn path(&self) -> Vec<Value> {
        self.slid.iter().chain(&self.messages).map(plain).collect()
    }

    fn users(&self) -> Vec<usize> {
        let is_user = |message: &Value| message["role"] == "user" && message["content"].is_string();
        (0..self.messages.len()).filter(|at| is_user(&self.messages[*at])).collect()
    }
}

struct World {
    seed: u64,
    random: Random,
    engine: Engine,
    host: Host,
    talks: Vec<Talk>,
    families: usize,
    said: usize,
    /// The family to which a lane belongs.
    of: BTreeMap<String, usize>,
    story: Vec<String>,
}

/// Text that a client puts before an old message's text.
const REMINDER: &str = "reminder ";

/// A message without the text that its client put before.
fn plain(message: &Value) -> Value {
    let mut message = message.clone();
    if let Some(words) = message["content"].as_str() {
        message["content"] = json!(words.trim_start_matches(REMINDER));
    }
    message
}

fn host(engine: &Engine) -> Host {
    Host::new(engine.clone(), || Timestamp(1_790_000_000_000))
}

/// The marks in a text: every message has a unique one.
fn marks(text: &str) -> BTreeSet<String> {
    let words = text.split(|character: char| !character.is_ascii_alphanumeric());
    words.filter(|word| word.starts_with("zq") && word.ends_with('z')).map(str::to_owned).collect()
}

fn read(form: Format, messages: &[Value]) -> Array {
    let bodies: Vec<String> = messages.iter().map(Value::to_string).collect();
    Array::read(form, bodies.iter().map(String::as_bytes), &Array::default()).unwrap()
}

impl World {
    fn new(seed: u64) -> Self {
        let engine = Engine::in_memory();
        let host = host(&engine);
        let (random, talks, of, story) = (Random(seed), Vec::new(), BTreeMap::new(), Vec::new());
        Self { seed, random, engine, host, talks, families: 0, said: 0, of, story }
    }

    fn fail(&self, what: &str) -> ! {
        let story = self.story.join("\n  ");
        panic!(
            "seed {}: {what}\n  {story}\nUNFORGET_SEED={} UNFORGET_CASES=1 cargo test -p unforget-sim --test sim callers",
            self.seed, self.seed
        );
    }

    /// Text that resembles others, with a mark.
    fn words(&mut self) -> String {
        self.said += 1;
        let like = ["yes", "Continue.", "What is next?", "Do it again", ""][self.random.below(5) as usize];
        let long = if self.random.one_in(4) {
            " and so on".repeat(self.random.below(60) as usize)
        } else {
            String::new()
        };
        format!("{like} zq{}x{}z{long}", self.families, self.said)
    }

    fn begin(&mut self) {
        self.families += 1;
        let session = (!self.random.one_in(3)).then(|| {
            // Sometimes the session of another conversation: side requests, sub-agents.
            let other = self.random.below(self.families as u64);
            let of = if self.random.one_in(3) { other } else { self.families as u64 };
            format!("session-{of}")
        });
        let tenant = if self.random.one_in(4) { "t/2" } else { "default" };
        let is_named = session.is_some() && self.random.one_in(8);
        let session = if is_named { Some(format!("named-{}", self.families)) } else { session };
        let form = if self.random.one_in(2) { Format::AnthropicMessages } else { Format::OpenAiChat };
        let kind = format!("kind-{}", self.random.below(2));
        let first = self.words();
        self.story.push(format!(
            "begin {} {tenant} {session:?} named {is_named} {kind} {}",
            self.talks.len(),
            form.name()
        ));
        let messages = vec![json!({"role": "user", "content": first})];
        let slid = Vec::new();
        self.talks.push(Talk {
            family: self.families,
            tenant,
            session,
            is_named,
            kind,
            form,
            messages,
            slid,
            open: None,
        });
    }

    /// The client's next message: a user's, or tool results.
    fn say(&mut self, at: usize) {
        let words = self.words_of(at);
        let talk = &mut self.talks[at];
        let last = talk.messages.last().cloned().unwrap_or_default();
        let calls = last["tool_calls"].as_array().cloned().unwrap_or_default();
        let uses: Vec<Value> = last["content"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|block| block["type"] == "tool_use")
            .cloned()
            .collect();
        if last["role"] == "user" || last["role"] == "tool" {
            return;
        }
        if let Some(call) = calls.first() {
            talk.messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": words}));
        } else if let Some(call) = uses.first() {
            let result = json!({"type": "tool_result", "tool_use_id": call["id"], "content": words});
            talk.messages.push(json!({"role": "user", "content": [result]}));
        } else {
            talk.messages.push(json!({"role": "user", "content": words}));
        }
    }

    /// Text shared by a conversation's family.
    fn words_of(&mut self, at: usize) -> String {
        let families = std::mem::replace(&mut self.families, self.talks[at].family);
        let words = self.words();
        self.families = families;
        words
    }

    /// A call: recognised and stored, with a prompt made for it.
    fn call(&mut self, at: usize) {
        let talk = self.talks[at].clone();
        let array = read(talk.form, &talk.messages);
        let lane = self.host.recognise(&talk.asking(), &array).unwrap();
        if self.random.one_in(8) {
            self.story.push(format!("killed before {at} is taken"));
            self.host = host(&self.engine);
            let again = self.host.recognise(&talk.asking(), &array).unwrap();
            if again.lane != lane.lane {
                self.fail(&format!("killed: {} and then {}", lane.lane.0, again.lane.0));
            }
        }
        let receipt = self
            .host
            .take(&lane.lane, talk.form, DeliveredArray { brings: Brings::All, array: &array }, None)
            .unwrap();
        self.story.push(format!(
            "call {at} of {} messages in {} {:?}",
            talk.messages.len(),
            lane.lane.0,
            receipt.why
        ));
        let family = *self.of.entry(lane.lane.0.clone()).or_insert(talk.family);
        if family != talk.family {
            self.fail(&format!("mixed: {} is of family {family} and of {}", lane.lane.0, talk.family));
        }
        let talk = self.check_path(talk, &lane);
        self.talks[at].slid.clone_from(&talk.slid);
        let again = self
            .host
            .take(&lane.lane, talk.form, DeliveredArray { brings: Brings::All, array: &array }, None)
            .unwrap();
        if (again.why, again.added, again.head) != (DeliveryOutcome::UpToDate, 0, receipt.head) {
            self.fail(&format!("again: {again:?} after {receipt:?}"));
        }
        self.talks[at].open = Some(Open { lane, asked_at: receipt.head, array: talk.messages });
    }

    /// Checks that the path is the array. Returns the conversation as known from here on.
    fn check_path(&self, talk: Talk, lane: &Recognised) -> Talk {
        let path = self.host.path(&lane.lane, talk.form).unwrap();
        let path: Vec<Value> = path.iter().map(|text| plain(&serde_json::from_str(text).unwrap())).collect();
        let want = talk.path();
        if path == want {
            return talk;
        }
        if path == want[talk.slid.len()..] {
            return Talk { slid: Vec::new(), ..talk };
        }
        let differs = path.iter().zip(&want).position(|(one, other)| one != other);
        self.fail(&format!(
            "path: {} has {} messages for {}, the first other one at {differs:?}: {:?} for {:?}",
            lane.lane.0,
            path.len(),
            want.len(),
            differs.map(|at| &path[at]),
            differs.map(|at| &want[at])
        ));
    }

    /// Makes the prompt of an open call, whatever other calls did in between.
    fn assemble(&mut self, at: usize) {
        let talk = self.talks[at].clone();
        let Some(open) = talk.open.clone() else { return };
        let array = read(talk.form, &open.array);
        let dialect =
            if talk.form == Format::AnthropicMessages { Dialect::Anthropic } else { Dialect::OpenAiChat };
        let ask = Ask::new(600 + self.random.below(1_500), dialect);
        let made = self.host.assemble_at(
            &open.lane.lane,
            talk.form,
            TakenArray { brings: Brings::All, array: &array, head: open.asked_at },
            &ask,
        );
        self.story.push(format!("assemble {at}"));
        let (assembled, head) = match made {
            Ok(made) => made,
            Err(HostError::Engine(EngineError::Irreducible(_))) => return,
            Err(error) => self.fail(&format!("assemble: {error}")),
        };
        let known = marks(&json!([talk.path(), open.array]).to_string());
        let shown = marks(&assembled.messages.join("\n"));
        let foreign: Vec<_> = shown.difference(&known).collect();
        if !foreign.is_empty() {
            self.fail(&format!("foreign: the prompt of {at} shows {foreign:?}"));
        }
        let newest = marks(&open.array.last().unwrap().to_string());
        if !newest.is_subset(&shown) {
            self.fail(&format!("newest: the prompt of {at} does not show {newest:?}"));
        }
        if let Some(open) = &mut self.talks[at].open {
            open.asked_at = head;
        }
    }

    /// The model answers; the client may have gone away.
    fn answer(&mut self, at: usize) {
        let Some(open) = self.talks[at].open.take() else { return };
        let words = self.words_of(at);
        let (talk, said) = (self.talks[at].clone(), self.said);
        let is_call = self.random.one_in(3);
        let answer = match (talk.form, is_call) {
            (Format::AnthropicMessages, true) => {
                json!({"role": "assistant", "content": [{"type": "text", "text": words},
                {"type": "tool_use", "id": format!("t{said}"), "name": "read", "input": {"path": "/a"}}]})
            }
            (Format::AnthropicMessages, false) => {
                json!({"role": "assistant", "content": [{"type": "text", "text": words}]})
            }
            (_, true) => json!({"role": "assistant", "content": words, "tool_calls":
                [{"id": format!("t{said}"), "type": "function", "function": {"name": "read", "arguments": "{}"}}]}),
            _ => json!({"role": "assistant", "content": words}),
        };
        let id = Some(format!("answer-{said}"));
        let messages = vec![answer.to_string().into_bytes()];
        let answered = DeliveredAnswer {
            asked_at: open.asked_at,
            messages,
            id,
            interrupted: None,
            latency: WriteLatency::Soon,
            is_late: false,
        };
        let array = read(talk.form, &open.array);
        self.host.take_answer(&open.lane.lane, talk.form, &answered).unwrap();
        if self.random.one_in(3) {
            // Once more, as after a restart.
            self.host.take_answer(&open.lane.lane, talk.form, &answered).unwrap();
        }
        self.host
            .remember(
                &talk.asking(),
                &open.lane,
                &array.said(),
                RegisterAnswer { id: answered.id.as_deref(), latency: WriteLatency::Soon },
            )
            .unwrap();
        let is_gone = self.random.one_in(8);
        self.story.push(format!("answer {at}{}", if is_gone { ", the client is gone" } else { "" }));
        if !is_gone && talk.messages == open.array {
            self.talks[at].messages.push(answer);
        }
    }

    fn change(&mut self, at: usize) {
        self.talks[at].open = None;
        let users = self.talks[at].users();
        match self.random.below(8) {
            0 if users.len() > 1 => {
                let place = users[self.random.below(users.len() as u64) as usize];
                let words = self.words_of(at);
                self.story.push(format!("edit {at} at {place}"));
                self.talks[at].messages.truncate(place);
                self.talks[at].messages.push(json!({"role": "user", "content": words}));
            }
            1 => {
                let last = *users.last().unwrap_or(&0);
                self.story.push(format!("regenerate {at} from {last}"));
                self.talks[at].messages.truncate(last + 1);
            }
            2 if self.talks.len() < 6 => {
                self.story.push(format!("fork {at} as {}", self.talks.len()));
                let fork = self.talks[at].clone();
                self.talks.push(fork);
            }
            3 if users.len() > 2 => {
                let place = users[self.random.below(users.len() as u64 - 1) as usize];
                let talk = &mut self.talks[at];
                if talk.messages.get(place + 1).is_some_and(|next| next["role"] == "assistant") {
                    self.story.push(format!("rewrite {at} at {place}"));
                    let words = plain(&talk.messages[place])["content"].as_str().unwrap().to_owned();
                    talk.messages[place]["content"] = json!(format!("{REMINDER}{words}"));
                }
            }
            4 if users.len() > 3 && self.talks[at].session.is_some() => {
                let place = users[1];
                self.story.push(format!("slide {at} by {place}"));
                let talk = &mut self.talks[at];
                let whole = talk.path();
                let slid = talk.slid.len() + place;
                talk.slid = whole[..slid].to_vec();
                talk.messages.drain(..place);
            }
            5 => "kind-2".clone_into(&mut self.talks[at].kind),
            _ => {
                self.story.push("restart".to_owned());
                self.host = host(&self.engine);
            }
        }
    }

    fn step(&mut self) {
        if self.talks.is_empty() || (self.talks.len() < 4 && self.random.one_in(12)) {
            return self.begin();
        }
        let at = self.random.below(self.talks.len() as u64) as usize;
        match (self.talks[at].open.is_some(), self.random.below(10)) {
            (_, 0) => self.change(at),
            (true, 1..=3) => self.assemble(at),
            (true, _) => self.answer(at),
            (false, _) => {
                self.say(at);
                self.call(at);
            }
        }
    }

    /// Checks that every message ever sent is stored, and that the store is sound.
    fn check_end(&self) {
        let mut stored = BTreeSet::new();
        for conversation in read_all(|page| self.engine.store().conversations(page)).unwrap() {
            let mut text = Vec::new();
            self.engine.export(conversation.id, None, &mut text).unwrap();
            stored.extend(marks(&String::from_utf8(text).unwrap()));
        }
        for talk in &self.talks {
            let sent = talk.open.as_ref().map_or(&[][..], |open| &open.array[..]);
            let lost: Vec<_> = marks(&json!(sent).to_string()).difference(&stored).cloned().collect();
            if !lost.is_empty() {
                self.fail(&format!("lost: {lost:?}"));
            }
        }
        let verified = self.engine.verify(&mut |_, _| {}).unwrap();
        if !verified.problems.is_empty() {
            self.fail(&format!("verify: {:?}", verified.problems));
        }
    }
}

fn run(seed: u64) {
    let mut world = World::new(seed);
    for _ in 0..STEPS {
        world.step();
    }
    world.check_end();
}

#[test]
fn f097_calls_in_any_order_mix_no_conversations() {
    let from = number("UNFORGET_SEED").unwrap_or(0);
    let count = number("UNFORGET_CASES").unwrap_or(200);
    let mut broken = Vec::new();
    for seed in from..from + count {
        if let Err(panic) = std::panic::catch_unwind(|| run(seed)) {
            let what = panic.downcast_ref::<String>().cloned().unwrap_or_default();
            broken.push(what);
        }
    }
    let kinds: BTreeMap<String, usize> = broken.iter().fold(BTreeMap::new(), |mut kinds, what| {
        *kinds.entry(what.split(':').nth(1).unwrap_or_default().to_owned()).or_default() += 1;
        kinds
    });
    assert!(broken.is_empty(), "{} of {count} seeds: {kinds:?}\n{}", broken.len(), broken[0]);
}
