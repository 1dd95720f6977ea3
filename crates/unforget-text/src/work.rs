//! Reads the work done with tools from calls and results.
//!
//! This is here and not in `unforget-wire`, because a tool's vocabulary is no transcript format: `bash` or
//! `apply_patch` comes in many formats, and a command's effect or outcome often appears only in text. The core folds
//! the facts into a [`unforget_core::ledger::Ledger`] and never sees the text.
//!
//! | vocabulary | tools |
//! |---|---|
//! | Claude Code | `Read Write Edit MultiEdit NotebookEdit Bash Grep Glob WebFetch WebSearch TodoWrite TaskCreate TaskUpdate` |
//! | Codex | `shell exec_command local_shell apply_patch update_plan` |
//! | pi, `OpenClaw` | `read write edit bash exec grep find ls apply_patch web_fetch` |
//! | others | `view create str_replace_editor run_command execute_bash read_file write_file …`, then the name's words |
//!
//! Command lines are read as far as they are plain words: the effect of a variable, a glob or a script is unknown, and
//! unknown facts are left out.

mod calls;
mod code;
mod evidence;
mod fault;
mod project;
mod render;
mod results;
mod shell;
mod simple;
mod target;
#[cfg(test)]
mod tests;
mod words;

use unforget_core::entry::{Entry, Origin, Part, Status, ToolCall, ToolResult};
use unforget_core::ledger::{Answered, Deed, Fact, WorkEnding};

pub(crate) use calls::{patch_files, runs_commands};
pub(crate) use code::commands;
pub use render::render_ledger;
pub(crate) use results::{is_frame, safe_ends_of, unnumbered};
pub(crate) use shell::without_folder;
pub(crate) use target::target;

/// The deeds of a call.
pub(crate) fn deeds(call: &ToolCall) -> Vec<Deed> {
    calls::read(call).deeds
}

/// The facts in a result.
pub(crate) fn answered(result: &ToolResult) -> Answered {
    results::read(result)
}

/// Whether a call ran tests some of which failed, or a check whose failure a later command hides.
pub(crate) fn fails(deeds: &[Deed], answered: &Answered) -> bool {
    let failing = answered.tests.is_some_and(|tests| tests.failed > 0);
    deeds.iter().any(|deed| match deed {
        Deed::Ran(command) => {
            (command.tests && failing)
                || matches!(command.ending(answered), WorkEnding::Failed(part) if part.hides)
        }
        Deed::Read { .. } | Deed::Wrote { .. } | Deed::Fetched(_) | Deed::Tasks(_) => false,
    })
}

/// The facts in an entry's calls and results, in order, behind the fact that a person spoke in it.
///
/// Calls that were cut off, or whose message was, were never run and have no facts. Other entries and other parts have
/// none either.
///
/// Cost: linear in arguments. Of a result at most the first and last eight kilobytes are read closely; all of it is
/// hashed.
pub fn facts(entry: &Entry) -> Vec<Fact> {
    let live = entry.status == Status::Complete;
    let fact = |part: &Part| match part {
        Part::ToolCall(call) if live && call.complete => Some(Fact::Called(calls::read(call))),
        Part::ToolResult(result) => Some(Fact::Answered(results::read(result))),
        _ => None,
    };
    let is_said = |part: &Part| matches!(part, Part::Text(text) if !text.trim().is_empty());
    let asked = (entry.origin == Origin::Human && entry.parts.iter().any(is_said)).then_some(Fact::Asked);
    asked.into_iter().chain(entry.parts.iter().filter_map(fact)).collect()
}
