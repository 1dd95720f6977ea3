//! Whether a hint was right, told by what the session did next. Only the bench has these rules.

use std::collections::{BTreeMap, BTreeSet};

use unforget_bench::identifiers;
use unforget_core::digest::Digest;
use unforget_core::entry::Origin;
use unforget_core::ledger::{Called, Deed, Fact, Outcome};
use unforget_text::{MemoryItem, MemoryKind};

use super::recorded::{Event, HookMoment, RecordedSession, Step, words};
use crate::bench::needles::says;

/// Messages, calls and results after a moment in which a hint has to prove right.
pub(super) const AHEAD: usize = 80;

/// Shortest name that is looked for, in bytes.
const NAME_MIN: usize = 5;

/// Names that sessions of a project have in common.
pub(super) struct CommonNames {
    /// Number of sessions that say a name.
    sessions: BTreeMap<String, usize>,
    all: usize,
}

impl CommonNames {
    pub(super) fn of(sessions: &[RecordedSession]) -> Self {
        let mut count: BTreeMap<String, usize> = BTreeMap::new();
        for session in sessions {
            let own: BTreeSet<String> =
                session.steps.iter().flat_map(|step| names(&words(&step.entry))).collect();
            for name in own {
                *count.entry(name).or_default() += 1;
            }
        }
        Self { sessions: count, all: sessions.len() }
    }

    /// Whether a third of all sessions or more, and more than two, say a name: it tells nothing.
    fn has(&self, name: &str) -> bool {
        self.sessions.get(name).is_some_and(|count| *count > 2 && count * 3 >= self.all)
    }
}

/// A moment of a session with what came behind it.
pub(super) struct Judge<'a> {
    pub(super) moment: &'a HookMoment,
    /// Names that the moment itself has, which prove nothing.
    known: BTreeSet<String>,
    /// What the model said and called next.
    said: String,
    /// Names of the files that it changed next.
    wrote: BTreeSet<String>,
    /// The work of the commands that it ran next.
    ran: BTreeSet<Digest>,
    /// Whether the call of the moment failed.
    has_failed: bool,
}

impl<'a> Judge<'a> {
    pub(super) fn new(session: &RecordedSession, moment: &'a HookMoment) -> Self {
        let input = &moment.input;
        let known = match moment.event {
            Event::Start => BTreeSet::new(),
            Event::Prompt => names(&input.prompt),
            Event::Edit | Event::Command => names(&input.tool_input.to_string()),
            Event::Failure => names(input.error.as_str().unwrap_or_default()),
        };
        let first = match moment.event {
            Event::Start => 0,
            Event::Prompt => moment.at + 1,
            Event::Edit | Event::Command | Event::Failure => moment.at.saturating_sub(1),
        };
        let ahead = session.steps.get(first..).unwrap_or_default();
        let ahead: Vec<&Step> =
            ahead.iter().filter(|step| !step.entry.parts.is_empty()).take(AHEAD).collect();
        let mut judge = Self {
            moment,
            known,
            said: String::new(),
            wrote: BTreeSet::new(),
            ran: BTreeSet::new(),
            has_failed: false,
        };
        let by_model = ahead.iter().filter(|step| step.entry.origin == Origin::Model);
        // What a call says itself is known already.
        for step in by_model.skip(usize::from(matches!(moment.event, Event::Edit | Event::Command))) {
            judge.said.push_str(&words(&step.entry));
            judge.said.push('\n');
        }
        judge.said = judge.said.split_whitespace().collect::<Vec<_>>().join(" ");
        // The call of a moment is no work behind it.
        let behind = ahead.get(1..).unwrap_or_default();
        for called in behind.iter().flat_map(|step| &step.facts).filter_map(called) {
            let (wrote, ran) = work(called);
            judge.wrote.extend(wrote);
            judge.ran.extend(ran);
        }
        let own = ahead.first().and_then(|step| step.facts.iter().find_map(called)).map(|called| &called.id);
        judge.has_failed = behind.iter().flat_map(|step| &step.facts).any(|fact| match fact {
            Fact::Answered(answered) => Some(&answered.call_id) == own && answered.outcome == Outcome::Failed,
            Fact::Called(_) | Fact::Asked => false,
        });
        judge
    }

    /// Whether an item was worth telling.
    ///
    /// * `source` - the session that left it.
    pub(super) fn is_right(&self, item: &MemoryItem, source: &RecordedSession, common: &CommonNames) -> bool {
        if item.kind == MemoryKind::Fixed && !matches!(self.moment.event, Event::Start | Event::Prompt) {
            let will_fail = self.moment.event == Event::Command && self.has_failed;
            return will_fail || self.is_mended_so(item, source);
        }
        names(&item.text)
            .iter()
            .filter(|name| !self.known.contains(*name) && !common.has(name))
            .any(|name| says(&self.said, name))
    }

    /// Whether what mended a failure in the other session is what this one does next: a file of the same name is
    /// changed, or the same command is run, other than the failing one.
    fn is_mended_so(&self, item: &MemoryItem, source: &RecordedSession) -> bool {
        let (wrote, ran) = mending(item, source);
        !wrote.is_disjoint(&self.wrote) || !ran.is_disjoint(&self.ran)
    }
}

/// What was done between the last failure that an item tells of and the success after it; nothing if the failure is
/// not found, since it may have been reported in other words.
fn mending(item: &MemoryItem, source: &RecordedSession) -> (BTreeSet<String>, BTreeSet<Digest>) {
    let what = item.text.split_once(" failed: ").map_or("", |(what, _)| what);
    let end = item.seq.map_or(0, |seq| seq.0 as usize);
    let (mut wrote, mut ran) = (BTreeSet::new(), BTreeSet::new());
    let mut failed: BTreeSet<&str> = BTreeSet::new();
    for step in source.steps.get(..end).unwrap_or_default().iter().rev() {
        for fact in step.facts.iter().rev() {
            match fact {
                Fact::Asked => {}
                Fact::Answered(answered) => {
                    failed.extend(answered.error.as_ref().map(|_| answered.call_id.as_str()));
                }
                Fact::Called(called) if called.what == what => {
                    if failed.contains(called.id.as_str()) {
                        return (wrote, ran);
                    }
                }
                Fact::Called(called) => {
                    let (files, commands) = work(called);
                    wrote.extend(files);
                    ran.extend(commands);
                }
            }
        }
    }
    (BTreeSet::new(), BTreeSet::new())
}

const fn called(fact: &Fact) -> Option<&Called> {
    match fact {
        Fact::Called(called) => Some(called),
        Fact::Answered(_) | Fact::Asked => None,
    }
}

/// Names of the files that a call changes, and the work of its commands.
fn work(called: &Called) -> (Vec<String>, Vec<Digest>) {
    let (mut wrote, mut ran) = (Vec::new(), Vec::new());
    for deed in &called.deeds {
        match deed {
            Deed::Wrote { path, .. } => {
                wrote.push(path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned());
            }
            Deed::Ran(command) => ran.push(command.work),
            _ => {}
        }
    }
    (wrote, ran)
}

/// Identifiers of a text, verbatim: of a path its last part.
fn names(text: &str) -> BTreeSet<String> {
    let last = |name: String| name.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    let mut found: BTreeSet<String> = identifiers(text).into_iter().map(|(_, name)| last(name)).collect();
    let is_camel = |word: &&str| {
        let mut before = ' ';
        word.chars().any(|c| std::mem::replace(&mut before, c).is_lowercase() && c.is_uppercase())
    };
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    found.extend(words.filter(is_camel).map(str::to_owned));
    let is_file = |word: &&str| {
        word.rsplit_once('.').is_some_and(|(stem, kind)| {
            !stem.is_empty()
                && (1..=5).contains(&kind.len())
                && kind.bytes().all(|byte| byte.is_ascii_lowercase())
        })
    };
    let words = text.split(|c: char| !(c.is_alphanumeric() || "_-.".contains(c)));
    found.extend(words.map(|word| word.trim_matches('.')).filter(is_file).map(str::to_owned));
    found.retain(|name| name.len() >= NAME_MIN && !name.bytes().all(|byte| byte.is_ascii_digit()));
    found
}
