//! Which lane a client's call is of, and remembering it.
//!
//! The register is a journal of its own beside the lanes: a line for each of them, and under it the names of the arrays that
//! its calls began with. It grows by one name per call and can be dropped: then a call is known by its session only.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use unforget_core::caller::{self, Candidate, Choice, Hint};
use unforget_core::id::{ConversationKey, Seq};
use unforget_store::{Name, NamedEntry, NewConversation, WriteLatency};
use unforget_wire::Format;
use unforget_wire::journal::{self, After};

use super::Host;
use super::exact::{Array, Said};
use super::lane::{Lane, Line, conversation_key};
use super::names;
use super::types::{HostError, LaneKey};

/// Beginnings that are looked up at once, the longest first.
const AT_ONCE: usize = 64;

/// Names of which a register in memory remembers who has them. A call asks for a few, and most are never asked for again.
const SEEN: usize = 16 * 1024;

/// Lanes that are compared with an array at most.
const CANDIDATES: usize = 8;

/// Who is asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asking<'a> {
    /// Whose lanes they are: no other's are looked at.
    pub tenant: &'a str,
    /// Name of the session, if the client gives one.
    pub session: Option<&'a str>,
    /// Whether a person set that name for exactly one lane: then nothing else decides.
    pub is_named: bool,
    /// Name of the end user, if the client gives one.
    pub user: Option<&'a str>,
    /// Digest of the instructions and tools of the call, in hex.
    pub kind: &'a str,
    /// Whether the call brings no tools: in a session, agents ask for titles like that.
    pub is_bare: bool,
    /// Form of the messages.
    pub form: Format,
}

/// The lane of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recognised {
    /// Its key.
    pub lane: LaneKey,
    /// Its line in the register.
    line: Seq,
    /// Its name is made of words of the conversation.
    is_worded: bool,
}

impl Recognised {
    /// Its line in the register.
    pub const fn line(&self) -> Seq {
        self.line
    }

    /// The name by which clients may call it.
    pub fn name(&self) -> &str {
        self.lane.0.splitn(3, '/').nth(2).unwrap_or(&self.lane.0)
    }

    /// A name without words of the conversation: the same, or the number of its line.
    pub fn wordless_name(&self) -> Cow<'_, str> {
        if self.is_worded { Cow::Owned(format!("call-{}", self.line.0)) } else { Cow::Borrowed(self.name()) }
    }
}

/// A line of the register.
#[derive(Serialize, Deserialize)]
struct Registered {
    lane: String,
    form: String,
    kind: String,
    /// The lane that it began like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    like: Option<String>,
    /// Its name is made of words of the conversation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    worded: bool,
}

/// A lane that a call may be of.
struct Found {
    line: Seq,
    lane: Registered,
    /// Whether it was found by a beginning of the call's array, not by its session alone.
    begins_alike: bool,
}

impl Host {
    /// Finds the lane of a call, or begins one. Stores nothing but a line for a new lane.
    ///
    /// Cost: O(array), and as much for each of the lanes that began like it, eight at most.
    pub fn recognise(&self, asking: &Asking<'_>, array: &Array) -> Result<Recognised, HostError> {
        let candidates = self.with(&register(asking.tenant), FORM, |lane, _| {
            lane.forget(SEEN);
            candidates(lane, asking, array)
        })?;
        let mut seen = Vec::new();
        for Found { line, lane: found, begins_alike } in &candidates {
            if asking.is_named {
                return Ok(recognised(*line, found));
            }
            let foreseen = self.foresee(&LaneKey(found.lane.clone()), asking.form, array)?;
            seen.push(Candidate {
                why: foreseen.why,
                kept: foreseen.kept,
                left: foreseen.left,
                is_same_kind: found.kind == asking.kind,
                begins_alike: *begins_alike,
            });
        }
        let hint = if asking.session.is_some() { Hint::Session } else { Hint::Loose };
        let like = match caller::choose(hint, &seen) {
            Choice::Lane(index) => {
                if let Some(Found { line, lane: found, .. }) = candidates.get(index) {
                    let is_empty = seen.get(index).is_some_and(|seen| seen.kept == 0);
                    if let Some(like) = found.like.as_ref().filter(|_| is_empty) {
                        // The process ended before it began as the other one.
                        let lane = LaneKey(found.lane.clone());
                        self.begin_as(&lane, asking.form, &LaneKey(like.clone()), array)?;
                    }
                    return Ok(recognised(*line, found));
                }
                None
            }
            Choice::New { like } => like.and_then(|index| candidates.get(index)),
        };
        let like = like.map(|one| LaneKey(one.lane.lane.clone()));
        let begun = self.with(&register(asking.tenant), FORM, |lane, now| {
            begin(lane, asking, array, like.as_ref().map(|like| like.0.clone()), now.0)
        })?;
        if let Some(like) = &like {
            self.begin_as(&begun.lane, asking.form, like, array)?;
        }
        Ok(begun)
    }

    /// The lane that has an answer with a provider's id.
    pub fn answered_in(
        &self,
        tenant: &str,
        form: Format,
        answer: &str,
    ) -> Result<Option<Recognised>, HostError> {
        let found = self.with(&register(tenant), FORM, |lane, _| {
            let line = lane.under(&[names::answer_id(answer)])?.into_iter().max();
            let found = line.map(|line| Ok::<_, HostError>((line, read(lane, line)?))).transpose()?;
            Ok(found.and_then(|(line, found)| Some(recognised(line, &found?))))
        })?;
        let Some(found) = found else { return Ok(None) };
        let is_there = self.with(&found.lane, form, |lane, _| lane.has_answer(answer))?;
        Ok(is_there.then_some(found))
    }

    /// Remembers that a lane's path began with this array, and the id of the answer to it.
    pub fn remember(
        &self,
        asking: &Asking<'_>,
        lane: &Recognised,
        said: &Said,
        (answer, latency): (Option<&str>, WriteLatency),
    ) -> Result<(), HostError> {
        let beginning = said.beginnings(seed(asking)).pop();
        let names = beginning.into_iter().chain(answer.map(names::answer_id));
        self.name_line(asking.tenant, lane.line, (names, latency))
    }

    /// Remembers the provider's id of an answer that was given in the lane with this line of the register.
    pub fn remember_answer(&self, tenant: &str, line: Seq, answer: &str) -> Result<(), HostError> {
        self.name_line(tenant, line, (std::iter::once(names::answer_id(answer)), WriteLatency::Now))
    }

    /// Gives names to a line of the register. While the store writes, other calls have the register.
    fn name_line(
        &self,
        tenant: &str,
        line: Seq,
        (names, latency): (impl Iterator<Item = Name>, WriteLatency),
    ) -> Result<(), HostError> {
        let names: Vec<_> = names.map(|name| NamedEntry::new(name, line)).collect();
        let register = register(tenant);
        let conversation = self.with(&register, FORM, |lane, _| Ok(lane.conversation))?;
        self.engine.store().put_names(conversation, &names, latency)?;
        self.with(&register, FORM, |lane, _| {
            lane.learn(&names);
            Ok(())
        })
    }
}

/// Form that the register's journal says it has; it holds no message.
const FORM: Format = Format::OpenAiChat;

/// The journal of a tenant's lanes.
fn register(tenant: &str) -> LaneKey {
    LaneKey(format!("register/{}", segment(tenant)))
}

/// Whether a conversation is a journal of ours that holds no messages: a register, or what probes write. People are not
/// shown these.
pub fn is_internal(key: &ConversationKey) -> bool {
    let internal = [LaneKey("register/".to_owned()), LaneKey(PROBE.to_owned())];
    internal.iter().any(|own| key.0.starts_with(&conversation_key(own).0))
}

/// The lane that probes write to.
pub(super) const PROBE: &str = "unforget/probe";

/// Keys of other tenants begin otherwise, and no name of a lane is the register's.
fn in_tenant(tenant: &str, name: &str) -> String {
    format!("gateway/{}/{name}", segment(tenant))
}

/// A tenant's name as one segment of a key.
fn segment(tenant: &str) -> String {
    tenant.replace('%', "%25").replace('/', "%2f")
}

/// Name of the line of the lane with this name, which no other lane has.
fn lane_name(name: &str) -> Name {
    names::named("lane", &[name])
}

fn recognised(line: Seq, found: &Registered) -> Recognised {
    Recognised { lane: LaneKey(found.lane.clone()), line, is_worded: found.worded }
}

/// Where names of beginnings start from: those of one session say nothing about another.
fn seed(asking: &Asking<'_>) -> Name {
    names::named(
        "calls",
        &[asking.form.name(), asking.session.unwrap_or_default(), asking.user.unwrap_or_default()],
    )
}

/// Name of all lanes of a session.
fn session(asking: &Asking<'_>) -> Option<Name> {
    asking.session.map(|session| names::named("session", &[asking.form.name(), session]))
}

/// The lanes that a call may be of: those that began like it, then the newest of its session.
fn candidates(register: &Lane, asking: &Asking<'_>, array: &Array) -> Result<Vec<Found>, HostError> {
    let mut lines = Vec::new();
    for names in array.said().beginnings(seed(asking)).rchunks(AT_ONCE) {
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
        // By the name that a person gave, else by the one that we did.
        lines = register.under(of_session.as_slice())?;
        lines.extend(register.under(&[lane_name(session)])?);
    } else if let Some(name) = of_session {
        lines.extend(register.newest(name, CANDIDATES + alike)?);
    }
    let mut candidates: Vec<Found> = Vec::new();
    for (index, line) in lines.into_iter().enumerate() {
        if candidates.len() == CANDIDATES {
            break;
        }
        if candidates.iter().all(|known| known.line != line)
            && let Some(found) = read(register, line)?
        {
            candidates.push(Found { line, lane: found, begins_alike: index < alike });
        }
    }
    candidates.retain(|one| one.lane.form == asking.form.name());
    Ok(candidates)
}

fn read(register: &Lane, line: Seq) -> Result<Option<Registered>, HostError> {
    let detail = register.detail(line)?;
    Ok(detail.and_then(|detail| serde_json::from_str(&detail).ok()))
}

/// A name that no lane has: `s`, `s/2`, `s/3`.
///
/// * `others` - lanes of its session: side requests, sub-agents. In weeks, or where clients share a name, very many.
/// * `line` - of the register; there are no more lanes than lines.
///
/// Cost: asks once to three times, unless clients gave such names to lanes themselves.
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

/// Writes the line of a new lane. It is durable with the first message of that lane.
fn begin(
    register: &mut Lane,
    asking: &Asking<'_>,
    array: &Array,
    like: Option<String>,
    at: i64,
) -> Result<Recognised, HostError> {
    let line = register.next();
    let title = array.opening().and_then(unforget_text::title);
    // With the number of the line: no client gives such a name to another conversation by chance.
    let words = title.as_deref().and_then(unforget_text::short_name);
    let own = || format!("{}-{}", words.as_deref().unwrap_or("call"), line.0);
    let name = match asking.session {
        // The session's name is for the talk, whatever is asked beside it first.
        Some(session) if asking.is_bare && !asking.is_named => format!("{session}/side"),
        Some(session) => session.to_owned(),
        None => own(),
    };
    let others = session(asking).map(|name| Ok::<_, HostError>(register.known([name])?.of(&name).len()));
    let is_taken = |name: &str| Ok::<_, HostError>(!register.under(&[lane_name(name)])?.is_empty());
    let name = free_name(&name, others.transpose()?.unwrap_or_default(), line, is_taken)?;
    let registered = Registered {
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
    register.write_ahead(Line { text, parent: None, names, is_open: false })?;
    register.engine.store().ensure(&NewConversation {
        key: conversation_key(&LaneKey(registered.lane.clone())),
        format: Format::Journal.name().to_owned(),
        title,
        parent: None,
    })?;
    Ok(recognised(line, &registered))
}

#[cfg(test)]
mod tests;
