//! Relative links in documents, and the headings that they name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::Problem;
use crate::workspace::{self, File};

/// A relative link of a document.
#[derive(Debug, PartialEq, Eq)]
struct Link<'a> {
    /// Path from the document's folder; empty for a link into the document itself.
    path: &'a str,
    /// Name of a heading; empty for a link to the whole.
    anchor: &'a str,
}

/// Checks that every relative link of every document leads to a file or a folder, and its anchor to a heading there.
pub(super) fn check(files: &[File]) -> Vec<Problem> {
    let root = workspace::root();
    let documents: BTreeMap<PathBuf, &File> =
        files.iter().filter(|file| file.is("md")).map(|file| (PathBuf::from(&file.path), file)).collect();
    let mut problems = Vec::new();
    for (place, file) in &documents {
        let folder = place.parent().unwrap_or(Path::new(""));
        for link in links(&file.text) {
            let target = if link.path.is_empty() { place.clone() } else { joined(folder, link.path) };
            if !root.join(&target).exists() {
                problems.push(format!("{}: the link to {} leads nowhere", file.path, link.path));
                continue;
            }
            let heads = documents.get(&target).map(|file| anchors(&file.text)).unwrap_or_default();
            if !link.anchor.is_empty()
                && target.extension() == Some("md".as_ref())
                && !heads.contains(link.anchor)
            {
                let Link { path, anchor } = link;
                problems.push(format!("{}: no heading answers to the link {path}#{anchor}", file.path));
            }
        }
    }
    problems
}

/// The list of the book's pages.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Checks that the book has every page of `docs`, and that no page leads out of the book.
pub(super) fn book(files: &[File]) -> Vec<Problem> {
    let pages = files.iter().filter(|file| file.is("md") && file.path.starts_with("docs/"));
    let (summary, pages): (Vec<&File>, Vec<&File>) = pages.partition(|file| file.path == SUMMARY);
    let listed: BTreeSet<PathBuf> = summary
        .iter()
        .flat_map(|file| links(&file.text))
        .map(|link| joined(Path::new("docs"), link.path))
        .collect();
    let mut problems = Vec::new();
    for page in pages {
        if !listed.contains(Path::new(&page.path)) {
            problems.push(format!("{}: {SUMMARY} does not list it", page.path));
        }
        let folder = Path::new(&page.path).parent().unwrap_or(Path::new(""));
        let leads_out =
            |link: &&Link<'_>| !link.path.is_empty() && !joined(folder, link.path).starts_with("docs");
        for link in links(&page.text).iter().filter(leads_out) {
            problems.push(format!(
                "{}: {} is not in the book; name the file without a link",
                page.path, link.path
            ));
        }
    }
    problems
}

/// A path without `.` and `..`, as far as it stays in the repository.
fn joined(folder: &Path, path: &str) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in folder.join(path).components() {
        match part {
            Component::ParentDir if whole.pop() => {}
            Component::CurDir => {}
            part => whole.push(part),
        }
    }
    whole
}

/// Relative links of Markdown. Fenced code is left out.
fn links(text: &str) -> Vec<Link<'_>> {
    let prose = prose(text);
    let targets = prose.iter().flat_map(|line| line.split("](").skip(1));
    let targets = targets.filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    targets
        .filter(|target| !target.is_empty() && !target.contains(':') && !target.contains(' '))
        .map(|target| {
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            Link { path, anchor }
        })
        .collect()
}

/// Names of the headings, as GitHub and mdBook make them; a second heading of a name has a number.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in prose(text).iter().filter(|line| line.starts_with('#')) {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let name: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let mut free = name.clone();
        let mut number = 0;
        while !found.insert(free.clone()) {
            number += 1;
            free = format!("{name}-{number}");
        }
    }
    found
}

/// Lines outside fenced code.
fn prose(text: &str) -> Vec<&str> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        if !fenced && !fence {
            lines.push(line);
        }
        fenced ^= fence;
    }
    lines
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn document(path: &str, text: &str) -> File {
        File { path: path.to_string(), text: text.to_string() }
    }

    #[test]
    fn every_link_leads_somewhere() {
        let files = workspace::files().unwrap();
        assert_eq!(check(&files), Vec::<Problem>::new());
        assert_eq!(book(&files), Vec::<Problem>::new());
    }

    #[test]
    fn the_book_is_whole_and_closed() {
        let table = [
            // page           text                       problems  why
            ("docs/a.md", "[b](adr/)", 0, "listed, and leads to a page"),
            ("docs/b.md", "", 1, "not listed"),
            ("docs/adr/c.md", "[a](../a.md)", 0, "stays in the book"),
            ("docs/a.md", "[r](../README.md)", 1, "leads out of the book"),
            ("README.md", "[x](nowhere.md)", 0, "not a page of the book"),
        ];
        let summary = document(SUMMARY, "- [A](a.md)\n- [C](adr/c.md)\n");
        for (path, text, want, why) in table {
            let page = document(path, text);
            let problems = book(&[page, document(&summary.path, &summary.text)]);
            assert_eq!(problems.len(), want, "{why}: {problems:?}");
        }
    }

    #[test]
    fn only_relative_targets_count() {
        let text = "[a](b.md) [c](https://example.com) [d](#e) [f](g/h.md#i)\n```\n[x](y.md)\n```\n";
        let found: Vec<String> =
            links(text).iter().map(|link| format!("{}#{}", link.path, link.anchor)).collect();
        assert_eq!(found, ["b.md#", "#e", "g/h.md#i"]);
    }

    #[test]
    fn a_link_needs_its_heading() {
        let table = [
            // link                             problems  why
            ("[a](#what-is-it)", 0, "a heading of its own"),
            ("[a](#what-is-it-1)", 0, "the second heading of a name"),
            ("[a](#nothing)", 1, "no such heading"),
            ("[a](../README.md#nothing)", 1, "no such heading in another document"),
            ("[a](../README.md#licence)", 0, "a heading of another document"),
            ("[a](nowhere.md#b)", 1, "one problem, not two"),
            ("[a](openapi.json#b)", 0, "other files have no headings"),
        ];
        for (link, want, why) in table {
            let text = format!("# What is it?\n```\n# nothing\n```\n## What is it\n{link}\n");
            let readme = document("README.md", "## Licence\n");
            let problems = check(&[document("docs/setup.md", &text), readme]);
            assert_eq!(problems.len(), want, "{why}: {problems:?}");
        }
    }
}
