//! Log lines of commands that run for long: one event per line, for people or as JSON.

use serde_json::{Map, Value};

use crate::failure::Outcome;
use crate::output::Output;
use crate::text;

/// The importance of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// An action.
    Info,
    /// A condition that needs attention.
    Warn,
}

/// Writes one line and flushes it.
pub(super) fn line(
    out: &mut Output,
    level: Level,
    event: &'static str,
    fields: &[(&'static str, String)],
) -> Outcome<()> {
    let level = if level == Level::Info { "info" } else { "warn" };
    let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    if out.json {
        let mut object = Map::new();
        for (name, value) in [("time", time.as_str()), ("level", level), ("event", event)] {
            object.insert(name.to_owned(), Value::from(value));
        }
        object.extend(fields.iter().map(|(name, value)| ((*name).to_owned(), Value::from(value.as_str()))));
        // On a separate line on any kind of stdout, since this is a log.
        writeln!(out, "{}", Value::Object(object))?;
    } else {
        write!(out, "{time} {level} {event}")?;
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
            write!(out, " {name}={}", word(value))?;
        }
        writeln!(out)?;
    }
    Ok(out.flush()?)
}

/// A value as one word.
fn word(value: &str) -> String {
    let line = text::one_line(value, 300);
    if line.contains([' ', '"', '=']) { format!("\"{}\"", line.replace('"', "'")) } else { line }
}
