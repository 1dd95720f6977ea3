//! One module per command: opens its inputs, asks the engine, shows the results.

pub(crate) mod answer;
pub(crate) mod backup;
mod behind;
pub(crate) mod compact;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod describe;
pub(crate) mod doctor;
pub(crate) mod engine;
pub(crate) mod expand;
pub(crate) mod export;
pub(crate) mod grep;
pub(crate) mod hook;
pub(crate) mod import;
pub(crate) mod inspect;
pub(crate) mod jobs;
pub(crate) mod ledger;
pub(crate) mod list;
pub(crate) mod logs;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod memory;
pub(crate) mod open;
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
pub(crate) mod show;
pub(crate) mod stats;
mod stats_of;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod travel;
pub(crate) mod usage;
pub(crate) mod verify;
pub(crate) mod watch;

use unforget_core::entry;
use unforget_core::id::{ConversationId, Timestamp};
use unforget_engine::Engine;

use crate::args::Role;
use crate::failure::{Failure, Outcome};
use crate::when::Clock;

pub(crate) use crate::output::types;

/// The conversation with this name.
pub(crate) fn resolve(engine: &Engine, name: &str) -> Outcome<unforget_engine::trust::Resolved> {
    engine.resolve(name).map_err(Failure::from)
}

/// The conversation to which a command is confined, if any.
pub(crate) fn confined(engine: &Engine, name: Option<&str>) -> Outcome<Option<ConversationId>> {
    name.map(|name| Ok(resolve(engine, name)?.conversation.id)).transpose()
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
    text.map(|text| Clock::here().parse(text)).transpose()
}
