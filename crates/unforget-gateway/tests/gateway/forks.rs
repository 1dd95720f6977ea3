//! Forks of clients: what begins like another conversation is served from the provider's cache as far as that one's prompt goes.

use std::sync::Arc;
use unforget_store::read_all;

use crate::support::daemon::Running;
use crate::support::talk::{APIS, Client, body, read, user, values};
use serde_json::{Value, json};
use unforget_core::id::ConversationKey;
use unforget_testkit::upstream::{Came, Say, Script, Upstream};
use unforget_wire::Dialect;

const WINDOW: u64 = 12_000;
const TURNS: usize = 46;

fn words() -> Script {
    Arc::new(|_, number| Say::text(format!("Answer {number} tells what was found and done. ").repeat(30)))
}

struct Place {
    running: Running,
    upstream: Upstream,
    folder: tempfile::TempDir,
    dialect: Dialect,
    api: &'static str,
}

impl Place {
    async fn new((api, dialect): (&'static str, Dialect)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let upstream = Upstream::start(WINDOW, words()).await;
        let running = Running::start(&folder.path().join("a.db"), &upstream.url(), WINDOW).await;
        Self { running, upstream, folder, dialect, api }
    }

    async fn restart(self) -> Self {
        let Self { running, upstream, folder, dialect, api } = self;
        running.end().await;
        let running = Running::start(&folder.path().join("a.db"), &upstream.url(), WINDOW).await;
        Self { running, upstream, folder, dialect, api }
    }

    /// A question of a client that names nothing. Its answer is in the array then.
    async fn ask(&self, array: &mut Vec<Value>, words: &str) -> Vec<u8> {
        array.push(user(words));
        let client = Client::new(&self.running.url(), None);
        let got = client.ask(self.api, &body(self.dialect, array, false)).await.unwrap();
        assert_eq!(got.status, 200, "{}", String::from_utf8_lossy(&got.bytes));
        self.running.quiet().await;
        let mut said = values(&read(self.dialect, &got.bytes, false));
        for message in &mut said {
            message.as_object_mut().unwrap().remove("id");
        }
        array.extend(said);
        let came = self.upstream.came();
        let last: &Came = came.last().unwrap();
        assert_eq!((last.status, last.violations.as_slice()), (200, [].as_slice()));
        last.body.clone()
    }

    async fn talk(&self, array: &mut Vec<Value>, turns: std::ops::Range<usize>) -> Vec<u8> {
        let mut last = Vec::new();
        for turn in turns {
            let question = format!("Question {turn}: how is the harbour, and what is to be done there? ");
            last = self.ask(array, &question.repeat(6)).await;
        }
        last
    }

    fn lanes(&self) -> usize {
        let conversations = read_all(|page| self.running.host.engine().store().conversations(page)).unwrap();
        conversations.iter().filter(|one| is_lane(&one.key)).count()
    }

    fn sound(&self) {
        let verified = self.running.host.engine().verify(&mut |_, _| {}).unwrap();
        assert!(verified.problems.is_empty(), "{:?}", verified.problems);
    }
}

fn is_lane(key: &ConversationKey) -> bool {
    key.0.contains("gateway/")
}

/// Bytes that two bodies have in common at their beginning.
fn common(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// The array as it was so many turns before its end.
fn back(array: &[Value], turns: usize) -> Vec<Value> {
    array[..array.len() - 2 * turns].to_vec()
}

/// Where in a body the turn of a question begins.
fn at(body: &[u8], turn: usize) -> usize {
    let text = std::str::from_utf8(body).unwrap();
    text.rfind(&format!("\"Question {turn}: how")).unwrap_or_else(|| panic!("turn {turn} is summarised"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_begins_with_the_bytes_of_its_parents_prompt() {
    for api in APIS {
        let place = Place::new(api).await;
        let mut parent = Vec::new();
        let before = place.talk(&mut parent, 0..TURNS).await;
        assert!(std::str::from_utf8(&before).unwrap().contains("history-summary"), "{api:?}: it broke");
        let mut fork = back(&parent, 3);
        let first = place.ask(&mut fork, "Let us try something else: what of the boathouse?").await;
        assert_eq!(place.lanes(), 2, "{api:?}");
        let same = common(&before, &first);
        let wanted = at(&before, TURNS - 3);
        println!(
            "{}: {same} of {} bytes are the parent's, {} in its last prompt",
            api.0,
            first.len(),
            before.len()
        );
        assert!(same >= wanted, "{api:?}: {same} of {wanted} bytes");
        // Both go on, each with its own.
        place.ask(&mut fork, "And the jetty?").await;
        let next = place.ask(&mut parent, "And the lighthouse?").await;
        let text = String::from_utf8(next).unwrap();
        assert!(!text.contains("boathouse") && !text.contains("jetty"), "{api:?}");
        place.sound();
    }
}

/// A fork of a fork, after a restart: nothing of it is in memory only.
#[tokio::test(flavor = "multi_thread")]
async fn a_fork_of_a_fork_does_the_same() {
    let mut place = Place::new(APIS[1]).await;
    let mut parent = Vec::new();
    let before = place.talk(&mut parent, 0..TURNS).await;
    let mut fork = back(&parent, 3);
    place.ask(&mut fork, "Let us try something else.").await;
    place = place.restart().await;
    let mut second = back(&fork, 1);
    second.push(user("Or something else again."));
    second.push(json!({"role": "assistant", "content": "Which?"}));
    let first = place.ask(&mut second, "The boathouse.").await;
    let same = common(&before, &first);
    assert!(same >= at(&before, TURNS - 3), "{same} bytes");
    place.sound();
}

/// A fork before what summaries stand for, and a title: they get what they bring.
#[tokio::test(flavor = "multi_thread")]
async fn what_shares_no_summary_stands_alone() {
    let place = Place::new(APIS[1]).await;
    let mut parent = Vec::new();
    place.talk(&mut parent, 0..TURNS).await;
    let mut early = parent[..8].to_vec();
    let first = place.ask(&mut early, "Let us begin again: what of the boathouse?").await;
    let text = String::from_utf8(first).unwrap();
    assert!(!text.contains("history-summary") && !text.contains("Question 9"), "{text}");
    assert_eq!(place.lanes(), 2);
    let store = place.running.host.engine().store();
    let conversations = read_all(|page| store.conversations(page)).unwrap();
    let entries: Vec<u64> =
        conversations.iter().filter(|one| is_lane(&one.key)).map(|one| one.entries).collect();
    assert!(entries[1] < 16, "{entries:?}");
    place.sound();
}
