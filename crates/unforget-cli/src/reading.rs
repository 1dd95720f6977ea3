//! A conversation as a person reads it, in the forms of the command line.
//!
//! | module | holds |
//! |---|---|
//! | `shown` | turns for a terminal |
//! | `markdown`, `page` | turns as Markdown, as a page for a browser |
//! | `turn_json` | turns in JSON |

pub(crate) mod markdown;
pub(crate) mod page;
pub(crate) mod shown;
pub(crate) mod turn_json;

use std::fmt::{self, Write as _};

use clap::ValueEnum;

pub(crate) use unforget_engine::reading::{
    Block, ReadOptions, ReadTurn, Speaker, ToolUse, TurnReader, outcome_of,
};

/// How much of tools is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolsShown {
    /// Nothing
    None,
    /// A line with the outcome
    Line,
    /// Arguments and results, word for word
    Full,
}

/// Adds a text to another one.
fn put(out: &mut String, text: fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    out.write_fmt(text).ok();
}
