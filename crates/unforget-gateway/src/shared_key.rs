//! Restricts what a tenant may request from a provider with a key of the owner's.
//!
//! The provider treats all users of one key alike: each of them could read anything that it keeps under an id.

use axum::http::Method;
use unforget_engine::host::Host;
use unforget_wire::exchange::{Call, Fault};

use super::api::{Api, of_api};
use super::fault::CallProblem;
use super::received::{ReceivedCall, form};
use super::tenant::OWNER;
use super::upstream::{Providers, Upstream};

/// Paths of requests that refer to nothing kept by a provider, beside models.
const FOR_ALL: [&str; 3] = ["/messages/count_tokens", "/embeddings", "/moderations"];

/// Whether a request, other than a call, may be sent with a key shared by several tenants.
fn is_for_all(method: &Method, path: &str) -> bool {
    let path = of_api(path);
    let is_models = path == "/models" || path.starts_with("/models/");
    match *method {
        Method::GET | Method::HEAD => is_models,
        Method::POST => FOR_ALL.contains(&path),
        _ => false,
    }
}

/// Whether a tenant's requests go there with a key of the owner's.
fn is_shared(upstream: &Upstream, tenant: &str) -> bool {
    upstream.key.is_some() && tenant != OWNER
}

/// Whether a tenant may send a request, other than a call.
///
/// * `kept` - an id of what the provider keeps, if the body names one.
pub(super) fn may_pass(
    upstream: &Upstream,
    tenant: &str,
    method: &Method,
    path: &str,
    kept: Option<&str>,
) -> Result<(), Fault> {
    if !is_shared(upstream, tenant) {
        return Ok(());
    }
    if !is_for_all(method, path) {
        return Err(refused(&format!("{method} {path}")));
    }
    kept.map_or(Ok(()), |id| Err(refused(&format!("{id:?}, which the provider keeps"))))
}

fn refused(what: &str) -> Fault {
    let what = format!(
        "{what}: this daemon sends a key of its owner's, with which others could be read; ask for an upstream without a key, \
         and send a key of your own"
    );
    Fault::Forbidden { what }
}

/// Whether a call refers to nothing kept by the provider, except answers that its tenant got through us. As at the
/// provider itself, other users' ids do not exist.
pub(super) fn may_name(
    host: &Host,
    providers: &Providers,
    received: &ReceivedCall,
    call: &Call<'_>,
) -> Result<(), CallProblem> {
    let upstream = providers.upstream(Api::of(received.dialect), call.model.as_deref());
    if !upstream.is_ok_and(|upstream| is_shared(upstream, &received.tenant)) {
        return Ok(());
    }
    let hints = &call.hints;
    // No tenant can have created one, since the checks above forbid it.
    if let Some(id) = &hints.conversation {
        return Err(Fault::NotFound { what: format!("conversation {id:?}") }.into());
    }
    if let Some(id) = &hints.previous_response_id
        && host.answered_in(&received.tenant, form(received.dialect), id)?.is_none()
    {
        return Err(Fault::NotFound { what: format!("previous response {id:?}") }.into());
    }
    if let Some(id) = call.kept() {
        return Err(refused(&format!("{id:?}, which the provider keeps")).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn for_all_table() {
        let table = [
            ("GET", "/v1/models", true),
            ("HEAD", "/v1/models", true),
            ("GET", "/v1/models/vendor/one", true),
            ("DELETE", "/v1/models/ft:one", false),
            ("GET", "/v1/models_of_others", false),
            ("GET", "/v1/organization/models", false),
            ("POST", "/v1/messages/count_tokens", true),
            ("POST", "/v1/embeddings", true),
            ("POST", "/v1/moderations/", true),
            ("POST", "/v1/responses/input_tokens", false),
            ("POST", "/v1/messages/batches", false),
            ("GET", "/v1/responses/resp_1", false),
            ("DELETE", "/v1/responses/resp_1", false),
            ("GET", "/v1/responses/resp_1/input_items", false),
            ("POST", "/v1/responses/resp_1/cancel", false),
            ("GET", "/v1/chat/completions", false),
            ("GET", "/v1/conversations/c/items", false),
            ("POST", "/v1/conversations", false),
            ("GET", "/v1/files/f/content", false),
            ("POST", "/v1/files", false),
            ("GET", "/v1/embeddings", false),
            ("GET", "/", false),
        ];
        for (method, path, may) in table {
            let method = Method::from_bytes(method.as_bytes()).unwrap_or_default();
            assert_eq!(is_for_all(&method, path), may, "{method} {path}");
        }
    }
}
