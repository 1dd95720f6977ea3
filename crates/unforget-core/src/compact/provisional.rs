//! The cover of a history that nobody played yet for this window: made from its end, until all of it is played in the
//! background (ADR-0039).

use super::{Context, Job, Root, Tree, merge_one, wanted};
use crate::id::Seq;
use crate::policy::Policy;

/// Most entries at the end of a history that the first prompt plays.
pub const PLAYED_ROWS: u64 = 2_048;

/// Most expected tokens at the end of a history that the first prompt plays, unless the window needs more.
pub const PLAYED_TOKENS: u64 = 1_000_000;

/// Number of budgets of entries held at once behind a context without summaries.
const BUDGETS: u64 = 4;

/// An entry near the end of a path, by its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearRow {
    /// Its place.
    pub seq: Seq,
    /// Whether a person wrote it.
    pub is_human: bool,
    /// Whether a model wrote it.
    pub is_answer: bool,
}

/// Whether playing a whole history before its first prompt takes too long.
///
/// * `entries`, `tokens` - of the history.
pub fn is_long(entries: u64, tokens: u64, policy: &Policy) -> bool {
    entries > PLAYED_ROWS && tokens > policy.budget().saturating_mul(BUDGETS)
}

/// Most expected tokens at the end of a history that its first prompt plays: enough to fill the window twice.
pub fn played_tokens(policy: &Policy) -> u64 {
    PLAYED_TOKENS.max(policy.budget().saturating_mul(2))
}

/// Where a played end begins: at the oldest message of a person in its first half, else at the oldest answer there that
/// follows no other answer, so that calls keep their results.
///
/// * `rows` - the end of a path, oldest first.
///
/// Returns an index of `rows`.
pub fn played_from(rows: &[NearRow]) -> usize {
    let half = rows.get(..rows.len() / 2).unwrap_or_default();
    let human = half.iter().position(|row| row.is_human);
    let answer =
        || half.windows(2).position(|pair| matches!(pair, [one, next] if !one.is_answer && next.is_answer));
    human.or_else(|| answer().map(|at| at + 1)).unwrap_or(0)
}

/// Whether summaries of the own tree are to take the place of some of these.
pub fn is_provisional(context: &Context) -> bool {
    context.roots.iter().any(Root::is_provisional)
}

/// Numbers of entries that provisional summaries stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Provisional {
    /// By summaries that were made for another window.
    pub other: u64,
    /// By a coarse summary: at most so many.
    pub coarse: u64,
}

impl Provisional {
    /// Of a context.
    pub fn of(context: &Context) -> Self {
        let mut of = Self::default();
        for root in &context.roots {
            match root.tree {
                Tree::Own => {}
                Tree::Other { .. } => of.other += root.count,
                Tree::Coarse => of.coarse += root.count,
            }
        }
        of
    }

    /// All of them.
    pub const fn total(&self) -> u64 {
        self.other + self.coarse
    }
}

/// The last entry behind which a provisional context has summaries of its own tree only; `None` if it is not
/// provisional.
pub fn provisional_end(context: &Context) -> Option<Seq> {
    context.roots.iter().filter(|root| root.is_provisional()).map(|root| root.span.1).max()
}

/// Merges summaries that were made for another window until they leave half of the zone to those that follow. Returns
/// the merges to be made, in order.
pub fn fit(context: &mut Context, policy: &Policy) -> Vec<Job> {
    let mut jobs = Vec::new();
    while wanted(&context.roots, policy) > policy.zone / 2
        && let Some(merge) = merge_one(&mut context.roots)
    {
        jobs.push(merge);
    }
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;

    #[test]
    fn long_table() {
        let policy = Policy::for_window(32_768);
        let table = [
            (2_048, u64::MAX, false, "few entries are played at once"),
            (100_000, 114_688, false, "four budgets are held anyway"),
            (2_049, 114_689, true, "many entries that no window holds"),
        ];
        for (entries, tokens, want, why) in table {
            assert_eq!(is_long(entries, tokens, &policy), want, "{why}");
        }
        assert_eq!(played_tokens(&policy), PLAYED_TOKENS);
        assert!(played_tokens(&Policy::for_window(1_000_000)) > 1_900_000, "a large window is filled");
    }

    #[test]
    fn played_from_table() {
        let table = [
            ("", 0, "nothing"),
            ("rauaraua", 2, "a person's message"),
            ("rararararaua", 1, "a person's message in the newer half would leave too little"),
            ("aaraarar", 3, "an answer in several records stays whole"),
            ("rrrrrrrr", 0, "results of calls that were long ago"),
        ];
        for (text, want, why) in table {
            let row = |(at, kind)| NearRow { seq: Seq(at), is_human: kind == 'u', is_answer: kind == 'a' };
            let rows: Vec<NearRow> = (0..).zip(text.chars()).map(row).collect();
            assert_eq!(played_from(&rows), want, "{why}: {text}");
        }
    }

    #[test]
    fn merges_of_another_tree_make_room() {
        let policy = Policy::for_window(32_768);
        let root = |at: u64| Root {
            tree: Tree::Other { grain: 8_192 },
            level: 0,
            span: (Seq(at * 10), Seq(at * 10 + 9)),
            count: 10,
            end: Digest::of(&at.to_le_bytes()),
        };
        let mut context = Context { roots: (0..40).map(root).collect(), covered: 400, ..Context::default() };
        let jobs = fit(&mut context, &policy);
        assert!(
            !jobs.is_empty() && context.roots.len() < 8,
            "no four of a level are left: {}",
            context.roots.len()
        );
        assert!(context.roots.windows(2).all(|pair| pair[0].span.1 < pair[1].span.0), "oldest first");
        assert_eq!(context.roots.iter().map(|root| root.count).sum::<u64>(), 400, "nothing is lost");
        assert!(fit(&mut context, &policy).is_empty(), "once");
        assert_eq!((is_provisional(&context), provisional_end(&context)), (true, Some(Seq(399))));
        let own = Root { tree: Tree::Own, ..root(40) };
        context.roots.push(own);
        assert_eq!(provisional_end(&context), Some(Seq(399)));
        context.roots = vec![own];
        assert_eq!((is_provisional(&context), provisional_end(&context)), (false, None));
    }
}
