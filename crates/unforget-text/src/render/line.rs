//! Renders one item of a summary as a line.

use super::Block;
use crate::anchors::CUT;
use crate::clip::clip;
use crate::sections::{EARLIER, Item, SectionKind, State};

/// One item as a line, with its entries of origin.
pub(super) fn line(block: Block, kind: SectionKind, item: &Item) -> String {
    let seqs: Vec<String> = item.seqs.iter().take(Item::SEQS_MAX).map(ToString::to_string).collect();
    let seqs = seqs.join(",");
    let by = item.author.as_ref().map_or_else(String::new, |author| format!("{author}, "));
    let state = match (kind, item.state) {
        (SectionKind::Goal, State::Open) => ", not answered in these entries",
        (SectionKind::Goal, State::Done) => ", answered",
        (SectionKind::Errors, State::Done) => ", mended later",
        (_, State::Cancelled) => ", cancelled",
        _ => "",
    };
    match kind {
        SectionKind::Goal if item.text == EARLIER => format!("- {} ({seqs}{state})", item.text),
        SectionKind::Anchors => item.text.clone(),
        SectionKind::FilesWritten => format!("{} ({seqs})", item.text),
        // The entries have the full paths.
        SectionKind::FilesRead => format!("{} ({seqs})", short_paths(&item.text)),
        SectionKind::Actions => format!("- {} ({seqs}{state})", short_action(&item.text)),
        SectionKind::Goal if block == Block::Story => {
            format!("- asked: \"{}\" ({by}{seqs}{state})", clip(&item.text, STORY_CHARS))
        }
        SectionKind::OpenAsks if OF_MODEL.iter().any(|start| item.text.starts_with(start)) => {
            format!("- {} ({seqs})", item.text)
        }
        SectionKind::Goal | SectionKind::Constraints | SectionKind::OpenAsks => {
            format!("- \"{}\" ({by}{seqs}{state})", item.text)
        }
        _ => format!("- {} ({seqs}{state})", item.text),
    }
}

/// First words of open items from the model, as opposed to quotations.
const OF_MODEL: [&str; 2] = ["the model asked: ", "left to do"];

/// Most characters of an older request.
const STORY_CHARS: usize = 160;

/// Tools that only read something or write a file: their files are listed separately.
const LOOKS: [&str; 22] = [
    "read",
    "view",
    "grep",
    "glob",
    "ls",
    "find",
    "search",
    "rg",
    "list_dir",
    "read_file",
    "write",
    "edit",
    "multiedit",
    "create",
    "apply_patch",
    "write_file",
    "todowrite",
    "taskcreate",
    "taskupdate",
    "update_plan",
    "toolsearch",
    "tasklist",
];

/// Whether an action only read something or wrote a file, successfully.
pub(super) fn is_look(action: &str) -> bool {
    let name = action.split(' ').next().unwrap_or_default().to_ascii_lowercase();
    LOOKS.contains(&name.as_str()) && (action.ends_with(": ok") || action.ends_with(": no result"))
}

/// Whether an action reports a failure or the end of a test run.
pub(super) fn tells_an_end(action: &str) -> bool {
    let came = action.rsplit_once(": ").map_or("", |(_, came)| came);
    came.contains(" passed")
        || came.contains(" failed")
        || !(came.starts_with("ok") || came.starts_with("exit 0") || came.starts_with("no "))
}

/// Most characters of a tool's target, and of its outcome.
const ACTION_CHARS: (usize, usize) = (64, 48);

/// A tool with its target and outcome, shortened: its entries have the rest.
fn short_action(text: &str) -> String {
    let text = short_paths(text);
    match text.rsplit_once(": ") {
        Some((run, came)) => format!("{}: {}", clip(run, ACTION_CHARS.0), clip(came, ACTION_CHARS.1)),
        None => clip(&text, ACTION_CHARS.0).into_owned(),
    }
}

/// A text in which rooted paths of four or more parts are cut to the last two, behind a mark for the cut.
fn short_paths(text: &str) -> String {
    let short = |word: &str| {
        let is_long = word.starts_with(['/', '~']) && word.matches('/').count() >= 4;
        let last = word.trim_end().rmatch_indices('/').nth(1).filter(|_| is_long);
        last.map_or_else(|| word.to_owned(), |(at, _)| format!("{CUT}{}", word.get(at..).unwrap_or_default()))
    };
    text.split_inclusive(' ').map(short).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_path_table() {
        let table = [
            ("Read /srv/app/core/src/lib.rs: ok", "Read …/src/lib.rs: ok", "the last two parts"),
            ("cd /srv/app/core && ls", "cd /srv/app/core && ls", "three parts stay"),
            ("see https://a.example/b/c/d/e", "see https://a.example/b/c/d/e", "no path"),
            ("/a/b/c/d", "…/c/d", "alone"),
            ("/a/b/c/d/", "…/d/", "a folder"),
        ];
        for (text, want, why) in table {
            assert_eq!(short_paths(text), want, "{why}");
        }
    }
}
