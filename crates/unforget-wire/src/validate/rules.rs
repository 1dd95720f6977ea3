//! All rules in one table, with their sources.

mod table;

use crate::dialect::Dialect;

/// A rule of a dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name, unique in the dialect.
    pub id: &'static str,
    /// The dialect to which the rule belongs.
    pub dialect: Dialect,
    /// The requirement.
    pub what: &'static str,
    /// The source: a provider's document or error message, or failures of `docs/failures.md`.
    pub source: &'static str,
}

/// One rule for all dialects that have it.
struct Row {
    id: &'static str,
    what: &'static str,
    /// Dialects that share a source.
    on: &'static [(&'static [Dialect], &'static str)],
}

/// Every rule of every dialect, by topic. Published as `docs/wire-rules.md`.
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
