//! The prompt of a view: compact when it is due, assemble, admit.
//!
//! A [`Session`] holds one lane of a conversation in the shape of one request: dialect, ruler, window.
//! Feed it the entries in order and ask for the prompt before every model call; what it keeps in memory
//! is what the prompt shows, never the history. Its state after any history is a function of that
//! history and the shape, so that a session opened from the store goes on with the same bytes.

mod ahead;
mod cause;
mod compose;
mod counts;
mod guide;
mod headline;
mod hosted;
mod inherit;
mod notes;
mod open;
mod parts;
mod pieces;
mod pins;
mod recipe;
mod rewrites;
mod settle;
mod shape;
mod shorten;
mod state;
mod summaries;
mod system;
mod turns;
mod worked;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use unforget_core::admit::{Admitted, admit};
use unforget_core::compact::{self, Context, Root, Sizes};
use unforget_core::entry::{Entry, Role};
use unforget_core::group::{Group, Item, Placed};
use unforget_core::id::{ConversationId, Seq, Thread, Timestamp};
use unforget_core::ledger::Fact;
use unforget_core::media::Limit;
use unforget_core::pair::Detail;
use unforget_core::tokens::Tokens;
use unforget_store::{SummaryKey, SummaryRow};
use unforget_text::{Summary, facts};
use unforget_wire::{Target, render};

use crate::Engine;
use crate::error::EngineError;
use crate::ledger;
use crate::view::{Shown, View};

pub(crate) use ahead::decoded;
pub(crate) use counts::Counts;
pub(crate) use inherit::Inherited;

use ahead::Weighed;
use cause::{Sent, common_prefix};
use pieces::{GroupPieces, Piece};
use pins::Pinned;
use system::System;
use worked::Worked;

pub use cause::{Broken, Cause, Region};
pub use counts::PromptWeight;
pub use open::Until;
pub use parts::{How, Part};
pub(crate) use pieces::{IMAGE_TOKENS, pick, without_media};
pub use pins::ShortPin;
pub(crate) use recipe::sent_digest;
pub use recipe::{RECIPE_BYTES_MAX, Recipe};
pub use shape::Shape;
pub use turns::TurnPlace;

/// So many groups are not worth a second thread.
const FORMS_ALONE: usize = 8;

/// One lane of a conversation: what a prompt is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The conversation.
    pub conversation: ConversationId,
    /// The lane; 0 is the main one.
    pub thread: Thread,
}

/// A summary as the prompt shows it.
#[derive(Clone, Debug)]
struct ShownRoot {
    root: Root,
    /// Tokens that it was rendered into.
    room: u64,
    /// Whether a model wrote it.
    rewritten: bool,
    written: Written,
    piece: Piece,
}

/// A summary as it is stored.
#[derive(Clone, Debug)]
struct Written {
    summary: Arc<Summary>,
    /// Expected tokens of its stored text.
    tokens: u64,
}

/// A prompt and how it relates to the one before.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// The certified request.
    pub admitted: Admitted,
    /// Expected tokens at its beginning that equal the one before: what a provider's cache can serve.
    pub reused: u64,
    /// How less than everything sent before is reused; `None` if the prompt only grew.
    pub broken: Option<Broken>,
    /// Milliseconds since the call before, by the times of the history; `None` if one of them is not known.
    pub idle_ms: Option<u64>,
    /// Breaks of the context since it was opened.
    pub epoch: u32,
    /// Blocks at the beginning of the first message that change at breaks only: pins and summaries.
    pub leading: usize,
    /// Pinned files shown in part.
    pub short_pins: Vec<ShortPin>,
    /// What a count of it is compared with, by [`Session::reported`]; `None` if it was made smaller than its context wants.
    pub weighed: Option<PromptWeight>,
}

impl Prompt {
    /// The request body for the session's target: [`Shape::target`].
    pub fn render(&self, target: impl Into<Target>) -> String {
        render(self.admitted.request(), target)
    }
}

/// One lane of a conversation as a prompt.
pub struct Session {
    engine: Engine,
    conversation: ConversationId,
    thread: Thread,
    shape: Shape,
    view: View,
    context: Context,
    /// Newest entry when the context broke last: what was repeated by then stays superseded.
    as_of: Seq,
    roots: Vec<ShownRoot>,
    headline: headline::Headline,
    /// Explains the roots to the model.
    guide: Option<Piece>,
    /// The host's words behind the summaries. Changes at breaks only.
    hosted: Option<Piece>,
    /// Roots that are shown as a model wrote them. Changes at breaks only.
    rewritten: BTreeSet<SummaryKey>,
    /// Forms of the view's groups; shorter than the view while groups wait to be prepared.
    pieces: Vec<GroupPieces>,
    sizes: Vec<Sizes>,
    /// Source tokens of each entry behind the summaries.
    sources: BTreeMap<Seq, u64>,
    carried: Option<(Item, Piece)>,
    system: System,
    pinned: Pinned,
    around: pins::Around,
    worked: Worked,
    /// First group that changed since it was prepared.
    stale: usize,
    /// What the last prompt was made of, in order.
    sent: Vec<Sent>,
    cause: Option<Cause>,
    /// Parents of recent entries, to follow a transcript that is a tree.
    parents: BTreeMap<Seq, Option<Seq>>,
    counters: Counters,
    counts: counts::Counts,
    /// What this one call leaves for its prompt, if that is less than the budget.
    room: u64,
    /// Summaries to be written together, while a stored history is played.
    batch: Option<Vec<SummaryRow>>,
    /// Summaries made since the last break for the next one, in the order of its jobs.
    ahead: Vec<summaries::Made>,
    /// How many of them models were asked for.
    asked: usize,
    /// Groups that were weighed before they are played.
    weighed: Weighed,
    /// Images and documents that may be sent.
    media: Limit,
    /// Full sizes of the groups that were summarised since they were last asked for.
    passed: Vec<u64>,
    /// Words that entries propose to pin and that are not looked at yet; only where they are accepted.
    unread: Vec<(Seq, String)>,
    /// Host times of the newest answer and of the newest entry.
    times: (Option<Timestamp>, Option<Timestamp>),
    persist: bool,
    noted: notes::Noted,
    now: Timestamp,
}

/// What a session did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Breaks.
    pub breaks: u64,
    /// Leaf summaries made.
    pub leaves: u64,
    /// Merges made.
    pub merges: u64,
    /// Summaries taken from the store instead of being made again.
    pub summaries_reused: u64,
    /// Time in the summariser, in microseconds.
    pub summariser_us: u64,
}

impl Session {
    /// A session on an empty lane.
    ///
    /// * `persist` - whether summaries and contexts are written to the store.
    pub fn new(engine: &Engine, lane: Lane, shape: Shape, persist: bool) -> Self {
        Self {
            engine: engine.clone(),
            conversation: lane.conversation,
            thread: lane.thread,
            shape,
            view: View::new(),
            context: Context::default(),
            as_of: Seq(0),
            roots: Vec::new(),
            headline: headline::Headline::default(),
            guide: guide::guide(&shape),
            hosted: None,
            rewritten: BTreeSet::new(),
            pieces: Vec::new(),
            sizes: Vec::new(),
            sources: BTreeMap::new(),
            carried: None,
            system: System::default(),
            pinned: Pinned::default(),
            around: pins::Around::default(),
            worked: Worked::new(),
            stale: 0,
            sent: Vec::new(),
            cause: Some(Cause::First),
            parents: BTreeMap::new(),
            counters: Counters::default(),
            counts: counts::Counts::default(),
            room: u64::MAX,
            batch: None,
            ahead: Vec::new(),
            asked: 0,
            weighed: Weighed::default(),
            media: Limit::default(),
            passed: Vec::new(),
            unread: Vec::new(),
            times: (None, None),
            persist,
            noted: notes::Noted::default(),
            now: Timestamp::default(),
        }
    }

    /// What was done so far.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// The shape that prompts are made in.
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The state of the context.
    pub const fn context(&self) -> &Context {
        &self.context
    }

    /// Size of the system instructions.
    pub const fn system_tokens(&self) -> Tokens {
        self.system.tokens
    }

    /// Expected sizes of the groups behind the summaries, sent whole, oldest first.
    pub fn group_sizes(&self) -> impl Iterator<Item = u64> {
        self.pieces.iter().map(GroupPieces::whole)
    }

    /// Whether the newest thing said is a person's.
    pub fn is_at_turn(&self) -> bool {
        self.sizes.last().is_some_and(|sizes| sizes.human.is_some())
    }

    /// The same of the groups that were summarised since this was last called.
    pub fn take_passed(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.passed)
    }

    /// Sets the time that new summaries and decisions are stamped with. No rule depends on it.
    pub fn at(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// What a row is stamped with: while a history is played, the time that it had come to.
    fn stamp(&self) -> Timestamp {
        if self.now == Timestamp::default() { self.times.1.unwrap_or_default() } else { self.now }
    }

    /// Adds the next stored entry of the lane.
    ///
    /// * `parent` - the entry that it follows; another one than the newest means the transcript went back.
    /// * `source` - its model-independent expected tokens, as the store counts them.
    ///
    /// Returns whether a model sees it.
    pub fn push(
        &mut self,
        seq: Seq,
        parent: Option<Seq>,
        entry: &Arc<Entry>,
        source: u64,
    ) -> Result<bool, EngineError> {
        if self.view.shown.is_some_and(|shown| parent.is_none_or(|parent| parent < shown)) {
            self.go_back(parent)?;
        }
        self.parents.insert(seq, parent);
        Ok(self.push_here(seq, entry, source))
    }

    fn push_here(&mut self, seq: Seq, entry: &Arc<Entry>, source: u64) -> bool {
        let facts = if ledger::counts(entry) { facts(entry) } else { Vec::new() };
        self.push_known(seq, entry, source, facts)
    }

    /// The same, with what its calls and results tell.
    fn push_known(&mut self, seq: Seq, entry: &Arc<Entry>, source: u64, facts: Vec<Fact>) -> bool {
        self.worked.note(seq, facts);
        let shown = self.view.push(seq, entry);
        if shown != Shown::Hidden {
            self.note_proposals(seq, entry);
        }
        if shown != Shown::Hidden && entry.time.is_some() {
            self.times.1 = entry.time;
            if entry.role == Role::Assistant {
                self.times.0 = entry.time;
            }
        }
        match shown {
            Shown::Hidden => return false,
            Shown::System => self.system = System::of(&self.view.system, &self.shape),
            Shown::Group(placed) => {
                self.sources.insert(seq, source);
                let last = self.view.groups.len().saturating_sub(1);
                let at = if let Placed::Earlier(at) | Placed::Rewrote(at) = placed { at } else { last };
                self.stale = self.stale.min(at);
            }
        }
        true
    }

    /// The prompt that would be sent now. Breaks the context first if that is due.
    ///
    /// # Errors
    /// [`EngineError::Irreducible`] if not even the newest message fits; store errors from committing a break.
    ///
    /// Cost: O(what the prompt shows), independent of the history.
    pub fn prompt(&mut self) -> Result<Prompt, EngineError> {
        self.settle_pinned()?;
        self.sendable()
    }

    /// The same where the host leaves another budget for this one call: the context keeps its thresholds, and breaks too if
    /// it does not fit.
    pub fn prompt_within(&mut self, budget: u64) -> Result<Prompt, EngineError> {
        self.room = budget;
        let settled = self.settle_pinned();
        self.room = u64::MAX;
        settled?;
        let policy = self.shape.policy;
        self.shape.policy.window = budget.saturating_add(policy.reserve);
        let prompt = self.sendable();
        self.shape.policy = policy;
        prompt
    }

    fn sendable(&mut self) -> Result<Prompt, EngineError> {
        self.show_ledger()?;
        self.show_headline();
        let mut composer = compose::Composer::new(self);
        let admitted = admit(&mut composer, &self.shape.policy)?;
        let pieces = composer.outline();
        let rung = admitted.certificate().rung;
        let (reused, same) = common_prefix(&self.sent, &pieces);
        let lost: u64 = self.sent.iter().skip(same).map(|sent| sent.tokens).sum();
        let first = self.sent.is_empty().then_some((Cause::First, Region::System));
        let changed = self.sent.get(same).map(|sent| {
            let ladder = rung != unforget_core::admit::Rung::Assembled || !self.media.is_all();
            let cause = self.cause.unwrap_or(if ladder { Cause::Ladder } else { Cause::LateEntry });
            (cause, sent.region)
        });
        let cache = self.cache();
        let broken = first.or(changed).map(|(cause, region)| Broken {
            cause,
            region,
            rebilled: cache.holds(lost),
            hit: cache.holds(reused),
        });
        self.sent = pieces;
        self.cause = None;
        let view = self.total();
        let weighed = self.counts.weight(admitted.certificate().total, view, rung);
        let leads = |sent: &&Sent| matches!(sent.region, Region::Pins | Region::Summaries);
        let leading = self.sent.iter().filter(leads).map(|sent| sent.blocks).sum();
        let (idle_ms, epoch) = (self.idle_ms(), self.context.epoch);
        let short_pins = self.pinned.short.clone();
        Ok(Prompt { admitted, reused, broken, idle_ms, epoch, leading, short_pins, weighed })
    }

    /// Size of the prompt as the context wants it, with what was pushed since.
    pub fn measure(&mut self) -> Tokens {
        self.prepare();
        self.total()
    }

    /// Size of the prompt as the context wants it, when it was prepared last.
    pub fn total(&self) -> Tokens {
        let roots: Tokens = self.roots.iter().map(|root| root.piece.tokens).sum();
        let beside = self.carried.iter().map(|(_, piece)| piece).chain(&self.hosted);
        let beside: Tokens = beside.map(|piece| piece.tokens).sum();
        compact::total(&self.context, self.standing(&self.context), roots + beside, &self.sizes)
    }

    /// What stands before the summaries.
    fn fixed(&self) -> Tokens {
        let pins = self.pinned.piece.as_ref().map(|piece| piece.tokens).unwrap_or_default();
        self.system.tokens + pins
    }

    /// Prepares the groups that are new or changed.
    fn prepare(&mut self) {
        let from = self.stale.min(self.pieces.len());
        self.pieces.truncate(from);
        self.sizes.truncate(from);
        let mut weighed = std::mem::take(&mut self.weighed);
        let groups = self.view.groups.iter().zip(&self.view.ends).skip(from);
        let fresh = groups.map(|(group, end)| {
            let mut pieces = weighed.take(group).unwrap_or_else(|| GroupPieces::new(group, &self.shape));
            self.make(group, &mut pieces);
            let sizes = pieces::sizes(group, &pieces, self.source(group), *end, &self.shape);
            (pieces, sizes)
        });
        let fresh: Vec<_> = fresh.collect();
        self.weighed = weighed;
        for (pieces, sizes) in fresh {
            self.pieces.push(pieces);
            self.sizes.push(sizes);
        }
        self.stale = self.view.groups.len();
    }

    /// Makes the form of a group in which the context sends it.
    fn make(&self, group: &Group, pieces: &mut GroupPieces) {
        let by = |answer: Seq, call: &str| self.worked.superseded(answer, call);
        pieces.make(group, self.detail(group), &by, &self.shape);
    }

    fn source(&self, group: &Group) -> u64 {
        group.items.iter().filter_map(|item| self.sources.get(&item.seq)).sum()
    }

    /// In how much detail the context sends a group.
    fn detail(&self, group: &Group) -> Detail {
        let first = group.first_seq();
        if first < self.context.stub_below {
            Detail::Stubbed
        } else if first < self.context.settled_below {
            Detail::Settled
        } else {
            Detail::Full
        }
    }

    /// Makes the forms in which the break that just happened sends the groups behind it.
    fn refresh(&mut self) {
        let mut pieces = std::mem::take(&mut self.pieces);
        let groups = self.view.groups.iter().zip(&mut pieces);
        // Neighbours are alike, so that every other group is half of the work.
        let (even, odd): (Vec<_>, Vec<_>) = groups.enumerate().partition(|(index, _)| index % 2 == 0);
        let make = |half: Vec<(usize, (&Group, &mut GroupPieces))>| {
            for (_, (group, pieces)) in half {
                self.make(group, pieces);
            }
        };
        // While a history is played the other processor reads ahead.
        if odd.len() < FORMS_ALONE || self.batch.is_some() {
            make(even);
            make(odd);
        } else {
            std::thread::scope(|scope| {
                scope.spawn(|| make(odd));
                make(even);
            });
        }
        let groups = self.view.groups.iter().zip(&self.view.ends).zip(&pieces);
        let sizes = groups
            .map(|((group, end), pieces)| pieces::sizes(group, pieces, self.source(group), *end, &self.shape))
            .collect();
        (self.pieces, self.sizes) = (pieces, sizes);
    }
}
