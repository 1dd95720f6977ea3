//! Relative links in documents.

use super::Problem;
use crate::workspace::{self, File};

/// Checks that every relative link of every document leads to a file or a folder.
pub(super) fn check(files: &[File]) -> Vec<Problem> {
    let root = workspace::root();
    let documents = files.iter().filter(|file| file.is("md"));
    documents
        .flat_map(|file| {
            let folder = root.join(&file.path);
            let folder = folder.parent().unwrap_or(&root).to_path_buf();
            targets(&file.text)
                .into_iter()
                .filter(move |target| !folder.join(target).exists())
                .map(|target| format!("{}: the link to {target} leads nowhere", file.path))
        })
        .collect()
}

/// Relative targets of Markdown links, without their fragments. Fenced code is left out.
fn targets(text: &str) -> Vec<&str> {
    let mut fenced = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        let links =
            line.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
        found.extend(
            links
                .map(|target| target.split('#').next().unwrap_or_default())
                .filter(|target| !target.is_empty() && !target.contains(':') && !target.contains(' ')),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn every_link_leads_somewhere() {
        assert_eq!(check(&workspace::files().unwrap()), Vec::<Problem>::new());
    }

    #[test]
    fn only_relative_targets_count() {
        let text = "[a](b.md) [c](https://example.com) [d](#e) [f](g/h.md#i)\n```\n[x](y.md)\n```\n";
        assert_eq!(targets(text), ["b.md", "g/h.md"]);
    }
}
