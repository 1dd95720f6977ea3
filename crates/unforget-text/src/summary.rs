//! The deterministic summariser: extracts typed items from entries, without a model.

mod anchor_set;
mod ask;
mod results;
mod turn;

use std::borrow::Cow;
use std::collections::BTreeMap;

use unforget_core::entry::{Entry, Origin, Part, Status, ToolCall};
use unforget_core::id::Seq;
use unforget_core::ledger::{Deed, FileChange};

use crate::anchors::CUT;
use crate::clean::{clean, without_reasoning};
use crate::clip::{clip, head, one_line};
use crate::discourse::{Reply, is_again, refers, reply};
use crate::host::host_text;
use crate::outline::{Cut, excerpts, words};
use crate::sections::{
    EARLIER, Item, NO_RESULT, REMOVED, Section, SectionKind, Span, State, Summary, TITLE_CHARS, title_of_file,
};
use crate::spoken::spoken;
use crate::typed::requested;
use crate::work::{is_frame, safe_ends_of, target};
use anchor_set::{AnchorSet, Weight};
use ask::{Ask, ask};
use results::writes;
pub(crate) use turn::chosen;
use turn::{Told, Turn};

/// An entry with its place in the conversation.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its place.
    pub seq: Seq,
    /// Its content.
    pub entry: &'a Entry,
}

/// Most characters of a rule, a decision, an error.
const SENTENCE_CHARS: usize = 280;
const ERROR_CHARS: usize = 200;
/// Most bytes of an answer that is kept for a request that replies to it.
const ANSWER_BYTES: usize = 2_400;
/// Most bytes of a text part that are read for sentences and identifiers.
const READ_BYTES: usize = 256 << 10;
/// First words of a host's note that a person stopped the model.
const INTERRUPTED: &str = "[Request interrupted";
/// Most tokens of the pieces of entries: room of the largest leaf.
const EXCERPT_TOKENS: u64 = 1_200;
/// Most items of a kind in one summary.
const ITEMS_MAX: usize = 80;

/// Summarises entries given in order.
///
/// Takes people's requests and rules; from the model's last text in each turn, completed and remaining work, findings and
/// decisions, and from its earlier texts, causes; its other statements as remarks; calls and their outcomes; identifiers, and
/// those that only outputs show as sightings; pieces of all entries as excerpts. Statements that a person corrects are left
/// out. Never takes reasoning, media, opaque blocks, blank text, or entries that the host injected, copied or wrote for itself;
/// the host's own summaries are kept in a section of their own. Credentials are redacted and encoded blobs left out before
/// anything else is read. No text that looks like an identifier is added that is not in the entries.
///
/// Cost: linear in the text read; of one tool result at most the first and last 64 KiB for credentials, of these the outer
/// eight for the rest, and its error lines.
pub fn summarise(sources: &[Source<'_>]) -> Summary {
    let mut builder = Builder::default();
    for source in sources {
        builder.entry(source.seq, source.entry);
    }
    builder.finish(sources)
}

#[derive(Default)]
struct Builder {
    items: BTreeMap<SectionKind, Vec<Item>>,
    /// Index of the newest request, and the place of the model's last text if no call came after it.
    ask: Option<usize>,
    answered: Option<Seq>,
    turn: Turn,
    /// Calls without a result: from id to index among the actions, and their aim.
    calls: BTreeMap<String, Pending>,
    /// Open errors by the work that failed.
    failing: BTreeMap<CallTarget, Vec<usize>>,
    anchors: AnchorSet,
    cuts: Vec<Cut>,
    /// The file that the kept document is.
    document_path: Option<String>,
}

/// A call by its tool and what it is aimed at.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct CallTarget {
    name: String,
    target: String,
}

struct Pending {
    action: usize,
    name: String,
    target: String,
    /// Its deeds, as in the ledger.
    deeds: Vec<Deed>,
}

impl Builder {
    fn entry(&mut self, seq: Seq, entry: &Entry) {
        match entry.origin {
            Origin::Human | Origin::Model | Origin::Tool => {}
            Origin::HostSummary => return self.host_summary(seq, entry),
            Origin::Injected
            | Origin::Volatile
            | Origin::Copy
            | Origin::Bookkeeping
            | Origin::Opaque
            | Origin::Overtaken => {
                return;
            }
        }
        self.cuts.push(Cut::new(seq, entry.origin, quotable(entry)));
        let mut is_quotable = entry.origin != Origin::Tool;
        for part in &entry.parts {
            match part {
                // Beside results stands what a person typed while the tools ran.
                Part::Text(text) if matches!(entry.origin, Origin::Human | Origin::Tool) => {
                    self.human(seq, entry, text);
                }
                Part::Text(text) if entry.origin == Origin::Model => self.model(seq, text),
                Part::ToolCall(call) => {
                    self.call(seq, call, entry.status == Status::Complete && call.complete);
                }
                Part::ToolResult(result) => is_quotable |= !self.result(seq, entry, result),
                Part::Text(_) | Part::Thinking { .. } | Part::Media(_) | Part::Opaque { .. } => {}
            }
        }
        if !is_quotable {
            self.cuts.retain(|cut| cut.seq() != seq);
        }
        match entry.status {
            Status::Complete => {}
            Status::Aborted => self.interrupted(),
            Status::Error => {
                _ = self.push(SectionKind::Errors, Item::new("the model's turn ended with an error", seq));
            }
        }
    }

    fn push(&mut self, kind: SectionKind, item: Item) -> usize {
        let items = self.items.entry(kind).or_default();
        items.push(item);
        items.len() - 1
    }

    fn host_summary(&mut self, seq: Seq, entry: &Entry) {
        let words = crate::host::kept(&host_text(entry));
        if !words.is_empty() {
            let item = Item { author: entry.author.clone(), ..Item::new(words, seq) };
            self.push(SectionKind::HostSummary, item);
        }
    }

    /// Somebody stopped the model. The request stays open, since the person often continues with it.
    fn interrupted(&mut self) {
        self.answered = None;
        self.turn.went_on(false);
    }

    fn human(&mut self, seq: Seq, entry: &Entry, text: &str) {
        let text = clean(&start_of(&requested(text)));
        let whole = one_line(&text);
        if whole.starts_with(INTERRUPTED) {
            return self.interrupted();
        }
        let Some(Ask { words, shown }) = ask(&text) else { return };
        self.turn.ends();
        let answer = self.turn.answer().filter(|(_, text)| refers(&words, text));
        let answer = answer.map(|(at, text)| Item::new(crate::host::within(text, ANSWER_BYTES), at));
        let reply = reply(&words);
        let told = match reply {
            Reply::Agrees => self.turn.agreed(seq),
            Reply::Corrects => {
                self.cuts.retain(|cut| Some(cut.seq()) != self.answered);
                self.turn.corrected(seq, &words)
            }
            Reply::Drops => {
                self.settle(State::Cancelled, seq);
                self.turn.settled()
            }
            Reply::Goes => self.turn.replied(seq, &words),
        };
        self.tell(told);
        if reply == Reply::Drops && words.split_whitespace().count() < 5 {
            return;
        }
        let said = |text: &str| Item { author: entry.author.clone(), ..Item::new(text, seq) };
        let mut asked = Item { state: State::Open, ..said(&shown) };
        asked.seqs.splice(0..0, self.sent_again(&asked));
        self.close_ask();
        if let Some(mut answer) = answer {
            answer.seqs.push(seq);
            self.push(SectionKind::RepliedTo, answer);
        }
        self.ask = Some(self.push(SectionKind::Goal, asked));
        self.rules(seq, entry, &text);
        self.anchors.read(&words, seq, Weight::Asked);
        self.anchors.read(&text, seq, Weight::Shown);
    }

    /// Takes the rules in a person's words.
    fn rules(&mut self, seq: Seq, entry: &Entry, text: &str) {
        for rule in crate::proposals::rules(text) {
            let state = if rule.lasts { State::Fact } else { State::Open };
            let line = clip(&one_line(rule.text), SENTENCE_CHARS).into_owned();
            let item = Item { state, author: entry.author.clone(), ..Item::new(line, seq) };
            self.push(SectionKind::Constraints, item);
        }
    }

    fn model(&mut self, seq: Seq, text: &str) {
        let text = clean(without_reasoning(&start_of(text)).as_ref());
        if text.trim().is_empty() {
            return;
        }
        self.answered = Some(seq);
        self.turn.said(seq, &text);
        self.anchors.read(&text, seq, Weight::Spoken);
    }

    /// Takes over the model's statements that nobody overturned.
    fn tell(&mut self, told: Told) {
        for (kind, item) in told {
            if kind != SectionKind::Remarks {
                let seq = item.seqs.first().copied().unwrap_or_default();
                self.anchors.read(&item.text, seq, Weight::Decided);
            }
            self.push(kind, item);
        }
    }

    fn call(&mut self, seq: Seq, call: &ToolCall, live: bool) {
        let (name, aim) = (clip(&one_line(&call.name), 60).into_owned(), target(call));
        let target = clip(&one_line(&clean(crate::work::without_folder(&aim.text))), 160).into_owned();
        let outcome = if live { NO_RESULT } else { ": cut off, not run" };
        self.answered = None;
        let deeds = if live { crate::work::deeds(call) } else { Vec::new() };
        self.turn.went_on(writes(&deeds));
        let action = self.push(SectionKind::Actions, Item::new(format!("{name} {target}{outcome}"), seq));
        self.anchors.read(&target, seq, Weight::Spoken);
        if live {
            self.calls.insert(call.id.clone(), Pending { action, name, target, deeds });
        }
    }

    /// The files of a completed call: the rows of the ledger.
    fn files(&mut self, seq: Seq, deeds: &[Deed]) {
        for deed in deeds {
            let (kind, path, weight) = match deed {
                Deed::Read { path, .. } => (SectionKind::FilesRead, path, Weight::Spoken),
                Deed::Wrote { path, change: FileChange::Gone, .. } => {
                    (SectionKind::FilesWritten, path, Weight::Spoken)
                }
                Deed::Wrote { path, .. } => (SectionKind::FilesWritten, path, Weight::Written),
                Deed::Ran(_) | Deed::Fetched(_) | Deed::Tasks(_) => continue,
            };
            if matches!(deed, Deed::Wrote { .. }) {
                self.wrote(path);
            }
            let mut path = clip(&one_line(&clean(path)), 160).into_owned();
            self.anchors.read(&path, seq, weight);
            if matches!(deed, Deed::Wrote { change: FileChange::Gone, .. }) {
                path.push_str(REMOVED);
            }
            self.push(kind, Item::new(path, seq));
        }
    }

    /// Marks the newest request.
    fn settle(&mut self, state: State, seq: Seq) {
        if let Some(ask) = self.ask.and_then(|ask| self.items.get_mut(&SectionKind::Goal)?.get_mut(ask)) {
            ask.absorb(&Item { state, ..Item::new("", seq) });
            self.ask = None;
        } else {
            self.settle_earlier(state, seq);
        }
        self.answered = None;
    }

    /// Notes the outcome of a request from before the span.
    fn settle_earlier(&mut self, state: State, seq: Seq) {
        let asks = self.items.entry(SectionKind::Goal).or_default();
        if asks.is_empty() {
            asks.push(Item { state, ..Item::new(EARLIER, seq) });
        }
    }

    /// The entries of the newest request, which is dropped, if nobody answered it and this request says it again.
    fn sent_again(&mut self, request: &Item) -> Vec<Seq> {
        let asks = self.items.entry(SectionKind::Goal).or_default();
        let is_last = self.answered.is_none() && self.ask.is_some_and(|ask| ask + 1 == asks.len());
        let is_one = |ask: &Item| ask.author == request.author && is_again(&ask.text, &request.text);
        let again = asks.pop_if(|ask| is_last && is_one(ask));
        if again.is_some() {
            self.ask = None;
        }
        again.map(|ask| ask.seqs).unwrap_or_default()
    }

    /// Determines the outcome of the newest request when the next one arrives: answered if the model had the last word,
    /// otherwise unknown.
    fn close_ask(&mut self) {
        if let Some(seq) = self.answered {
            self.settle(State::Done, seq);
        } else {
            if let Some(ask) = self.ask.and_then(|ask| self.items.get_mut(&SectionKind::Goal)?.get_mut(ask)) {
                ask.state = State::Fact;
            }
            self.ask = None;
        }
    }

    /// The first request with enough words, otherwise the first request, otherwise the written files, otherwise the first
    /// action.
    fn title(&self) -> String {
        let asks = self.items.get(&SectionKind::Goal).map(Vec::as_slice).unwrap_or_default();
        let asks = || asks.iter().filter(|ask| ask.text != EARLIER);
        let told = asks().find(|ask| ask.text.chars().count() > 16).or_else(|| asks().next());
        if let Some(told) = told {
            return clip(&told.text, TITLE_CHARS).into_owned();
        }
        let first = |kind| self.items.get(&kind).and_then(|items| items.first());
        let told = first(SectionKind::FilesWritten).map(|file| title_of_file(&file.text));
        let told = told.or_else(|| first(SectionKind::Actions).map(|action| action.text.clone()));
        clip(&told.unwrap_or_default(), TITLE_CHARS).into_owned()
    }

    fn finish(mut self, sources: &[Source<'_>]) -> Summary {
        self.turn.ends();
        if let Some((at, text)) = self.turn.answer() {
            let answer = Item::new(crate::host::within(text, ANSWER_BYTES), at);
            self.push(SectionKind::RepliedTo, answer);
        }
        let left = self.turn.open();
        let told = self.turn.settled();
        self.tell(told);
        if self.answered.is_some() {
            self.close_ask();
        }
        let open: Vec<Item> = self
            .items
            .get(&SectionKind::Goal)
            .map(|asks| asks.iter().filter(|ask| ask.state == State::Open).cloned().collect())
            .unwrap_or_default();
        self.items.entry(SectionKind::OpenAsks).or_default().extend(open.into_iter().chain(left));
        let title = self.title();
        let (anchors, sightings) = self.anchors.items();
        self.items.insert(SectionKind::Anchors, anchors);
        self.items.insert(SectionKind::Sightings, sightings);
        self.items.insert(SectionKind::Excerpts, excerpts(&self.cuts, EXCERPT_TOKENS));
        let sections = self.items.into_iter().filter(|(_, items)| !items.is_empty());
        let summary = Summary {
            title: title.clone(),
            span: span(sources),
            sections: sections.map(|(kind, items)| Section { kind, items: limited(kind, items) }).collect(),
        };
        Summary { title, ..Summary::merge(&[summary]) }
    }
}

/// The items worth keeping: the newest, and of requests also the first.
fn limited(kind: SectionKind, mut items: Vec<Item>) -> Vec<Item> {
    if !matches!(kind, SectionKind::Anchors | SectionKind::Sightings | SectionKind::Excerpts)
        && items.len() > ITEMS_MAX
    {
        let keep_first = usize::from(kind == SectionKind::Goal);
        let cut = items.len() - ITEMS_MAX + keep_first;
        items.drain(keep_first..cut);
    }
    items
}

fn span(sources: &[Source<'_>]) -> Option<Span> {
    let times = || sources.iter().filter_map(|source| source.entry.time);
    Some(Span {
        first: sources.iter().map(|source| source.seq).min()?,
        last: sources.iter().map(|source| source.seq).max()?,
        from: times().min(),
        to: times().max(),
    })
}

/// What excerpts may quote of an entry: of a message to the model only what a person wrote. Calls are told as such.
fn quotable(entry: &Entry) -> String {
    let is_call = |part: &Part| matches!(part, Part::ToolCall(_));
    let words = words(entry.parts.iter().filter(|part| !is_call(part)), safe_ends_of);
    let words = clean(without_reasoning(&start_of(&words)).as_ref());
    match entry.origin {
        Origin::Human if words.trim_start().starts_with(INTERRUPTED) => String::new(),
        Origin::Human => spoken(&requested(&words)).join("\n"),
        Origin::Tool => words.lines().filter(|line| !is_frame(line)).collect::<Vec<_>>().join("\n"),
        _ => words,
    }
}

/// The first bytes of a text. A word cut there is marked.
fn start_of(text: &str) -> Cow<'_, str> {
    if text.len() <= READ_BYTES {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}{CUT}", head(text, READ_BYTES)))
}
