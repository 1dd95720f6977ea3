//! What a prompt does not show word for word: what a break took out, or all of a call; each thing with whether it can still be
//! reached, and how.
//!
//! Which entries that are is a rule of the core ([`unforget_core::left`]), what an entry tells is read by `unforget_text`. Here the
//! newest of the entries are read, at most [`LEFT_ENTRIES`] of them, and their things are looked for in the prompt.

use std::collections::BTreeSet;

use unforget_core::id::{Seq, Timestamp};
use unforget_core::left::{LeftForm, LeftPart, LeftRun, LeftWhy, joined, left_between, not_shown};
use unforget_text::numbers::one_line;
use unforget_text::{TOLD_CHARS, ToldKind, standing, told};

use crate::calls::{CallHistory, ShownCall};
use crate::prompt::{How, Part, ThreadRef};
use crate::recall::{Hit, PageStart, SearchQuery};
use crate::{Engine, EngineError};

/// Most entries that are looked through.
pub const LEFT_ENTRIES: usize = 1_500;

/// What is asked of the calls of a conversation.
#[derive(Clone, Copy)]
pub struct LeftQuestion<'a> {
    /// The thread.
    pub of: ThreadRef,
    /// Its calls.
    pub calls: &'a CallHistory,
    /// Things of a kind that are looked for with a search, each over all of the conversation; the others are told by their entry.
    pub searches: usize,
    /// The present, for searches.
    pub now: Option<Timestamp>,
}

/// The prompt that a question is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftPlace {
    /// All that the newest prompt does not show.
    Newest,
    /// All that the prompt of this call does not show: `120`, or `r12` for one that was sent.
    Call(String),
    /// What left at this break, from 1.
    Break(u32),
}

/// What a prompt does not show, and which prompt that is.
pub struct LeftRead {
    /// Index of the call.
    pub at: usize,
    /// Index of the call that it was compared with.
    pub before: Option<usize>,
    /// Whether these are the bytes that were sent; `None` for a played call.
    pub is_same: Option<bool>,
    /// The answer; `None` if no request of the call fits its window.
    pub answer: Option<LeftAnswer>,
}

/// Whether a thing can still be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftReach {
    /// Its words still stand in the prompt.
    Prompt,
    /// A search with its words finds it at this rank, from 1.
    Search(usize),
    /// By its entry.
    Entry,
}

/// A thing whose entry does not stand in the prompt word for word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftThing {
    /// Its kind.
    pub kind: ToldKind,
    /// Its words on one line.
    pub text: String,
    /// The entry that tells it.
    pub seq: Seq,
    /// Whether the entry says it in these words.
    pub is_said: bool,
    /// Where it can be found.
    pub reach: LeftReach,
    /// Why the prompt does not show the entry; `None` where two prompts are compared.
    pub why: Option<LeftWhy>,
}

/// A line of a summary that is no longer shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoneLine {
    /// Its words on one line.
    pub text: String,
    /// First and last entry that the summary stood for.
    pub span: (Seq, Seq),
}

/// Entries that a prompt does not show word for word for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftGroup {
    /// The reason.
    pub why: LeftWhy,
    /// First and last entry of each run, in order.
    pub spans: Vec<(Seq, Seq)>,
    /// Entries of the runs, with those that are not for models.
    pub entries: u64,
    /// Index of the first call after the break of the reason, if it is kept.
    pub call: Option<usize>,
}

/// What a prompt does not show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftAnswer {
    /// First and last entry of each run, in order.
    pub spans: Vec<(Seq, Seq)>,
    /// Entries for models among them; of two prompts that are compared, all entries.
    pub entries: u64,
    /// Entries that were not looked through, with those that are not for models.
    pub unread: u64,
    /// Purged entries.
    pub purged: Vec<Seq>,
    /// By reason, the newest break first; empty where two prompts are compared.
    pub groups: Vec<LeftGroup>,
    /// By kind, the newest first; each kind and text once.
    pub things: Vec<LeftThing>,
    /// Lines of the earlier prompt's summaries that do not stand in the later prompt.
    pub lines: Vec<GoneLine>,
}

impl LeftAnswer {
    /// Whether everything stands word for word.
    pub const fn is_nothing(&self) -> bool {
        self.spans.is_empty() && self.lines.is_empty()
    }

    /// Things of a kind, the newest first.
    pub fn of_kind(&self, kind: ToldKind) -> impl Iterator<Item = &LeftThing> {
        self.things.iter().filter(move |thing| thing.kind == kind)
    }
}

/// Two prompts of a conversation, the earlier one first.
#[derive(Clone, Copy)]
pub struct CallPair<'a> {
    /// The earlier one.
    pub was: &'a ShownCall,
    /// The later one.
    pub is: &'a ShownCall,
}

/// Spans to look through, with why they are not shown.
struct LookedSpan {
    first: Seq,
    last: Seq,
    why: Option<LeftWhy>,
}

impl Engine {
    /// What left at a break, or what the prompt of a call does not show.
    ///
    /// Cost: that of [`Engine::left_at`] or [`Engine::left_between`].
    ///
    /// # Errors
    /// [`EngineError::Usage`] if there is no such call or break; errors of the store.
    pub fn left(&self, asked: LeftQuestion<'_>, place: &LeftPlace) -> Result<LeftRead, EngineError> {
        let calls = asked.calls;
        let at = placed(calls, place)?;
        let whole = |at: usize| match calls.points.get(at) {
            Some(point) => calls.call(self, asked.of.conversation, point),
            None => Ok(None),
        };
        // A call without a prompt shows nothing that could have left.
        let has_prompt = |at: &usize| calls.points.get(*at).is_some_and(|point| point.refused.is_none());
        let is_compared = matches!(place, LeftPlace::Break(_));
        let before = (0..at).rev().find(has_prompt).filter(|_| is_compared);
        let Some(is) = whole(at)? else { return Ok(LeftRead { at, before, is_same: None, answer: None }) };
        let was = before.map(whole).transpose()?.flatten();
        let answer = match &was {
            Some(was) => self.left_between(asked, CallPair { was, is: &is })?,
            None => self.left_at(asked, at, &is)?,
        };
        Ok(LeftRead { at, before, is_same: is.is_same, answer: Some(answer) })
    }

    /// What left between two prompts.
    ///
    /// Cost: O(prompts), and at most [`LEFT_ENTRIES`] entries.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn left_between(
        &self,
        asked: LeftQuestion<'_>,
        calls: CallPair<'_>,
    ) -> Result<LeftAnswer, EngineError> {
        let CallPair { was, is } = calls;
        let spans = left_between(&forms(&was.parts), &forms(&is.parts));
        let looked = joined(&spans).into_iter().map(|(first, last)| LookedSpan { first, last, why: None });
        let mut looked: Vec<LookedSpan> = looked.collect();
        looked.reverse();
        let mut answer = self.looked_through(asked, &is.words, &looked)?;
        answer.entries = spans.iter().map(|(first, last)| last.0 - first.0 + 1).sum();
        answer.lines = self.gone_lines(asked, calls)?;
        answer.spans = spans;
        Ok(answer)
    }

    /// What a prompt does not show word for word of the history before it, and since when.
    ///
    /// * `at` - index of the call.
    ///
    /// Cost: O(prompt + contexts of the calls so far), and at most [`LEFT_ENTRIES`] entries; independent of the history.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn left_at(
        &self,
        asked: LeftQuestion<'_>,
        at: usize,
        call: &ShownCall,
    ) -> Result<LeftAnswer, EngineError> {
        let Some(point) = asked.calls.points.get(at) else { return Ok(LeftAnswer::default()) };
        let breaks = asked.calls.breaks_before(self, asked.of.conversation, point)?;
        let runs = not_shown(&forms(&call.parts), &breaks);
        let groups = grouped(&runs, asked.calls);
        let looked: Vec<LookedSpan> = groups
            .iter()
            .flat_map(|group| group.spans.iter().rev().map(|(first, last)| (group.why, *first, *last)))
            .map(|(why, first, last)| LookedSpan { first, last, why: Some(why) })
            .collect();
        let mut answer = self.looked_through(asked, &call.words, &looked)?;
        let cover = call.certificate.cover;
        answer.entries = cover.stubbed + cover.summarised + cover.elided;
        answer.spans = joined(&runs.iter().map(|run| run.span).collect::<Vec<_>>());
        answer.groups = groups;
        Ok(answer)
    }

    /// What the entries of these spans tell, as far as they are looked through.
    ///
    /// * `words` - of the prompt.
    /// * `spans` - the most wanted first.
    fn looked_through(
        &self,
        asked: LeftQuestion<'_>,
        words: &str,
        spans: &[LookedSpan],
    ) -> Result<LeftAnswer, EngineError> {
        let mut answer = LeftAnswer::default();
        let mut known: BTreeSet<(ToldKind, String)> = BTreeSet::new();
        let mut room = LEFT_ENTRIES;
        let (first, last) =
            (spans.iter().map(|span| span.first).min(), spans.iter().map(|span| span.last).max());
        // What was taken back before the call left no prompt.
        let off = match first.zip(last) {
            Some((first, last)) => self.off_path(asked.of.conversation, first, last)?,
            None => BTreeSet::new(),
        };
        for LookedSpan { first, last, why } in spans {
            let length = last.0 - first.0 + 1;
            let most = usize::try_from(length).unwrap_or(LEFT_ENTRIES).min(room);
            if most == 0 {
                answer.unread += length;
                continue;
            }
            let start = PageStart::Before(Seq(last.0.saturating_add(1)));
            let page = self.read_page(asked.of, start, most)?;
            let is_cut = (most as u64) < length;
            let from = page.entries.first().map_or(last.0, |one| one.seq.0).max(first.0);
            answer.unread += if is_cut { from - first.0 } else { 0 };
            for one in page.entries.iter().rev().filter(|one| one.seq >= *first) {
                room = room.saturating_sub(1);
                if off.contains(&one.seq) {
                    continue;
                }
                if one.purged {
                    answer.purged.push(one.seq);
                }
                for thing in told(&one.entry) {
                    if known.insert((thing.kind, thing.text.clone())) {
                        answer.things.push(LeftThing {
                            kind: thing.kind,
                            text: thing.text,
                            seq: one.seq,
                            is_said: thing.is_said,
                            reach: LeftReach::Entry,
                            why: *why,
                        });
                    }
                }
            }
        }
        answer.purged.sort_unstable();
        answer.things.sort_by_key(|thing| (thing.kind, std::cmp::Reverse(thing.seq)));
        self.find_again(asked, words, &mut answer.things)?;
        Ok(answer)
    }

    /// Tells where each thing can be found.
    fn find_again(
        &self,
        asked: LeftQuestion<'_>,
        words: &str,
        things: &mut [LeftThing],
    ) -> Result<(), EngineError> {
        let stand = standing(words, things.iter().map(|thing| thing.text.as_str()));
        let mut searches = (ToldKind::Request, 0);
        for (thing, stands) in things.iter_mut().zip(stand) {
            if searches.0 != thing.kind {
                searches = (thing.kind, 0);
            }
            if stands {
                thing.reach = LeftReach::Prompt;
            } else if searches.1 < asked.searches {
                searches.1 += 1;
                thing.reach = self.searched(asked, thing)?;
            }
        }
        Ok(())
    }

    /// Whether a search with the words of a thing finds its entry.
    fn searched(&self, asked: LeftQuestion<'_>, thing: &LeftThing) -> Result<LeftReach, EngineError> {
        let query = SearchQuery {
            text: thing.text.clone(),
            conversation: Some(asked.of.conversation),
            limit: Some(5),
            now: asked.now,
            ..SearchQuery::default()
        };
        let found = self.search(&query)?;
        let is_it = |hit: &Hit| hit.seq == thing.seq || hit.also.iter().any(|copy| copy.seq == thing.seq);
        let rank = found.results.iter().position(is_it);
        Ok(rank.map_or(LeftReach::Entry, |rank| LeftReach::Search(rank + 1)))
    }

    /// Lines of the earlier prompt's summaries that do not stand in the later prompt.
    fn gone_lines(&self, asked: LeftQuestion<'_>, calls: CallPair<'_>) -> Result<Vec<GoneLine>, EngineError> {
        let CallPair { was, is } = calls;
        let engine = asked.calls.engine(self);
        let names: BTreeSet<&str> = is.parts.iter().filter_map(|part| part.how.summary()).collect();
        let mut lines = Vec::new();
        for part in &was.parts {
            let Some(name) = part.how.summary().filter(|name| !names.contains(name)) else { continue };
            let words = engine.summary_words(Some(asked.of.conversation), name)?;
            let points = words.lines().filter_map(|line| line.strip_prefix("- ")).map(str::trim);
            let gone = points.filter(|point| !is.words.contains(point));
            let line = |point| GoneLine { text: one_line(point, TOLD_CHARS), span: part.span };
            lines.extend(gone.map(line));
        }
        Ok(lines)
    }
}

/// The index of the call that a question is about.
fn placed(calls: &CallHistory, place: &LeftPlace) -> Result<usize, EngineError> {
    let last = calls.points.len().checked_sub(1);
    let usage = |what: String, hint: String| EngineError::Usage { what, hint };
    let Some(last) = last else {
        let what = "this conversation has no call of a model".to_owned();
        return Err(usage(what, "nothing was shown, so nothing left".to_owned()));
    };
    let range = || format!("calls go from {} to {}", calls.label(0), calls.label(last));
    match place {
        LeftPlace::Newest => Ok(last),
        LeftPlace::Call(label) => {
            let sent = format!("r{label}");
            let found = calls.find(label).or_else(|| calls.find(&sent));
            found.ok_or_else(|| usage(format!("there is no call {label}"), range()))
        }
        LeftPlace::Break(number) => calls.after_break(*number).ok_or_else(|| {
            let known: BTreeSet<u32> = calls.points.iter().filter_map(|point| point.epoch).collect();
            let known = known.into_iter().filter(|number| calls.after_break(*number).is_some());
            let known: Vec<String> = known.map(|number| number.to_string()).collect();
            let hint = match known.as_slice() {
                [] => "no prompt of this conversation broke: nothing left it".to_owned(),
                known => format!("breaks at which entries left: {}", known.join(", ")),
            };
            usage(format!("there is no break {number} that is kept"), hint)
        }),
    }
}

/// The forms of a prompt's entries.
fn forms(parts: &[Part]) -> Vec<LeftPart> {
    let form = |how: &How| match how {
        How::Whole => LeftForm::Whole,
        How::Stub => LeftForm::Short,
        How::Summary { .. } | How::Coarse => LeftForm::Summarised,
        How::LeftOut => LeftForm::LeftOut,
    };
    parts.iter().map(|part| LeftPart { span: part.span, form: form(&part.how) }).collect()
}

/// The runs by reason: what this call alone lacks, then the newest break first.
fn grouped(runs: &[LeftRun], calls: &CallHistory) -> Vec<LeftGroup> {
    let mut groups: Vec<LeftGroup> = Vec::new();
    for run in runs {
        let entries = run.span.1.0 - run.span.0.0 + 1;
        match groups.iter_mut().find(|group| group.why == run.why) {
            Some(group) => {
                group.entries += entries;
                group.spans.push(run.span);
            }
            None => groups.push(LeftGroup {
                why: run.why,
                spans: vec![run.span],
                entries,
                call: run.why.number().and_then(|number| calls.after_break(number)),
            }),
        }
    }
    for group in &mut groups {
        group.spans = joined(&group.spans);
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.why.number().unwrap_or(u32::MAX)));
    groups
}
