//! Standing context: parts of a client's history meant for every call, such as project instructions.
//!
//! Our prompts leave out old messages, and with them the messages that delivered such pieces. Then the piece is put
//! back. The rules here decide which pieces are put back, and how much of each if there is not room for all.

use std::collections::BTreeSet;

use crate::digest::Digest;
use crate::policy::{STANDING_BEGUN_MIN, STANDING_BYTES_MAX, STANDING_PART};
use crate::tokens::Tokens;

/// The kind of a piece, in order of priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Instructions of the project's people.
    Instructions,
    /// The agent's working environment.
    Environment,
    /// Available agents and skills.
    Agents,
    /// Available tools beside the declared ones.
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
    /// Its kind.
    pub rank: Rank,
    /// Its topic. Pieces of different topics never replace each other.
    pub topic: &'static str,
    /// The things within the topic that it covers, such as files. A later piece with the full coverage replaces it. A
    /// piece that covers nothing adds to the earlier ones.
    pub covers: BTreeSet<String>,
    /// Digest of its text.
    pub digest: Digest,
}

impl Piece {
    /// Whether it covers everything that an earlier piece covers.
    fn replaces(&self, old: &Self) -> bool {
        old.topic == self.topic && !old.covers.is_empty() && old.covers.is_subset(&self.covers)
    }
}

/// The valid pieces: those without a later replacement, each text once. Indices, ascending.
///
/// * `pieces` - in order of arrival.
///
/// Cost: O(pieces · valid pieces).
pub fn latest(pieces: &[Piece]) -> Vec<usize> {
    let mut holding: Vec<(usize, &Piece)> = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        holding.retain(|(_, old)| !piece.replaces(old));
        if !holding.iter().any(|(_, old)| old.digest == piece.digest) {
            holding.push((index, piece));
        }
    }
    holding.into_iter().map(|(index, _)| index).collect()
}

/// The pieces to put back into a prompt. Indices, ascending.
///
/// These are the valid pieces that the prompt does not show. Between breaks the selection of the previous prompt is
/// kept as long as nothing is missing: a newer replacement is shown at its own place, and the beginning of the prompt
/// keeps its bytes.
///
/// * `shown` - digests of the texts that the prompt shows.
/// * `before` - the pieces put back into the previous prompt, if this prompt has the same beginning.
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

/// Tokens that put-back standing context may take.
///
/// Rounded down to an eighth of a power of two: calls with slightly different budgets get the same room.
///
/// * `messages` - budget of all messages, in tokens.
pub const fn room(messages: u64) -> u64 {
    let share = messages / STANDING_PART;
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
    /// Tokens of its text, or of the first [`STANDING_BYTES_MAX`] bytes.
    pub tokens: Tokens,
}

/// How much of a piece is put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// All of it.
    Whole,
    /// The first bytes, at most this many.
    Begun(u64),
    /// Nothing.
    Out,
}

/// How much of each piece fits: by rank, and within a rank by arrival. A piece that exceeds the remaining room is
/// shortened to its beginning; later pieces may still fit.
///
/// * `ranks` - ranks of the due pieces.
/// * `room` - in tokens.
/// * `size` - weighs the piece with an index. Called only while there is room.
pub fn fit(ranks: &[Rank], room: u64, size: &mut dyn FnMut(usize) -> Size) -> Vec<Share> {
    let mut order: Vec<usize> = (0..ranks.len()).collect();
    order.sort_by_key(|index| ranks.get(*index));
    let mut shares = vec![Share::Out; ranks.len()];
    let (mut tokens, mut bytes) = (room, STANDING_BYTES_MAX);
    for index in order {
        if tokens == 0 || bytes == 0 {
            break;
        }
        let is = size(index);
        let share = if is.bytes <= bytes && is.tokens.upper <= tokens {
            (tokens, bytes) = (tokens - is.tokens.upper, bytes - is.bytes);
            Share::Whole
        } else {
            let weighed = is.bytes.min(STANDING_BYTES_MAX);
            let fitting = weighed.saturating_mul(tokens) / is.tokens.upper.max(1);
            let begun = fitting.min(bytes).min(weighed);
            if begun < STANDING_BEGUN_MIN {
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
            (
                "t e i",
                [100, 100, 200_000],
                1_000_000,
                [Out, Out, Begun(STANDING_BYTES_MAX)],
                "more than the most",
            ),
            ("t e i", [100, 100, 100], 0, [Out, Out, Out], "no room"),
        ];
        for (text, bytes, room, want, why) in table {
            let all = pieces(text);
            let mut size = |index: usize| {
                let bytes: u64 = bytes[index];
                Size { bytes, tokens: Tokens::exact(bytes.min(STANDING_BYTES_MAX) / 2) }
            };
            let ranks: Vec<Rank> = all.iter().map(|piece| piece.rank).collect();
            let got = fit(&ranks, room, &mut size);
            assert_eq!(got, want, "{why}");
        }
    }

    proptest! {
        /// The put-back and the shown pieces together are all valid ones, and never exceed the room.
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
