//! Renders a ledger as text for a model, within a number of tokens.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use unforget_core::id::Seq;
use unforget_core::ledger::{
    CommandRow, CommitRow, Failure, FileChange, FileRow, Ledger, Lines, Outcome, Put, TaskRow, TaskState,
    UrlRow, WorkPlace,
};
use unforget_core::tokens::Ruler;

use super::project::{Project, is_throwaway};
use crate::clip::clip;
use crate::preview::counts_text;
use crate::secret::redact;

/// A candidate row. Its text is made on demand: most rows are never shown.
#[derive(Clone, Copy)]
enum Row<'a> {
    /// A failure, and whether its file was changed since.
    Failing(&'a Failure, bool),
    Task(&'a TaskRow),
    Changed(&'a str, &'a FileRow, Put),
    Read(&'a str, &'a FileRow),
    Command(&'a CommandRow),
    Commit(&'a CommitRow),
    Url(&'a str, &'a UrlRow),
    Cleared(&'a Failure, WorkPlace),
}

impl Row<'_> {
    /// Rows with a higher rank are placed earlier: inside the project, what was changed last, by number of changes, then by
    /// age. Removed files come last.
    ///
    /// * `recent` - changes from here on count as the last ones.
    fn rank(&self, project: &Project, recent: Seq) -> (bool, u32, Seq) {
        match self {
            Self::Changed(.., Put { change: FileChange::Gone, .. }) => (false, 0, self.newest()),
            Self::Changed(path, ..) if project.holds(path) && self.newest() >= recent => {
                (true, u32::MAX, self.newest())
            }
            Self::Changed(path, file, _) => (project.holds(path), file.writes.min(RANK_MAX), self.newest()),
            Self::Read(path, _) => (project.holds(path), 0, self.newest()),
            Self::Commit(commit) => (!project.is_elsewhere(commit.at), 0, self.newest()),
            // Tests are more telling than other commands.
            Self::Command(command) => (command.tests.is_some() || command.is_test, 0, self.newest()),
            _ => (true, 0, self.newest()),
        }
    }

    /// Whether its file's name is shown without the project's folder.
    fn is_below(&self, project: &Project) -> bool {
        matches!(self, Self::Changed(path, ..) | Self::Read(path, _) if project.is_below(path))
    }

    fn newest(&self) -> Seq {
        match self {
            Self::Failing(failure, _) => failure.last.answer,
            // Open tasks stand before closed ones, however old they are.
            Self::Task(task) if task.state < TaskState::Done => Seq(u64::MAX),
            Self::Task(task) => task.changed.answer,
            Self::Changed(.., put) => put.at.answer,
            Self::Read(_, file) => file.newest(),
            Self::Command(command) => command.at.answer,
            Self::Commit(commit) => commit.at.answer,
            Self::Url(_, seen) => seen.at.answer,
            Self::Cleared(_, by) => by.answer,
        }
    }

    fn text(&self, project: &Project) -> String {
        match self {
            Self::Failing(failure, is_edited) => {
                let times =
                    if failure.times > 1 { format!(", {} times", failure.times) } else { String::new() };
                let since = if *is_edited { "; file changed since, not seen to pass" } else { "" };
                format!("- {}: {}{times} (s:{}{since})", failure.what, failure.told, failure.last.answer)
            }
            Self::Task(task) => task_text(task),
            Self::Changed(path, file, put) => changed_text(&named(path, project), file, *put),
            Self::Read(path, file) => {
                format!("- {}{} (s:{})", named(path, project), looks(file), file.newest())
            }
            Self::Command(command) => command_text(command),
            Self::Commit(row) => {
                format!("- {} {} (s:{})", row.commit.hash, row.commit.subject, row.at.answer)
            }
            Self::Url(url, seen) => {
                let failed = if seen.outcome == Outcome::Done { "" } else { ", failed" };
                format!("- {}{failed} (s:{})", shown(url), seen.at.answer)
            }
            Self::Cleared(failure, by) => {
                let (told, last) = (clip(&failure.told, 80), failure.last.answer);
                format!("- {}: {told} (s:{last}, cleared s:{})", failure.what, by.answer)
            }
        }
    }
}

/// Number of files that stand first because they were changed last: the work at hand.
const RECENT: usize = 4;

/// Number of closed tasks that are named.
const CLOSED_TASKS: usize = 6;

/// Number of changes of a file beyond which more make no difference.
const RANK_MAX: u32 = 1_000;

/// Headings, in the order of the text.
const HEADINGS: [&str; 8] = [
    "Open failures (later work may have cleared them):",
    "Tasks:",
    "Files changed:",
    "Files read:",
    "Tests and commands:",
    "Commits:",
    "Addresses fetched:",
    "Failures that were cleared:",
];

/// Shares of the room, in percent, up to which each heading may fill it in the first round. The second round fills the
/// rest, in the same order.
const SHARES: [u64; 8] = [25, 40, 68, 76, 86, 95, 97, 100];
/// Like [`SHARES`], for the first row under each heading: in a small room, a failure and the outcome of the tests are
/// worth more than another file.
const FIRST_SHARES: [u64; 8] = [50, 55, 70, 76, 100, 100, 97, 100];

/// Renders a ledger in at most `max_tokens` by `ruler`'s upper bound.
///
/// Commands that only look at things are no rows, nor are commands that do nothing but make a commit that has a row. Tasks that were
/// closed before the newest request of a person are left out, and so are reads, fetches and files in temporary folders before the
/// request before it. Unresolved rows come first, and within each kind the newest first. Of changed files the
/// four that were changed last come first, then the others by number of changes, those of the project before others, below the
/// folder of most changes, and removed ones last; commits of other repositories come last too. Rows
/// that do not fit are left out whole, and counted in the last line. Each row names its entries, as `s:12`. Empty if
/// nothing fits or there are no rows. The text is a record of the past in the third person, never an order; wrap it
/// with [`crate::fence_ledger`].
///
/// Cost: O(rows log rows) comparisons of numbers. Text is made and counted only for rows that are tried, and trying
/// stops after a few that do not fit.
pub fn render_ledger(ledger: &Ledger, max_tokens: u64, ruler: &dyn Ruler) -> String {
    let project = Project::of(ledger);
    let kinds = rows(ledger, &project);
    let all: usize = kinds.iter().map(Vec::len).sum();
    let unnamed = unnamed(ledger, &kinds);
    // Room for the last line.
    let max =
        max_tokens.saturating_sub(ruler.count(&left_out(all as u64 + unnamed + ledger.dropped())).upper + 1);
    let taken = take(&kinds, max, ruler, &project);
    let shown: usize = taken.iter().map(BTreeMap::len).sum();
    if shown == 0 {
        return String::new();
    }
    let mut lines: Vec<String> = Vec::new();
    for (taken, heading) in
        taken.into_iter().zip(headings(&kinds, &project)).filter(|(taken, _)| !taken.is_empty())
    {
        lines.push(heading);
        lines.extend(taken.into_values());
    }
    let more = (all - shown) as u64 + unnamed + ledger.dropped();
    if more > 0 {
        lines.push(left_out(more));
    }
    lines.join("\n")
}

/// The headings, with the folder of the file names that are shown without it.
fn headings(kinds: &[Vec<Row<'_>>; 8], project: &Project) -> [String; 8] {
    let heading = |(heading, rows): (&str, &Vec<Row<'_>>)| {
        let root = project.root().filter(|_| rows.iter().any(|row| row.is_below(project)));
        root.map_or_else(
            || heading.to_owned(),
            |root| format!("{} (below {root}):", heading.trim_end_matches(':')),
        )
    };
    let mut headings = HEADINGS.iter().copied().zip(kinds).map(heading);
    std::array::from_fn(|_| headings.next().unwrap_or_default())
}

/// The shown rows of each kind, by place: in two rounds, the first within the shares.
fn take(
    kinds: &[Vec<Row<'_>>; 8],
    max: u64,
    ruler: &dyn Ruler,
    project: &Project,
) -> [BTreeMap<usize, String>; 8] {
    let headings = headings(kinds, project);
    let mut used = 0;
    let mut taken: [BTreeMap<usize, String>; 8] = Default::default();
    for round in [SHARES, [100; 8]] {
        let shares = round.into_iter().zip(FIRST_SHARES);
        for (((rows, taken), heading), (share, first)) in
            kinds.iter().zip(&mut taken).zip(&headings).zip(shares)
        {
            let limit = max * share / 100;
            let mut misses = 0;
            for (at, row) in rows.iter().enumerate() {
                if misses > 3 {
                    break;
                }
                if taken.contains_key(&at) {
                    continue;
                }
                let heading = if taken.is_empty() { ruler.count(heading).upper + 1 } else { 0 };
                let text = row.text(project);
                let cost = ruler.count(&text).upper + 1 + heading;
                let limit = if taken.is_empty() { limit.max(max * first / 100) } else { limit };
                if used + cost <= limit {
                    used += cost;
                    taken.insert(at, text);
                } else {
                    misses += 1;
                }
            }
        }
    }
    taken
}

fn left_out(rows: u64) -> String {
    format!("({rows} older rows are left out)")
}

/// Rows by heading, in the order of [`HEADINGS`], each in order of placement.
fn rows<'a>(ledger: &'a Ledger, project: &Project) -> [Vec<Row<'a>>; 8] {
    let old = old(ledger);
    let (mut changed, mut read) = (Vec::new(), Vec::new());
    for (path, file) in ledger.files() {
        let is_past = file.newest() < old;
        match file.put {
            Some(_) if is_past && is_throwaway(path) => {}
            Some(put) => changed.push(Row::Changed(path, file, put)),
            None if is_past => {}
            None => read.push(Row::Read(path, file)),
        }
    }
    let cleared = ledger.cleared().iter().filter_map(|failure| Some(Row::Cleared(failure, failure.cleared?)));
    let commits: BTreeSet<Seq> = ledger.commits().iter().map(|row| row.at.answer).collect();
    let is_told = |row: &CommandRow| {
        row.is_look || commits.range(row.at.answer..).next().is_some() && is_only_commit(row, &commits)
    };
    let fetched = ledger.urls().filter(|(_, seen)| seen.at.answer >= old);
    let mut rows = [
        ledger.failing().map(|failure| Row::Failing(failure, ledger.is_edited_since(failure))).collect(),
        tasks(ledger).into_iter().map(Row::Task).collect(),
        changed,
        read,
        ledger.commands().filter(|row| !is_told(row)).map(Row::Command).collect(),
        ledger.commits().iter().map(Row::Commit).collect(),
        fetched.map(|(url, seen)| Row::Url(url, seen)).collect(),
        cleared.collect(),
    ];
    for rows in &mut rows {
        let recent = recent(rows, project);
        // Equal ranks are rare; only then the text decides.
        rows.sort_by(|a, b| {
            let rank = |row: &Row<'_>| row.rank(project, recent);
            rank(b).cmp(&rank(a)).then_with(|| a.text(project).cmp(&b.text(project)))
        });
    }
    rows
}

/// Number of tasks, files and addresses that are no rows for their age.
fn unnamed(ledger: &Ledger, kinds: &[Vec<Row<'_>>; 8]) -> u64 {
    let is_aging =
        |row: &&Row<'_>| matches!(row, Row::Task(_) | Row::Changed(..) | Row::Read(..) | Row::Url(..));
    let named = kinds.iter().flatten().filter(is_aging).count();
    (ledger.tasks().len() + ledger.files().count() + ledger.urls().count()).saturating_sub(named) as u64
}

/// The request since which reads, fetches and files in temporary folders have to occur: the one before the newest.
fn old(ledger: &Ledger) -> Seq {
    match ledger.asked_at() {
        [old, _] => *old,
        _ => Seq(0),
    }
}

/// Whether a command does nothing but prepare or make commits, which have rows of their own.
///
/// * `commits` - the entries with reports of commits.
fn is_only_commit(row: &CommandRow, commits: &BTreeSet<Seq>) -> bool {
    let is_told = || !super::shell::read(&row.text).commits || commits.contains(&row.at.answer);
    row.outcome == Outcome::Done && super::shell::only_commits(&row.text) && is_told()
}

/// Open tasks, and the newest of those that were closed since a person's newest request.
fn tasks(ledger: &Ledger) -> Vec<&TaskRow> {
    let (mut tasks, mut closed): (Vec<_>, Vec<_>) =
        ledger.tasks().iter().partition(|task| task.state < TaskState::Done);
    let asked = ledger.asked_at().last().copied().unwrap_or_default();
    closed.retain(|task| task.changed.answer >= asked);
    closed.sort_by_key(|task| Reverse(task.changed.answer));
    closed.truncate(CLOSED_TASKS);
    tasks.extend(closed);
    tasks
}

/// The oldest of the last changes of files of the project.
fn recent(rows: &[Row<'_>], project: &Project) -> Seq {
    let stays = |row: &&Row<'_>| matches!(row, Row::Changed(path, _, put) if put.change != FileChange::Gone && project.holds(path));
    let mut changes: Vec<Seq> = rows.iter().filter(stays).map(Row::newest).collect();
    changes.sort_unstable();
    changes.iter().rev().nth(RECENT - 1).copied().unwrap_or_default()
}

fn task_text(task: &TaskRow) -> String {
    let state = match task.state {
        TaskState::Open => "open",
        TaskState::Active => "begun",
        TaskState::Done => "done",
        TaskState::Dropped => "dropped",
    };
    format!("- {state}: {} (s:{})", task.text, task.changed.answer)
}

fn changed_text(path: &str, file: &FileRow, put: Put) -> String {
    let at = put.at.answer;
    let how = match put.change {
        FileChange::Whole => "written",
        FileChange::Part => "edited",
        FileChange::Gone => "removed",
    };
    let times = if file.writes > 1 { format!(", {} changes", file.writes) } else { String::new() };
    format!("- {path} {how}{times} (s:{at})")
}

fn command_text(command: &CommandRow) -> String {
    let outcome = match (command.exit, command.outcome) {
        // A later command hid the failure.
        (Some(0) | None, Outcome::Failed) => "failed".to_owned(),
        (Some(code), _) => format!("exit {code}"),
        // A filter behind a pipe ended well; how the command before it ended, nobody said.
        (None, Outcome::Done) if super::shell::read(&command.text).tells.hides => "ran".to_owned(),
        (None, Outcome::Done) => "ok".to_owned(),
        (None, Outcome::NotRun) => "not run".to_owned(),
    };
    let tests = command.tests.map(|tests| format!(", {}", counts_text(tests))).unwrap_or_default();
    format!("- {}: {outcome}{tests} (s:{})", clip(&command.text, 160), command.at.answer)
}

/// The lines that were read, unless the whole file was.
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

/// A file's name; one whose folder is unknown is told from those below the project's folder.
fn named(path: &str, project: &Project) -> String {
    let mark = if project.is_loose(path) { " (relative name)" } else { "" };
    format!("{}{mark}", shown(project.name(path)))
}

fn shown(name: &str) -> String {
    redact(&clip(name, 200)).into_owned()
}
