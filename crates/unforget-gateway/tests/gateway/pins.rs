//! Pinned files in prompts of the gateway: what a file says is there after the next break, once, whoever else says it.

use std::path::PathBuf;
use std::sync::Arc;
use unforget_store::read_all;

use crate::support::clients::{Like, RULES, rule};
use crate::support::daemon::Running;
use crate::support::talk::{Client, read, values};
use serde_json::Value;
use unforget_core::id::{ConversationId, Timestamp};
use unforget_testkit::upstream::{Say, Script, Upstream};

fn words() -> Script {
    Arc::new(|_, number| {
        Say::text(format!("Answer {number}, in many words that fill the window. ").repeat(40))
    })
}

/// A client's conversation through a daemon, and a folder with files.
struct Place {
    running: Running,
    upstream: Upstream,
    folder: tempfile::TempDir,
    like: Like,
    array: Vec<Value>,
    turns: usize,
}

impl Place {
    async fn new(like: Like) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let upstream = Upstream::start(12_000, words()).await;
        let running = Running::start(&folder.path().join("a.db"), &upstream.url(), 12_000).await;
        Self { running, upstream, folder, like, array: like.opening(), turns: 0 }
    }

    /// One call; what reached the provider, without summaries, and whether it was a prompt of ours.
    async fn ask(&mut self) -> (String, bool) {
        let client = Client::new(&self.running.url(), Some("c"));
        let (api, dialect) = self.like.api();
        self.array.extend(self.like.asks(self.turns));
        self.turns += 1;
        let response = client.send(api, &self.like.body(&self.array)).await.unwrap();
        let is_made = response.headers()["x-unforget-authority"] != "as-sent";
        let bytes = response.bytes().await.unwrap();
        let mut said = values(&read(dialect, &bytes, false));
        for message in &mut said {
            message.as_object_mut().unwrap().remove("id");
        }
        self.array.extend(said);
        let came = self.upstream.came();
        let call = came.last().unwrap();
        assert_eq!((call.status, call.violations.as_slice()), (200, [].as_slice()));
        let text = String::from_utf8(call.body.clone()).unwrap();
        let mut pieces = text.split("<history-summary");
        let mut own = pieces.next().unwrap().to_owned();
        own.extend(pieces.map(|piece| piece.split_once("</history-summary>").unwrap().1));
        (own, is_made)
    }

    fn id(&self) -> ConversationId {
        let all = read_all(|page| self.running.host.engine().store().conversations(page)).unwrap();
        all.iter().find(|one| one.key.0.starts_with("journal:gateway/")).unwrap().id
    }

    fn write(&self, text: &str) -> PathBuf {
        let path = self.folder.path().canonicalize().unwrap().join("RULES.md");
        std::fs::write(&path, text).unwrap();
        path
    }

    fn pin(&self, path: &std::path::Path) {
        self.running.host.engine().pin_file(self.id(), path, None, Timestamp(1)).unwrap();
    }
}

/// The project instructions that clients bring, as their file has them.
fn project() -> String {
    let lines: Vec<String> = (0..RULES).map(|number| format!("- {}", rule(number))).collect();
    lines.join("\n") + "\n"
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_the_client_brings_by_itself_stands_once() {
    for like in [Like::ClaudeCode, Like::Codex, Like::OpenCode, Like::Pi] {
        let mut place = Place::new(like).await;
        place.ask().await;
        place.pin(&place.write(&project()));
        let mut made = 0;
        for turn in 0..36 {
            let (text, is_made) = place.ask().await;
            made += usize::from(is_made);
            for number in 0..RULES {
                assert_eq!(
                    text.matches(&rule(number)).count(),
                    1,
                    "{like:?}, turn {turn}, rule {number}: {text}"
                );
            }
        }
        assert!(made > 10, "{like:?}: prompts of ours: {made}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changes_is_in_the_body_after_the_next_break() {
    let mut place = Place::new(Like::Codex).await;
    place.ask().await;
    let path = place.write("Never touch the weir.\n");
    place.pin(&path);
    while !place.ask().await.1 {}
    let (text, _) = place.ask().await;
    assert_eq!(text.matches("Never touch the weir.").count(), 1);
    place.write("Never touch the boathouse.\n");
    let mut kept = 0;
    loop {
        let epoch = place.running.host.engine().recipes(place.id()).unwrap().last().unwrap().1.epoch;
        let (text, _) = place.ask().await;
        let recipes = place.running.host.engine().recipes(place.id()).unwrap();
        let is_same = recipes.last().unwrap().1.epoch == epoch;
        let said = [text.matches("the weir.").count(), text.matches("the boathouse.").count()];
        assert_eq!(said, if is_same { [1, 0] } else { [0, 1] }, "after {kept} calls");
        if !is_same {
            break;
        }
        kept += 1;
        assert!(kept < 60, "it never breaks");
    }
    assert!(kept > 0, "calls that keep their prefix");
    std::fs::remove_file(&path).unwrap();
    for _ in 0..30 {
        assert_eq!(place.ask().await.0.matches("the boathouse.").count(), 1, "gone: the last content stays");
    }
    let files = place.running.host.engine().followed_files(place.id()).unwrap();
    assert_eq!(
        files[0].file.trouble.map(unforget_core::pin::Trouble::name),
        Some("gone"),
        "and that is told"
    );
}
