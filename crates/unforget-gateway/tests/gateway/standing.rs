//! Standing context of clients, such as project instructions: it is in every prompt exactly once, even after breaks.

use crate::support::talk;

use std::sync::Arc;

use crate::support::clients::{Like, RULES, rule};
use crate::support::daemon::Running;
use crate::support::talk::{Client, read, values};
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use unforget_engine::host::LaneKey;
use unforget_store::read_all;
use unforget_testkit::upstream::{Came, Say, Script, Upstream};
use unforget_wire::Dialect;

fn words() -> Script {
    Arc::new(|_, number| {
        Say::text(format!("Answer {number}, in many words that fill the window. ").repeat(40))
    })
}

struct Place {
    running: Running,
    upstream: Upstream,
    folder: tempfile::TempDir,
    window: u64,
}

impl Place {
    async fn new(window: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let upstream = Upstream::start(window, words()).await;
        let running = Running::start(&folder.path().join("a.db"), &upstream.url(), window).await;
        Self { running, upstream, folder, window }
    }

    /// Ends the daemon and starts another on its database.
    async fn restart(self) -> Self {
        let Self { running, upstream, folder, window } = self;
        running.end().await;
        let running = Running::start(&folder.path().join("a.db"), &upstream.url(), window).await;
        Self { running, upstream, folder, window }
    }

    /// One call; returns its headers. The array then has the answer.
    async fn ask(&self, like: Like, array: &mut Vec<Value>) -> HeaderMap {
        let client = Client::new(&self.running.url(), Some("c"));
        let (api, dialect) = like.api();
        let response = client.send(api, &like.body(array)).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = response.bytes().await.unwrap();
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&bytes));
        let mut said = values(&read(dialect, &bytes, false));
        for message in &mut said {
            message.as_object_mut().unwrap().remove("id");
        }
        array.extend(said);
        headers
    }

    fn came(&self) -> Vec<Came> {
        self.upstream.came().clone()
    }
}

/// A body without its summaries, which may quote anything, on one line.
fn text(call: &Came) -> String {
    assert_eq!((call.status, call.violations.as_slice()), (200, [].as_slice()));
    let text = String::from_utf8(call.body.clone()).unwrap();
    let mut pieces = text.split("<history-summary");
    let mut own = pieces.next().unwrap().to_owned();
    own.extend(pieces.map(|piece| piece.split_once("</history-summary>").unwrap().1));
    own
}

fn messages(call: &Came, dialect: Dialect) -> Vec<Value> {
    let body: Value = serde_json::from_slice(&call.body).unwrap();
    let key = if dialect == Dialect::OpenAiResponses { "input" } else { "messages" };
    body[key].as_array().unwrap().clone()
}

/// Checks that all rules and the environment are in a body, once.
#[track_caller]
fn check(like: Like, turn: usize, text: &str) {
    for number in 0..RULES {
        assert_eq!(text.matches(&rule(number)).count(), 1, "{like:?}, call {turn}, rule {number}: {text}");
    }
    assert_eq!(text.matches(like.environment()).count(), 1, "{like:?}, call {turn}: environment: {text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn instructions_of_known_clients_are_in_every_prompt() {
    for like in Like::ALL {
        let mut place = Place::new(12_000).await;
        let mut array = like.opening();
        let mut made = 0;
        for turn in 0..40 {
            array.extend(like.asks(turn));
            let headers = place.ask(like, &mut array).await;
            made += usize::from(headers["x-unforget-authority"] != "as-sent");
            assert!(!headers.contains_key("x-unforget-standing-left-out"), "{like:?}");
            if turn == 30 {
                place = place.restart().await;
            }
        }
        assert!(made > 10, "{like:?}: prompts of ours: {made}");
        let came = place.came();
        for (turn, call) in came.iter().enumerate() {
            check(like, turn, &text(call));
        }
        let dialect = like.api().1;
        for two in came.windows(2) {
            let (old, new) = (messages(&two[0], dialect), messages(&two[1], dialect));
            let is_same = old.get(1..3).is_some_and(|next| new.get(1..3) == Some(next));
            if is_same {
                assert_eq!(old[0], new[0], "{like:?}: the beginning changes at breaks only");
            }
        }
    }
}

/// A replacement of instructions stands at its own place until the next break, and then alone.
#[tokio::test(flavor = "multi_thread")]
async fn the_newest_stands_once() {
    for like in [Like::ClaudeCode, Like::Codex] {
        let place = Place::new(12_000).await;
        let mut array = like.opening();
        let mut changed_at = 0;
        for turn in 0..50 {
            array.extend(like.asks(turn));
            if turn == 20 {
                changed_at = place.came().len();
                like.change(&mut array);
            }
            place.ask(like, &mut array).await;
        }
        let came = place.came();
        let olds: Vec<usize> = came.iter().map(|call| text(call).matches(&rule(0)).count()).collect();
        let news: Vec<usize> =
            came.iter().map(|call| text(call).matches("Rule new: run make check-osprey.").count()).collect();
        assert!(news[..changed_at].iter().all(|count| *count == 0));
        assert!(news[changed_at..].iter().all(|count| *count == 1), "{like:?}: {news:?}");
        assert!(olds[..changed_at].iter().all(|count| *count == 1), "{like:?}: {olds:?}");
        let last_old = olds.iter().rposition(|count| *count > 0).unwrap();
        assert!(
            olds[..=last_old].iter().all(|count| *count == 1),
            "{like:?}: it goes at one break: {olds:?}"
        );
        assert!(last_old + 5 < olds.len(), "{like:?}: the old one goes: {olds:?}");
    }
}

/// An unknown client: its text before the first question is standing context.
#[tokio::test(flavor = "multi_thread")]
async fn what_others_say_before_the_first_question_stands() {
    for (api, dialect) in talk::APIS {
        let like = Like::Other(api, dialect);
        let place = Place::new(12_000).await;
        let mut array = like.opening();
        for turn in 0..40 {
            array.extend(like.asks(turn));
            place.ask(like, &mut array).await;
        }
        for (turn, call) in place.came().iter().enumerate() {
            check(like, turn, &text(call));
        }
    }
}

/// Lists of tools beyond every limit: the beginning is kept as far as it fits, and the client is told.
#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_is_kept_as_far_as_it_fits_and_told() {
    // Tools in the list, window, whether all of it fits.
    let table = [(300, 64_000, true), (850, 64_000, true), (850, 16_000, false), (4_000, 64_000, false)];
    for (api, dialect) in talk::APIS {
        for (tools, window, is_whole) in table {
            let like = Like::Other(api, dialect);
            let tool = |number: usize| format!("tool_{number:04}: does what number {number} does.\n");
            let list: String = (0..tools).map(tool).collect();
            let role = if dialect == Dialect::OpenAiResponses { "developer" } else { "system" };
            let place = Place::new(window).await;
            let mut array = vec![
                talk::user("Begin."),
                json!({"role": role, "content": format!("{}\n{list}", like.environment())}),
            ];
            let mut told = Vec::new();
            let long =
                format!("Something long. {}", "Many words. ".repeat(usize::try_from(window).unwrap() / 60));
            place.ask(like, &mut array).await;
            for turn in 0..24 {
                array.push(talk::user(&format!("Question {turn}. {long}")));
                let headers = place.ask(like, &mut array).await;
                told.push(headers.contains_key("x-unforget-standing-left-out"));
            }
            let why = format!("{dialect:?}, {tools} tools, {window}");
            let came = place.came();
            for call in &came {
                let text = text(call);
                assert_eq!(text.matches(like.environment()).count(), 1, "{why}");
                assert_eq!(text.matches("tool_0000").count(), 1, "{why}");
                if is_whole {
                    assert_eq!(text.matches("tool_").count(), tools, "{why}");
                }
            }
            assert_eq!(told.last(), Some(&!is_whole), "{why}: {told:?}");
            place.running.quiet().await;
            let kept = place.running.gateway.caches().of(&LaneKey("gateway/default/c".into())).unwrap();
            assert_eq!(kept.standing_left_out.is_empty(), is_whole, "{why}: status tells it too");
        }
    }
}

/// Appends lines to the text with the rules.
fn lengthen(value: &mut Value, lines: &str) {
    match value {
        Value::String(text) if text.contains(&rule(0)) => {
            let at = text.find(&rule(0)).unwrap();
            text.insert_str(at, lines);
        }
        Value::Array(values) => values.iter_mut().for_each(|value| lengthen(value, lines)),
        Value::Object(values) => values.values_mut().for_each(|value| lengthen(value, lines)),
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_put_back_is_paid_for_once() {
    const WINDOW: u64 = 16_000;
    let place = Place::new(WINDOW).await;
    let mut array = Like::Codex.opening();
    let lines: String =
        (0..200).flat_map(|line| [format!("note {line} of the harbour"), "\n".to_owned()]).collect();
    for item in &mut array {
        lengthen(item, &lines);
    }
    let mut made = 0;
    for turn in 0..60 {
        array.extend(Like::Codex.asks(turn));
        made += usize::from(place.ask(Like::Codex, &mut array).await["x-unforget-authority"] != "as-sent");
        place.running.quiet().await;
    }
    let came = place.came();
    assert!(came.iter().all(|call| call.status == 200), "none is refused");
    let of_ours = came.iter().skip(came.len() - made);
    let (all, last) = (of_ours.clone().count(), of_ours.clone().map(|call| call.tokens).max().unwrap());
    assert!(all > 20, "{all} prompts of ours");
    assert!(last * 100 > WINDOW * 90, "the window is used: {last} of {WINDOW}");
}

/// Every past prompt is shown as its provider got it: with the standing context that was put back, also after a restart.
/// Only cache marks, which the gateway sets last, are not kept.
#[tokio::test(flavor = "multi_thread")]
async fn past_prompts_are_shown_as_they_were_sent() {
    for like in Like::ALL {
        let mut place = Place::new(12_000).await;
        let mut array = like.opening();
        let mut made = Vec::new();
        for turn in 0..36 {
            array.extend(like.asks(turn));
            if turn == 12 && matches!(like, Like::ClaudeCode | Like::Codex) {
                like.change(&mut array);
            }
            let headers = place.ask(like, &mut array).await;
            if headers["x-unforget-authority"] != "as-sent" {
                made.push(place.came().len() - 1);
            }
            if turn == 20 {
                place = place.restart().await;
            }
        }
        place.running.quiet().await;
        let engine = place.running.host.engine();
        let stored = read_all(|page| engine.store().conversations(page)).unwrap();
        let recipes = stored.iter().map(|one| (one.id, engine.recipes(one.id).unwrap()));
        let (id, recipes) = recipes.max_by_key(|(_, recipes)| recipes.len()).unwrap();
        assert_eq!(recipes.len(), made.len(), "{like:?}");
        let (came, dialect) = (place.came(), like.api().1);
        for ((number, _), at) in recipes.iter().zip(made) {
            let rebuilt = engine.rebuild(id, *number).unwrap();
            let shown: Vec<Value> =
                rebuilt.messages.iter().map(|one| unmarked(serde_json::from_str(one).unwrap())).collect();
            let sent: Vec<Value> = messages(&came[at], dialect).into_iter().map(unmarked).collect();
            let behind = sent.len() - shown.len();
            assert_eq!(shown, sent[behind..], "{like:?}, r{number}");
            let front = &sent[..behind];
            assert!(rebuilt.is_same, "{like:?}, r{number}: {front:?}");
            // Instructions that the client sends in its array are not part of the prompt.
            let is_instruction =
                |message: &Value| message["role"] == "system" || message["role"] == "developer";
            assert!(front.iter().all(is_instruction) && behind < 2, "{like:?}, r{number}: {front:?}");
        }
    }
}

/// A message without cache marks, in the form in which one with a mark is written.
fn unmarked(mut message: Value) -> Value {
    if let Some(text) = message["content"].as_str() {
        message["content"] = json!([{"type": "text", "text": text}]);
    }
    for block in message["content"].as_array_mut().into_iter().flatten() {
        if let Some(block) = block.as_object_mut() {
            block.remove("cache_control");
        }
    }
    message
}
