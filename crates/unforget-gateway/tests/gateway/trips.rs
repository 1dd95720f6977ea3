//! Round trips of a call to a database on a server: the delay of its network is multiplied by them. Skipped where PostgreSQL is
//! not installed.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use unforget_engine::{Engine, chunk_filter};
use unforget_server::serve::Limits;
use unforget_store::Store;
use unforget_store_pg::{PgOptions, PgStore};
use unforget_testkit::Postgres;
use unforget_testkit::upstream::{Say, Script, Upstream};

use crate::support::daemon::{Running, host};

/// Calls before the first that is counted: they open connections and prepare statements.
const WARM: usize = 10;

/// Calls that are counted.
const COUNTED: usize = 10;

/// Most round trips of a call, on average: as its client sent it, and with a prompt of ours. On a loaded machine fewer messages
/// travel together: 4.0 to 4.3 and 8.6 to 9.5 were seen.
const MOST: [f64; 2] = [6.0, 12.0];

/// The round trips of a conversation's calls by operation, statements that a connection meets for the first time left out.
async fn trips(server: &Postgres, window: u64) -> BTreeMap<&'static str, u64> {
    let options = PgOptions {
        filter: Some(Arc::new(chunk_filter)),
        is_throwaway: true,
        may_make: true,
        ..PgOptions::default()
    };
    let store = Arc::new(PgStore::open(&server.database().parse().unwrap(), options).unwrap());
    let engine = Engine::on(Arc::clone(&store) as Arc<dyn Store>).with_peers(Arc::clone(&store) as _);
    let script: Script = Arc::new(|request, _| {
        let turn = request["messages"].as_array().map_or(0, Vec::len);
        Say::text(
            format!("Answer to message {turn}: the otters keep their stones under the left arm. ").repeat(30),
        )
    });
    let upstream = Upstream::start(window, script).await;
    let folder = tempfile::tempdir().unwrap();
    let at = (host(engine), folder.path().join("spool"));
    let daemon = Running::start_on(
        at,
        &upstream.url(),
        window,
        (unforget_gateway::Settings::default(), Limits::default()),
    )
    .await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let (mut messages, mut before) = (Vec::new(), BTreeMap::new());
    for turn in 0..WARM + COUNTED {
        if turn == WARM {
            before = store.round_trips_by_operation();
        }
        messages.push(
            json!({"role": "user", "content": format!("Question {turn}: how do otters keep their stones?")}),
        );
        let body = json!({"model": "m", "max_completion_tokens": 600, "messages": messages});
        let request =
            client.post(format!("{}/v1/chat/completions", daemon.url())).header("session-id", "otters");
        let answer = request.json(&body).send().await.unwrap();
        assert!(answer.status().is_success());
        let answer: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        messages.push(answer["choices"][0]["message"].clone());
        daemon.quiet().await;
    }
    let mut after = store.round_trips_by_operation();
    for (operation, count) in &mut after {
        *count -= before.get(operation).copied().unwrap_or(0);
    }
    after.retain(|operation, count| *count > 0 && *operation != "prepare");
    daemon.end().await;
    after
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_takes_few_round_trips() {
    let Some(server) = Postgres::shared() else { return };
    unforget_gateway::install_crypto();
    for ((window, what), most) in [(200_000, "as sent"), (8_000, "a prompt of ours")].into_iter().zip(MOST) {
        let trips = trips(&server, window).await;
        let each = trips.values().sum::<u64>() as f64 / COUNTED as f64;
        println!("{what}: {each} round trips per call, of {COUNTED} calls: {trips:?}");
        assert!(each <= most, "{what}: {each} round trips per call, {trips:?}");
    }
}
