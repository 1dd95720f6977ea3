//! Standing context: what a client puts into its history so that every call shows it, such as project instructions.
//!
//! A prompt of ours leaves out what is old, and with it the message in which such a piece came. Then the piece is put back.
//! The rules here say which pieces that are, and how much of them where there is not room for all.

use std::collections::BTreeSet;

use crate::digest::Digest;
use crate::tokens::Tokens;

/// Most bytes of what is put back.
pub const BYTES_MAX: u64 = 64 * 1024;

/// Of the tokens that messages may have, the part that is put back at most.
const SHARE: u64 = 4;

/// A piece that there is not room for is begun if so many bytes of it fit.
const BEGUN_MIN: u64 = 512;

/// What a piece is. The first are kept first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// What the people of the project want.
    Instructions,
    /// Where the agent works.
    Environment,
    /// Agents and skills that there are.
    Agents,
    /// Tools that there are, beside those that are declared.
    Tools,
    /// Anything else.
    Other,
}

impl Rank {
    /// Name for logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Environment => "environment",
            Self::Agents => "agents",
            Self::Tools => "tools",
            Self::Other => "other",
        }
    }
}

/// A piece of standing context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// What it is.
    pub rank: Rank,
    /// Its topic. Pieces of different topics never replace each other.
    pub topic: &'static str,
    /// What of the topic it says, such as files. A later piece that says all of it takes its place. One that says nothing
    /// of this kind adds to the earlier ones.
    pub covers: BTreeSet<String>,
    /// Digest of its text.
    pub digest: Digest,
}

/// The pieces that hold now: those that no later one replaces, each text once. Indices, ascending.
///
/// * `pieces` - in the order in which they came.
///
/// Cost: O(pieces · pieces that hold).
pub fn latest(pieces: &[Piece]) -> Vec<usize> {
    let mut holding: Vec<(usize, &Piece)> = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        let is_replaced = |old: &Piece| {
            old.topic == piece.topic && !old.covers.is_empty() && old.covers.is_subset(&piece.covers)
        };
        holding.retain(|(_, old)| !is_replaced(old));
        if !holding.iter().any(|(_, old)| old.digest == piece.digest) {
            holding.push((index, piece));
        }
    }
    holding.into_iter().map(|(index, _)| index).collect()
}

/// The pieces that a prompt has to be given back. Indices, ascending.
///
/// Those that hold and that the prompt does not show. Between breaks it stays with what was put back before, as long as
/// nothing is missing: a replacement that came since is shown where it came, and the beginning of the prompt keeps its bytes.
///
/// * `shown` - digests of the texts that the prompt shows.
/// * `before` - what was put back in the prompt before, if the beginning of this one is the same.
pub fn due(pieces: &[Piece], shown: &BTreeSet<Digest>, before: Option<&BTreeSet<Digest>>) -> Vec<usize> {
    let digest = |index: &usize| pieces.get(*index).map(|piece| piece.digest);
    let mut missing = latest(pieces);
    missing.retain(|index| digest(index).is_some_and(|digest| !shown.contains(&digest)));
    let Some(before) = before else { return missing };
    let is_enough = missing.iter().all(|index| digest(index).is_some_and(|digest| before.contains(&digest)));
    if !is_enough {
        return missing;
    }
    let mut taken = BTreeSet::new();
    let kept = pieces.iter().enumerate().filter(|(_, piece)| before.contains(&piece.digest));
    kept.filter(|(_, piece)| taken.insert(piece.digest)).map(|(index, _)| index).collect()
}

/// Tokens that standing context may take when it is put back.
///
/// Rounded down to an eighth of a power of two: calls with slightly different budgets get the same room.
///
/// * `messages` - budget of all messages, in tokens.
pub const fn room(messages: u64) -> u64 {
    let share = messages / SHARE;
    if share < 8 {
        return share;
    }
    let step = (1 << share.ilog2()) / 8;
    share / step * step
}

/// Size of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Bytes of its text.
    pub bytes: u64,
    /// Tokens of it, or of its first [`BYTES_MAX`] bytes.
    pub tokens: Tokens,
}

/// How much of a piece is put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// All of it.
    Whole,
    /// So many bytes of its beginning at most.
    Begun(u64),
    /// Nothing.
    Out,
}

/// How much of each piece there is room for: the most specific first, of one rank in the order in which they came. What is
/// too large for what is left is begun; what comes behind it may still fit.
///
/// * `ranks` - of the pieces that are due.
/// * `room` - in tokens.
/// * `size` - weighs the piece with an index; asked only while there is room.
pub fn fit(ranks: &[Rank], room: u64, size: &mut dyn FnMut(usize) -> Size) -> Vec<Share> {
    let mut order: Vec<usize> = (0..ranks.len()).collect();
    order.sort_by_key(|index| ranks.get(*index));
    let mut shares = vec![Share::Out; ranks.len()];
    let (mut tokens, mut bytes) = (room, BYTES_MAX);
    for index in order {
        if tokens == 0 || bytes == 0 {
            break;
        }
        let is = size(index);
        let share = if is.bytes <= bytes && is.tokens.upper <= tokens {
            (tokens, bytes) = (tokens - is.tokens.upper, bytes - is.bytes);
            Share::Whole
        } else {
            let weighed = is.bytes.min(BYTES_MAX);
            let fitting = weighed.saturating_mul(tokens) / is.tokens.upper.max(1);
            let begun = fitting.min(bytes).min(weighed);
            if begun < BEGUN_MIN {
                continue;
            }
            let paid = (begun.saturating_mul(is.tokens.upper) / weighed.max(1)).min(tokens);
            (tokens, bytes) = (tokens - paid, bytes - begun);
            Share::Begun(begun)
        };
        if let Some(slot) = shares.get_mut(index) {
            *slot = share;
        }
    }
    shares
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "tests")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `i:ab=x` is a piece of topic `i` that covers `a` and `b` with text `x`; without `:` it adds.
    fn pieces(text: &str) -> Vec<Piece> {
        let piece = |word: &str| {
            let (what, said) = word.split_once('=').unwrap_or((word, word));
            let (topic, covers) = what.split_once(':').unwrap_or((what, ""));
            let (topic, rank) = match topic {
                "i" => ("instructions", Rank::Instructions),
                "e" => ("environment", Rank::Environment),
                _ => ("tools", Rank::Tools),
            };
            let covers = covers.chars().map(String::from).collect();
            Piece { rank, topic, covers, digest: Digest::of(said.as_bytes()) }
        };
        text.split_whitespace().map(piece).collect()
    }

    fn digests(text: &str) -> BTreeSet<Digest> {
        text.split_whitespace().map(|said| Digest::of(said.as_bytes())).collect()
    }

    #[test]
    fn latest_table() {
        let table = [
            ("i:a=1 e:e=2 t=3", vec![0, 1, 2], "nothing is replaced"),
            ("i:a=1 e:e=2 i:a=3", vec![1, 2], "the newest stands"),
            ("i:ab=1 i:a=2", vec![0, 1], "a part of it does not replace it"),
            ("i:ab=1 i:a=2 i:abc=3", vec![2], "all of it does"),
            ("t=1 t=2", vec![0, 1], "lists that add stand beside each other"),
            ("t=1 t=2 t=1", vec![0, 1], "a text that comes again stands once"),
            ("i:a=1 e:a=2", vec![0, 1], "topics are apart"),
            ("i:a=1 i:a=2 i:a=1", vec![2], "back to the old one"),
        ];
        for (text, want, why) in table {
            assert_eq!(latest(&pieces(text)), want, "{why}: {text}");
        }
    }

    #[test]
    fn due_table() {
        let table = [
            // pieces           shown before      due         why
            ("i:a=1 e:e=2", "1 2", None, vec![], "all is shown"),
            ("i:a=1 e:e=2", "", None, vec![0, 1], "nothing is"),
            ("i:a=1 e:e=2 i:a=3", "3", None, vec![1], "the newest is shown where it came"),
            ("i:a=1 i:a=3", "3", Some("1"), vec![0], "between breaks the beginning stays"),
            ("i:a=1 i:a=3", "", Some("1"), vec![1], "something is missing: that is a break"),
            ("i:a=1 e:e=2", "2", Some("1"), vec![0], "as before"),
            ("i:a=1 e:e=2", "1 2", Some(""), vec![], "nothing was put back"),
            ("t=1 t=1", "", Some("1"), vec![0], "once"),
        ];
        for (text, shown, before, want, why) in table {
            let before = before.map(digests);
            assert_eq!(due(&pieces(text), &digests(shown), before.as_ref()), want, "{why}: {text}");
        }
    }

    #[test]
    fn fit_table() {
        use Share::{Begun, Out, Whole};
        let table = [
            // pieces with bytes, two to a token   room   shares   why
            ("t e i", [100, 100, 100], 1_000, [Whole, Whole, Whole], "room for all"),
            ("t e i", [100, 100, 100], 100, [Out, Whole, Whole], "tools go first"),
            ("t e i", [2_000, 4_000, 100], 1_050, [Out, Begun(2_000), Whole], "what is too large is begun"),
            ("i i t", [4_000, 100, 100], 50, [Out, Whole, Out], "a small one behind a large one fits"),
            ("t e i", [100, 100, 200_000], 1_000_000, [Out, Out, Begun(BYTES_MAX)], "more than the most"),
            ("t e i", [100, 100, 100], 0, [Out, Out, Out], "no room"),
        ];
        for (text, bytes, room, want, why) in table {
            let all = pieces(text);
            let mut size = |index: usize| {
                let bytes: u64 = bytes[index];
                Size { bytes, tokens: Tokens::exact(bytes.min(BYTES_MAX) / 2) }
            };
            let ranks: Vec<Rank> = all.iter().map(|piece| piece.rank).collect();
            let got = fit(&ranks, room, &mut size);
            assert_eq!(got, want, "{why}");
        }
    }

    proptest! {
        /// What is put back and what is shown are all that holds; and never more than the room.
        #[test]
        fn nothing_that_holds_is_missing(
            text in "([iet](:[ab]{1,2})?=[1-4] ){0,8}", shown in "([1-4] ){0,4}", before in "([1-4] ){0,4}",
            room in 0_u64..50, is_known in any::<bool>(),
        ) {
            let (all, shown) = (pieces(&text), digests(&shown));
            let before = digests(&before);
            let due = due(&all, &shown, is_known.then_some(&before));
            for index in latest(&all) {
                let digest = all[index].digest;
                let is_there = shown.contains(&digest) || due.iter().any(|due| all[*due].digest == digest);
                prop_assert!(is_there, "{text}");
            }
            let texts: BTreeSet<_> = due.iter().map(|due| all[*due].digest).collect();
            prop_assert_eq!(texts.len(), due.len());
            let ranks: Vec<Rank> = due.iter().map(|due| all[*due].rank).collect();
            let shares = fit(&ranks, room, &mut |_| Size { bytes: 600, tokens: Tokens::exact(7) });
            let whole = shares.iter().filter(|share| **share == Share::Whole).count() as u64;
            prop_assert!(whole * 7 <= room);
        }
    }
}
