//! The shapes of answers, each declared once: for `--json`, the HTTP API, JSON-RPC and MCP. Fields are added, never
//! renamed or removed. `docs/json.md` describes them.
//!
//! serde's names are those of `--json` and the HTTP API. Where JSON-RPC differs, the name stands beside the field, for
//! schemars; `rpc/spelling` writes it. `mcp/show` leaves out what a model has no use for.

mod answer;
mod clues;
mod handoff;
mod imported;
mod jobs;
mod label;
mod ledger;
mod meaning;
mod not_shown;
mod pack;
mod pins;
mod prompt;
mod raised;
mod recall;
mod role;
mod status;
mod stored;
mod travel;
mod verdict;
mod whole;

use unforget_core::id::Timestamp;

pub use answer::*;
pub use clues::*;
pub use handoff::*;
pub use imported::*;
pub use jobs::*;
pub use label::*;
pub use ledger::*;
pub use meaning::*;
pub use not_shown::*;
pub use pack::*;
pub use pins::*;
pub use prompt::*;
pub use raised::*;
pub use recall::*;
pub use role::*;
pub use status::*;
pub use stored::*;
pub use travel::*;
pub use verdict::*;
pub use whole::*;

/// A complete time, in UTC.
pub fn iso(time: Timestamp) -> Option<String> {
    jiff::Timestamp::from_millisecond(time.0).ok().map(|time| time.to_string())
}

/// Parses a time written by a person or a script; UTC by default. A day stands for its first moment.
pub fn time(text: &str) -> Option<Timestamp> {
    let utc =
        |civil: jiff::civil::DateTime| civil.to_zoned(jiff::tz::TimeZone::UTC).map(|zoned| zoned.timestamp());
    let day = |day: jiff::civil::Date| utc(day.to_datetime(jiff::civil::Time::midnight()));
    let time = text
        .parse::<jiff::Timestamp>()
        .or_else(|_| text.parse::<jiff::civil::DateTime>().and_then(utc))
        .or_else(|_| text.parse::<jiff::civil::Date>().and_then(day));
    time.ok().map(|time| Timestamp(time.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_table() {
        let table = [
            ("1970-01-02", Some(86_400_000), "a day begins at midnight UTC"),
            ("1970-01-01T00:01", Some(60_000), "a time is UTC"),
            ("1970-01-01T00:00:01Z", Some(1_000), "an instant"),
            ("1970-01-01T01:00:00+01:00", Some(0), "an offset"),
            ("yesterday", None, "words are not times"),
            ("999999999-01-01", None, "too far"),
            ("", None, "nothing"),
        ];
        for (text, want, why) in table {
            assert_eq!(time(text).map(|time| time.0), want, "{why}: {text:?}");
        }
    }
}
