//! Renders one item of a summary as a line.

use super::{Block, Surroundings, View};
use crate::anchors::CUT;
use crate::clip::clip;
use crate::sections::{EARLIER, Item, NO_RESULT, SectionKind, State};

/// One item as a line, with its entries of origin.
pub(super) fn line(block: Block, view: View<'_>, kind: SectionKind, item: &Item) -> String {
    let seqs: Vec<String> = item.seqs.iter().take(Item::SEQS_MAX).map(ToString::to_string).collect();
    let seqs = seqs.join(",");
    let by = item.author.as_ref().map_or_else(String::new, |author| format!("{author}, "));
    let state = match (kind, item.state) {
        // Later entries may have the answer.
        (SectionKind::Goal, State::Open) if view == View::Among(Surroundings::Followed) => "",
        (SectionKind::Goal, State::Open) => ", not answered in these entries",
        (SectionKind::Goal, State::Done) => ", answered",
        (SectionKind::Errors, State::Done) => ", mended later",
        (_, State::Cancelled) => ", cancelled",
        _ => "",
    };
    match kind {
        SectionKind::Goal if item.text == EARLIER => format!("- {} ({seqs}{state})", item.text),
        SectionKind::RepliedTo | SectionKind::Specs => {
            let words = item.text.replace('\n', "\n  ");
            let at = seqs.split(',').next().unwrap_or_default();
            format!("- ({at}) {words}")
        }
        SectionKind::Anchors | SectionKind::Sightings | SectionKind::Excerpts => item.text.clone(),
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
pub(super) const STORY_CHARS: usize = 160;

/// Tools that read or write a file, or keep a list: their files and tasks are told separately.
const FILE_TOOLS: [&str; 17] = [
    "read",
    "view",
    "ls",
    "find",
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
    "tasklist",
];

/// Tools and programs that only look something up.
const LOOKS: [&str; 14] = [
    "grep",
    "glob",
    "search",
    "rg",
    "toolsearch",
    "cat",
    "sed",
    "nl",
    "head",
    "tail",
    "ls",
    "find",
    "wc",
    "pwd",
];

/// Whether an action only read or wrote a file, successfully.
pub(super) fn is_file_work(action: &str) -> bool {
    let name = action.split(' ').next().unwrap_or_default().to_ascii_lowercase();
    FILE_TOOLS.contains(&name.as_str()) && ended_well(action)
}

/// Whether an action only looked something up, successfully: by its tool, or by the program that a shell's tool ran.
pub(super) fn is_look(action: &str) -> bool {
    let mut words = action.split(' ').take(2).map(str::to_ascii_lowercase);
    let is_one = words.any(|word| LOOKS.contains(&word.as_str()));
    // More commands behind the first, and `sed -i`, may change something.
    let changes = ["&&", ";", "sed -i"].iter().any(|sign| action.contains(sign));
    is_one && !changes && ended_well(action)
}

fn ended_well(action: &str) -> bool {
    [": ok", ": ran", ": exit 0", NO_RESULT].iter().any(|end| action.ends_with(end))
}

/// Whether an action reports a failure or the end of a test run.
pub(super) fn tells_an_end(action: &str) -> bool {
    let came = action.rsplit_once(": ").map_or("", |(_, came)| came);
    came.contains(" passed")
        || came.contains(" failed")
        || !(came.starts_with("ok")
            || came.starts_with("ran")
            || came.starts_with("exit 0")
            || came.starts_with("no "))
}

/// Most characters of a tool's target, and of its outcome.
const ACTION_CHARS: (usize, usize) = (110, 48);

/// A tool with its target and outcome, shortened: its entries have the rest.
pub(super) fn short_action(text: &str) -> String {
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
    fn look_table() {
        let table = [
            ("Grep retry in src: ok", true, "a tool that looks"),
            ("Bash rg -i retry src: ok", true, "a program that looks"),
            ("exec_command sed -n 1,9p a.rs: exit 0", true, "lines of a file"),
            ("Bash sed -i s/a/b/ a.rs: ok", false, "an edit"),
            ("Bash ls && make: ok", false, "more than a look"),
            ("Bash rg retry src: exit 2", false, "a failure is told"),
            ("Bash make check: ok", false, "work"),
        ];
        for (action, want, why) in table {
            assert_eq!(is_look(action), want, "{why}");
        }
    }

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
