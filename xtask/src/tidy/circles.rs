//! Modules of a crate that need each other.

use std::collections::{BTreeMap, BTreeSet};

use super::Problem;
use super::source::{Mention, Source};

/// The root module of a crate in messages.
const ROOT: &str = "lib";

/// An arrow from one module of a crate to another one, with the first place where it shows.
struct Arrow {
    to: String,
    place: String,
}

/// The arrows of a crate by the module that they start from.
type Arrows = BTreeMap<String, Vec<Arrow>>;

/// Circles of the modules that stand directly below the root of a crate: one breach per group of modules that reach
/// each other, with the shortest way around.
pub(super) fn check(sources: &[Source<'_>]) -> Vec<Problem> {
    let owners: BTreeSet<&str> = sources.iter().map(|source| source.owner).collect();
    owners.into_iter().flat_map(|owner| of_crate(owner, sources)).collect()
}

fn of_crate(owner: &str, sources: &[Source<'_>]) -> Vec<Problem> {
    let arrows = arrows(owner, sources);
    let mut problems = Vec::new();
    let mut told = BTreeSet::new();
    for module in arrows.keys() {
        if told.contains(module) {
            continue;
        }
        let group = circle_of(module, &arrows);
        if group.len() > 1 {
            let way = around(module, &arrows).join(", ");
            let names: Vec<&str> = group.iter().map(String::as_str).collect();
            problems.push(format!(
                "crates/{owner}: {} need each other: {way}. Move what they share into the lower one",
                names.join(" and ")
            ));
        }
        told.extend(group);
    }
    problems
}

/// All modules that `module` reaches and that reach it, and itself.
fn circle_of(module: &str, arrows: &Arrows) -> BTreeSet<String> {
    let mut group = reached(module, arrows);
    group.retain(|other| reached(other, arrows).contains(module));
    group.insert(module.to_string());
    group
}

fn reached(module: &str, arrows: &Arrows) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut next = vec![module];
    while let Some(at) = next.pop() {
        for arrow in arrows.get(at).into_iter().flatten() {
            if found.insert(arrow.to.clone()) {
                next.push(&arrow.to);
            }
        }
    }
    found
}

/// The shortest way from a module back to itself, one "a uses b (place)" per arrow.
fn around(module: &str, arrows: &Arrows) -> Vec<String> {
    let mut ways = std::collections::VecDeque::from([(module, Vec::new())]);
    let mut seen = BTreeSet::new();
    while let Some((at, way)) = ways.pop_front() {
        for arrow in arrows.get(at).into_iter().flatten() {
            let mut way = way.clone();
            way.push(format!("{at} uses {} ({})", arrow.to, arrow.place));
            if arrow.to == module {
                return way;
            }
            if seen.insert(&arrow.to) {
                ways.push_back((&arrow.to, way));
            }
        }
    }
    Vec::new()
}

fn arrows(owner: &str, sources: &[Source<'_>]) -> Arrows {
    let own: Vec<&Source<'_>> = sources.iter().filter(|source| source.owner == owner).collect();
    let modules: BTreeSet<&str> = own.iter().filter_map(|source| place_of(source).first().copied()).collect();
    let renamed = reexports(&own, &modules);
    let mut arrows = Arrows::new();
    for source in own {
        let from = place_of(source);
        let module = from.first().copied().unwrap_or(ROOT);
        for mention in &source.paths {
            let Some(to) = target(&from, mention, &modules, &renamed) else { continue };
            if from.is_empty() && source.passed_on.iter().any(|path| path.text == mention.text) {
                // The root needs nothing of what it only passes on.
                continue;
            }
            let known = arrows.entry(module.to_string()).or_default();
            if to != module && !known.iter().any(|arrow| arrow.to == to) {
                let place = format!("{}:{}", source.path, mention.line);
                known.push(Arrow { to: to.to_string(), place });
            }
        }
    }
    arrows
}

/// The path of a source's module within its crate; empty for the root.
fn place_of<'a>(source: &Source<'a>) -> Vec<&'a str> {
    let inside = source.path.split_once("/src/").map_or(source.path, |(_, inside)| inside);
    let names: Vec<&str> = inside.trim_end_matches(".rs").split('/').collect();
    match names.as_slice() {
        ["lib" | "main"] => Vec::new(),
        _ => names,
    }
}

/// The names that the root passes on, each with the module that it comes from.
fn reexports<'a>(own: &[&'a Source<'_>], modules: &BTreeSet<&str>) -> BTreeMap<&'a str, &'a str> {
    let root = own.iter().filter(|source| place_of(source).is_empty());
    let paths = root.flat_map(|source| source.imported.iter().chain(&source.passed_on));
    paths
        .filter_map(|mention| {
            let path = mention.text.strip_prefix("crate::").unwrap_or(&mention.text);
            let (module, rest) = path.split_once("::")?;
            let name = rest.rsplit("::").next()?;
            modules.contains(module).then_some((name, module))
        })
        .collect()
}

/// The module that a path leads into, if it leads into this crate.
fn target<'a>(
    from: &[&str],
    mention: &'a Mention,
    modules: &BTreeSet<&str>,
    renamed: &BTreeMap<&'a str, &'a str>,
) -> Option<&'a str> {
    let mut names: Vec<&'a str> = mention.text.split("::").collect();
    let ups = names.iter().take_while(|name| **name == "super").count();
    let is_absolute = names.first() == Some(&"crate");
    let is_from_root =
        from.is_empty() && (ups > 0 || names.first().is_some_and(|name| modules.contains(name)));
    if is_absolute {
        names.remove(0);
    } else if ups > 0 && ups == from.len() {
        names.drain(..ups);
    } else if !is_from_root {
        return None;
    }
    let name = names.first().copied()?;
    if modules.contains(name) {
        return Some(name);
    }
    Some(renamed.get(name).copied().unwrap_or(ROOT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source::parse;
    use crate::workspace::File;

    fn problems(files: &[(&str, &str)]) -> Vec<Problem> {
        let files: Vec<File> = files
            .iter()
            .map(|(path, text)| File { path: format!("crates/a/src/{path}"), text: (*text).to_string() })
            .collect();
        check(&parse(&files).0)
    }

    #[test]
    fn modules_that_need_each_other_are_a_problem() {
        type Row = (&'static [(&'static str, &'static str)], usize, &'static str);
        let table: &[Row] = &[
            (&[("b.rs", "use crate::c::D;"), ("c.rs", "pub struct D;")], 0, "one way"),
            (&[("b.rs", "use crate::c::D;"), ("c/e.rs", "fn f() { crate::b::g(); }")], 1, "there and back"),
            (
                &[("b.rs", "use crate::{c, Z};"), ("c/e.rs", "use super::super::b;")],
                1,
                "`super` from inside a module",
            ),
            (
                &[("b.rs", "use crate::c;"), ("c.rs", "use super::b;")],
                1,
                "`super` of a module below the root",
            ),
            (&[("b/d.rs", "use super::c;"), ("b/c.rs", "use super::d;")], 0, "inside one module"),
            (
                &[("lib.rs", "pub use c::D;"), ("b.rs", "use crate::D;"), ("c.rs", "use crate::b;")],
                1,
                "by a name that the root passes on",
            ),
            (
                &[("lib.rs", "mod b; struct D; fn f() { b::g() }"), ("b.rs", "use crate::D;")],
                1,
                "with the root",
            ),
            (
                &[("b.rs", "use crate::c;"), ("c.rs", "use crate::d;"), ("d.rs", "use crate::b;")],
                1,
                "a circle of three is one",
            ),
            (
                &[("b.rs", "use crate::c;"), ("c.rs", "#[cfg(test)] mod tests { use crate::b; }")],
                0,
                "tests may",
            ),
            (&[("b.rs", "fn f() { m!(crate::c::g()); }"), ("c.rs", "use crate::b;")], 1, "in a macro"),
        ];
        for (files, want, why) in table {
            let found = problems(files);
            assert_eq!(found.len(), *want, "{why}: {found:?}");
        }
    }

    #[test]
    fn the_way_around_is_told() {
        let found = problems(&[("b.rs", "use crate::c;"), ("c.rs", "\nuse crate::b;")]);
        let way = "b uses c (crates/a/src/b.rs:1), c uses b (crates/a/src/c.rs:2)";
        assert!(found.iter().all(|problem| problem.contains(way)), "{found:?}");
        assert_eq!(found.len(), 1);
    }
}
