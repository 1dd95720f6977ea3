//! Breaches that crates may still have. A number only goes down, and a row of zeros is deleted.

use std::collections::BTreeMap;

use super::Problem;

/// A rule that is counted per crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// Type names that a crate declares more than once.
    SharedNames,
    /// Functions with a tuple-typed parameter.
    TupleParameters,
    /// Doc comments that open with "The same".
    SameDocs,
    /// Words of public type names that neither the glossary nor the list of plain words has.
    UnknownWords,
    /// Files named `mod.rs`.
    ModFiles,
}

/// What one crate may still have.
struct Allowance {
    owner: &'static str,
    rule: Counted,
    count: usize,
}

const fn allow(owner: &'static str, rule: Counted, count: usize) -> Allowance {
    Allowance { owner, rule, count }
}

/// The only table of exceptions by number.
const ALLOWANCES: &[Allowance] = &[
    allow("unforget-engine", Counted::ModFiles, 1),
    allow("unforget-engine", Counted::SharedNames, 1),
    allow("unforget-engine", Counted::TupleParameters, 5),
];

/// One place that breaks a counted rule.
pub(super) struct Breach {
    /// Name of the crate's folder.
    pub(super) owner: String,
    /// Path, line and advice.
    pub(super) problem: Problem,
}

/// The breaches of crates that have more of them than they may.
pub(super) fn above(rule: Counted, breaches: Vec<Breach>) -> Vec<Problem> {
    above_table(ALLOWANCES, rule, breaches)
}

fn above_table(table: &[Allowance], rule: Counted, breaches: Vec<Breach>) -> Vec<Problem> {
    let mut by_crate: BTreeMap<String, Vec<Problem>> = BTreeMap::new();
    for breach in breaches {
        by_crate.entry(breach.owner).or_default().push(breach.problem);
    }
    let mut problems = Vec::new();
    for (owner, found) in by_crate {
        let row = table.iter().find(|row| row.owner == owner && row.rule == rule);
        let allowed = row.map_or(0, |row| row.count);
        if found.len() > allowed {
            if allowed > 0 {
                problems.push(format!("{owner}: {rule:?}: {} are there, {allowed} are allowed", found.len()));
            }
            problems.extend(found);
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_may_have_what_its_row_says() {
        let table = [allow("a", Counted::SharedNames, 1), allow("b", Counted::TupleParameters, 9)];
        let breach = |owner: &str| Breach { owner: owner.to_string(), problem: format!("{owner}: advice") };
        let cases = [
            (vec![breach("a")], 0, "as many as allowed"),
            (vec![breach("a"), breach("a")], 3, "one more: a headline and both"),
            (vec![breach("b")], 1, "the row is for another rule"),
            (vec![breach("c")], 1, "no row"),
            (vec![], 0, "nothing"),
        ];
        for (breaches, want, why) in cases {
            assert_eq!(above_table(&table, Counted::SharedNames, breaches).len(), want, "{why}");
        }
    }
}
