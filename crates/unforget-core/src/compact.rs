//! When and how a view is compacted.
//!
//! Leaves are cut from the oldest groups on, one after another, each as soon as it holds [`Policy::grain`] tokens of
//! source. Four neighbours of one level merge into one of the next, as in a counter to base four: a leaf is never
//! summarised again, and every entry is recompressed at most log₄ n times. So the tree of summaries depends only on the
//! history and the grain (ADR-0006). A prompt shows as much detail of the tree as [`Policy::zone`] holds: four
//! summaries give way to their merge only when the zone is full (ADR-0013).
//!
//! The shown summaries change only at a **break**. Between breaks the prompt grows at its end.

mod break_timing;
mod host;
mod provisional;
mod root;

use std::ops::Range;

use crate::digest::Digest;
use crate::id::Seq;
use crate::policy::{FAN_IN, Policy};
use crate::tokens::Tokens;

pub use break_timing::{BreakStep, BreakTiming, Cache};
pub use host::{beside_host, host_tokens_max};
pub use provisional::{
    NearRow, PLAYED_ROWS, PLAYED_TOKENS, Provisional, fit, is_long, is_provisional, played_from,
    played_tokens, provisional_end,
};
pub use root::{Root, Tree};

/// The composition of a view's prompt between two breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// Number of breaks so far.
    pub epoch: u32,
    /// Summaries, oldest first; they tile the first `covered` entries of the view.
    pub roots: Vec<Root>,
    /// Number of visible entries that the roots stand for.
    pub covered: u64,
    /// The newest human message, if the roots cover it: sent verbatim after them.
    pub carried: Option<Seq>,
    /// Large results of groups that start below this are replaced by stubs.
    pub stub_below: Seq,
    /// Groups that start below this are sent without reasoning.
    pub settled_below: Seq,
    /// Tokens that the roots may take together. See [`Policy::zone`].
    pub zone: u64,
    /// The view's content chain at the end of the roots.
    pub end: Digest,
}

impl Default for Context {
    fn default() -> Self {
        Self {
            epoch: 0,
            roots: Vec::new(),
            covered: 0,
            carried: None,
            stub_below: Seq(0),
            settled_below: Seq(0),
            zone: 0,
            end: Digest([0; 32]),
        }
    }
}

/// Sizes of a group behind the roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// With reasoning.
    pub full: Tokens,
    /// Without reasoning.
    pub settled: Tokens,
    /// Without reasoning, large results stubbed.
    pub stubbed: Tokens,
    /// Size of the source for a summary, in expected tokens, independent of the model.
    pub source: u64,
    /// First and last entry.
    pub span: (Seq, Seq),
    /// Number of entries.
    pub count: u64,
    /// Seq of the message, if a person wrote it.
    pub human: Option<Seq>,
    /// Whether any call still waits for its result.
    pub open: bool,
    /// The view's content chain after this group.
    pub end: Digest,
}

/// How full a prompt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pressure {
    /// Nothing to do.
    Calm,
    /// A break is due as soon as it costs nothing.
    Soft,
    /// A break is due before the next prompt.
    Hard,
}

/// The pressure of a prompt, by its upper bound: a prompt that cannot be admitted is `Hard`.
pub fn pressure(total: Tokens, policy: &Policy) -> Pressure {
    if total.upper >= policy.share(policy.hard_permille) {
        Pressure::Hard
    } else if total.upper >= policy.share(policy.soft_permille) {
        Pressure::Soft
    } else {
        Pressure::Calm
    }
}

/// The pressure of a prompt in a call that may leave it less room than its policy.
///
/// * `most` - largest size in this call; `None` if only the policy limits the prompt.
pub fn pressure_within(total: Tokens, most: Option<u64>, policy: &Policy) -> Pressure {
    if most.is_some_and(|most| total.upper > most) { Pressure::Hard } else { pressure(total, policy) }
}

/// The last entry that the summaries of a context stand for.
pub fn end_of(context: &Context) -> Option<Seq> {
    context.roots.iter().map(|root| root.span.1).max()
}

/// Token target of a break at this pressure: low enough that [`Policy::calls_between`] calls pass before the next break
/// if the history keeps its rate of growth, between [`Policy::deep_permille`] and [`Policy::shallow_permille`].
///
/// A break during a cold cache aims at least a sixth below the size that triggered it.
///
/// * `pressure` - the pressure at which the break happens.
/// * `groups` - behind the roots, oldest first. They show the rate of growth.
///
/// Source: ADR-0018.
pub fn target(pressure: Pressure, groups: &[Sizes], policy: &Policy) -> u64 {
    let grown: u64 = groups.iter().map(|group| group.full.upper).sum();
    let calls = groups.iter().filter(|group| group.human.is_none()).count().max(1) as u64;
    let wanted = (grown / calls).saturating_mul(policy.calls_between);
    let (deep, shallow) = (policy.share(policy.deep_permille), policy.share(policy.shallow_permille));
    let most = match pressure {
        Pressure::Soft => policy.cold_target(),
        Pressure::Calm | Pressure::Hard => shallow,
    };
    policy.share(policy.hard_permille).saturating_sub(wanted).clamp(deep.min(most), most)
}

/// Whether a prompt of this size nears a break: it is past the middle between the size that a break leaves and the size
/// at which the next one may be due. From here on, each prompt prepares one summary for the break, so that the break
/// itself has none left to make.
pub fn nears(total: Tokens, policy: &Policy) -> bool {
    2 * total.upper >= policy.cold_target() + policy.share(policy.soft_permille)
}

/// A summary to be made, in the order given.
#[allow(clippy::large_enum_variant, reason = "plans are short and pass through by value")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// Summarise the entries of these groups (indexes behind the roots).
    Leaf {
        /// First group and the one after the last.
        groups: (usize, usize),
        /// The result.
        root: Root,
    },
    /// Merge four summaries into one.
    Merge {
        /// The sources, oldest first.
        sources: [Root; FAN_IN],
        /// The result.
        root: Root,
    },
}

/// A change of what the prompt shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    /// The state after the break, to be committed together with the summaries.
    pub context: Context,
    /// Summaries to make first; existing ones are skipped.
    pub jobs: Vec<Job>,
    /// Number of groups that the new roots cover.
    pub groups: usize,
}

/// Size of a view's prompt under a context.
///
/// * `fixed` - system, tools and volatile input.
/// * `roots` - the rendered summaries, or an estimate for a planned state.
/// * `groups` - behind the roots, oldest first.
pub fn total(context: &Context, fixed: Tokens, roots: Tokens, groups: &[Sizes]) -> Tokens {
    fixed + roots + sent_all(context, groups)
}

/// Size of groups as the context sends them.
pub fn sent_all(context: &Context, groups: &[Sizes]) -> Tokens {
    groups.iter().map(|group| sent(context, group)).sum()
}

/// Size of one group as the context sends it.
pub fn sent(context: &Context, group: &Sizes) -> Tokens {
    if group.span.0 < context.stub_below {
        group.stubbed
    } else if group.span.0 < context.settled_below {
        group.settled
    } else {
        group.full
    }
}

/// Token allotment of each summary in the prompt, in the order of `roots`. A summary gets what its level allows. If the
/// sum exceeds the zone, all get the largest common bound that keeps them within it. The bound is a multiple of a
/// quarter leaf, so that one more leaf seldom changes every allotment. A summary that is already small keeps its
/// allotment as long as possible.
///
/// * `zone` - see [`Context::zone`].
pub fn allotments(roots: &[Root], zone: u64, policy: &Policy) -> Vec<u64> {
    let sizes = || roots.iter().map(|root| root.room(policy));
    let step = (policy.leaf_tokens / 4).max(1);
    let fits = |most: &u64| sizes().map(|size| size.min(*most)).sum::<u64>() <= zone;
    let bounds = (1..=policy.condensed_tokens.div_ceil(step)).rev().map(|steps| steps * step);
    // Where not even a quarter leaf per summary fits, the zone is split into equal parts.
    let most = bounds.into_iter().find(fits).unwrap_or(zone / (roots.len().max(1) as u64));
    sizes().map(|size| size.min(most)).collect()
}

/// Tokens that these summaries would take with unlimited room.
fn wanted(roots: &[Root], policy: &Policy) -> u64 {
    roots.iter().map(|root| root.room(policy)).sum()
}

/// Plans the next break until its [`target`] is met: stubs from the oldest large result on, then leaves from the
/// oldest group on.
///
/// * `pressure` - the pressure at which the break happens. See [`target`].
/// * `fixed` - size of the parts that no break can change.
/// * `groups` - behind the roots, oldest first.
///
/// Returns `None` if nothing can change: the fresh tail alone is too large, or there is nothing behind the roots.
/// `None` too if the prompt would become larger: merged summaries may take more room together than the few that they replace, and
/// behind a tail that is too large a single short leaf does not pay for that.
///
/// Cost: O(groups behind the roots). Source: design §4 Compact; F004, F010, F012, F022.
pub fn plan_break(
    context: &Context,
    pressure: Pressure,
    fixed: Tokens,
    groups: &[Sizes],
    policy: &Policy,
) -> Option<Break> {
    let (tail, target) = (fresh_tail(groups, policy), target(pressure, groups, policy));
    let mut next = context.clone();
    next.epoch += 1;
    next.zone = policy.zone;
    next.settled_below = open_loop(groups).max(context.settled_below);
    let whole = planned(&next, fixed, groups, policy).upper;
    next.stub_below = stubs(&next, groups.get(..tail).unwrap_or(groups), whole.saturating_sub(target));

    let mut jobs = Vec::new();
    let mut taken = 0;
    let mut size = planned(&next, fixed, groups, policy).upper;
    while size > target
        && let Some(leaf) = next_leaf(groups, taken..tail, policy.grain)
    {
        taken = push_leaf(&mut next, groups, leaf, policy, &mut jobs);
        size = planned(&next, fixed, groups.get(taken..).unwrap_or_default(), policy).upper;
    }
    let is_larger = size > planned(context, fixed, groups, policy).upper;
    next.carried = carried(context, groups, taken);
    let unchanged =
        taken == 0 && next.stub_below == context.stub_below && next.settled_below == context.settled_below;
    (!unchanged && !is_larger).then_some(Break { context: next, jobs, groups: taken })
}

/// Covers everything that is old enough, at any pressure: compaction on request.
///
/// Its jobs begin with the jobs of [`plan_break`] on the same groups, in the same order, so they can be done ahead of
/// the break.
pub fn plan_all(context: &Context, groups: &[Sizes], policy: &Policy) -> Option<Break> {
    let tail = fresh_tail(groups, policy);
    let mut next = context.clone();
    next.epoch += 1;
    next.zone = policy.zone;
    next.stub_below =
        groups.get(tail).map_or(context.stub_below, |group| group.span.0).max(context.stub_below);
    next.settled_below = open_loop(groups).max(context.settled_below);
    let (mut jobs, mut taken) = (Vec::new(), 0);
    while let Some(leaf) = next_leaf(groups, taken..tail, policy.grain) {
        taken = push_leaf(&mut next, groups, leaf, policy, &mut jobs);
    }
    next.carried = carried(context, groups, taken);
    (taken > 0).then_some(Break { context: next, jobs, groups: taken })
}

/// Plans the break that the end of a tool loop needs, if the context broke inside the loop.
///
/// Reasoning of an open loop goes back to the provider unchanged, although its signature covers the prompt before the
/// break and no longer the one that is sent. When the loop ends, its reasoning has to go, so that later signatures
/// cover the prompt that is really sent.
///
/// * `as_of` - the newest entry at the last break.
///
/// Returns `None` unless a person spoke since a break in the middle of a loop with reasoning.
///
/// Cost: O(log n + groups of the loop) without such a loop, O(groups since the break) with one. Source: F054.
pub fn plan_over(context: &Context, as_of: Seq, groups: &[Sizes]) -> Option<Break> {
    // The groups of the loop begin at the last break and stand together.
    let first = groups.partition_point(|group| group.span.0 < context.settled_below);
    let of_loop = groups.iter().skip(first).take_while(|group| group.span.0 <= as_of);
    let since = groups.iter().rev().take_while(|group| group.span.0 > as_of);
    if context.epoch == 0
        || !of_loop.into_iter().any(|group| group.full != group.settled)
        || !since.into_iter().any(|group| group.human.is_some_and(|human| human > as_of))
    {
        return None;
    }
    let mut next = context.clone();
    next.epoch += 1;
    next.settled_below = open_loop(groups).max(context.settled_below);
    Some(Break { context: next, jobs: Vec::new(), groups: 0 })
}

/// A break that covers nothing new. It shows the summaries prepared since the last break and changes nothing else.
pub fn plan_refresh(context: &Context) -> Break {
    let context = Context { epoch: context.epoch + 1, ..context.clone() };
    Break { context, jobs: Vec::new(), groups: 0 }
}

/// The first seq whose large results stay whole: stubs are placed from the oldest result on, and only until `wanted`
/// tokens are gained.
///
/// * `groups` - the groups that are old enough, oldest first.
fn stubs(context: &Context, groups: &[Sizes], mut wanted: u64) -> Seq {
    let mut below = context.stub_below;
    for group in groups.iter().filter(|group| group.span.0 >= context.stub_below) {
        if wanted == 0 {
            break;
        }
        wanted = wanted.saturating_sub(sent(context, group).upper.saturating_sub(group.stubbed.upper));
        below = below.max(Seq(group.span.0.0 + 1));
    }
    below
}

/// Size of a planned state, with every summary at its allotment: the summaries are not written yet.
fn planned(next: &Context, fixed: Tokens, groups: &[Sizes], policy: &Policy) -> Tokens {
    let roots = allotments(&next.roots, next.zone, policy).into_iter().sum();
    total(next, fixed, Tokens::exact(roots), groups)
}

/// Index of the first group of the fresh tail: the newest groups up to the tail size, more of the running turn, and the
/// last group at least.
fn fresh_tail(groups: &[Sizes], policy: &Policy) -> usize {
    let running = groups.iter().rposition(|group| group.human.is_some()).unwrap_or(0);
    let mut size = 0;
    let mut start = groups.len();
    for (index, group) in groups.iter().enumerate().rev() {
        size += group.settled.upper;
        let most = if index >= running { policy.running_tail } else { policy.fresh_tail };
        if size > most && start < groups.len() {
            break;
        }
        start = index;
    }
    // An open group is still being answered and everything behind it belongs to the same call.
    groups.iter().take(start).rposition(|group| group.open).filter(|at| start - at <= 4).unwrap_or(start)
}

/// Where the open tool loop starts. Its reasoning must go back to the provider unchanged.
fn open_loop(groups: &[Sizes]) -> Seq {
    let after = groups.iter().rposition(|group| group.human.is_some()).map_or(0, |at| at + 1);
    groups.get(after).or(groups.last()).map_or(Seq(0), |group| group.span.0)
}

/// The next leaf: the shortest run of groups that holds a grain of source and ends before the next group begins. `None`
/// if the remaining groups hold less. A missing result keeps its group open, so that spans of summaries never
/// interleave.
fn next_leaf(groups: &[Sizes], within: Range<usize>, grain: u64) -> Option<Range<usize>> {
    let (mut size, mut last) = (0, Seq(0));
    for (index, group) in groups.iter().enumerate().take(within.end).skip(within.start) {
        size += group.source;
        last = last.max(group.span.1);
        let apart = groups.get(index + 1).is_none_or(|next| last < next.span.0);
        if size >= grain && apart {
            return Some(within.start..index + 1);
        }
    }
    None
}

/// Adds a leaf and the merges that make room for it. Returns the index of the first group behind the leaf.
fn push_leaf(
    context: &mut Context,
    groups: &[Sizes],
    leaf: Range<usize>,
    policy: &Policy,
    jobs: &mut Vec<Job>,
) -> usize {
    let run = groups.get(leaf.clone()).unwrap_or_default();
    let first = run.iter().map(|group| group.span.0).min().unwrap_or_default();
    let last = run.iter().map(|group| group.span.1).max().unwrap_or_default();
    let count = run.iter().map(|group| group.count).sum();
    let end = run.last().map_or(context.end, |group| group.end);
    let root = Root { tree: Tree::Own, level: 0, span: (first, last), count, end };
    jobs.push(Job::Leaf { groups: (leaf.start, leaf.end), root });
    context.roots.push(root);
    context.covered += count;
    context.end = end;
    while wanted(&context.roots, policy) > policy.zone
        && let Some(merge) = merge_one(&mut context.roots)
    {
        jobs.push(merge);
    }
    leaf.end
}

/// Merges the oldest four summaries of the level that has most of them, the lowest such level. Detail so fades evenly
/// with age. `None` if no level has four.
///
/// Older summaries are of higher levels, so the oldest four of a level are exactly the children of one merge in the
/// tree.
fn merge_one(roots: &mut Vec<Root>) -> Option<Job> {
    let is_same = |one: &Root, next: &Root| (one.tree, one.level) == (next.tree, next.level);
    let runs = roots.chunk_by(is_same).map(<[Root]>::len);
    let starts = runs.scan(0, |from, length| {
        *from += length;
        Some((length, *from - length))
    });
    let (_, at) = starts.filter(|(length, _)| *length >= FAN_IN).last()?;
    let sources: [Root; FAN_IN] = roots.get(at..at + FAN_IN)?.try_into().ok()?;
    let [first, .., last] = sources;
    let root = Root {
        tree: first.tree,
        level: first.level.checked_add(1)?,
        span: (first.span.0, last.span.1.max(sources.iter().map(|root| root.span.1).max()?)),
        count: sources.iter().map(|root| root.count).sum(),
        end: last.end,
    };
    roots.splice(at..at + FAN_IN, [root]);
    Some(Job::Merge { sources, root })
}

/// The newest human message, unless it stands behind the roots.
fn carried(context: &Context, groups: &[Sizes], taken: usize) -> Option<Seq> {
    let behind = groups.iter().skip(taken).any(|group| group.human.is_some());
    if behind {
        return None;
    }
    groups.iter().take(taken).rev().find_map(|group| group.human).or(context.carried)
}

/// Why the roots and the groups behind them do not tile the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CoverError {
    /// The roots do not stand for as many entries as the context says.
    #[error(
        "the stored context is damaged: its summaries stand for {roots} entries, {covered} were expected"
    )]
    Count {
        /// Sum over the roots.
        roots: u64,
        /// Number of covered entries according to the context.
        covered: u64,
    },
    /// Two roots overlap or are out of order.
    #[error("the stored context is damaged: two of its summaries overlap at entry {at}")]
    Overlap {
        /// First entry of the later root.
        at: Seq,
    },
    /// The roots and the groups together do not make up the view.
    #[error("the stored context does not match the history: it shows {shown} entries of {visible}")]
    Missing {
        /// Entries under the roots and behind them.
        shown: u64,
        /// Entries in the view.
        visible: u64,
    },
}

/// Proves that exactly one root or group represents every visible entry.
///
/// * `visible` - number of entries in the view.
///
/// Cost: O(roots + groups). Source: design I6.
pub fn prove_cover(context: &Context, groups: &[Sizes], visible: u64) -> Result<(), CoverError> {
    let roots = context.roots.iter().map(|root| root.count).sum();
    if roots != context.covered {
        return Err(CoverError::Count { roots, covered: context.covered });
    }
    for pair in context.roots.windows(2) {
        if let [earlier, later] = pair
            && later.span.0 <= earlier.span.1
        {
            return Err(CoverError::Overlap { at: later.span.0 });
        }
    }
    let shown = context.covered + groups.iter().map(|group| group.count).sum::<u64>();
    if shown == visible { Ok(()) } else { Err(CoverError::Missing { shown, visible }) }
}

#[cfg(test)]
mod tests;
