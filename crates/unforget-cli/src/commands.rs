//! One module per command: opens its inputs, asks the engine, shows the results.

pub(crate) mod answer;
pub(crate) mod backup;
mod behind;
mod changes;
pub(crate) mod compact;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod describe;
pub(crate) mod doctor;
pub(crate) mod embed;
pub(crate) mod engine;
pub(crate) mod expand;
pub(crate) mod export;
pub(crate) mod give_back;
pub(crate) mod grep;
pub(crate) mod handoff;
pub(crate) mod hook;
pub(crate) mod import;
pub(crate) mod inspect;
pub(crate) mod jobs;
pub(crate) mod keep;
pub(crate) mod label;
pub(crate) mod ledger;
pub(crate) mod left;
pub(crate) mod list;
mod log_line;
pub(crate) mod logs;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod memory;
pub(crate) mod migrate;
mod named;
mod only;
pub(crate) mod open;
pub(crate) mod pack;
mod passphrase;
pub(crate) mod pick;
pub(crate) mod pins;
pub(crate) mod prompt;
pub(crate) mod purge;
pub(crate) mod reindex;
pub(crate) mod reject;
pub(crate) mod repair;
pub(crate) mod replay;
pub(crate) mod restore;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod setup;
pub(crate) mod show;
pub(crate) mod stats;
mod stats_of;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod sync;
pub(crate) mod travel;
pub(crate) mod tui;
pub(crate) mod uncompact;
pub(crate) mod usage;
pub(crate) mod verify;
pub(crate) mod watch;
pub(crate) mod web;

use std::ops::Range;

use unforget_core::entry;
use unforget_core::id::{ConversationId, Timestamp};
use unforget_engine::Engine;

use crate::args::Role;
use crate::failure::{Failure, Outcome};
use crate::when;

pub(crate) use crate::output::types;

pub(crate) use named::resolve;

/// The conversation to which a command is confined, if any.
pub(crate) fn confined(engine: &Engine, name: Option<&str>) -> Outcome<Option<ConversationId>> {
    name.map(|name| Ok(resolve(engine, name)?.conversation.id)).transpose()
}

/// An id of entries or of a summary; for a conversation's name, the id of all its entries.
pub(crate) fn entries_of(engine: &Engine, name: &str) -> Outcome<String> {
    if is_of_entries(name) {
        return Ok(name.to_owned());
    }
    let unknown = |failure: Failure| Failure {
        hint: format!(
            "{}; entries are called s:12 (with a conversation), e:KEY:12 or sum:8000.0.3f09a1b2c4d5",
            failure.hint
        ),
        ..failure
    };
    let found = resolve(engine, name).map_err(unknown)?.conversation;
    Ok(format!("e:{}:0-{}", found.key, found.entries.saturating_sub(1)))
}

/// The entries of the newest form of a transcript, if a name means a conversation; `None` if it means entries.
pub(crate) fn current_entries(engine: &Engine, name: &str) -> Outcome<Option<Vec<Range<u64>>>> {
    if is_of_entries(name) {
        return Ok(None);
    }
    let found = resolve(engine, name)?.conversation;
    Ok(Some(engine.store().path(found.id, found.current, found.length)?))
}

/// Whether a name is one of entries or of a summary.
fn is_of_entries(name: &str) -> bool {
    ["e:", "s:", "sum:"].iter().any(|start| name.starts_with(start))
}

/// A role in the engine's type.
pub(crate) const fn role_of(role: Role) -> entry::Role {
    match role {
        Role::System => entry::Role::System,
        Role::User => entry::Role::User,
        Role::Assistant => entry::Role::Assistant,
        Role::Tool => entry::Role::Tool,
    }
}

/// The beginning of a period, in the person's time zone.
pub(crate) fn time_of(text: Option<&str>) -> Outcome<Option<Timestamp>> {
    text.map(when::parse).transpose()
}
