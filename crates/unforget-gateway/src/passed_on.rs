//! Requests other than model calls: the upstream that owns a path, and the paths that are refused.
//!
//! A path goes where it is known to belong: to the owner of a served API, or to the upstream whose settings list it.
//! Everything else is refused, since it may be of another provider and carry that provider's key.

use axum::http::{HeaderMap, Method};

use super::api::{Api, of_api};
use super::headers::API_KEY;

/// The kind of a request other than our calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum PassedKind {
    /// A model call of a served API in a form without messages: it is neither stored nor fitted.
    Model,
    /// Other requests of our dialects' clients: models, token counts, files, stored objects.
    Beside,
    /// Vectors for texts: no part of a conversation.
    Embeddings,
    /// Of an upstream whose settings list the path.
    Listed,
}

/// A request that belongs to a served API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OwnedPath {
    pub(super) kind: PassedKind,
    pub(super) api: Api,
}

/// Why a request goes nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum UnservedPath {
    /// A call of a served API behind a wrong beginning.
    Misplaced,
    /// A model call of an API that is not served.
    Foreign(&'static str),
    /// Nobody knows.
    Unknown,
}

/// Ends of paths of model calls, with their API; `None` for a served one.
const CALLS: [(&str, Option<&str>); 12] = [
    (":generateContent", Some("Gemini")),
    (":streamGenerateContent", Some("Gemini")),
    (":embedContent", Some("Gemini")),
    ("/invoke", Some("Bedrock")),
    ("/invoke-with-response-stream", Some("Bedrock")),
    ("/converse", Some("Bedrock")),
    ("/converse-stream", Some("Bedrock")),
    ("/api/chat", Some("Ollama")),
    ("/api/generate", Some("Ollama")),
    ("/messages", None),
    ("/chat/completions", None),
    ("/responses", None),
];

/// First path segments of the APIs behind the version; `None` for segments of both.
const OWNED: [(&str, Option<Api>); 23] = [
    ("assistants", Some(Api::OpenAi)),
    ("audio", Some(Api::OpenAi)),
    ("batches", Some(Api::OpenAi)),
    ("chat", Some(Api::OpenAi)),
    ("complete", Some(Api::Anthropic)),
    ("completions", Some(Api::OpenAi)),
    ("containers", Some(Api::OpenAi)),
    ("conversations", Some(Api::OpenAi)),
    ("embeddings", Some(Api::OpenAi)),
    ("evals", Some(Api::OpenAi)),
    ("files", None),
    ("fine_tuning", Some(Api::OpenAi)),
    ("images", Some(Api::OpenAi)),
    ("messages", Some(Api::Anthropic)),
    ("models", None),
    ("moderations", Some(Api::OpenAi)),
    ("realtime", Some(Api::OpenAi)),
    ("responses", Some(Api::OpenAi)),
    ("skills", None),
    ("threads", Some(Api::OpenAi)),
    ("uploads", Some(Api::OpenAi)),
    ("vector_stores", Some(Api::OpenAi)),
    ("videos", Some(Api::OpenAi)),
];

impl OwnedPath {
    /// The owner of a path. A path of both APIs is Anthropic's if a header is that only Anthropic's clients send.
    ///
    /// * `path` - without a query.
    ///
    /// # Errors
    /// [`UnservedPath`] if it belongs to no served API.
    pub(super) fn of(method: &Method, path: &str, headers: &HeaderMap) -> Result<Self, UnservedPath> {
        let within = of_api(path);
        let first = within.strip_prefix('/').and_then(|rest| rest.split('/').next()).unwrap_or_default();
        let Some((_, owner)) = OWNED.iter().find(|(segment, _)| *segment == first && !first.contains(':'))
        else {
            return Err(UnservedPath::of(method, path));
        };
        let is_call = CALLS.iter().any(|(end, whose)| whose.is_some() && within.ends_with(end));
        if is_call && *method == Method::POST {
            return Err(UnservedPath::of(method, path));
        }
        let is_anthropic = headers.contains_key("anthropic-version") || headers.contains_key(API_KEY);
        let usual = if is_anthropic { Api::Anthropic } else { Api::OpenAi };
        let kind = match within {
            "/embeddings" => PassedKind::Embeddings,
            "/completions" | "/complete" if *method == Method::POST => PassedKind::Model,
            _ => PassedKind::Beside,
        };
        Ok(Self { kind, api: owner.unwrap_or(usual) })
    }
}

impl UnservedPath {
    fn of(method: &Method, path: &str) -> Self {
        let path = path.trim_end_matches('/');
        match CALLS.iter().find(|(end, _)| *method == Method::POST && path.ends_with(end)) {
            Some((_, Some(whose))) => Self::Foreign(whose),
            Some((_, None)) => Self::Misplaced,
            None => Self::Unknown,
        }
    }

    /// Name in figures.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Misplaced => "misplaced",
            Self::Foreign(_) => "foreign",
            Self::Unknown => "unknown",
        }
    }

    /// What its sender can do.
    pub(super) fn advice(self) -> String {
        let list = "list the path in `pass` of the upstream that owns it (`[[serve.upstreams]]`, such as \
                    pass = [\"/v1beta/*\"]): such requests go on as they come and are not stored";
        match self {
            Self::Misplaced => format!(
                "to have the call stored, give the client a base URL that ends before /v1 or with it; otherwise {list}"
            ),
            Self::Foreign(whose) => format!("{whose}'s API is not served; {list}"),
            Self::Unknown => list.to_owned(),
        }
    }
}

impl PassedKind {
    /// Name in figures.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Beside => "beside",
            Self::Embeddings => "embeddings",
            Self::Listed => "listed",
        }
    }

    /// Logs the passing on, once per kind and upstream: the caller calls it only the first time.
    pub(super) fn say(self, upstream: &str) {
        match self {
            Self::Model => tracing::warn!(
                upstream,
                "calls of a model go on as they come: they have no messages, so they are not stored and nothing makes \
                 them fit; docs/serve.md says which calls are served"
            ),
            Self::Embeddings => tracing::info!(upstream, "embeddings go on as they come, and are not stored"),
            Self::Listed => {
                tracing::info!(upstream, "requests that `pass` lists go on as they come, and are not stored");
            }
            Self::Beside => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn of(method: &str, path: &str, headers: &HeaderMap) -> Result<OwnedPath, UnservedPath> {
        OwnedPath::of(&Method::from_bytes(method.as_bytes()).unwrap_or_default(), path, headers)
    }

    #[test]
    fn owners_table() {
        use PassedKind::{Beside, Embeddings, Model};
        use {Api::Anthropic, Api::OpenAi};
        let table = [
            ("GET", "/v1/messages/batches/b/results", Beside, Anthropic, "batches"),
            ("POST", "/v1/messages/count_tokens", Beside, Anthropic, "a count"),
            ("POST", "/messages/count_tokens/", Beside, Anthropic, "without a version, with a slash"),
            ("POST", "/v1/complete", Model, Anthropic, "the API before"),
            ("POST", "/v1/completions", Model, OpenAi, "the API before"),
            ("GET", "/v1/chat/completions", Beside, OpenAi, "a list of kept ones"),
            ("GET", "/v1/chat/completions/c/messages", Beside, OpenAi, "of a stored completion"),
            ("GET", "/v1/threads/t/messages", Beside, OpenAi, "of a thread"),
            ("POST", "/v1/threads/t/messages", Beside, OpenAi, "to a thread"),
            ("POST", "/v1/responses/compact", Beside, OpenAi, "of responses"),
            ("POST", "/v1/embeddings", Embeddings, OpenAi, "vectors"),
            ("POST", "/v1/audio/transcriptions", Beside, OpenAi, "sound"),
            ("GET", "/v1/models", Beside, OpenAi, "of both"),
            ("GET", "/v1/files", Beside, OpenAi, "of both"),
        ];
        for (method, path, kind, api, why) in table {
            let want = Ok(OwnedPath { kind, api });
            assert_eq!(of(method, path, &HeaderMap::new()), want, "{why}: {path}");
        }
        for header in ["anthropic-version", "x-api-key"] {
            let mut headers = HeaderMap::new();
            headers.insert(header, HeaderValue::from_static("a"));
            for path in ["/v1/models", "/v1/files", "/v1/skills"] {
                assert_eq!(
                    of("GET", path, &headers).map(|owned| owned.api),
                    Ok(Anthropic),
                    "{path} {header}"
                );
            }
            let threads = of("GET", "/v1/threads/t/messages", &headers);
            assert_eq!(
                threads.map(|owned| owned.api),
                Ok(OpenAi),
                "{header}: a path of one API stays its own"
            );
        }
    }

    #[test]
    fn unserved_table() {
        use UnservedPath::{Foreign, Misplaced, Unknown};
        let table = [
            ("POST", "/v1beta/models/gemini-3-pro:generateContent", Foreign("Gemini"), "Gemini CLI"),
            ("POST", "/v1/models/gemini-3-pro:generateContent", Foreign("Gemini"), "under our version"),
            ("POST", "/models/gemini-3-pro:streamGenerateContent", Foreign("Gemini"), "streamed"),
            ("POST", "/v1beta/models/e:embedContent", Foreign("Gemini"), "vectors"),
            ("POST", "/model/us.anthropic.claude/invoke", Foreign("Bedrock"), "Bedrock"),
            ("POST", "/model/us.anthropic.claude/converse-stream", Foreign("Bedrock"), "its own form"),
            ("POST", "/api/chat", Foreign("Ollama"), "Ollama"),
            ("POST", "/openai/deployments/gpt/chat/completions", Misplaced, "Azure"),
            ("POST", "/anthropic/v1/messages", Misplaced, "a base URL of a router"),
            ("POST", "//v1/messages", Misplaced, "a base URL with a slash"),
            ("POST", "/v1/v1/messages", Misplaced, "twice"),
            ("POST", "/v1/messages_of_others", Unknown, "begins alike"),
            ("POST", "/v1messages", Unknown, "no version"),
            ("GET", "/api/tags", Unknown, "Ollama's models"),
            ("GET", "/v1", Unknown, "nothing"),
            ("GET", "/", Unknown, "nothing"),
            ("POST", "/v1/telemetry", Unknown, "nobody knows"),
        ];
        for (method, path, want, why) in table {
            assert_eq!(of(method, path, &HeaderMap::new()), Err(want), "{why}: {path}");
            assert!(want.advice().contains("`pass`"), "{why}");
        }
    }
}
