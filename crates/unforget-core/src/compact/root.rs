//! A summary that stands in the prompt, and the room that it may take.

use crate::digest::Digest;
use crate::id::Seq;
use crate::policy::Policy;

/// The summaries that a root belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tree {
    /// The tree of the policy's grain.
    Own,
    /// A tree that was made for another window of the same history.
    Other {
        /// Source tokens of its leaves.
        grain: u32,
    },
    /// No tree: a coarse summary, made of a few places of its span.
    Coarse,
}

/// A summary that stands in the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// Its tree. A root of any tree but the own one is provisional.
    pub tree: Tree,
    /// 0 for a leaf.
    pub level: u8,
    /// First and last entry of its span.
    pub span: (Seq, Seq),
    /// Number of visible entries that it stands for; of a coarse summary an upper bound.
    pub count: u64,
    /// The view's content chain at its end, which serves as its name.
    pub end: Digest,
}

impl Root {
    /// Whether a summary of the own tree is to take its place.
    pub fn is_provisional(&self) -> bool {
        self.tree != Tree::Own
    }

    /// Largest size in a prompt. A summary doubles with four times the source, whatever the leaves of its tree.
    pub fn room(&self, policy: &Policy) -> u64 {
        match self.tree {
            Tree::Own => policy.summary_tokens(self.level),
            Tree::Coarse => policy.condensed_tokens,
            Tree::Other { grain } => {
                let doublings = 2 * i64::from(self.level) + log2(u64::from(grain)) - log2(policy.grain);
                let level = u8::try_from(doublings.max(0) / 2).unwrap_or(u8::MAX);
                let smaller = u32::try_from((-doublings).max(0) / 2).unwrap_or(u32::MAX);
                (policy.summary_tokens(level) >> smaller.min(6)).max(1)
            }
        }
    }
}

fn log2(n: u64) -> i64 {
    i64::from(n.max(1).ilog2())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_table() {
        let policy =
            Policy { grain: 1_024, leaf_tokens: 400, condensed_tokens: 3_200, ..Policy::for_window(32_768) };
        let table = [
            (Tree::Own, 0, 400, "a leaf"),
            (Tree::Own, 2, 1_600, "a merge of merges"),
            (Tree::Other { grain: 1_024 }, 2, 1_600, "as large as one of the own tree"),
            (Tree::Other { grain: 8_192 }, 0, 800, "eight times the source"),
            (Tree::Other { grain: 8_192 }, 9, 3_200, "up to the largest"),
            (Tree::Other { grain: 256 }, 0, 200, "a quarter of the source"),
            (Tree::Other { grain: 256 }, 1, 400, "as much source as a leaf"),
            (Tree::Other { grain: 0 }, 0, 12, "a damaged row"),
            (Tree::Coarse, 0, 3_200, "a coarse summary stands for very much"),
        ];
        for (tree, level, want, why) in table {
            let root = Root { tree, level, span: (Seq(0), Seq(9)), count: 10, end: Digest([0; 32]) };
            assert_eq!(root.room(&policy), want, "{why}");
            assert_eq!(root.is_provisional(), tree != Tree::Own, "{why}");
        }
    }
}
