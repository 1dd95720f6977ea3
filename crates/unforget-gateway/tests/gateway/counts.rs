//! Providers that answer 200 to everything, and count the tokens that they read.

use std::sync::{Arc, Mutex};

use crate::support::daemon::Running;
use crate::support::talk::{Client, user};
use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use unforget_core::tokens::Ruler;
use unforget_engine::ruler::ModelRuler;

/// The provider's count for a number of sent tokens.
type Count = fn(u64) -> u64;

/// Tokens of each received request.
type Came = Arc<Mutex<Vec<u64>>>;

async fn answer(State((count, came)): State<(Count, Came)>, Json(request): Json<Value>) -> Json<Value> {
    let weigh = |value: &Value| ModelRuler::O200k.count(&value.to_string()).expected;
    // Definitions of tools weigh less there than their JSON.
    let tokens = weigh(&request["messages"]) + weigh(&request["tools"]) * 3 / 4;
    came.lock().unwrap().push(tokens);
    let message = json!({"role": "assistant", "content": "Noted."});
    Json(json!({
        "id": "c", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": count(tokens), "completion_tokens": 2, "total_tokens": count(tokens) + 2},
    }))
}

/// The tokens of 60 calls of a conversation that grows by some 400 tokens per call. Each call is made after the
/// provider's count of the previous one has been processed.
async fn talk(count: Count, window: u64, tools: &Value) -> Vec<u64> {
    let came = Came::default();
    let routes = Router::new()
        .route("/v1/chat/completions", post(answer))
        .layer(axum::extract::DefaultBodyLimit::disable())
        .with_state((count, Arc::clone(&came)));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(&folder.path().join("a.db"), &url, window).await;
    let client = Client::new(&running.url(), Some("c"));
    let mut messages = Vec::new();
    for turn in 0..60 {
        messages.push(user(&format!("Question {turn}. {}", "The harbour opens early. ".repeat(80))));
        let body = json!({"model": "gpt-4.1", "messages": messages, "tools": tools, "max_tokens": 1_000});
        let got = client.ask("chat/completions", &body).await.unwrap();
        assert_eq!(
            got.status,
            200,
            "{turn} {:?}: {}",
            came.lock().unwrap(),
            String::from_utf8_lossy(&got.bytes)
        );
        messages.push(json!({"role": "assistant", "content": "Noted."}));
        running.quiet().await;
    }
    came.lock().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn f006_what_came_and_was_cut_silently_is_sent_smaller() {
    let sent = talk(|tokens| tokens.min(4_096), 200_000, &Value::Null).await;
    let first_cut = sent.iter().position(|tokens| *tokens > 4_096).unwrap();
    // It takes two alarms. Our count of these messages is a little lower, so the first alarm may come one call later.
    let alarm = sent.iter().position(|tokens| *tokens > 4_096 * 10 / 6).unwrap();
    assert!(alarm > first_cut && sent.len() > alarm + 30, "{sent:?}");
    assert!(sent[alarm + 3..].iter().all(|tokens| *tokens <= 4_096), "{sent:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_of_something_else_change_nothing() {
    let odd: [Count; 3] = [|_| 10, |_| 0, |tokens| if tokens > 3_000 { tokens % 700 } else { tokens }];
    for count in odd {
        let sent = talk(count, 200_000, &Value::Null).await;
        assert!(sent.windows(2).filter(|two| two[1] < two[0]).count() <= 2, "{sent:?}");
        assert!(*sent.last().unwrap() > 20_000, "{sent:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f075_tools_take_the_room_that_the_provider_counts_for_them() {
    let words = "Reads lines of one file of the harbour's log, between two of them. ".repeat(30);
    let tool = |n: usize| json!({"type": "function", "function": {"name": format!("read_{n}"), "description": words}});
    let tools: Vec<Value> = (0..24).map(tool).collect();
    let sent = talk(|tokens| tokens, 20_000, &json!(tools)).await;
    let first_break = sent.windows(2).position(|two| two[1] < two[0]).unwrap() + 1;
    let room = 20_000 - 1_000;
    assert!(sent.iter().all(|tokens| *tokens <= room), "{sent:?}");
    let (before, after) = sent.split_at(first_break);
    for (calls, when) in [(before, "before the first break"), (after, "after it")] {
        let most = calls.iter().max().unwrap();
        assert!(*most >= room * 95 / 100, "{when}: {most} of {room}, {sent:?}");
    }
}
