//! The common beginning of two prompts: how much a provider's cache can serve, and why it is not more.

use crate::compact::Cache;

/// Why a prompt does not begin with all of the prompt before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The first prompt of a session.
    First,
    /// Compaction: summaries or stubs took the place of older entries.
    Compaction,
    /// This prompt or the one before did not fit as assembled.
    Ladder,
    /// A late result or a late fragment went into an earlier group.
    LateEntry,
    /// The transcript continued from an earlier entry.
    Rewind,
    /// Pins were added, removed or changed.
    Pins,
    /// Live input beside a summary stood before the newest message, and now moves behind later messages.
    LiveInput,
    /// Somebody rejected a statement of a shown summary, or took that back.
    Verdict,
    /// A person put entries back, or took that back.
    Raised,
}

impl Cause {
    /// All causes by stored number. New causes go to the end.
    pub const ALL: [Self; 9] = [
        Self::First,
        Self::Compaction,
        Self::Ladder,
        Self::LateEntry,
        Self::Rewind,
        Self::Pins,
        Self::LiveInput,
        Self::Verdict,
        Self::Raised,
    ];

    /// Name for reports, in kebab-case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Compaction => "compaction",
            Self::Ladder => "ladder",
            Self::LateEntry => "late-entry",
            Self::Rewind => "rewind",
            Self::Pins => "pins",
            Self::LiveInput => "live-input",
            Self::Verdict => "verdict",
            Self::Raised => "put-back",
        }
    }
}

impl Cause {
    /// Whether pinned files are read again at this break. They are if the beginning of the prompt changes anyway; a
    /// change late in the prompt leaves its beginning in the provider's cache.
    pub const fn reads_files(self) -> bool {
        matches!(self, Self::First | Self::Compaction | Self::Pins)
    }

    /// A sentence for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::First => "this is the first prompt that was made for it",
            Self::Compaction => "older entries are summarised now",
            Self::Ladder => "it had to be shortened to fit, or fits again",
            Self::LateEntry => "something came late into an earlier place",
            Self::Rewind => "the client went back and on differently",
            Self::Pins => "pins changed",
            Self::LiveInput => "live input moved behind what came since",
            Self::Verdict => "a statement of a summary was rejected, or no longer is",
            Self::Raised => "a person put entries back, or took them away again",
        }
    }
}

/// A section of a prompt. The numbers are stored; the order in the prompt is pins, summaries, ledger, raised, carried, tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// Recorded instructions.
    System,
    /// Pinned rules.
    Pins,
    /// Summaries.
    Summaries,
    /// The newest message of a person, although a summary covers it.
    Carried,
    /// Messages, whole or shortened.
    Tail,
    /// Tool work of the summarised entries, behind the summaries.
    Ledger,
    /// Entries that people put back, behind the ledger.
    Raised,
}

impl Region {
    /// All regions by stored number.
    pub const ALL: [Self; 7] =
        [Self::System, Self::Pins, Self::Summaries, Self::Carried, Self::Tail, Self::Ledger, Self::Raised];

    /// Name for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Pins => "pins",
            Self::Summaries => "summaries",
            Self::Carried => "carried",
            Self::Tail => "tail",
            Self::Ledger => "ledger",
            Self::Raised => "put-back",
        }
    }
}

/// A break: the prompt does not begin with all of the prompt before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The reason.
    pub cause: Cause,
    /// Region of the first piece of the prompt before that is missing now.
    pub region: Region,
    /// Expected tokens behind that piece that the provider should have cached: they are billed again.
    pub rebilled: u64,
    /// Expected tokens of this prompt that the provider's cache should still serve.
    pub hit: u64,
}

/// A piece of a composed prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentPiece {
    /// Digest of its bytes.
    pub print: u64,
    /// Expected size.
    pub tokens: u64,
    /// Number of blocks in its messages.
    pub blocks: usize,
    /// Its section.
    pub region: Region,
}

/// Known reasons for a change of the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownChange {
    /// The event since the prompt before, if there was one.
    pub cause: Option<Cause>,
    /// Whether this prompt is shortened, or leaves out images or documents.
    pub is_shortened: bool,
}

/// A prompt compared with the prompt before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixChange {
    /// Expected tokens of the common beginning.
    pub reused: u64,
    /// The break; `None` if the prompt only grew.
    pub broken: Option<Broken>,
}

/// Compares a prompt with the prompt before.
///
/// * `cache` - the state of the provider's cache, which decides the tokens that are billed again.
pub fn compare(before: &[SentPiece], now: &[SentPiece], known: KnownChange, cache: Cache) -> PrefixChange {
    let equal = before.iter().zip(now).take_while(|(a, b)| a.print == b.print);
    let (reused, same) = equal.fold((0, 0), |(tokens, count), (piece, _)| (tokens + piece.tokens, count + 1));
    let lost: u64 = before.iter().skip(same).map(|piece| piece.tokens).sum();
    let unnamed = if known.is_shortened { Cause::Ladder } else { Cause::LateEntry };
    let place = if before.is_empty() {
        Some((Cause::First, Region::System))
    } else {
        before.get(same).map(|piece| (known.cause.unwrap_or(unnamed), piece.region))
    };
    let broken = place.map(|(cause, region)| Broken {
        cause,
        region,
        rebilled: cache.holds(lost),
        hit: cache.holds(reused),
    });
    PrefixChange { reused, broken }
}

/// Number of blocks at the beginning of the first message that change only at breaks: pins and summaries.
pub fn leading_blocks(pieces: &[SentPiece]) -> usize {
    let leads = pieces.iter().filter(|piece| matches!(piece.region, Region::Pins | Region::Summaries));
    leads.map(|piece| piece.blocks).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces of 10 tokens and one block; capitals are summaries.
    fn pieces(text: &str) -> Vec<SentPiece> {
        let region = |c: char| if c.is_uppercase() { Region::Summaries } else { Region::Tail };
        text.chars()
            .map(|c| SentPiece { print: c.into(), tokens: 10, blocks: 1, region: region(c) })
            .collect()
    }

    #[test]
    fn compare_table() {
        let none = KnownChange { cause: None, is_shortened: false };
        let table = [
            ("", "Sab", none, Some((Cause::First, Region::System, 0, 0)), "the first prompt"),
            ("Sab", "Sabc", none, None, "it only grew"),
            ("Sab", "Sab", none, None, "the same prompt"),
            ("Sab", "Sxb", none, Some((Cause::LateEntry, Region::Tail, 20, 10)), "a late result"),
            (
                "Sab",
                "Tb",
                KnownChange { cause: Some(Cause::Compaction), ..none },
                Some((Cause::Compaction, Region::Summaries, 30, 0)),
                "the known cause counts",
            ),
            (
                "Sab",
                "Sx",
                KnownChange { is_shortened: true, ..none },
                Some((Cause::Ladder, Region::Tail, 20, 10)),
                "it did not fit",
            ),
            ("Sab", "Sa", none, Some((Cause::LateEntry, Region::Tail, 10, 20)), "its end is missing"),
        ];
        for (before, now, known, want, why) in table {
            let found = compare(&pieces(before), &pieces(now), known, Cache::Warm).broken;
            let found = found.map(|broken| (broken.cause, broken.region, broken.rebilled, broken.hit));
            assert_eq!(found, want, "{why}");
        }
        let cold = compare(&pieces("Sab"), &pieces("Sx"), none, Cache::Cold);
        assert_eq!(
            (cold.reused, cold.broken.map(|broken| (broken.rebilled, broken.hit))),
            (10, Some((0, 0)))
        );
    }

    #[test]
    fn pinned_files_are_read_where_the_beginning_changes() {
        let reading = Cause::ALL.into_iter().filter(|cause| cause.reads_files());
        assert_eq!(reading.collect::<Vec<_>>(), [Cause::First, Cause::Compaction, Cause::Pins]);
    }

    #[test]
    fn blocks_of_summaries_lead() {
        assert_eq!(leading_blocks(&pieces("STab")), 2);
    }
}
