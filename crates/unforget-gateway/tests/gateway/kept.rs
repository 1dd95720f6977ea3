//! Content other than text in the API's own form: it reaches the provider unchanged, even after a break.

use std::sync::Arc;

use crate::support::daemon::Running;
use crate::support::talk::{APIS, Client, body, read, user, values};
use serde_json::{Value, json};
use unforget_testkit::upstream::{Say, Script, Upstream};
use unforget_wire::Dialect;

fn words() -> Script {
    Arc::new(|_, number| {
        Say::text(format!("Answer {number}, in many words that fill the window. ").repeat(20))
    })
}

struct Place {
    running: Running,
    upstream: Upstream,
    _folder: tempfile::TempDir,
}

async fn place(window: u64) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let upstream = Upstream::start(window, words()).await;
    let running = Running::start(&folder.path().join("a.db"), &upstream.url(), window).await;
    Place { running, upstream, _folder: folder }
}

/// One call: our response headers, and the conversation with its answer.
async fn ask(
    place: &Place,
    (api, dialect): (&str, Dialect),
    body: &Value,
    array: &mut Vec<Value>,
) -> reqwest::header::HeaderMap {
    let client = Client::new(&place.running.url(), Some("c"));
    let response = client.send(api, body).await.unwrap();
    let (status, headers) = (response.status(), response.headers().clone());
    let bytes = response.bytes().await.unwrap();
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&bytes));
    let mut said = values(&read(dialect, &bytes, body["stream"] == true));
    for message in &mut said {
        message.as_object_mut().unwrap().remove("id");
    }
    array.extend(said);
    headers
}

fn sent(dialect: Dialect, bytes: &[u8]) -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct Body<'a> {
        #[serde(borrow, alias = "input")]
        messages: Vec<&'a serde_json::value::RawValue>,
    }
    let body: Body<'_> = serde_json::from_slice(bytes).unwrap();
    let skip = usize::from(dialect == Dialect::OpenAiChat);
    body.messages.into_iter().skip(skip).map(|raw| raw.get().to_owned()).collect()
}

/// Claude Code puts its environment behind the first message; Codex and others put the host's text anywhere.
#[tokio::test(flavor = "multi_thread")]
async fn instructions_between_messages_keep_role_bytes_and_place() {
    for (api, dialect) in APIS {
        let place = place(6_000).await;
        let role = if dialect == Dialect::OpenAiResponses { "developer" } else { "system" };
        let standing = json!({"role": role, "content": "Environment: /srv/work, a tree of git."});
        let mut array = vec![user("Begin.")];
        let standing_text = standing.to_string();
        array.push(standing);
        ask(&place, (api, dialect), &body(dialect, &array, false), &mut array).await;
        let mut later = Vec::new();
        for turn in 0..40 {
            array.push(user(&format!("Question {turn}: what now?")));
            if turn % 5 == 2 {
                let said = json!({"content": format!("From now on it is turn {turn}."), "role": role});
                later.push(said.to_string());
                array.push(said);
            }
            ask(&place, (api, dialect), &body(dialect, &array, turn % 2 == 0), &mut array).await;
        }
        let came = place.upstream.came().clone();
        let mut made = 0;
        for call in &came {
            assert_eq!((call.status, call.violations.as_slice()), (200, [].as_slice()), "{dialect:?}");
            let messages = sent(dialect, &call.body);
            let roles: Vec<String> = messages
                .iter()
                .map(|text| {
                    serde_json::from_str::<Value>(text).unwrap()["role"].as_str().unwrap_or("").to_owned()
                })
                .collect();
            let at =
                messages.iter().position(|text| *text == standing_text).expect("as it was, in every prompt");
            assert!(roles[..at].iter().all(|role| role == "user"), "behind the first input: {roles:?}");
            assert!(
                roles.get(at + 1).is_none_or(|role| role == "assistant"),
                "before the first answer: {roles:?}"
            );
            let others: Vec<&String> = messages
                .iter()
                .enumerate()
                .filter(|(index, _)| *index != at && roles[*index] == role)
                .map(|(_, text)| text)
                .collect();
            assert!(others.iter().all(|text| later.contains(text)), "{dialect:?}: {others:?}");
            made +=
                usize::from(messages.iter().any(|text| text.contains("\\u003c") || text.contains("summar")));
        }
        let last = sent(dialect, &came.last().unwrap().body);
        assert!(last.contains(later.last().unwrap()), "{dialect:?}: a later one that is not old: {last:?}");
        assert!(!last.contains(&later[0]), "{dialect:?}: an old one is in a summary");
        assert!(made > 3, "{dialect:?}: prompts with summaries: {made}");
    }
}

/// Files and unknown parts go back unchanged, or their number is reported.
#[tokio::test(flavor = "multi_thread")]
async fn files_go_back_as_they_came_or_are_counted() {
    let file = |n: usize, dialect| match dialect {
        Dialect::Anthropic => {
            json!({"type": "document", "title": format!("f{n}"), "source": {"type": "file", "file_id": format!("file_{n}")}})
        }
        Dialect::OpenAiResponses => {
            json!({"type": "input_file", "file_id": format!("file_{n}"), "detail": "high"})
        }
        _ => json!({"type": "file", "file": {"file_id": format!("file_{n}")}}),
    };
    for (api, dialect) in APIS {
        let place = place(16_000).await;
        let mut array = Vec::new();
        let mut told = Vec::new();
        for turn in 0..30 {
            let kind = if dialect == Dialect::OpenAiResponses { "input_text" } else { "text" };
            array.push(json!({"role": "user", "content": [{"type": kind, "text": format!("Question {turn}")}, file(turn, dialect)]}));
            let headers = ask(&place, (api, dialect), &body(dialect, &array, false), &mut array).await;
            told.push(
                headers
                    .get("x-unforget-left-out")
                    .map_or(0, |value| value.to_str().unwrap().parse::<usize>().unwrap()),
            );
        }
        for (turn, (call, told)) in place.upstream.came().iter().zip(&told).enumerate() {
            assert_eq!((call.status, call.violations.as_slice()), (200, [].as_slice()), "{dialect:?}");
            let text = String::from_utf8(call.body.clone()).unwrap();
            let shown = (0..=turn).filter(|n| text.contains(&file(*n, dialect).to_string())).count();
            assert_eq!(shown + told, turn + 1, "{dialect:?}: {turn}: {text}");
            assert!(
                text.contains(&file(turn, dialect).to_string()),
                "{dialect:?}: {turn}: the newest: {text}"
            );
        }
        assert!(told.last().unwrap() > &5, "{dialect:?}: {told:?}");
    }
}

/// A client whose limit exceeds the window is served; its limit stays until a provider refuses it, and then it is told.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_allowed_more_than_the_window_table() {
    const WINDOW: u64 = 8_000;
    let keys = |dialect| match dialect {
        Dialect::Anthropic => "max_tokens",
        Dialect::OpenAiResponses => "max_output_tokens",
        _ => "max_completion_tokens",
    };
    // The client's limit, whether it was lowered, why.
    let table = [
        (1_000, false, "as usual"),
        (100_000, true, "more than the window"),
        (1_000_000_000_u64, true, "absurd"),
    ];
    for (api, dialect) in APIS {
        for (allowed, is_lowered, why) in table {
            let place = place(WINDOW).await;
            let mut array = Vec::new();
            for turn in 0..20 {
                array.push(user(&format!("Question {turn}: what now?")));
                let mut asked = body(dialect, &array, false);
                asked[keys(dialect)] = json!(allowed);
                let before = place.upstream.came().len();
                let headers = ask(&place, (api, dialect), &asked, &mut array).await;
                let came = place.upstream.came()[before..].to_vec();
                let figure = |call: &unforget_testkit::upstream::Came| {
                    serde_json::from_slice::<Value>(&call.body).unwrap()[keys(dialect)].as_u64().unwrap()
                };
                assert_eq!(figure(&came[0]), allowed, "{dialect:?} {why}: the client's own at first");
                let told = headers
                    .get("x-unforget-output-tokens")
                    .map(|told| told.to_str().unwrap().parse::<u64>().unwrap());
                assert_eq!(told.is_some(), is_lowered, "{dialect:?} {why}");
                assert!(came.len() <= 2, "{dialect:?} {why}");
                if is_lowered {
                    assert_eq!(figure(came.last().unwrap()), told.unwrap(), "{dialect:?} {why}");
                    assert!((1_000..=WINDOW).contains(&told.unwrap()), "{dialect:?} {why}: {told:?}");
                }
            }
        }
    }
}
