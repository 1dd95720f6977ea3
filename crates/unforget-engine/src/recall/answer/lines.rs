//! An answer without a model: the statements of the passages that hold most of the question, each cited.

use std::collections::{BTreeMap, BTreeSet};

use unforget_core::entry::{Entry, Origin, Part, Role};
use unforget_core::estimate::ClassEstimate;
use unforget_core::id::{ConversationId, Seq};
use unforget_core::tokens::Ruler;
use unforget_recall::coverage::Coverage;
use unforget_recall::terms::Analyser;
use unforget_text::numbers::one_line;
use unforget_text::{Quote, QuoteKind, quotes};
use unforget_wire::{Format, decode};

use super::Evidence;
use super::replies::AskedShares;
use crate::recall::verdict::VerdictCache;
use crate::rows::stored_raw;
use crate::{Engine, EngineError};

/// Most tokens of all lines.
const LINES_TOKENS: u64 = 600;

/// Number of passages whose statements are weighed, in the order of their reading.
const PASSAGES: usize = 16;

/// Most lines of one passage.
const OF_PASSAGE: usize = 3;

/// Number of entries behind a call among which its result is looked for.
const RESULTS_WITHIN: u64 = 8;

/// Least weight of a line, as a share of the best line's.
const FLOOR: f32 = 0.45;

/// Weight of what the rest of its passage holds of the question, or the request that the passage replies to: an answer often
/// repeats none of the words.
const CONTEXT: f32 = 0.35;

/// Weight of what the statement before or behind it holds of the question.
const NEIGHBOUR: f32 = 0.3;

/// Weight of a statement of a tool's output or a host's insertion, as a share of a person's or a model's: both hold words of
/// everything, and answer nobody.
const UNSPOKEN: f32 = 0.6;

/// Most characters of a reply that has no statement, such as a single word.
const REPLY_CHARS: usize = 280;

/// Share of words in common from which a statement is the question again, which answers nothing.
const ECHO: f32 = 0.7;

/// A line of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerLine {
    /// What it tells.
    pub kind: QuoteKind,
    /// The statement, word for word, on one line.
    pub text: String,
    /// Number of the passage that says it: [`Evidence::number`].
    pub number: u32,
}

/// The lines of an answer.
pub(super) struct FoundLines {
    pub(super) lines: Vec<AnswerLine>,
    /// See [`super::Answered::held`].
    pub(super) held: u32,
}

/// A line and how well it answers.
struct WeighedLine {
    line: AnswerLine,
    /// What it holds of the question, or the request that it replies to.
    share: f32,
    weight: f32,
}

/// The question, as far as lines are weighed by it.
pub(super) struct AskedWords<'a> {
    pub(super) text: &'a str,
    pub(super) coverage: &'a Coverage,
    /// Passages that reply to a request with its words.
    pub(super) replies: &'a AskedShares,
}

/// The best statements of the passages: kinds in the order of their best statement, the best first; behind given lines.
///
/// * `given` - what answers a question about the state of the work.
///
/// Cost: reads at most [`PASSAGES`] entries and the replies.
pub(super) fn lines(
    engine: &Engine,
    evidence: &[Evidence],
    asked: &AskedWords<'_>,
    given: Vec<AnswerLine>,
) -> Result<FoundLines, EngineError> {
    let mut analyser = Analyser::new();
    let mut weighed: Vec<WeighedLine> = Vec::new();
    let mut verdicts = VerdictCache::default();
    let is_read = |(at, one): &(usize, &Evidence)| *at < PASSAGES || asked.replies.contains_key(&one.number);
    for (_, passage) in evidence.iter().enumerate().filter(is_read) {
        let Some(PassageEntry { id, entry }) = entry_of(engine, passage)? else { continue };
        let results = results_of(engine, id, passage.seq, &entry)?;
        let reply = asked.replies.get(&passage.number).copied().unwrap_or_default();
        let whole = asked.coverage.of(&mut analyser, &passage.text).max(reply);
        let mut all = quotes(&entry);
        if all.is_empty() && reply > 0.0 {
            // `Under the mat.` says little, and answers `where is the key?`.
            let text = one_line(&passage.text, REPLY_CHARS);
            all.push(Quote { kind: QuoteKind::Found, text, call_id: None });
        }
        let shares: Vec<f32> =
            all.iter().map(|quote| asked.coverage.of(&mut analyser, &quote.text)).collect();
        for (at, quote) in all.into_iter().enumerate() {
            let is_rejected = verdicts.rejects(engine, id, passage.seq, &quote.text)?;
            if is_rejected || is_echo(&quote.text, asked.text) {
                continue;
            }
            let share = shares.get(at).copied().unwrap_or_default().max(reply);
            let weight = weight(&shares, at, whole) * if is_spoken(&entry) { 1.0 } else { UNSPOKEN };
            let kind = quote.call_id.and_then(|call| results.get(&call).copied()).unwrap_or(quote.kind);
            let line = AnswerLine { kind, text: quote.text, number: passage.number };
            weighed.push(WeighedLine { line, share, weight });
        }
    }
    let held = weighed.iter().map(|one| one.share).fold(0.0_f32, f32::max);
    let held = (held * 100.0).round() as u32;
    let used: u64 = given.iter().map(|line| ClassEstimate.count(&line.text).expected).sum();
    let mut found = chosen(weighed, LINES_TOKENS.saturating_sub(used));
    found.retain(|line| given.iter().all(|other| other.text != line.text));
    Ok(FoundLines { lines: by_kind(given.into_iter().chain(found).collect()), held })
}

/// Lines by kind, the kind of the first line first. Within a kind the order stays.
fn by_kind(lines: Vec<AnswerLine>) -> Vec<AnswerLine> {
    let mut kinds: Vec<QuoteKind> = Vec::new();
    for line in &lines {
        if !kinds.contains(&line.kind) {
            kinds.push(line.kind);
        }
    }
    let mut sorted = lines;
    sorted.sort_by_key(|line| kinds.iter().position(|kind| *kind == line.kind));
    sorted
}

/// How well a statement answers, before who says it.
///
/// * `shares` - what each statement of its entry holds of the question.
/// * `whole` - what its passage holds.
fn weight(shares: &[f32], at: usize, whole: f32) -> f32 {
    let share = |at: Option<usize>| at.and_then(|at| shares.get(at)).copied().unwrap_or_default();
    let near = share(at.checked_sub(1)).max(share(at.checked_add(1)));
    share(Some(at)) + NEIGHBOUR * near + CONTEXT * whole
}

/// Whether a person or a model says it, or the host's summary of both.
fn is_spoken(entry: &Entry) -> bool {
    matches!(entry.origin, Origin::Human | Origin::Model | Origin::HostSummary) && entry.role != Role::Tool
        || entry.role == Role::None
}

/// Whether a statement is the question again.
fn is_echo(statement: &str, question: &str) -> bool {
    let words = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let (one, other) = (words(statement), words(question));
    let common = one.intersection(&other).count();
    common > 2 && common as f32 >= ECHO * one.union(&other).count() as f32
}

/// What became of the calls of an entry, by their ids, as far as the next entries tell it.
///
/// Cost: reads at most [`RESULTS_WITHIN`] entries, and none for an entry without calls.
pub(super) fn results_of(
    engine: &Engine,
    id: ConversationId,
    seq: Seq,
    entry: &Entry,
) -> Result<BTreeMap<String, QuoteKind>, EngineError> {
    let mut results = BTreeMap::new();
    let calls = entry.parts.iter().filter(|part| matches!(part, Part::ToolCall(_))).count();
    if calls == 0 {
        return Ok(results);
    }
    note_results(entry, &mut results);
    let stored = engine.store().conversation(id)?;
    let format = Format::by_name(&stored.format).unwrap_or(Format::Unknown);
    let next = seq.0.saturating_add(1);
    for at in next..next.saturating_add(RESULTS_WITHIN).min(stored.entries) {
        if results.len() >= calls {
            break;
        }
        if let Some(raw) = stored_raw(engine.store(), id, Seq(at))? {
            note_results(&decode(format, &raw.body), &mut results);
        }
    }
    Ok(results)
}

fn note_results(entry: &Entry, results: &mut BTreeMap<String, QuoteKind>) {
    for part in &entry.parts {
        if let Part::ToolResult(result) = part {
            let has_failed = result.is_error || result.exit_code.is_some_and(|code| code != 0);
            let kind = if has_failed { QuoteKind::Failed } else { QuoteKind::Done };
            results.insert(result.call_id.clone(), kind);
        }
    }
}

/// The entry of a passage.
struct PassageEntry {
    id: ConversationId,
    entry: Entry,
}

fn entry_of(engine: &Engine, passage: &Evidence) -> Result<Option<PassageEntry>, EngineError> {
    let Some(conversation) = engine.store().find(&passage.conversation)? else { return Ok(None) };
    let raw = stored_raw(engine.store(), conversation.id, passage.seq)?;
    let format = Format::by_name(&conversation.format).unwrap_or(Format::Unknown);
    Ok(raw.map(|raw| PassageEntry { id: conversation.id, entry: decode(format, &raw.body) }))
}

/// The best lines within the bounds, best first; of equal texts the first.
///
/// * `most` - tokens of all lines.
fn chosen(mut weighed: Vec<WeighedLine>, most: u64) -> Vec<AnswerLine> {
    // Stable: of equal weights, the passage that was read first.
    weighed.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let floor = weighed.first().map_or(0.0, |best| best.weight * FLOOR);
    let mut lines: Vec<AnswerLine> = Vec::new();
    let mut left = most;
    for WeighedLine { line, weight, .. } in weighed {
        if weight <= 0.0 || weight < floor {
            break;
        }
        let tokens = ClassEstimate.count(&line.text).expected;
        let of_passage = lines.iter().filter(|other| other.number == line.number).count();
        let is_new = lines.iter().all(|other| other.text != line.text);
        if is_new && of_passage < OF_PASSAGE && tokens <= left {
            left -= tokens;
            lines.push(line);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, reason = "tests")]

    use super::*;

    fn weighed(number: u32, weight: f32, text: &str) -> WeighedLine {
        let line = AnswerLine { kind: QuoteKind::Found, text: text.to_owned(), number };
        WeighedLine { line, share: weight, weight }
    }

    #[test]
    fn the_question_again_answers_nothing() {
        let table = [
            ("what did byok get replaced with", "What did BYOK get replaced with?", true, "word for word"),
            ("byok was replaced with base_url", "What did byok get replaced with?", false, "its answer"),
            ("yes", "yes", false, "too short to tell"),
        ];
        for (statement, question, want, why) in table {
            assert_eq!(is_echo(statement, question), want, "{why}");
        }
    }

    #[test]
    fn the_kind_of_the_best_line_comes_first() {
        let line = |kind, text: &str| AnswerLine { kind, text: text.to_owned(), number: 1 };
        let lines =
            vec![line(QuoteKind::Found, "a"), line(QuoteKind::Said, "b"), line(QuoteKind::Found, "c")];
        let texts: Vec<String> = by_kind(lines).into_iter().map(|line| line.text).collect();
        assert_eq!(texts, ["a", "c", "b"]);
    }

    #[test]
    fn a_reason_beside_the_words_of_the_question_counts() {
        let shares = [0.0, 0.8, 0.0, 0.0];
        let weights: Vec<f32> = (0..4).map(|at| weight(&shares, at, 0.8)).collect();
        assert!(weights[1] > weights[0].max(weights[2]), "its own words weigh most: {weights:?}");
        assert!(weights[0].min(weights[2]) > weights[3], "a neighbour more than a stranger: {weights:?}");
    }

    #[test]
    fn chosen_table() {
        let long = "word ".repeat(500);
        let table = [
            (vec![weighed(1, 0.2, "low"), weighed(2, 1.0, "high")], vec!["high"], "below the floor"),
            (
                vec![weighed(1, 1.0, "a"), weighed(2, 0.9, "a"), weighed(3, 0.8, "b")],
                vec!["a", "b"],
                "said twice",
            ),
            (vec![weighed(1, 0.0, "nothing")], vec![], "no word of the question"),
            (
                vec![weighed(1, 1.0, &long), weighed(2, 0.9, "short")],
                vec![long.as_str(), "short"],
                "both fit",
            ),
            (
                vec![weighed(1, 1.0, "a"), weighed(1, 0.9, "b"), weighed(1, 0.8, "c"), weighed(1, 0.7, "d")],
                vec!["a", "b", "c"],
                "one passage says no more than three things",
            ),
            (
                vec![
                    weighed(1, 1.0, &long),
                    weighed(2, 0.9, &long.replace("word", "wood")),
                    weighed(3, 0.8, "c"),
                ],
                vec![long.as_str(), "c"],
                "what does not fit is passed over",
            ),
        ];
        for (lines, want, why) in table {
            let texts: Vec<String> = chosen(lines, LINES_TOKENS).into_iter().map(|line| line.text).collect();
            assert_eq!(texts, want, "{why}");
        }
    }
}
