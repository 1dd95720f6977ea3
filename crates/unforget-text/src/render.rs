//! A summary as text for a model, within a number of tokens.

use unforget_core::tokens::Ruler;

use crate::anchors::CUT;
use crate::clip::clip;
use crate::fence::time_text;
use crate::sections::{EARLIER, Item, SectionKind, State, Summary};
use crate::sentences::is_decision;

/// How a section is shown.
struct Style {
    kind: SectionKind,
    heading: &'static str,
    /// One line for all items instead of a line each.
    joined: bool,
}

const STYLES: [Style; 9] = [
    Style { kind: SectionKind::Goal, heading: "Asked:", joined: false },
    Style { kind: SectionKind::Constraints, heading: "Rules that people gave, verbatim:", joined: false },
    Style { kind: SectionKind::Decisions, heading: "Decided or found:", joined: false },
    Style { kind: SectionKind::Actions, heading: "Tools run:", joined: false },
    Style { kind: SectionKind::FilesRead, heading: "Files read:", joined: true },
    Style { kind: SectionKind::FilesWritten, heading: "Files written:", joined: true },
    Style { kind: SectionKind::Errors, heading: "Failures:", joined: false },
    Style {
        kind: SectionKind::OpenAsks,
        heading: "Without an answer at the end of these entries:",
        joined: false,
    },
    Style { kind: SectionKind::Anchors, heading: "Identifiers:", joined: true },
];

/// Renders `summary` for a prompt in at most `max_tokens` by `ruler`'s upper bound.
///
/// A record of the past, in the third person, never an order. What matters most is placed first into the
/// room there is (rules, then what is open, requests, identifiers, decisions, failures, files, tools); items that do not
/// fit are left out whole. With little room, the title and some identifiers remain; with none, nothing.
/// Wrap the text with [`crate::fence`], whose own tokens are not counted here.
///
/// Cost: linear in the summary, a few rulings per section.
pub fn render(summary: &Summary, max_tokens: u64, ruler: &dyn Ruler) -> String {
    let mut page = Page {
        ruler,
        max: max_tokens,
        used: 0,
        head: String::new(),
        lines: std::array::from_fn(|_| Vec::new()),
    };
    if !page.head(summary) {
        return String::new();
    }
    // (kind, share of the room that may be used up to and with this step, in percent)
    let steps = [
        (SectionKind::Constraints, 35),
        (SectionKind::OpenAsks, 40),
        (SectionKind::Goal, 48),
        (SectionKind::FilesWritten, 54),
        (SectionKind::Errors, 60),
        (SectionKind::Decisions, 64),
        (SectionKind::Anchors, 78),
        (SectionKind::Actions, 96),
        (SectionKind::FilesRead, 100),
        (SectionKind::Constraints, 100),
        (SectionKind::Anchors, 100),
        (SectionKind::Goal, 100),
        (SectionKind::Decisions, 100),
        (SectionKind::Actions, 100),
    ];
    for (kind, percent) in steps {
        page.fill(kind, summary, percent);
    }
    page.finish(summary)
}

struct Page<'a> {
    ruler: &'a dyn Ruler,
    max: u64,
    used: u64,
    head: String,
    /// Indexes of the items that are shown, per kind, in the order of being placed.
    lines: [Vec<usize>; 9],
}

impl Page<'_> {
    fn cost(&self, text: &str) -> u64 {
        self.ruler.count(text).upper
    }

    /// Makes the first line fit; false if not even a shortened one does.
    fn head(&mut self, summary: &Summary) -> bool {
        let span = summary.span.map(|span| {
            let entries = format!("Entries {}-{}", span.first, span.last);
            match (span.from.map(time_text), span.to.map(time_text)) {
                (Some(from), Some(to)) if from != to => format!("{entries}, {from} to {to} UTC"),
                (Some(from), _) => format!("{entries}, {from} UTC"),
                _ => entries,
            }
        });
        let short =
            summary.span.map(|span| format!("Entries {}-{}", span.first, span.last)).unwrap_or_default();
        let full = span.unwrap_or_default();
        for (prefix, title) in [(&full, 160), (&full, 80), (&short, 48), (&short, 24), (&short, 0)] {
            let title = clip(&summary.title, title);
            let head = match (prefix.is_empty(), title.is_empty()) {
                (_, true) => prefix.clone(),
                (true, false) => title.into_owned(),
                (false, false) => format!("{prefix}: {title}"),
            };
            let cost = self.cost(&head);
            // A third of a small room is enough.
            if cost * 3 <= self.max.max(120) && cost <= self.max {
                (self.head, self.used) = (head, cost);
                return true;
            }
        }
        false
    }

    /// Places items of one kind, newest first, while they fit in `percent` of the room.
    fn fill(&mut self, kind: SectionKind, summary: &Summary, percent: u64) {
        let items = summary.items(kind);
        let Some((at, style)) = STYLES.iter().enumerate().find(|(_, style)| style.kind == kind) else {
            return;
        };
        let limit = self.max * percent / 100;
        let Some(mut shown) = self.lines.get_mut(at).map(std::mem::take) else { return };
        let mut heading = if shown.is_empty() { self.cost(style.heading) + 2 } else { 0 };
        let mut misses = 0;
        let said = if kind == SectionKind::Anchors { self.said(summary) } else { String::new() };
        for (index, item) in order(kind, items) {
            // An identifier that another line has need not be named again.
            if shown.contains(&index) || (!said.is_empty() && said.contains(&item.text)) {
                continue;
            }
            let cost = self.cost(&line(kind, item)) + u64::from(!style.joined);
            if self.used + heading + cost <= limit {
                self.used += heading + cost;
                heading = 0;
                shown.push(index);
            } else {
                // Later items may be shorter, but not all of them need to be tried.
                misses += 1;
                if misses > 8 {
                    break;
                }
            }
        }
        if let Some(lines) = self.lines.get_mut(at) {
            *lines = shown;
        }
    }

    /// The words that are placed so far, identifiers apart.
    fn said(&self, summary: &Summary) -> String {
        let mut said = self.head.clone();
        for (style, shown) in STYLES.iter().zip(&self.lines) {
            let items = summary.items(style.kind);
            for item in shown.iter().filter_map(|&index| items.get(index)) {
                if style.kind != SectionKind::Anchors {
                    said.extend([" ", line(style.kind, item).as_str()]);
                }
            }
        }
        said
    }

    /// The text; drops what was placed last until the whole fits by the ruler.
    fn finish(mut self, summary: &Summary) -> String {
        loop {
            let text = self.text(summary);
            let count = self.cost(&text);
            if count <= self.max {
                return text;
            }
            let drop = (count - self.max).div_ceil(40).max(1);
            for _ in 0..drop {
                let last = [4, 3, 2, 6, 5, 0, 7, 8, 1]
                    .into_iter()
                    .find(|&at| self.lines.get(at).is_some_and(|shown: &Vec<usize>| !shown.is_empty()));
                match last.and_then(|at| self.lines.get_mut(at)) {
                    Some(shown) => _ = shown.pop(),
                    None if self.head.is_empty() => return String::new(),
                    None => self.head = clip(&self.head, self.head.chars().count() / 2).into_owned(),
                }
            }
        }
    }

    fn text(&self, summary: &Summary) -> String {
        let mut text = self.head.clone();
        for (style, shown) in STYLES.iter().zip(&self.lines) {
            let mut indexes = shown.clone();
            if indexes.is_empty() {
                continue;
            }
            indexes.sort_unstable();
            let items = summary.items(style.kind);
            let lines: Vec<String> = indexes
                .iter()
                .filter_map(|&index| items.get(index))
                .map(|item| line(style.kind, item))
                .collect();
            text.push('\n');
            text.push_str(style.heading);
            if style.joined {
                text.push(' ');
                text.push_str(&lines.join(", "));
            } else {
                for line in lines {
                    text.push('\n');
                    text.push_str(&line);
                }
            }
        }
        text
    }
}

/// Newest first; of requests the very first comes second, for it says what it was all about.
fn order(kind: SectionKind, items: &[Item]) -> impl Iterator<Item = (usize, &Item)> {
    let mut order: Vec<(usize, &Item)> = items.iter().enumerate().rev().collect();
    if kind == SectionKind::Goal
        && order.len() > 2
        && let Some(first) = order.pop()
    {
        order.insert(1, first);
    }
    if kind == SectionKind::Errors {
        order.sort_by_key(|(_, item)| item.state == State::Done);
    }
    if kind == SectionKind::Decisions {
        order.sort_by_cached_key(|(_, item)| !is_decision(&item.text));
    }
    order.into_iter()
}

/// One item as a line, with the entries that it came from.
fn line(kind: SectionKind, item: &Item) -> String {
    let seqs: Vec<String> = item.seqs.iter().take(Item::SEQS_MAX).map(ToString::to_string).collect();
    let seqs = seqs.join(",");
    let by = item.author.as_ref().map_or_else(String::new, |author| format!("{author}, "));
    let state = match (kind, item.state) {
        (SectionKind::Goal, State::Open) => ", no answer yet",
        (SectionKind::Goal, State::Done) => ", answered",
        (SectionKind::Errors, State::Done) => ", mended later",
        (_, State::Cancelled) => ", cancelled",
        _ => "",
    };
    match kind {
        SectionKind::Goal if item.text == EARLIER => format!("- {} ({seqs}{state})", item.text),
        SectionKind::Anchors => item.text.clone(),
        SectionKind::FilesWritten => format!("{} ({seqs})", item.text),
        // What they name stands whole in their entries.
        SectionKind::FilesRead => format!("{} ({seqs})", short_paths(&item.text)),
        SectionKind::Actions => format!("- {} ({seqs}{state})", short_action(&item.text)),
        SectionKind::Goal | SectionKind::Constraints | SectionKind::OpenAsks => {
            format!("- \"{}\" ({by}{seqs}{state})", item.text)
        }
        _ => format!("- {} ({seqs}{state})", item.text),
    }
}

/// Characters of what a tool was run on, and of what came of it.
const ACTION_CHARS: (usize, usize) = (64, 48);

/// A tool, what it was run on and what came of it, in short: its entries have the rest.
fn short_action(text: &str) -> String {
    let text = short_paths(text);
    match text.rsplit_once(": ") {
        Some((run, came)) => format!("{}: {}", clip(run, ACTION_CHARS.0), clip(came, ACTION_CHARS.1)),
        None => clip(&text, ACTION_CHARS.0).into_owned(),
    }
}

/// A text whose rooted paths of four parts and more are cut to the last two, behind a mark that says so.
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
