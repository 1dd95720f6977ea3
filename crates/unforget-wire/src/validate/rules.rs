//! All rules in one table: what they say and who says so.

mod table;

use crate::dialect::Dialect;

/// A rule of a dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name, unique in the dialect.
    pub id: &'static str,
    /// Whose rule it is.
    pub dialect: Dialect,
    /// What it demands.
    pub what: &'static str,
    /// A provider's document or error message, or the failures of `docs/failures.md` that it comes from.
    pub source: &'static str,
}

/// One rule with all dialects that have it.
struct Row {
    id: &'static str,
    what: &'static str,
    /// Dialects that share a source.
    on: &'static [(&'static [Dialect], &'static str)],
}

/// Every rule of every dialect, by topic. This is `docs/wire-rules.md`.
pub fn wire_rules() -> impl Iterator<Item = Rule> {
    table::ROWS.iter().flat_map(|row| {
        row.on.iter().flat_map(move |(dialects, source)| {
            let rule = |dialect: &Dialect| Rule { id: row.id, dialect: *dialect, what: row.what, source };
            dialects.iter().map(rule)
        })
    })
}

/// The rules of a dialect.
pub fn rules(dialect: Dialect) -> impl Iterator<Item = Rule> {
    wire_rules().filter(move |rule| rule.dialect == dialect)
}

/// Whether the dialect has the rule.
pub(super) fn applies(id: &str, dialect: Dialect) -> bool {
    rules(dialect).any(|rule| rule.id == id)
}
