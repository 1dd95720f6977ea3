//! Traces our own model calls: for summaries and for answers to questions.

use std::sync::Arc;

use reqwest::Url;
use tracing::Span;
use tracing::field::Empty;
use unforget_engine::summarise::{Account, Answer, Fault, Model, Request, Stop};

use super::{TARGET, context, count, failed_in};

/// A model whose calls are traced, each as a span.
struct Traced {
    model: Arc<dyn Model>,
    kind: String,
}

/// A model wrapped so that each of its calls has a span.
///
/// * `kind` - the protocol: the provider's name in the span.
pub fn model(model: Arc<dyn Model>, kind: &str) -> Arc<dyn Model> {
    Arc::new(Traced { model, kind: kind.to_owned() })
}

impl Model for Traced {
    fn account(&self) -> &Account {
        self.model.account()
    }

    fn name(&self) -> &str {
        self.model.name()
    }

    fn is_there(&self) -> bool {
        self.model.is_there()
    }

    fn window(&self) -> Option<u64> {
        self.model.window()
    }

    fn call(&self, request: &Request<'_>) -> Result<Answer, Fault> {
        let span = self.span(request);
        let answer = span.in_scope(|| self.model.call(request));
        match &answer {
            Ok(answer) => note(&span, answer),
            Err(fault) => failed_in(&span, fault.cause.name()),
        }
        answer
    }
}

impl Traced {
    fn span(&self, request: &Request<'_>) -> Span {
        let address = Url::parse(&self.account().provider).ok();
        let host = address.as_ref().and_then(Url::host_str);
        let port = address.as_ref().and_then(Url::port_or_known_default).filter(|_| host.is_some());
        tracing::info_span!(
            target: TARGET,
            "chat",
            otel.name = format!("chat {}", self.name()),
            otel.kind = "client",
            otel.status_code = Empty,
            error.type = Empty,
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = self.kind,
            gen_ai.request.model = self.name(),
            gen_ai.request.max_tokens = count(request.output_tokens_max),
            gen_ai.response.model = Empty,
            gen_ai.usage.input_tokens = Empty,
            gen_ai.usage.cache_read.input_tokens = Empty,
            gen_ai.usage.output_tokens = Empty,
            server.address = host,
            server.port = port.map(i64::from),
            unforget.own = true,
        )
    }
}

fn note(span: &Span, answer: &Answer) {
    let usage = answer.usage;
    span.record("gen_ai.response.model", answer.model.as_deref())
        .record("gen_ai.usage.input_tokens", usage.input.map(count))
        .record("gen_ai.usage.cache_read.input_tokens", usage.cached.map(count))
        .record("gen_ai.usage.output_tokens", usage.output.map(count));
    let stop = match &answer.stop {
        Stop::End | Stop::ThinkingOnly => "stop",
        Stop::MaxTokens => "length",
        Stop::Refusal => "content_filter",
        Stop::ToolCall => "tool_call",
        other => other.name(),
    };
    context::list(span, "gen_ai.response.finish_reasons", stop);
}
