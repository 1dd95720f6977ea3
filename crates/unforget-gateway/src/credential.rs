//! Tells whose credentials are in a client's headers, so that those of one provider never reach another.

use axum::http::header::{AUTHORIZATION, HeaderName, HeaderValue};

use super::api::Api;
use super::headers::API_KEY;

/// Azure's header for keys of `OpenAI`'s API.
const AZURE_KEY: &str = "api-key";

/// Beginnings of header names of clouds that sign requests.
const CLOUDS: [&str; 2] = ["x-amz-", "x-goog-"];

/// Parts of the names of headers with credentials.
const SECRET: [&str; 7] = ["api-key", "apikey", "auth", "credential", "secret", "signature", "token"];

/// Beginnings of header names that belong to one API.
const OWN: [(&str, Api); 5] = [
    ("anthropic-", Api::Anthropic),
    ("x-anthropic-", Api::Anthropic),
    ("openai-", Api::OpenAi),
    ("x-openai-", Api::OpenAi),
    ("x-oai-", Api::OpenAi),
];

/// Beginning of Anthropic's keys.
const OF_ANTHROPIC: &[u8] = b"sk-ant-";

/// Whether a header has a credential that an upstream of this API has no use for.
pub(super) fn is_foreign(api: Api, name: &HeaderName, value: &HeaderValue) -> bool {
    let text = name.as_str();
    if *name == AUTHORIZATION {
        return !is_own_authorization(api, value.as_bytes());
    }
    if *name == API_KEY {
        return api == Api::OpenAi;
    }
    if text == AZURE_KEY {
        return api == Api::Anthropic;
    }
    if let Some((_, owner)) = OWN.iter().find(|(start, _)| text.starts_with(start)) {
        return is_secret(text) && api != Api::Any && api != *owner;
    }
    CLOUDS.iter().any(|start| text.starts_with(start)) || is_secret(text)
}

fn is_secret(name: &str) -> bool {
    SECRET.iter().any(|part| name.contains(part))
}

/// Whether a value of `authorization` may be for this API. Requests that a cloud's client signed are for that cloud.
fn is_own_authorization(api: Api, value: &[u8]) -> bool {
    let (scheme, key) = value.split_at(value.iter().position(|byte| *byte == b' ').unwrap_or(0));
    let is_plain = scheme.eq_ignore_ascii_case(b"bearer") || scheme.eq_ignore_ascii_case(b"basic");
    is_plain && !(api == Api::OpenAi && key.trim_ascii_start().starts_with(OF_ANTHROPIC))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_table() {
        const NONE: [bool; 3] = [false; 3];
        const ALL: [bool; 3] = [true; 3];
        let table = [
            // header, value, foreign to Anthropic, OpenAI, any
            ("authorization", "Bearer sk-1", NONE, "a key"),
            ("authorization", "bearer sk-1", NONE, "in lower case"),
            ("authorization", "Bearer sk-ant-oat01-1", [false, true, false], "a key that says whose it is"),
            ("authorization", "AWS4-HMAC-SHA256 Credential=AKIA/1", ALL, "a signed request"),
            ("x-api-key", "sk-1", [false, true, false], "Anthropic's header"),
            ("api-key", "1", [true, false, false], "Azure's header"),
            ("x-goog-api-key", "AIza1", ALL, "Gemini's"),
            ("x-goog-user-project", "p", ALL, "Google's"),
            ("x-amz-security-token", "1", ALL, "Amazon's"),
            ("x-amz-date", "1", ALL, "part of its signature"),
            ("helicone-auth", "Bearer 1", ALL, "another service's"),
            ("openai-organization", "org", NONE, "no secret"),
            ("x-openai-token", "1", [true, false, false], "OpenAI's"),
            ("anthropic-auth-token", "1", [false, true, false], "Anthropic's"),
            ("anthropic-version", "2023-06-01", NONE, "no secret"),
            ("user-agent", "a", NONE, "no secret"),
            ("idempotency-key", "1", NONE, "no secret"),
        ];
        for (name, value, want, why) in table {
            let (name, value) = (HeaderName::from_static(name), HeaderValue::from_static(value));
            let found = [Api::Anthropic, Api::OpenAi, Api::Any].map(|api| is_foreign(api, &name, &value));
            assert_eq!(found, want, "{name}: {why}");
        }
    }
}
