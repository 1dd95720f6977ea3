//! Finds the literals without which a pattern cannot match.
//!
//! Source: R. Cox, "Regular Expression Matching with a Trigram Index", without the trigrams.

use regex_syntax::hir::{Class, Hir, HirKind};

/// Most alternatives of a clause, and longest literal in bytes; longer ones are cut.
const ALTERNATIVES_MAX: usize = 16;
const LITERAL_MAX: usize = 64;

/// Shortest literal that a filter can test, in bytes.
const LITERAL_MIN: usize = 3;

/// The requirements for a match: one literal of every clause. ASCII letters are lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Need {
    clauses: Vec<Vec<Vec<u8>>>,
}

impl Need {
    /// The requirements of `hir`. Without clauses, every chunk has to be read.
    pub fn of(hir: &Hir) -> Self {
        let found = walk(hir);
        let mut clauses = found.needs;
        clauses.extend(found.exact.and_then(clause));
        clauses.sort_unstable();
        clauses.dedup();
        Self { clauses }
    }

    /// The clauses: all must hold, each by one of its literals, and every literal has at least three bytes.
    pub fn clauses(&self) -> &[Vec<Vec<u8>>] {
        &self.clauses
    }

    /// Whether the pattern can be anywhere, so that nothing can be skipped.
    pub fn is_anything(&self) -> bool {
        self.clauses.is_empty()
    }
}

/// Knowledge about the strings that match a part of a pattern.
struct Found {
    /// All of these strings, folded, if they are few.
    exact: Option<Vec<Vec<u8>>>,
    /// Clauses that hold for each string.
    needs: Vec<Vec<Vec<u8>>>,
}

/// The parser's nest limit bounds the depth of `hir`.
fn walk(hir: &Hir) -> Found {
    let exact = |strings| Found { exact: Some(strings), needs: Vec::new() };
    let unknown = || Found { exact: None, needs: Vec::new() };
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => exact(vec![Vec::new()]),
        HirKind::Literal(literal) => exact(vec![literal.0.to_ascii_lowercase()]),
        HirKind::Class(class) => class_strings(class).map_or_else(unknown, exact),
        HirKind::Capture(capture) => walk(&capture.sub),
        HirKind::Repetition(repetition) => {
            if repetition.min == 0 {
                return unknown();
            }
            let mut found = walk(&repetition.sub);
            if repetition.max != Some(1) {
                found.needs.extend(found.exact.take().and_then(clause));
            }
            found
        }
        HirKind::Concat(parts) => concat(parts),
        HirKind::Alternation(branches) => alternation(branches),
    }
}

fn concat(parts: &[Hir]) -> Found {
    let mut needs = Vec::new();
    let mut open = vec![Vec::new()];
    let mut whole = true;
    for part in parts {
        let found = walk(part);
        needs.extend(found.needs);
        let Some(strings) = found.exact else {
            needs.extend(clause(std::mem::replace(&mut open, vec![Vec::new()])));
            whole = false;
            continue;
        };
        if let Some(joined) = product(&open, &strings) {
            open = joined;
        } else {
            needs.extend(clause(std::mem::replace(&mut open, strings)));
            whole = false;
        }
    }
    if whole {
        return Found { exact: Some(open), needs };
    }
    needs.extend(clause(open));
    Found { exact: None, needs }
}

fn alternation(branches: &[Hir]) -> Found {
    let mut strings = Some(Vec::new());
    let mut either = Some(Vec::new());
    for branch in branches {
        let found = walk(branch);
        strings = match (strings, &found.exact) {
            (Some(all), Some(more)) => union(all, more),
            _ => None,
        };
        let best = found
            .needs
            .into_iter()
            .chain(found.exact.and_then(clause))
            .max_by_key(|clause| clause.iter().map(Vec::len).min());
        either = match (either, best) {
            (Some(all), Some(best)) => union(all, &best),
            _ => None,
        };
    }
    match strings {
        Some(strings) => Found { exact: Some(strings), needs: Vec::new() },
        None => Found { exact: None, needs: either.and_then(clause).into_iter().collect() },
    }
}

/// A clause, if a filter can test every literal of it.
fn clause(mut literals: Vec<Vec<u8>>) -> Option<Vec<Vec<u8>>> {
    literals.sort_unstable();
    literals.dedup();
    let usable = !literals.is_empty() && literals.iter().all(|literal| literal.len() >= LITERAL_MIN);
    usable.then_some(literals)
}

/// Every string of `heads` followed by every string of `tails`, if the results are few and short.
fn product(heads: &[Vec<u8>], tails: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    if heads.len() * tails.len() > ALTERNATIVES_MAX {
        return None;
    }
    let mut joined = Vec::with_capacity(heads.len() * tails.len());
    for head in heads {
        for tail in tails {
            if head.len() + tail.len() > LITERAL_MAX && !(head.is_empty() || tail.is_empty()) {
                return None;
            }
            joined.push([head.as_slice(), tail].concat());
        }
    }
    Some(joined)
}

fn union(mut all: Vec<Vec<u8>>, more: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    all.extend_from_slice(more);
    all.sort_unstable();
    all.dedup();
    (all.len() <= ALTERNATIVES_MAX).then_some(all)
}

/// The strings of a class, folded, if they are few.
fn class_strings(class: &Class) -> Option<Vec<Vec<u8>>> {
    let mut strings: Vec<Vec<u8>> = Vec::new();
    match class {
        Class::Unicode(class) => {
            for range in class.ranges() {
                if strings.len() + range.len() > 2 * ALTERNATIVES_MAX {
                    return None;
                }
                let chars = range.start()..=range.end();
                strings.extend(chars.map(|c| c.to_ascii_lowercase().to_string().into_bytes()));
            }
        }
        Class::Bytes(class) => {
            for range in class.ranges() {
                if strings.len() + range.len() > 2 * ALTERNATIVES_MAX {
                    return None;
                }
                strings.extend((range.start()..=range.end()).map(|byte| vec![byte.to_ascii_lowercase()]));
            }
        }
    }
    strings.sort_unstable();
    strings.dedup();
    (strings.len() <= ALTERNATIVES_MAX).then_some(strings)
}
