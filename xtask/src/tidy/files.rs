//! Rules on the text of files.

use std::collections::BTreeSet;

use super::Problem;
use crate::workspace::File;

/// Lines of a source file above which it must be split.
const LINES_MAX: usize = 800;
/// Lines above which a split should be considered.
const LINES_LONG: usize = 500;

/// Words that must not remain in the product's code. Written in parts, so that this file does not match.
const LEFTOVERS: [&str; 6] = [
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
    concat!("dbg", "!("),
    concat!("FIX", "ME"),
    concat!("#[ig", "nore"),
    concat!("XX", "X:"),
];
/// Paths that exist on one machine only.
const MACHINES: [&str; 7] = [
    concat!("/wo", "rk/main"),
    concat!("/wo", "rk/shared"),
    concat!("/ro", "ot/"),
    concat!("/tmp/", "t-"),
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("proxy.", "golang.org"),
];

/// Checks every rule on text.
pub(super) fn check(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in files {
        let source = file.is("rs");
        if source && file.text.lines().count() > LINES_MAX {
            problems.push(format!("{}: more than {LINES_MAX} lines; split it", file.path));
        }
        if source {
            lines(file, &mut problems);
        }
        if !file.is("jsonl") && file.path != "Cargo.lock" {
            problems.extend(machines(file));
        }
    }
    problems.extend(orphans(files));
    if !files.iter().any(|file| file.path == "crates/unforget-core/clippy.toml") {
        problems
            .push("crates/unforget-core/clippy.toml: missing; it keeps effects out of the core".to_string());
    }
    problems
}

/// Source files above the limit, with their numbers of lines.
pub(super) fn long(files: &[File]) -> Vec<(&str, usize)> {
    files
        .iter()
        .filter(|file| file.is("rs"))
        .map(|file| (file.path.as_str(), file.text.lines().count()))
        .filter(|(_, lines)| *lines > LINES_LONG)
        .collect()
}

fn lines(file: &File, problems: &mut Vec<Problem>) {
    let product = file.path.starts_with("crates/") && file.path.contains("/src/");
    let mut before = ";";
    for (number, line) in file.text.lines().enumerate() {
        let (place, code) = (number + 1, line.trim());
        for word in LEFTOVERS.iter().filter(|word| product && code.contains(**word)) {
            problems.push(format!("{}:{place}: `{word}` is left over", file.path));
        }
        // A statement, not the value of a block: such a check is evaluated and dropped.
        let starts = before.ends_with([';', '{', '}']);
        if starts && code.starts_with(concat!("matches", "!(")) && code.ends_with(");") {
            problems.push(format!("{}:{place}: the answer of `matches` is dropped; assert it", file.path));
        }
        if !code.is_empty() && !code.starts_with("//") {
            before = code;
        }
    }
}

fn machines(file: &File) -> Vec<Problem> {
    let found = file.text.lines().enumerate().filter_map(|(number, line)| {
        let place = MACHINES.iter().find(|place| line.contains(**place))?;
        Some(format!("{}:{}: `{place}` exists on one machine only", file.path, number + 1))
    });
    found.collect()
}

/// Source files without a `mod` declaration: they are never compiled, and their tests never run.
fn orphans(files: &[File]) -> Vec<Problem> {
    let mentioned: BTreeSet<(&str, &str)> = files
        .iter()
        .filter(|file| file.is("rs"))
        .flat_map(|file| file.text.lines().filter_map(|line| Some((crate_of(&file.path)?, module_of(line)?))))
        .collect();
    let orphan = |file: &&File| {
        let Some((owner, inside)) =
            crate_of(&file.path).zip(file.path.split_once("/src/").map(|(_, rest)| rest))
        else {
            return false;
        };
        let stem = inside.strip_suffix("/mod.rs").or_else(|| inside.strip_suffix(".rs"));
        let name = stem.and_then(|stem| stem.rsplit('/').next()).unwrap_or_default();
        let root = matches!(inside, "lib.rs" | "main.rs") || inside.starts_with("bin/");
        file.is("rs") && !root && !mentioned.contains(&(owner, name))
    };
    files.iter().filter(orphan).map(|file| format!("{}: no `mod` mentions it", file.path)).collect()
}

/// Modules written as `a/mod.rs` in place of `a.rs`.
pub(super) fn module_style(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in files {
        let inside = file.path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"));
        let Some((_, inside)) = inside else {
            continue;
        };
        if let Some(folder) = inside.strip_suffix("/mod.rs") {
            let problem = format!("{}: rename it to {folder}.rs beside its folder", file.path);
            problems.push(problem);
        }
    }
    problems
}

fn crate_of(path: &str) -> Option<&str> {
    path.split_once("/src/").map(|(owner, _)| owner)
}

/// The module that a line declares without a body.
fn module_of(line: &str) -> Option<&str> {
    let line = line.trim().strip_suffix(';')?;
    line.strip_prefix("mod ").or_else(|| line.split_once(" mod ").map(|(_, name)| name))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::workspace;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_string(), text: text.to_string() }
    }

    #[test]
    fn the_files_are_tidy() {
        assert_eq!(check(&workspace::files().unwrap()), Vec::<Problem>::new());
    }

    #[test]
    fn each_rule_finds_what_it_is_for() {
        let todo = format!("fn a() {{ {}) }}", LEFTOVERS[0]);
        let dropped = format!("fn a() {{\n    {}\n}}", concat!("matches", "!(a, Some(_));"));
        let kept = format!("fn a() -> bool {{\n    {}\n}}", concat!("matches", "!(a, Some(_))"));
        let table = [
            ("crates/a/src/lib.rs", todo.as_str(), 1, "left over in the product"),
            ("crates/a/tests/all.rs", todo.as_str(), 0, "tests may say so"),
            ("crates/a/src/lib.rs", dropped.as_str(), 1, "answer dropped"),
            ("crates/a/src/lib.rs", kept.as_str(), 0, "answer returned"),
            ("crates/a/src/b.rs", "", 1, "no mod mentions it"),
            ("docs/a.md", MACHINES[0], 1, "machine path"),
            ("examples/a.jsonl", MACHINES[0], 0, "a recorded path is content"),
        ];
        let guard = file("crates/unforget-core/clippy.toml", "");
        for (path, text, want, why) in table {
            let found = check(&[file(path, text), file(&guard.path, "")]);
            assert_eq!(found.len(), want, "{why}: {found:?}");
        }
        let long = "\n".repeat(LINES_MAX + 1);
        assert_eq!(check(&[file("crates/a/src/lib.rs", &long), guard]).len(), 1);
    }

    #[test]
    fn a_module_stands_beside_its_folder() {
        let table = [("crates/a/src/b/mod.rs", 1), ("crates/a/src/b.rs", 0), ("crates/a/tests/b/mod.rs", 0)];
        for (path, want) in table {
            assert_eq!(module_style(&[file(path, "")]).len(), want, "{path}");
        }
    }

    #[test]
    fn modules_are_recognised() {
        let table = [
            ("mod a;", Some("a")),
            ("pub(crate) mod b;", Some("b")),
            ("mod tests {", None),
            ("use a::b;", None),
            ("    pub mod c;", Some("c")),
        ];
        for (line, want) in table {
            assert_eq!(module_of(line), want, "{line}");
        }
    }
}
