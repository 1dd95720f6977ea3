//! Classifies requests that are passed on unchanged, so that nobody takes them for stored ones.

use axum::http::Method;

use super::route::of_api;

/// The kind of a request other than our calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum PassedKind {
    /// A model call of an API that is not served here, or under an unknown path: it is neither stored nor fitted.
    Model(&'static str),
    /// Other requests of our dialects' clients: models, token counts, files, stored objects.
    Beside,
    /// Vectors for texts: no part of a conversation.
    Embeddings,
    /// Unknown.
    Other,
}

/// Final path segments of model calls, with their API.
const CALLS: [(&str, &str); 13] = [
    (":generateContent", "Gemini"),
    (":streamGenerateContent", "Gemini"),
    ("/invoke", "Bedrock"),
    ("/invoke-with-response-stream", "Bedrock"),
    ("/converse", "Bedrock"),
    ("/converse-stream", "Bedrock"),
    ("/api/chat", "Ollama"),
    ("/api/generate", "Ollama"),
    ("/messages", "Anthropic, under another path"),
    ("/chat/completions", "OpenAI, under another path"),
    ("/responses", "OpenAI, under another path"),
    ("/completions", "OpenAI, without messages"),
    ("/complete", "Anthropic, without messages"),
];

/// First path segments of our clients' other requests.
const BESIDE: [&str; 12] = [
    "assistants",
    "batches",
    "chat",
    "containers",
    "conversations",
    "files",
    "messages",
    "models",
    "responses",
    "threads",
    "uploads",
    "vector_stores",
];

impl PassedKind {
    /// * `path` - without a query.
    pub(super) fn of(method: &Method, path: &str) -> Self {
        let path = of_api(path);
        let call = CALLS.iter().find(|(end, _)| path.ends_with(end));
        if let Some((_, whose)) = call.filter(|_| *method == Method::POST) {
            return Self::Model(whose);
        }
        if path.ends_with("/embeddings") || path.ends_with(":embedContent") || path.ends_with("/api/embed") {
            return Self::Embeddings;
        }
        let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        if BESIDE.contains(&first) { Self::Beside } else { Self::Other }
    }

    /// Name in figures.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Model(_) => "model",
            Self::Beside => "beside",
            Self::Embeddings => "embeddings",
            Self::Other => "other",
        }
    }

    /// Logs the passing on, once per kind and upstream: the caller calls it only the first time.
    pub(super) fn say(self, upstream: &str) {
        match self {
            Self::Model(whose) => tracing::warn!(
                upstream,
                api = whose,
                "calls of a model go on as they come: this path is none that is served, so they are not stored and \
                 nothing makes them fit; docs/serve.md says which base URLs are"
            ),
            Self::Embeddings => tracing::info!(upstream, "embeddings go on as they come, and are not stored"),
            Self::Other => {
                tracing::info!(upstream, "requests to unknown paths are passed on unchanged and not stored");
            }
            Self::Beside => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_table() {
        use PassedKind::{Beside, Embeddings, Model, Other};
        let table = [
            ("POST", "/v1beta/models/gemini-3-pro:generateContent", Model("Gemini"), "Gemini CLI"),
            ("POST", "/v1beta/models/gemini-3-pro:streamGenerateContent", Model("Gemini"), "streamed"),
            ("POST", "/model/us.anthropic.claude/invoke", Model("Bedrock"), "Bedrock"),
            ("POST", "/model/us.anthropic.claude/converse-stream", Model("Bedrock"), "its own form"),
            ("POST", "/api/chat", Model("Ollama"), "Ollama"),
            (
                "POST",
                "/openai/deployments/gpt/chat/completions",
                Model("OpenAI, under another path"),
                "Azure",
            ),
            (
                "POST",
                "/anthropic/v1/messages",
                Model("Anthropic, under another path"),
                "a base URL of a router",
            ),
            ("POST", "/v1/v1/messages", Model("Anthropic, under another path"), "twice"),
            ("POST", "/v1/completions", Model("OpenAI, without messages"), "the API before"),
            ("GET", "/v1/chat/completions", Beside, "a list of kept ones"),
            ("POST", "/v1/messages/count_tokens", Beside, "a count"),
            ("POST", "/v1/messages/batches", Beside, "a batch"),
            ("GET", "/v1/models", Beside, "models"),
            ("POST", "/v1/responses/compact", Beside, "of responses"),
            ("POST", "/v1/embeddings", Embeddings, "vectors"),
            ("POST", "/v1beta/models/e:embedContent", Embeddings, "Gemini's"),
            ("GET", "/", Other, "nothing"),
            ("POST", "/v1/telemetry", Other, "nobody knows"),
        ];
        for (method, path, want, why) in table {
            let method = Method::from_bytes(method.as_bytes()).unwrap_or_default();
            assert_eq!(PassedKind::of(&method, path), want, "{why}: {path}");
        }
    }
}
