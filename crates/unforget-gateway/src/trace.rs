//! Traces: a span for each call of a model, a tool and the API, named by OpenTelemetry's conventions.
//!
//! The spans contain neither text of a conversation nor keys. They are `tracing` spans of the target [`TARGET`]: a
//! collector subscribes to that target, and the log leaves it out.
//!
//! Source of the names: semantic conventions for generative AI (in development) and HTTP (stable), 1.41.

mod summariser;

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use reqwest::Url;
use tracing::field::Empty;
use tracing::{Instrument, Span};
use unforget_wire::Dialect;
use unforget_wire::exchange::{Answered, Ended};

pub use summariser::model;

/// The target of the spans.
pub const TARGET: &str = "unforget::trace";

/// The span of a model call, from the client's request to the last byte of the answer. It continues the client's own
/// trace, if the request's headers name one.
pub(crate) fn call(dialect: Dialect, headers: &HeaderMap) -> Span {
    let provider = if dialect == Dialect::Anthropic { "anthropic" } else { "openai" };
    let span = tracing::info_span!(
        target: TARGET,
        "chat",
        otel.kind = "client",
        otel.status_code = Empty,
        error.type = Empty,
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = provider,
        gen_ai.conversation.id = Empty,
        gen_ai.request.model = Empty,
        gen_ai.response.id = Empty,
        gen_ai.response.model = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        gen_ai.usage.cache_creation.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        http.response.status_code = Empty,
        server.address = Empty,
        server.port = Empty,
        unforget.authority = Empty,
        unforget.prompt_tokens = Empty,
        unforget.left_out = Empty,
        unforget.standing_left_out = Empty,
    );
    context::follow(&span, headers);
    span
}

/// A step of the current call.
pub(crate) fn step(name: &'static str) -> Span {
    tracing::info_span!(target: TARGET, "step", otel.name = name)
}

/// A tool call by a model or an MCP client.
pub fn tool(name: &str) -> Span {
    tracing::info_span!(
        target: TARGET,
        "execute_tool",
        otel.name = format!("execute_tool {name}"),
        otel.status_code = Empty,
        error.type = Empty,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = name,
    )
}

/// The properties of a call once its prompt is made.
pub(crate) struct Prompt<'a> {
    pub(crate) model: Option<&'a str>,
    pub(crate) conversation: &'a str,
    pub(crate) authority: &'a str,
    pub(crate) tokens: u64,
    pub(crate) left_out: u64,
    pub(crate) standing_left_out: u64,
}

impl Prompt<'_> {
    /// Records the properties.
    pub(crate) fn note(&self) {
        let span = Span::current();
        if let Some(model) = self.model {
            context::rename(&span, format!("chat {model}"));
            span.record("gen_ai.request.model", model);
        }
        span.record("gen_ai.conversation.id", self.conversation)
            .record("unforget.authority", self.authority)
            .record("unforget.prompt_tokens", count(self.tokens))
            .record("unforget.left_out", count(self.left_out))
            .record("unforget.standing_left_out", count(self.standing_left_out));
    }
}

/// Records the destination of a call.
pub(crate) fn sent_to(url: &Url) {
    let span = Span::current();
    span.record("server.address", url.host_str());
    span.record("server.port", url.port_or_known_default().map(i64::from));
}

/// Records the status of the reply.
pub(crate) fn status(status: StatusCode) {
    Span::current().record("http.response.status_code", i64::from(status.as_u16()));
    if !status.is_success() {
        failed(status.as_str());
    }
}

/// Records the failure of a call or a tool.
///
/// * `kind` - one of a fixed set.
pub fn failed(kind: &str) {
    failed_in(&Span::current(), kind);
}

fn failed_in(span: &Span, kind: &str) {
    span.record("otel.status_code", "ERROR").record("error.type", kind);
}

/// A number in OpenTelemetry's type.
fn count(of: u64) -> i64 {
    i64::try_from(of).unwrap_or(i64::MAX)
}

/// Records an answer and its cost.
pub(crate) fn answered(span: &Span, told: &Answered) {
    span.record("gen_ai.response.id", told.id.as_deref())
        .record("gen_ai.response.model", told.model.as_deref());
    if let Some(stop) = &told.stop {
        context::list(span, "gen_ai.response.finish_reasons", stop);
    }
    if let Some(usage) = told.usage {
        span.record("gen_ai.usage.input_tokens", count(usage.input))
            .record("gen_ai.usage.cache_read.input_tokens", count(usage.cached))
            .record("gen_ai.usage.cache_creation.input_tokens", count(usage.cache_written))
            .record("gen_ai.usage.output_tokens", count(usage.output));
    }
    let kind = match told.ended {
        Ended::Complete => return,
        Ended::Interrupted(_) => "interrupted",
        Ended::Error(_) => "provider_error",
    };
    failed_in(span, kind);
}

/// Continues the trace in a request to a provider. A trace named by the client continues there; without one, the
/// provider is sent none.
pub(crate) fn go_on(headers: &mut HeaderMap) {
    if headers.contains_key("traceparent") {
        context::name(&Span::current(), headers);
    }
}

/// Spans for the requests of routes.
pub async fn requests(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str).to_owned();
    let span = tracing::info_span!(
        target: TARGET,
        "request",
        otel.name = format!("{} {route}", request.method()),
        otel.kind = "server",
        otel.status_code = Empty,
        error.type = Empty,
        http.request.method = request.method().as_str(),
        http.route = route,
        http.response.status_code = Empty,
    );
    context::follow(&span, request.headers());
    async {
        let response = next.run(request).await;
        let found = response.status();
        Span::current().record("http.response.status_code", i64::from(found.as_u16()));
        if found.is_server_error() {
            failed(found.as_str());
        }
        response
    }
    .instrument(span)
    .await
}

/// W3C trace contexts, in builds that collect traces.
#[cfg(feature = "otel")]
mod context {
    use axum::http::HeaderMap;
    use opentelemetry::global::get_text_map_propagator;
    use opentelemetry::trace::TraceContextExt;
    use opentelemetry::{Array, Value};
    use opentelemetry_http::{HeaderExtractor, HeaderInjector};
    use tracing::Span;
    use tracing_opentelemetry::OpenTelemetrySpanExt;

    pub(super) fn follow(span: &Span, headers: &HeaderMap) {
        if !span.is_disabled() {
            let parent = get_text_map_propagator(|known| known.extract(&HeaderExtractor(headers)));
            // Fails if nobody collects the span.
            span.set_parent(parent).ok();
        }
    }

    /// Renames a span that has begun.
    pub(super) fn rename(span: &Span, name: String) {
        span.context().span().update_name(name);
    }

    /// Records a list of one element: fields of `tracing` have no lists.
    pub(super) fn list(span: &Span, key: &'static str, value: &str) {
        span.set_attribute(key, Value::Array(Array::String(vec![value.to_owned().into()])));
    }

    pub(super) fn name(span: &Span, headers: &mut HeaderMap) {
        if !span.is_disabled() {
            get_text_map_propagator(|known| {
                known.inject_context(&span.context(), &mut HeaderInjector(headers));
            });
        }
    }
}

#[cfg(not(feature = "otel"))]
mod context {
    use axum::http::HeaderMap;
    use tracing::Span;

    pub(super) const fn follow(_: &Span, _: &HeaderMap) {}

    pub(super) fn rename(_: &Span, _: String) {}

    pub(super) const fn list(_: &Span, _: &'static str, _: &str) {}

    pub(super) const fn name(_: &Span, _: &mut HeaderMap) {}
}
