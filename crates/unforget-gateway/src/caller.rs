//! The caller of a call, as far as it can be identified.

use unforget_core::digest::Digest;
use unforget_engine::host::{Asking, Recognised};
use unforget_wire::Format;
use unforget_wire::exchange::{Call, Shape};

use super::fault::CallProblem;
use super::received::{ReceivedCall, form};

/// The lane and the caller of a call.
#[derive(Clone, Debug)]
pub(super) struct CallIdentity {
    pub(super) lane: Recognised,
    pub(super) caller: Caller,
}

/// The identifying facts of a caller.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    pub(super) form: Format,
    pub(super) tenant: String,
    session: Option<String>,
    pub(super) is_named: bool,
    /// Whether the provider keeps the conversation under this name.
    pub(super) is_kept: bool,
    user: String,
    kind: String,
    is_bare: bool,
}

impl Caller {
    pub(super) fn of(received: &ReceivedCall, call: &Call<'_>) -> Self {
        let hints = &call.hints;
        let session = received.named.as_ref().or(received.session.as_ref());
        let session = session.or(hints.session_id.as_ref()).or(hints.conversation.as_ref()).cloned();
        let loose = [&hints.user_id, &hints.prompt_cache_key, &hints.safety_identifier, &hints.user];
        let loose = loose.into_iter().flatten().next().map(String::as_str).unwrap_or_default();
        let is_provider_named = received.session.is_none() && hints.conversation.is_some();
        Self {
            form: form(received.dialect),
            tenant: received.tenant.clone(),
            is_named: received.named.is_some() || is_provider_named,
            is_kept: hints.conversation.is_some(),
            user: if session.is_some() { String::new() } else { format!("{}\n{loose}", received.caller) },
            session,
            kind: kind(call),
            is_bare: !call.has_tools,
        }
    }

    /// The order of a received call: calls with an equal order are handled one after another. See [`Caller::order`].
    ///
    /// Cost: one pass over the body if no header names a session.
    pub(super) fn order_of(received: &ReceivedCall) -> Result<Digest, CallProblem> {
        if let Some(session) = received.named.as_ref().or(received.session.as_ref()) {
            return Ok(order(&received.tenant, "", session));
        }
        let call = Call::read(received.dialect, &received.body)?;
        let first = call.history().next();
        Ok(Self::of(received, &call).order(first.as_deref().unwrap_or_default()))
    }

    /// Calls with an equal order may belong to one lane.
    ///
    /// * `first` - the first message.
    pub(super) fn order(&self, first: &str) -> Digest {
        let by = self.session.as_deref().unwrap_or(first);
        order(&self.tenant, &self.user, by)
    }

    pub(super) fn asking(&self) -> Asking<'_> {
        Asking {
            tenant: &self.tenant,
            session: self.session.as_deref(),
            is_named: self.is_named,
            user: Some(&self.user),
            kind: &self.kind,
            is_bare: self.is_bare,
            form: self.form,
        }
    }
}

/// The kind of a call, from its instructions and tools.
fn kind(call: &Call<'_>) -> String {
    let digest = match (&call.tools, call.shape) {
        (Some(tools), _) => *tools,
        (None, Shape::Absent) => Digest::of(b""),
        (None, _) => {
            let bytes: Vec<u8> = call.system.iter().flat_map(|digest| digest.0).collect();
            Digest::of(&bytes)
        }
    };
    digest.hex().chars().take(16).collect()
}

/// The common property of calls of one lane.
fn order(tenant: &str, user: &str, by: &str) -> Digest {
    Digest::of(format!("{tenant}\n{user}\n{by}").as_bytes())
}
