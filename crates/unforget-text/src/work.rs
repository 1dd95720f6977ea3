//! What was done with tools, read from calls and results.
//!
//! This lives here and not in `unforget-wire`, because a tool's vocabulary is no transcript format: the same
//! `bash` or `apply_patch` comes in many formats, and what a command does or how it ended often stands in nothing but text.
//! The core folds the facts into a [`unforget_core::ledger::Ledger`] and never sees the text.
//!
//! | vocabulary | tools |
//! |---|---|
//! | Claude Code | `Read Write Edit MultiEdit NotebookEdit Bash Grep Glob WebFetch WebSearch TodoWrite TaskCreate TaskUpdate` |
//! | Codex | `shell exec_command local_shell apply_patch update_plan` |
//! | pi, `OpenClaw` | `read write edit bash exec grep find ls apply_patch web_fetch` |
//! | others | `view create str_replace_editor run_command execute_bash read_file write_file …`, then the name's words |
//!
//! Command lines are read as far as they are plain words: what a variable, a glob or a script does is unknown, and
//! an unknown fact is left out.

mod calls;
mod code;
mod project;
mod render;
mod results;
mod shell;
#[cfg(test)]
mod tests;
mod words;

use unforget_core::entry::{Entry, Part, Status, ToolCall, ToolResult};
use unforget_core::ledger::{Answered, Deed, Fact};

pub(crate) use calls::patch_files;
pub(crate) use code::commands;
pub use render::render_ledger;

/// What a call does.
pub(crate) fn deeds(call: &ToolCall) -> Vec<Deed> {
    calls::read(call).deeds
}

/// What a result tells.
pub(crate) fn answered(result: &ToolResult) -> Answered {
    results::read(result)
}

/// What the calls and results of an entry tell, in order.
///
/// Calls that were cut off, or that stand in a message that was, were never run and tell nothing. Other entries,
/// and other parts, have no facts.
///
/// Cost: linear in arguments; of a result at most the first and last eight kilobytes are read closely, all of it
/// is hashed.
pub fn facts(entry: &Entry) -> Vec<Fact> {
    let live = entry.status == Status::Complete;
    let fact = |part: &Part| match part {
        Part::ToolCall(call) if live && call.complete => Some(Fact::Called(calls::read(call))),
        Part::ToolResult(result) => Some(Fact::Answered(results::read(result))),
        _ => None,
    };
    entry.parts.iter().filter_map(fact).collect()
}
