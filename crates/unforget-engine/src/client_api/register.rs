//! The register: finds the lane of a client's call.
//!
//! The register is a journal beside those of the lanes. It has a line for each lane, and under it the names of the arrays
//! that calls of the lane began with. It grows by one name per call. Without it, calls are recognised by their session only.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use unforget_core::caller::Candidate;
use unforget_core::id::Seq;
use unforget_store::{Name, NewConversation};
use unforget_wire::Format;
use unforget_wire::journal::{self, After};

use super::array::{Array, Foreseen};
use crate::internal::REGISTERS;
use crate::journal::{HostError, Journal, JournalLine, LaneKey, conversation_key, named};

/// Number of beginnings that are looked up at once, the longest first.
pub(crate) const BEGINNINGS_AT_ONCE: usize = 64;

/// Maximum number of cached names of a register. A call asks for a few, and most are never asked for again.
pub(crate) const REGISTER_NAMES_MAX: usize = 16 * 1024;

/// Maximum number of lanes that are compared with an array.
const CANDIDATES: usize = 8;

/// The sender of a call, as far as the call tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asking<'a> {
    /// The tenant: lanes of other tenants are not looked at.
    pub tenant: &'a str,
    /// Name of the session, if the client sends one.
    pub session: Option<&'a str>,
    /// Whether a person set that name for exactly one lane: then only the name counts.
    pub is_named: bool,
    /// Name of the end user, if the client sends one.
    pub user: Option<&'a str>,
    /// Digest of the instructions and tools of the call, in hex.
    pub kind: &'a str,
    /// Whether the call has no tools: agents ask for titles like that.
    pub is_bare: bool,
    /// Form of the messages.
    pub form: Format,
}

/// The recognised lane of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recognised {
    /// Key of the lane.
    pub lane: LaneKey,
    /// Its line in the register.
    line: Seq,
    /// Whether the name was made from the first words of the conversation.
    is_worded: bool,
}

impl Recognised {
    /// Its line in the register.
    pub const fn line(&self) -> Seq {
        self.line
    }

    /// The name by which clients may refer to the lane.
    pub fn name(&self) -> &str {
        self.lane.0.splitn(3, '/').nth(2).unwrap_or(&self.lane.0)
    }

    /// A name without words of the conversation: the name itself, or the number of the line.
    pub fn wordless_name(&self) -> Cow<'_, str> {
        if self.is_worded { Cow::Owned(format!("call-{}", self.line.0)) } else { Cow::Borrowed(self.name()) }
    }
}

/// A line of the register.
#[derive(Serialize, Deserialize)]
pub(crate) struct RegisteredLane {
    pub(crate) lane: String,
    form: String,
    pub(crate) kind: String,
    /// The lane whose beginning it shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) like: Option<String>,
    /// Whether the name was made from the first words of the conversation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    worded: bool,
}

/// A lane that a call may belong to.
pub(crate) struct RegisteredCandidate {
    /// Its line in the register.
    pub(crate) line: Seq,
    /// The content of the line.
    pub(crate) lane: RegisteredLane,
    /// Whether it was found by a beginning of the call's array, not by its session alone.
    begins_alike: bool,
}

impl RegisteredCandidate {
    /// Key of the lane.
    pub(crate) fn key(&self) -> LaneKey {
        LaneKey(self.lane.lane.clone())
    }

    /// The lane as the rule for callers sees it.
    pub(crate) fn compared(&self, foreseen: Foreseen, asking: &Asking<'_>) -> Candidate {
        Candidate {
            why: foreseen.why,
            kept: foreseen.kept,
            left: foreseen.left,
            is_same_kind: self.lane.kind == asking.kind,
            begins_alike: self.begins_alike,
        }
    }

    /// The lane, recognised.
    pub(crate) fn recognised(&self) -> Recognised {
        recognised(self.line, &self.lane)
    }
}

/// Form in the header of a register, which holds no message.
pub(crate) const REGISTER_FORM: Format = Format::OpenAiChat;

/// Key of a tenant's register.
pub(crate) fn register(tenant: &str) -> LaneKey {
    LaneKey(format!("{REGISTERS}{}", segment(tenant)))
}

/// Key of a tenant's lane. Keys of different tenants, and keys of registers, never coincide.
fn in_tenant(tenant: &str, name: &str) -> String {
    format!("gateway/{}/{name}", segment(tenant))
}

/// A tenant's name as one segment of a key.
fn segment(tenant: &str) -> String {
    tenant.replace('%', "%25").replace('/', "%2f")
}

/// Name of the line of the lane that a client calls `name`.
fn lane_name(name: &str) -> Name {
    named("lane", &[name])
}

/// A registered lane, recognised.
pub(crate) fn recognised(line: Seq, found: &RegisteredLane) -> Recognised {
    Recognised { lane: LaneKey(found.lane.clone()), line, is_worded: found.worded }
}

/// Seed of the names of beginnings: those of one session say nothing about another.
pub(crate) fn seed(asking: &Asking<'_>) -> Name {
    named("calls", &[asking.form.name(), asking.session.unwrap_or_default(), asking.user.unwrap_or_default()])
}

/// Name of all lanes of a session.
fn session(asking: &Asking<'_>) -> Option<Name> {
    asking.session.map(|session| named("session", &[asking.form.name(), session]))
}

/// The names that [`candidates`] looks up first.
pub(crate) fn asked_first(asking: &Asking<'_>, array: &Array) -> Vec<Name> {
    let beginnings = array.said().beginnings(seed(asking));
    let newest = beginnings.rchunks(BEGINNINGS_AT_ONCE).next().unwrap_or_default();
    let named = asking.session.filter(|_| asking.is_named).map(lane_name);
    newest.iter().copied().chain(session(asking)).chain(named).collect()
}

/// The lanes that a call may belong to: those with an equal beginning, then the newest of its session.
pub(crate) fn candidates(
    register: &Journal,
    asking: &Asking<'_>,
    array: &Array,
) -> Result<Vec<RegisteredCandidate>, HostError> {
    let mut lines = Vec::new();
    for names in array.said().beginnings(seed(asking)).rchunks(BEGINNINGS_AT_ONCE) {
        register.known(names.iter().copied())?;
        for name in names.iter().rev() {
            lines.extend(register.newest(*name, CANDIDATES)?);
        }
        if !lines.is_empty() {
            break;
        }
    }
    let alike = if asking.is_named { 0 } else { lines.len() };
    let of_session = session(asking);
    if let Some(session) = asking.session.filter(|_| asking.is_named) {
        // First by the name that a person gave, then by our own.
        lines = register.under(of_session.as_slice())?;
        lines.extend(register.under(&[lane_name(session)])?);
    } else if let Some(name) = of_session {
        lines.extend(register.newest(name, CANDIDATES + alike)?);
    }
    let mut candidates: Vec<RegisteredCandidate> = Vec::new();
    for (index, line) in lines.into_iter().enumerate() {
        if candidates.len() == CANDIDATES {
            break;
        }
        if candidates.iter().all(|known| known.line != line)
            && let Some(found) = read(register, line)?
        {
            candidates.push(RegisteredCandidate { line, lane: found, begins_alike: index < alike });
        }
    }
    candidates.retain(|one| one.lane.form == asking.form.name());
    Ok(candidates)
}

/// The lane that a call probably belongs to, by what the register has in memory: the newest one with the longest known
/// beginning, else of its session. Only a guess: the register may be overtaken.
pub(crate) fn likely(register: &Journal, asking: &Asking<'_>, array: &Array) -> Option<LaneKey> {
    let beginnings = array.said().beginnings(seed(asking)).into_iter().rev().take(BEGINNINGS_AT_ONCE);
    let named = asking.session.filter(|_| asking.is_named).map(lane_name);
    let mut lines = beginnings.chain(session(asking)).chain(named);
    let found = lines.find_map(|name| register.newest_cached(name))?;
    let detail = register.cached_detail(found)?;
    let lane: RegisteredLane = serde_json::from_str(&detail).ok()?;
    Some(LaneKey(lane.lane))
}

/// The lane of a line.
pub(crate) fn read(register: &Journal, line: Seq) -> Result<Option<RegisteredLane>, HostError> {
    let detail = register.detail(line)?;
    Ok(detail.and_then(|detail| serde_json::from_str(&detail).ok()))
}

/// A free name for a lane: `s`, `s/2`, `s/3`.
///
/// * `others` - number of lanes of the session: side requests, sub-agents. It may be large.
/// * `line` - line of the new lane. There are no more lanes than lines.
///
/// Cost: one to three questions, unless clients gave such names to lanes themselves.
fn free_name<E>(
    name: &str,
    others: usize,
    line: Seq,
    is_taken: impl Fn(&str) -> Result<bool, E>,
) -> Result<String, E> {
    if !is_taken(name)? {
        return Ok(name.to_owned());
    }
    let mut number = line.0.max(1);
    let mut free = if others == 0 { format!("{name}/{number}") } else { format!("{name}/{}", others + 1) };
    while is_taken(&free)? {
        number += 1;
        free = format!("{name}/{number}");
    }
    Ok(free)
}

/// Writes the line of a new lane. The line is durable with the first message of that lane.
pub(crate) fn begin(
    register: &mut Journal,
    asking: &Asking<'_>,
    array: &Array,
    like: Option<String>,
    at: i64,
) -> Result<Recognised, HostError> {
    let line = register.next();
    let title = array.opening().and_then(unforget_text::title);
    // The number of the line makes the name unique.
    let words = title.as_deref().and_then(unforget_text::short_name);
    let own = || format!("{}-{}", words.as_deref().unwrap_or("call"), line.0);
    let name = match asking.session {
        // The session's own name is reserved for its main conversation, even if a side request comes first.
        Some(session) if asking.is_bare && !asking.is_named => format!("{session}/side"),
        Some(session) => session.to_owned(),
        None => own(),
    };
    let others = session(asking).map(|name| Ok::<_, HostError>(register.known([name])?.of(&name).len()));
    let is_taken = |name: &str| Ok::<_, HostError>(!register.under(&[lane_name(name)])?.is_empty());
    let name = free_name(&name, others.transpose()?.unwrap_or_default(), line, is_taken)?;
    let registered = RegisteredLane {
        lane: in_tenant(asking.tenant, &name),
        form: asking.form.name().to_owned(),
        kind: asking.kind.to_owned(),
        like,
        worded: asking.session.is_none() && words.is_some(),
    };
    // Strings always serialise.
    let detail = serde_json::to_string(&registered).unwrap_or_default();
    let text = journal::event("lane", Some(&detail), &After::Newest, at);
    let names = session(asking).into_iter().chain(array.said().beginnings(seed(asking)).pop());
    let names = names.chain([lane_name(&name)]).collect();
    register.write_ahead(JournalLine { text, parent: None, names, is_open: false })?;
    register.engine().store().ensure(&NewConversation {
        key: conversation_key(&LaneKey(registered.lane.clone())),
        format: Format::Journal.name().to_owned(),
        title,
        parent: None,
    })?;
    Ok(recognised(line, &registered))
}

#[cfg(test)]
mod tests;
