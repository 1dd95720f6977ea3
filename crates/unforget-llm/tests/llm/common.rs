//! Shared helpers of the clients' tests.
use std::sync::Arc;
use std::time::Duration;

use unforget_llm::{Cause, Classify, Endpoint, Key, KeySource, Reply, Request};
use unforget_testkit::provider::Provider;
use unforget_wire::refusal::{self, Headers, Overflow, Refusal};

/// A key that must never appear in any output.
pub(crate) const LETTERS: &str = "zz-hunter2-0123456789";

pub(crate) fn key() -> Key {
    KeySource::Env("TEST_KEY".into()).load(&|_| Some(LETTERS.into())).unwrap()
}

/// The classification that the engine passes in.
pub(crate) fn classify() -> Classify {
    Arc::new(|reply: &Reply<'_>| {
        let headers = Headers {
            retry_after: reply.retry_after,
            retry_after_ms: reply.retry_after_ms,
            error_type: None,
        };
        let told = refusal::Reply { status: Some(reply.status), headers, body: reply.body, provider: None };
        Some(match refusal::classify(&told)? {
            Refusal::Overflow(Overflow { limit, sent, .. }) => Cause::TooLong { limit, sent },
            Refusal::SuspectedOverflow => Cause::TooLong { limit: None, sent: None },
            Refusal::Output { limit, .. } => Cause::OutputTooLong { limit },
            Refusal::RateLimited { largest: Some(limit), .. } => {
                Cause::TooLong { limit: Some(limit), sent: None }
            }
            Refusal::RateLimited { retry_after, .. } => Cause::RateLimited { retry_after },
            Refusal::Overloaded { retry_after } => Cause::Overloaded { retry_after },
            Refusal::Auth => Cause::Auth,
            Refusal::Quota => Cause::Payment,
            Refusal::NotFound => Cause::NotFound,
            Refusal::Policy => Cause::Policy,
            Refusal::Server { retry_after } => Cause::Server { retry_after },
            Refusal::Network => Cause::Broken,
            Refusal::Unknown { status } => Cause::Unknown { status },
            _ => Cause::Invalid,
        })
    })
}

pub(crate) fn endpoint(provider: &Provider) -> Endpoint {
    endpoint_at(&provider.address())
}

pub(crate) fn endpoint_at(address: &str) -> Endpoint {
    Endpoint::new(format!("{address}/v1"), "test-model", key(), classify())
}

pub(crate) fn request(within_ms: u64) -> Request<'static> {
    Request {
        system: "You record.",
        user: "What happened?",
        output_tokens_max: 256,
        within: Duration::from_millis(within_ms),
        temperature: None,
    }
}
