//! The cover of the older entries: the decisions of the last break, and the summaries that stand in the prompt.

use std::collections::BTreeSet;

use unforget_core::compact::{self, Break, Context, Job, Root, Tree, allotments, end_of};
use unforget_core::group::{Group, Item, Kind};
use unforget_core::id::Seq;
use unforget_core::ladder;
use unforget_core::pair::{self, Detail};
use unforget_core::policy::Policy;
use unforget_core::tokens::Tokens;
use unforget_store::SummaryKey;

use super::Shape;
use super::blocks::{SummaryBlock, SummaryBlocks};
use super::host_words::{self, HostedPiece};
use super::pieces::{PromptPiece, handle, weigh};
use super::source::Source;
use super::stored_context::{self, StoredContext, Superseded};
use super::summaries::{BegunWork, MadeSummary, ShownSummary, SummaryFace, SummaryWork, WrittenSummary};
use super::window::Window;
use crate::error::EngineError;
use crate::summary_name::summary_name;

/// The newest human message, if the summaries cover it: it stands verbatim behind them.
#[derive(Clone, Debug)]
pub(super) struct CarriedMessage {
    pub(super) item: Item,
    pub(super) piece: PromptPiece,
}

impl CarriedMessage {
    pub(super) fn new(item: Item, shape: &Shape) -> Self {
        let group = Group { kind: Kind::Input, items: vec![item.clone()], unanswered: 0 };
        let paired = pair::messages(&group, Detail::Full, &|_, _, _| None);
        Self { item, piece: weigh(paired.messages, paired.omitted, false, shape) }
    }
}

/// The summaries of a prompt.
#[derive(Default)]
pub(super) struct Cover {
    context: Context,
    /// Newest entry at the last break.
    as_of: Seq,
    /// Results that later results supersede. Changes at breaks only.
    superseded: Superseded,
    /// Roots shown as a model wrote them. Changes at breaks only.
    rewritten: BTreeSet<SummaryKey>,
    /// The summary of a coarse root.
    coarse: Option<WrittenSummary>,
    shown: Vec<ShownSummary>,
    /// The wrappers in which they stand.
    blocks: SummaryBlocks,
    /// The host's own summary among ours. Changes at breaks only.
    hosted: Option<HostedPiece>,
    carried: Option<CarriedMessage>,
    /// Summaries made for the next break, in the order of its jobs.
    prepared: Vec<MadeSummary>,
    /// Number of prepared summaries that models were asked for.
    asked: usize,
}

/// A coming break in the eyes of its cover.
pub(super) struct ComingBreak<'a> {
    context: &'a Context,
    /// Whether a summary of the host would stand among the entries behind ours.
    has_host_summary: bool,
    /// The message that would be carried.
    carried: Option<Item>,
}

/// The decisions of a break that are stored.
#[derive(Clone, Copy)]
pub(super) struct BreakState<'a> {
    pub(super) context: &'a Context,
    /// Newest entry at the break.
    pub(super) as_of: Seq,
    pub(super) superseded: &'a Superseded,
}

/// Summaries rendered for a context.
struct RenderedCover {
    shown: Vec<ShownSummary>,
    blocks: SummaryBlocks,
    hosted: Option<HostedPiece>,
}

impl RenderedCover {
    fn tokens(&self) -> Tokens {
        let hosted = self.hosted.iter().map(|hosted| hosted.piece.tokens);
        self.blocks.iter().map(|block| block.piece.tokens).chain(hosted).sum()
    }
}

impl Cover {
    /// The cover of a stored context. Its summaries are not rendered yet: see [`Cover::render`].
    ///
    /// * `path` - seqs behind the summaries, ascending.
    pub(super) fn restored(stored: StoredContext, path: &[u64], source: &Source) -> Self {
        let StoredContext { context, as_of, rewritten, mut superseded, coarse, .. } = stored;
        superseded.retain(|_, by| path.binary_search(&by.0).is_ok());
        let rewritten = rewritten.iter().map(|root| source.key(root)).collect();
        let coarse = WrittenSummary::read(&coarse, &source.shape().ruler);
        Self { context, as_of, superseded, rewritten, coarse, ..Self::default() }
    }

    /// Whether summaries of the own tree are to take the place of some of the shown ones.
    pub(super) fn is_provisional(&self) -> bool {
        compact::is_provisional(&self.context)
    }

    pub(super) const fn context(&self) -> &Context {
        &self.context
    }

    /// Newest entry at the last break.
    pub(super) const fn as_of(&self) -> Seq {
        self.as_of
    }

    /// The last entry that the summaries stand for.
    pub(super) fn boundary(&self) -> Option<Seq> {
        end_of(&self.context)
    }

    /// The form in which the context sends a group.
    pub(super) fn detail(&self, group: &Group) -> Detail {
        ladder::detail(&self.context, group.first_seq())
    }

    /// The later result that supersedes this one.
    pub(super) fn superseded_by(&self, answer: Seq, call: &str) -> Option<Seq> {
        self.superseded.get(&(answer, call.to_owned())).copied()
    }

    pub(super) fn shown(&self) -> &[ShownSummary] {
        &self.shown
    }

    /// Whether the host's own summary stands among ours.
    pub(super) const fn shows_host(&self) -> bool {
        self.hosted.is_some()
    }

    /// Our summaries, and the host's where it belongs among them.
    ///
    /// * `last` - another form of our last block.
    pub(super) fn pieces<'a>(
        &'a self,
        last: Option<&'a PromptPiece>,
    ) -> impl Iterator<Item = &'a PromptPiece> {
        let count = self.blocks.iter().count();
        let hosted = self.hosted.iter().map(|hosted| &hosted.piece);
        let own = move |(at, block): (usize, &'a SummaryBlock)| match last {
            Some(last) if at + 1 == count => last,
            _ => &block.piece,
        };
        let earlier = self.blocks.earlier.len();
        let (before, behind) = (self.blocks.earlier.iter(), self.blocks.later.iter());
        before.enumerate().map(own).chain(hosted).chain((earlier..).zip(behind).map(own))
    }

    /// Our summaries with their expected tokens.
    pub(super) fn weighed(&self) -> impl Iterator<Item = (&ShownSummary, u64)> {
        self.shown.iter().zip(self.blocks.tokens(&self.shown))
    }

    /// The last block, and the last summary in it.
    pub(super) fn last_block(&self) -> Option<(&SummaryBlock, &ShownSummary)> {
        self.blocks.last().zip(self.shown.last())
    }

    pub(super) const fn carried(&self) -> Option<&CarriedMessage> {
        self.carried.as_ref()
    }

    /// Size of the summaries, the host's summary and the carried message.
    pub(super) fn tokens(&self) -> Tokens {
        let carried = self.carried.iter().map(|carried| &carried.piece);
        self.pieces(None).chain(carried).map(|piece| piece.tokens).sum()
    }

    /// Number of roots shown as a model wrote them.
    pub(super) fn rewritten_count(&self) -> usize {
        self.rewritten.len()
    }

    /// Room for the host's summary at the next break: the larger of the shown one and those in the conversation.
    pub(super) fn host_room(&self, window: &Window) -> u64 {
        let shown = self.hosted.as_ref().map(|hosted| hosted.piece.tokens.upper);
        shown.max(window.host_summary_tokens()).unwrap_or(0)
    }

    /// A policy for our summaries beside the host's.
    pub(super) fn beside_host(&self, window: &Window, policy: &Policy) -> Policy {
        compact::beside_host(policy, self.host_room(window))
    }

    /// Carries a message that stands behind the summaries of a stored context.
    pub(super) fn carry(&mut self, item: Item, shape: &Shape) {
        self.carried = Some(CarriedMessage::new(item, shape));
    }

    /// Forgets superseded results whose later result is behind `seq`.
    pub(super) fn cut_after(&mut self, seq: Seq) {
        self.superseded.retain(|_, by| *by <= seq);
    }

    /// Whether a model has written a summary that is shown as code wrote it.
    pub(super) fn is_better_prepared(&self, source: &Source) -> Result<bool, EngineError> {
        if !source.has_models() {
            return Ok(false);
        }
        let ready = source.rewritten(&self.context.roots, &self.rewritten)?;
        Ok(ready.iter().any(|key| !self.rewritten.contains(key)))
    }

    /// Chooses the roots of a context that are shown as a model wrote them.
    pub(super) fn choose_rewrites(&mut self, roots: &[Root], source: &Source) -> Result<(), EngineError> {
        self.rewritten = source.rewritten(roots, &self.rewritten)?;
        Ok(())
    }

    /// Chooses the rewrites of the present context at the end of a played history. Returns whether there are any.
    pub(super) fn choose_last_rewrites(&mut self, source: &Source) -> Result<bool, EngineError> {
        self.rewritten = source.rewritten(&self.context.roots, &self.rewritten)?;
        Ok(!self.rewritten.is_empty())
    }

    /// Asks models for these summaries where none is shown.
    pub(super) fn leave_jobs(&self, roots: &[Root], source: &Source) -> Result<(), EngineError> {
        if self.is_provisional() {
            // What a model writes for summaries that are about to go would be lost.
            return Ok(());
        }
        let wanted: Vec<Root> =
            roots.iter().filter(|root| !self.rewritten.contains(&source.key(root))).copied().collect();
        source.put_jobs(&wanted)
    }

    /// The stored form of the last break.
    ///
    /// * `ledger` - the shown ledger.
    pub(super) fn encoded(&self, ledger: &str, source: &Source) -> Vec<u8> {
        let last = BreakState { context: &self.context, as_of: self.as_of, superseded: &self.superseded };
        self.encoded_break(&last, ledger, source)
    }

    /// The stored form of a break before the cover takes it over.
    ///
    /// * `ledger` - the ledger of its context.
    pub(super) fn encoded_break(&self, next: &BreakState<'_>, ledger: &str, source: &Source) -> Vec<u8> {
        let BreakState { context, as_of, superseded } = *next;
        let is_rewritten = |root: &&Root| self.rewritten.contains(&source.key(root));
        stored_context::encode(&StoredContext {
            context: context.clone(),
            as_of,
            rewritten: context.roots.iter().filter(is_rewritten).copied().collect(),
            superseded: superseded.clone(),
            ledger: ledger.to_owned(),
            coarse: self.coarse.as_ref().map(|coarse| coarse.summary.to_text()).unwrap_or_default(),
        })
    }

    /// Of the jobs of a break those whose summaries are not prepared.
    pub(super) fn unprepared<'a>(&mut self, jobs: &'a [Job]) -> &'a [Job] {
        self.check_prepared(jobs);
        jobs.get(self.prepared.len()..).unwrap_or_default()
    }

    /// Completes summaries of a break with these jobs, behind the prepared ones.
    pub(super) fn complete(
        &self,
        jobs: &[Job],
        begun: BegunWork,
        source: &Source,
    ) -> Result<SummaryWork, EngineError> {
        let prepared = self.prepared.iter().take(jobs.len()).cloned().collect();
        SummaryWork::complete(begun, prepared, self, source)
    }

    /// Keeps a prepared summary whose row is written, rendered as a prompt with room shows it.
    pub(super) fn keep_prepared(&mut self, made: Vec<MadeSummary>, source: &Source) {
        for made in made.into_iter().skip(self.prepared.len()) {
            let room = made.root.room(source.policy());
            let face = SummaryFace { root: made.root, room, by_model: false, is_last: false };
            let shown = ShownSummary::render(face, made.written.clone(), source);
            self.prepared.push(MadeSummary { shown: Some(shown), ..made });
        }
    }

    /// Asks models for the prepared summaries that they were not asked for yet.
    pub(super) fn ask_models(&mut self, source: &Source) -> Result<(), EngineError> {
        let new: Vec<_> = self.prepared.iter().skip(self.asked).map(|made| made.root).collect();
        self.leave_jobs(&new, source)?;
        self.asked = self.prepared.len();
        Ok(())
    }

    /// Forgets prepared summaries from the first one whose job is now another: a late entry may have changed it.
    fn check_prepared(&mut self, jobs: &[Job]) {
        let wanted = jobs.iter().map(|job| match job {
            Job::Leaf { root, .. } | Job::Merge { root, .. } => root,
        });
        let same = wanted.zip(&self.prepared).take_while(|(root, made)| **root == made.root).count();
        if same < jobs.len() {
            self.prepared.truncate(same);
        }
        self.asked = self.asked.min(self.prepared.len());
    }

    /// A break as it would find the entries.
    pub(super) fn coming<'a>(&self, plan: &'a Break, window: &Window) -> ComingBreak<'a> {
        let as_of = window.head().unwrap_or_default();
        ComingBreak {
            context: &plan.context,
            has_host_summary: window.has_host_summary(plan.groups, as_of),
            carried: self.carried_item(plan, window),
        }
    }

    /// Size of the summaries, the host's summary and the carried message as a break would leave them.
    pub(super) fn foreseen(
        &self,
        ComingBreak { context, has_host_summary, carried }: ComingBreak<'_>,
        made: &[MadeSummary],
        source: &Source,
    ) -> Result<Tokens, EngineError> {
        let summaries = self.rendered(context, has_host_summary, made, source)?.tokens();
        let carried = carried.map(|item| CarriedMessage::new(item, source.shape()));
        Ok(summaries + carried.map(|carried| carried.piece.tokens).unwrap_or_default())
    }

    /// Takes over the context of a break.
    ///
    /// * `window` - still with the groups that the break covers.
    pub(super) fn take_break(&mut self, plan: Break, superseded: Superseded, window: &Window, shape: &Shape) {
        let carried = self.carried_item(&plan, window);
        self.as_of = window.head().unwrap_or_default();
        self.superseded = superseded;
        let used = plan.jobs.len().min(self.prepared.len());
        self.prepared.drain(..used);
        self.asked = self.asked.saturating_sub(used);
        self.context = plan.context;
        self.carried = carried.map(|item| CarriedMessage::new(item, shape));
    }

    /// The item that a new context carries, from the groups that are about to be covered.
    fn carried_item(&self, plan: &Break, window: &Window) -> Option<Item> {
        let seq = plan.context.carried?;
        let kept = self.carried.iter().map(|carried| &carried.item).find(|item| item.seq == seq);
        window.item(seq, plan.groups).or(kept).cloned()
    }

    /// Renders every summary at its allotment, and the host's summary among them.
    ///
    /// * `made` - summaries at hand. Others come from the shown ones or from the store.
    /// * `has_host_summary` - whether a summary of the host stands among the entries behind ours.
    pub(super) fn render(
        &mut self,
        made: &[MadeSummary],
        has_host_summary: bool,
        source: &Source,
    ) -> Result<(), EngineError> {
        let rendered = self.rendered(&self.context, has_host_summary, made, source)?;
        RenderedCover { shown: self.shown, blocks: self.blocks, hosted: self.hosted } = rendered;
        Ok(())
    }

    fn rendered(
        &self,
        context: &Context,
        has_host_summary: bool,
        made: &[MadeSummary],
        source: &Source,
    ) -> Result<RenderedCover, EngineError> {
        let roots = &context.roots;
        let written = self.written(roots, made, source)?;
        let told: Vec<_> = written.iter().map(|written| source.told(&written.summary)).collect();
        let hosted = (!has_host_summary).then(|| host_words::among(&told, roots, source.shape())).flatten();
        let mut shown = Vec::with_capacity(roots.len());
        let rooms = allotments(roots, context.zone, source.policy());
        for ((root, room), written) in roots.iter().zip(rooms).zip(written) {
            let by_model = self.rewritten.contains(&source.key(root));
            let face = SummaryFace { root: *root, room, by_model, is_last: Some(root) == roots.last() };
            let prepared = made.iter().filter_map(|made| made.shown.as_ref());
            let same = self.shown.iter().chain(prepared).find(|other| other.face == face);
            shown.push(match same {
                Some(same) => same.clone(),
                None => ShownSummary::render(face, written, source),
            });
        }
        let behind = hosted.as_ref().map(|hosted| hosted.behind);
        let blocks = SummaryBlocks::of(&shown, behind, &self.blocks, source.shape());
        Ok(RenderedCover { shown, blocks, hosted })
    }

    /// Renders the summaries again of which readers rejected other statements since. Returns whether a shown one changed.
    pub(super) fn strike(&mut self, source: &Source) -> bool {
        for made in &mut self.prepared {
            if let Some(shown) = &mut made.shown {
                shown.strike(source);
            }
        }
        let mut is_new = false;
        for shown in &mut self.shown {
            is_new |= shown.strike(source);
        }
        if is_new {
            let behind = self.hosted.as_ref().map(|hosted| hosted.behind);
            self.blocks = SummaryBlocks::of(&self.shown, behind, &SummaryBlocks::default(), source.shape());
        }
        is_new
    }

    /// The stored texts of roots, by a model where they are shown so. Those that are not at hand are read together.
    fn written(
        &self,
        roots: &[Root],
        made: &[MadeSummary],
        source: &Source,
    ) -> Result<Vec<WrittenSummary>, EngineError> {
        let is_by_model = |root: &Root| self.rewritten.contains(&source.key(root));
        let (by_model, plain): (Vec<Root>, Vec<Root>) = roots.iter().copied().partition(is_by_model);
        let shown = |root: &Root| self.shown.iter().find(|one| one.face.root == *root && one.face.by_model);
        let unknown: Vec<Root> = by_model.into_iter().filter(|root| shown(root).is_none()).collect();
        let rewrites = source.rewrites(&unknown)?;
        let mut plain = self.find(&plain, made, source)?.into_iter();
        let written = |root: &Root| {
            if !is_by_model(root) {
                return plain.next().ok_or_else(|| missing(root, source));
            }
            let shown = shown(root).map(|shown| &shown.written);
            shown.or_else(|| rewrites.get(&source.key(root))).cloned().ok_or_else(|| missing(root, source))
        };
        roots.iter().map(written).collect()
    }

    /// Summaries as code wrote them, in the order of their roots. Merges use only such summaries, so every merge can be
    /// repeated. Those that are not at hand are read together.
    pub(super) fn find(
        &self,
        roots: &[Root],
        made: &[MadeSummary],
        source: &Source,
    ) -> Result<Vec<WrittenSummary>, EngineError> {
        let at_hand = |root: &Root| {
            if root.tree == Tree::Coarse {
                return self.coarse.as_ref();
            }
            let made = made.iter().find(|made| made.root == *root).map(|made| &made.written);
            let shown = || self.shown.iter().find(|other| other.face.root == *root && !other.face.by_model);
            made.or_else(|| shown().map(|shown| &shown.written))
        };
        let is_unknown = |root: &&Root| root.tree != Tree::Coarse && at_hand(root).is_none();
        let unknown: Vec<Root> = roots.iter().filter(is_unknown).copied().collect();
        let stored = source.summaries(&unknown)?;
        let found = |root: &Root| {
            let found = at_hand(root).or_else(|| stored.get(&source.key(root)));
            found.cloned().ok_or_else(|| missing(root, source))
        };
        roots.iter().map(found).collect()
    }
}

fn missing(root: &Root, source: &Source) -> EngineError {
    let name = match root.tree {
        Tree::Coarse => handle(root.span.0, root.span.1),
        Tree::Own | Tree::Other { .. } => summary_name(&source.key(root)),
    };
    EngineError::MissingSummary { name }
}
