//! Figures for Prometheus. Labels come from fixed sets: no names of conversations, models or people, no secrets.

use std::sync::{Arc, OnceLock};
use std::time::Duration;
use unforget_store::{read_all, walk};

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use super::Api;
use super::problem::Done;
use super::scope::Owned;

/// Bounds of the histogram of our own overhead beside the provider's time, in seconds.
const OVERHEAD: [f64; 12] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

/// Pause between folding the counts into the figures.
const OFTEN: Duration = Duration::from_secs(5);

static FIGURES: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// The collector of figures, once per process.
pub struct Figures;

impl Figures {
    /// Collects the daemon's counts from now on. A second call changes nothing. If another recorder was installed
    /// before, `/metrics` only shows the figures of the store.
    pub fn collect() {
        handle();
    }

    /// Folds the counts until dropped, to keep them small: they take memory until read, and maybe nobody ever reads
    /// them.
    pub async fn fold() {
        let mut often = tokio::time::interval(OFTEN);
        loop {
            often.tick().await;
            if let Some(handle) = handle() {
                handle.run_upkeep();
            }
        }
    }
}

fn handle() -> Option<&'static PrometheusHandle> {
    let collect = || {
        let bounds = Matcher::Suffix("_seconds".to_owned());
        let builder = PrometheusBuilder::new().set_buckets_for_metric(bounds, &OVERHEAD).ok()?;
        let recorder = builder.build_recorder();
        let handle = recorder.handle();
        metrics::set_global_recorder(recorder).ok()?;
        describe();
        Some(handle)
    };
    FIGURES.get_or_init(collect).as_ref()
}

fn describe() {
    metrics::describe_counter!("unforget_calls_total", "Calls of models by dialect, status and authority");
    metrics::describe_histogram!(
        "unforget_overhead_seconds",
        "Time added to a call before it is sent to the provider"
    );
    metrics::describe_counter!("unforget_tokens_total", "Tokens as providers counted them, by kind");
    metrics::describe_counter!(
        "unforget_cache_calls_total",
        "Calls by the fate of the provider's cache: hit, first, cold, client, ours (with the cause), unknown"
    );
    metrics::describe_counter!(
        "unforget_cache_missed_tokens_total",
        "Tokens of previous prompts that were billed anew, by fate and cause"
    );
    metrics::describe_counter!(
        "unforget_refused_total",
        "Calls that providers refused as too large, by whether they were sent again or the client was told"
    );
    metrics::describe_counter!("unforget_passed_total", "Requests that went on as they came, by kind");
    metrics::describe_counter!(
        "unforget_unserved_total",
        "Requests refused because their path belongs to no upstream, by kind"
    );
    metrics::describe_gauge!("unforget_calls_running", "Calls of models that run, streams among them");
    metrics::describe_gauge!("unforget_spool_files", "Answers awaited or arriving, and not stored yet");
    metrics::describe_gauge!(
        "unforget_held_bytes",
        "Bytes that are held for clients, of requests and of answers"
    );
    metrics::describe_gauge!("unforget_tasks_running", "Tasks that run, by kind");
    metrics::describe_counter!("unforget_tasks_total", "Tasks that ended, by kind");
    metrics::describe_counter!("unforget_api_problems_total", "Failed requests of the API, by kind");
    metrics::describe_gauge!("unforget_conversations", "Conversations stored");
    metrics::describe_gauge!("unforget_entries", "Entries stored");
    metrics::describe_gauge!("unforget_stored_tokens", "Tokens of all entries stored");
    metrics::describe_counter!("unforget_model_jobs_total", "Summaries requested from models, by outcome");
    metrics::describe_counter!("unforget_model_calls_total", "Calls of models for summaries");
    metrics::describe_counter!("unforget_model_tokens_total", "Tokens of these calls, by kind");
    metrics::describe_counter!("unforget_model_faults_total", "Summaries that got no answer, by why");
    metrics::describe_gauge!(
        "unforget_broken_rows",
        "Damaged rows met since the start, by kind; only those of derived data are made again from the log"
    );
    metrics::describe_gauge!("unforget_jobs", "Conversations whose jobs of models are due");
}

/// Shows the figures, in the text format of Prometheus.
pub(super) async fn show(State(_): State<Arc<Api>>, Owned(seen): Owned) -> Done<Response> {
    seen.with(|engine, _| {
        let (mut conversations, mut entries, mut tokens) = (0_u64, 0, 0);
        for one in walk(|page| engine.store().conversations(page)) {
            let one = one?;
            (conversations, entries, tokens) =
                (conversations + 1, entries + one.entries, tokens + one.tokens);
        }
        let due = read_all(|page| engine.store().due(super::prompts::now(), page))?;
        metrics::gauge!("unforget_conversations").set(conversations as f64);
        metrics::gauge!("unforget_entries").set(entries as f64);
        metrics::gauge!("unforget_stored_tokens").set(tokens as f64);
        metrics::gauge!("unforget_jobs").set(due.len() as f64);
        for broken in engine.store().broken_rows() {
            metrics::gauge!("unforget_broken_rows", "kind" => broken.kind).set(broken.rows as f64);
        }
        let text = handle().map(PrometheusHandle::render);
        let kind = (CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8");
        Ok(([kind], text.unwrap_or_default()).into_response())
    })
    .await
}
