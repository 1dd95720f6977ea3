//! An answer without a model: the statements of the passages that hold most of the question, each cited.

use std::collections::BTreeMap;

use unforget_core::entry::{Entry, Part};
use unforget_core::estimate::ClassEstimate;
use unforget_core::id::{ConversationId, Seq};
use unforget_core::tokens::Ruler;
use unforget_recall::coverage::Coverage;
use unforget_recall::terms::Analyser;
use unforget_text::{QuoteKind, quotes};
use unforget_wire::{Format, decode};

use super::Evidence;
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

/// Weight of what the rest of its passage holds of the question: an answer often repeats none of the words.
const CONTEXT: f32 = 0.35;

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
    /// What it holds of the question.
    share: f32,
    weight: f32,
}

/// The best statements of the passages, by kind, then in the order of the passages; within a kind behind given lines.
///
/// * `given` - what answers a question about the state of the work.
///
/// Cost: reads at most [`PASSAGES`] entries.
pub(super) fn lines(
    engine: &Engine,
    evidence: &[Evidence],
    coverage: &Coverage,
    given: Vec<AnswerLine>,
) -> Result<FoundLines, EngineError> {
    let mut analyser = Analyser::new();
    let mut weighed: Vec<WeighedLine> = Vec::new();
    let mut verdicts = VerdictCache::default();
    for passage in evidence.iter().take(PASSAGES) {
        let Some(PassageEntry { id, entry }) = entry_of(engine, passage)? else { continue };
        let results = results_of(engine, id, passage.seq, &entry)?;
        let whole = coverage.of(&mut analyser, &passage.text);
        for quote in quotes(&entry) {
            if verdicts.rejects(engine, id, passage.seq, &quote.text)? {
                continue;
            }
            let share = coverage.of(&mut analyser, &quote.text);
            let weight = share + CONTEXT * whole;
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
    found.sort_by_key(|line| line.number);
    if found.is_empty() {
        return Ok(FoundLines { lines: given, held });
    }
    let mut lines: Vec<AnswerLine> = given.into_iter().chain(found).collect();
    // Stable: given lines keep their order, which is that of their weight.
    lines.sort_by_key(|line| line.kind);
    Ok(FoundLines { lines, held })
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
    use super::*;

    fn weighed(number: u32, weight: f32, text: &str) -> WeighedLine {
        let line = AnswerLine { kind: QuoteKind::Found, text: text.to_owned(), number };
        WeighedLine { line, share: weight, weight }
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
