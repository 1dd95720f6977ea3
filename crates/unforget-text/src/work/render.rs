//! A ledger as text for a model, within a number of tokens.

use std::collections::BTreeSet;

use unforget_core::id::Seq;
use unforget_core::ledger::{Change, FileRow, Ledger, Lines, Outcome, TaskState};
use unforget_core::tokens::Ruler;

use crate::clip::clip;
use crate::preview::counts_text;
use crate::secret::redact;

/// A line that may be shown: the newer, the earlier it is placed.
struct Row {
    newest: Seq,
    text: String,
}

/// Headings, in the order in which the text has them.
const HEADINGS: [&str; 8] = [
    "Open failures:",
    "Tasks:",
    "Files changed:",
    "Files read:",
    "Tests and commands:",
    "Commits:",
    "Addresses fetched:",
    "Failures that were cleared:",
];

/// Shares of the room, in percent, up to which each heading may fill it in the first round. What is left over is
/// filled again in the same order.
const SHARES: [u64; 8] = [50, 65, 78, 85, 92, 95, 97, 100];

/// Renders a ledger in at most `max_tokens` by `ruler`'s upper bound.
///
/// What is unresolved comes first, and of each kind the newest first; rows that do not fit are left out whole, and
/// counted in the last line. Each row names the entries where it stands, as `s:12`. Empty if nothing fits or nothing
/// is there. A record of the past in the third person, never an order; wrap it as a summary is wrapped.
///
/// Cost: O(rows log rows), one ruling per row that is tried, which stops after a few that do not fit.
pub fn render_ledger(ledger: &Ledger, max_tokens: u64, ruler: &dyn Ruler) -> String {
    let mut kinds = rows(ledger);
    for rows in &mut kinds {
        rows.sort_by(|a, b| b.newest.cmp(&a.newest).then_with(|| a.text.cmp(&b.text)));
    }
    let all: usize = kinds.iter().map(Vec::len).sum();
    // Room for the last line.
    let max = max_tokens.saturating_sub(ruler.count(&left_out(all as u64 + ledger.dropped())).upper + 1);
    let mut used = 0;
    let mut taken: [BTreeSet<usize>; 8] = Default::default();
    for round in [SHARES, [100; 8]] {
        for (kind, share) in round.into_iter().enumerate() {
            let (Some(rows), Some(taken), Some(heading)) =
                (kinds.get(kind), taken.get_mut(kind), HEADINGS.get(kind))
            else {
                continue;
            };
            let limit = max * share / 100;
            let mut misses = 0;
            for (at, row) in rows.iter().enumerate() {
                if misses > 3 {
                    break;
                }
                if taken.contains(&at) {
                    continue;
                }
                let heading = if taken.is_empty() { ruler.count(heading).upper + 1 } else { 0 };
                let cost = ruler.count(&row.text).upper + 1 + heading;
                if used + cost <= limit {
                    used += cost;
                    taken.insert(at);
                } else {
                    misses += 1;
                }
            }
        }
    }
    let shown: usize = taken.iter().map(BTreeSet::len).sum();
    if shown == 0 {
        return String::new();
    }
    let mut lines: Vec<&str> = Vec::new();
    for ((rows, taken), heading) in kinds.iter().zip(&taken).zip(HEADINGS) {
        if !taken.is_empty() {
            lines.push(heading);
            lines.extend(taken.iter().filter_map(|at| rows.get(*at)).map(|row| row.text.as_str()));
        }
    }
    let more = (all - shown) as u64 + ledger.dropped();
    let last = left_out(more);
    if more > 0 {
        lines.push(&last);
    }
    lines.join("\n")
}

fn left_out(rows: u64) -> String {
    format!("({rows} older rows are left out)")
}

/// Rows by heading, in the order of [`HEADINGS`].
fn rows(ledger: &Ledger) -> [Vec<Row>; 8] {
    let failing = ledger.failing().map(|failure| {
        let times = if failure.times > 1 { format!(", {} times", failure.times) } else { String::new() };
        let last = failure.last.answer;
        row(last, format!("- {}: {}{times} (s:{last})", failure.what, failure.told))
    });
    let (changed, read) = file_rows(ledger);
    let commits = ledger.commits().iter().map(|commit| {
        let at = commit.at.answer;
        row(at, format!("- {} {} (s:{at})", commit.commit.hash, commit.commit.subject))
    });
    let urls = ledger.urls().map(|(url, seen)| {
        let failed = if seen.outcome == Outcome::Done { "" } else { ", failed" };
        row(seen.at.answer, format!("- {}{failed} (s:{})", shown(url), seen.at.answer))
    });
    let cleared = ledger.cleared().iter().filter_map(|failure| {
        let (last, by) = (failure.last.answer, failure.cleared?.answer);
        let told = clip(&failure.told, 80);
        Some(row(by, format!("- {}: {told} (s:{last}, cleared s:{by})", failure.what)))
    });
    [
        failing.collect(),
        task_rows(ledger),
        changed,
        read,
        command_rows(ledger),
        commits.collect(),
        urls.collect(),
        cleared.collect(),
    ]
}

fn row(newest: Seq, text: String) -> Row {
    Row { newest, text }
}

fn task_rows(ledger: &Ledger) -> Vec<Row> {
    let rows = ledger.tasks().iter().map(|task| {
        let state = match task.state {
            TaskState::Open => "open",
            TaskState::Active => "begun",
            TaskState::Done => "done",
            TaskState::Dropped => "dropped",
        };
        // What is open stands before what is not, however old it is.
        let newest = if task.state < TaskState::Done { Seq(u64::MAX) } else { task.changed.answer };
        row(newest, format!("- {state}: {} (s:{})", task.text, task.changed.answer))
    });
    rows.collect()
}

/// Files that were changed, and those that were only read.
fn file_rows(ledger: &Ledger) -> (Vec<Row>, Vec<Row>) {
    let (mut changed, mut read) = (Vec::new(), Vec::new());
    for (path, file) in ledger.files() {
        let Some(put) = file.put else {
            let newest = file.newest();
            read.push(row(newest, format!("- {}{} (s:{newest})", shown(path), looks(file))));
            continue;
        };
        let at = put.at.answer;
        let how = match put.change {
            Change::Whole => "written",
            Change::Part => "edited",
            Change::Gone => "removed",
        };
        let times = if file.writes > 1 { format!(", {} changes", file.writes) } else { String::new() };
        let stale = match file.looks.last() {
            Some(look) if look.at.answer < at => ", not read since",
            _ => "",
        };
        changed.push(row(at, format!("- {} {how}{times}{stale} (s:{at})", shown(path))));
    }
    (changed, read)
}

fn command_rows(ledger: &Ledger) -> Vec<Row> {
    let rows = ledger.commands().map(|command| {
        let outcome = match (command.exit, command.outcome) {
            (Some(code), _) => format!("exit {code}"),
            (None, Outcome::Done) => "ok".to_owned(),
            (None, _) => "failed".to_owned(),
        };
        let tests = command.tests.map(|tests| format!(", {}", counts_text(tests))).unwrap_or_default();
        let (text, at) = (clip(&command.text, 160), command.at.answer);
        row(at, format!("- {text}: {outcome}{tests} (s:{at})"))
    });
    rows.collect()
}

/// Which lines were read, unless it was all of them.
fn looks(file: &FileRow) -> String {
    let mut looks: Vec<Lines> = file.looks.iter().map(|look| look.lines).collect();
    looks.sort_unstable();
    if looks.contains(&Lines::WHOLE) || looks.is_empty() {
        return String::new();
    }
    let text = |lines: &Lines| match (lines.first, lines.last) {
        _ if *lines == Lines::SOME => "some".to_owned(),
        (first, None) if first > u64::MAX / 2 => format!("last {}", u64::MAX - first),
        (first, None) => format!("{first} on"),
        (first, Some(last)) if first == last => first.to_string(),
        (first, Some(last)) => format!("{first}-{last}"),
    };
    let shown: Vec<String> = looks.iter().map(text).collect();
    format!(", lines {}", shown.join(", "))
}

fn shown(name: &str) -> String {
    redact(&clip(name, 200)).into_owned()
}
