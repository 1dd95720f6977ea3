//! What is counted of calls, for `/metrics`. Labels are of fixed sets.

use std::time::Duration;

use axum::http::StatusCode;
use unforget_wire::Dialect;

/// A call got its head.
///
/// * `authority` - `as-sent`, what admission says, or `none` if it was not sent.
/// * `overhead` - from the whole request to its sending.
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

/// What a provider counted.
pub(super) fn tokens(kind: &'static str, count: u64) {
    metrics::counter!("unforget_tokens_total", "kind" => kind).increment(count);
}

/// What became of the provider's cache in a call.
///
/// * `cause` - of a change of ours, else nothing.
/// * `missed` - tokens that were billed anew though they stood in the prompt before.
pub(super) fn cache(fate: &'static str, cause: &'static str, missed: u64) {
    metrics::counter!("unforget_cache_calls_total", "fate" => fate, "cause" => cause).increment(1);
    metrics::counter!("unforget_cache_missed_tokens_total", "fate" => fate, "cause" => cause)
        .increment(missed);
}

/// A call that a provider refused as too large.
///
/// * `outcome` - `again` or `told`: the client was.
pub(super) fn refused(dialect: Dialect, outcome: &'static str) {
    metrics::counter!("unforget_refused_total", "dialect" => dialect.name(), "outcome" => outcome)
        .increment(1);
}

/// A request that went on as it came.
pub(super) fn passed(kind: &'static str) {
    metrics::counter!("unforget_passed_total", "kind" => kind).increment(1);
}

/// Answers in the spool: so many more, or fewer.
pub(super) fn spooled(more: f64) {
    metrics::gauge!("unforget_spool_files").increment(more);
}

/// Bytes that are held for clients: so many more, or fewer.
pub(super) fn held(of: &'static str, more: f64) {
    metrics::gauge!("unforget_held_bytes", "of" => of).increment(more);
}

/// A call that runs, until this is dropped.
pub(super) struct Running(());

impl Running {
    pub(super) fn begin() -> Self {
        metrics::gauge!("unforget_calls_running").increment(1.0);
        Self(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        metrics::gauge!("unforget_calls_running").decrement(1.0);
    }
}
