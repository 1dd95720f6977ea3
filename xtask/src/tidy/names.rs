//! Rules on names and signatures.

use std::collections::BTreeMap;

use super::Problem;
use super::source::Source;

/// Names that a crate may declare more than once, with the reason.
const SHARED: &[(&str, &str, &str)] =
    &[("unforget-cli", "Traces", "one with OpenTelemetry and one without: a build has either")];

/// Type names that a crate declares more than once: one breach per declaration after the first.
pub(super) fn shared(sources: &[Source<'_>]) -> Vec<Problem> {
    let mut first: BTreeMap<(&str, &str), String> = BTreeMap::new();
    let mut problems = Vec::new();
    for source in sources {
        for declared in &source.types {
            let place = format!("{}:{}", source.path, declared.line);
            let name = declared.name.as_str();
            if SHARED.iter().any(|(owner, shared, _)| *owner == source.owner && *shared == name) {
                continue;
            }
            if let Some(other) = first.get(&(source.owner, name)) {
                let problem = format!(
                    "{place}: type `{name}` has its name from {other}; give it a second word, or add it with a reason \
                     to SHARED (xtask/src/tidy/names.rs)"
                );
                problems.push(problem);
            } else {
                first.insert((source.owner, name), place);
            }
        }
    }
    problems
}

/// Functions with a tuple-typed parameter.
pub(super) fn tupled(sources: &[Source<'_>]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for source in sources {
        problems.extend(source.tupled.iter().map(|of| {
            format!(
                "{}:{}: `{}` takes a tuple; declare a struct with named fields, or take two parameters",
                source.path, of.line, of.text
            )
        }));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source::parse;
    use crate::workspace::File;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_string(), text: text.to_string() }
    }

    #[test]
    fn a_name_stands_once_per_crate() {
        let table = [
            ("pub struct Cut;", "pub struct Cut;", "crates/a/src/b.rs", 1, "twice in one crate"),
            ("struct Cut;", "enum Cut {}", "crates/a/src/b.rs", 1, "private names too"),
            ("struct Cut;", "struct Cut;", "crates/b/src/lib.rs", 0, "in two crates"),
            ("struct Cut;", "#[cfg(test)] mod t { struct Cut; }", "crates/a/src/b.rs", 0, "in a test"),
            (
                "trait T { type Out; }",
                "impl T for A { type Out = u8; }",
                "crates/a/src/b.rs",
                0,
                "associated",
            ),
        ];
        for (one, other, path, want, why) in table {
            let files = [file("crates/a/src/a.rs", one), file(path, other)];
            assert_eq!(shared(&parse(&files).0).len(), want, "{why}");
        }
    }

    #[test]
    fn a_parameter_is_no_tuple() {
        let table = [
            ("fn f(a: (u8, u8)) {}", 1),
            ("trait T { fn f(&self, a: (u8, u8)); }", 1),
            ("fn f(a: &[(u8, u8)], b: ()) -> (u8, u8) {}", 0),
            ("fn f() { let g = |a: (u8, u8)| a; }", 0),
        ];
        for (text, want) in table {
            assert_eq!(tupled(&parse(&[file("crates/a/src/a.rs", text)]).0).len(), want, "{text}");
        }
    }
}
