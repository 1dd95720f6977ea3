//! Counters of calls for `/metrics`. Labels come from fixed sets.

use std::time::Duration;

use axum::http::StatusCode;
use unforget_wire::Dialect;

/// A call received the head of its answer.
///
/// * `authority` - `as-sent`, the result of admission, or `none` for a call that was not sent.
/// * `overhead` - from receiving the whole request to sending it.
pub(super) fn call(
    dialect: Dialect,
    status: StatusCode,
    authority: &'static str,
    overhead: Option<Duration>,
) {
    let (dialect, status) = (dialect.name(), status.as_u16().to_string());
    metrics::counter!("unforget_calls_total", "dialect" => dialect, "status" => status, "authority" => authority)
        .increment(1);
    if let Some(overhead) = overhead {
        metrics::histogram!("unforget_overhead_seconds", "dialect" => dialect).record(overhead.as_secs_f64());
    }
}

/// A provider's token count.
pub(super) fn tokens(kind: &'static str, count: u64) {
    metrics::counter!("unforget_tokens_total", "kind" => kind).increment(count);
}

/// The fate of the provider's cache in a call.
///
/// * `cause` - for our own changes, otherwise empty.
/// * `missed` - tokens of the previous prompt that were billed anew.
pub(super) fn cache(fate: &'static str, cause: &'static str, missed: u64) {
    metrics::counter!("unforget_cache_calls_total", "fate" => fate, "cause" => cause).increment(1);
    metrics::counter!("unforget_cache_missed_tokens_total", "fate" => fate, "cause" => cause)
        .increment(missed);
}

/// A call that a provider refused as too large.
///
/// * `outcome` - `again`, or `told` if the refusal was passed to the client.
pub(super) fn refused(dialect: Dialect, outcome: &'static str) {
    metrics::counter!("unforget_refused_total", "dialect" => dialect.name(), "outcome" => outcome)
        .increment(1);
}

/// A request passed on unchanged.
pub(super) fn passed(kind: &'static str) {
    metrics::counter!("unforget_passed_total", "kind" => kind).increment(1);
}

/// A request refused because its path belongs to no upstream.
pub(super) fn unserved(kind: &'static str) {
    metrics::counter!("unforget_unserved_total", "kind" => kind).increment(1);
}

/// Changes the number of answers in the spool.
pub(super) fn spooled(more: f64) {
    metrics::gauge!("unforget_spool_files").increment(more);
}

/// Changes the number of bytes held for clients.
pub(super) fn held(of: &'static str, more: f64) {
    metrics::gauge!("unforget_held_bytes", "of" => of).increment(more);
}

/// A running call, until dropped.
pub(super) struct RunningCall(());

impl RunningCall {
    pub(super) fn begin() -> Self {
        metrics::gauge!("unforget_calls_running").increment(1.0);
        Self(())
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        metrics::gauge!("unforget_calls_running").decrement(1.0);
    }
}
