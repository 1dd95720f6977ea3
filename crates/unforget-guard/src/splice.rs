//! A change of one record as replaced ranges of its bytes.

use std::ops::Range;

use unforget_core::transcript::{KeptTo, RecordChange};
use unforget_wire::Format;

use super::json;

/// A range of a record's body and its replacement.
pub(super) type Splice = (Range<usize>, Vec<u8>);

/// Where a format stores the fields that change.
struct Shape {
    id: &'static str,
    parent: &'static str,
    message: &'static str,
    result_id: &'static [&'static str],
}

fn shape(format: Format) -> Shape {
    match format {
        Format::ClaudeCode => {
            Shape { id: "uuid", parent: "parentUuid", message: "message", result_id: &["tool_use_id"] }
        }
        Format::Codex => Shape { id: "id", parent: "parent", message: "payload", result_id: &["call_id"] },
        _ => Shape { id: "id", parent: "parentId", message: "message", result_id: &["toolCallId"] },
    }
}

/// The ranges of `body` replaced by a change; `None` if `body` lacks the fields to be changed.
///
/// * `index` - returns the host's index of a record after all changes.
pub(super) fn splices(
    format: Format,
    body: &[u8],
    change: &RecordChange,
    index: &dyn Fn(usize) -> u64,
) -> Option<Vec<Splice>> {
    let text = json::text_of(body);
    let shape = shape(format);
    let one = |range: Range<usize>, with: String| Some(vec![(range, with.into_bytes())]);
    match change {
        RecordChange::Drop | RecordChange::Move { .. } => Some(Vec::new()),
        RecordChange::Rename(to) => one(json::at(&text, &[shape.id])?, quoted(to)?),
        RecordChange::Link(to) => {
            let with = to.as_deref().map_or_else(|| Some("null".to_owned()), quoted)?;
            if let Some(range) = json::at(&text, &[shape.parent]) {
                one(range, with)
            } else {
                let id = json::at(&text, &[shape.id])?;
                one(id.end..id.end, format!(",\"{}\":{with}", shape.parent))
            }
        }
        RecordChange::Keep(KeptTo::Id(to)) => one(json::at(&text, &["firstKeptEntryId"])?, quoted(to)?),
        RecordChange::Keep(KeptTo::Record(record)) => {
            let to = index(*record);
            if json::number(&text, &["firstKeptEntryIndex"]) == Some(to) {
                return Some(Vec::new());
            }
            one(json::at(&text, &["firstKeptEntryIndex"])?, to.to_string())
        }
        RecordChange::RenameCall { block, to } => {
            let range = match format {
                Format::Codex => json::field(&text, message(&text, &shape), "call_id")?,
                _ => json::field(&text, blocks(&text, &shape)?.get(*block)?.clone(), "id")?,
            };
            one(range, quoted(to)?)
        }
        RecordChange::RenameResult { block, to } => {
            let within = match format {
                Format::ClaudeCode => blocks(&text, &shape)?.get(*block)?.clone(),
                _ => message(&text, &shape),
            };
            let range =
                shape.result_id.iter().try_fold(within, |within, key| json::field(&text, within, key))?;
            one(range, quoted(to)?)
        }
        RecordChange::CutBlocks(cut) => {
            let content = json::field(&text, message(&text, &shape), "content")?;
            let blocks = json::items(&text, content.clone())?;
            let mut with = vec![b'['];
            let kept = blocks.iter().enumerate().filter(|(at, _)| cut.binary_search(at).is_err());
            for (count, (_, block)) in kept.enumerate() {
                if count > 0 {
                    with.push(b',');
                }
                with.extend_from_slice(body.get(block.clone())?);
            }
            with.push(b']');
            Some(vec![(content, with)])
        }
    }
}

/// The message of a record; the record itself if the format has bare messages.
fn message(text: &str, shape: &Shape) -> Range<usize> {
    let inner =
        json::at(text, &[shape.message]).filter(|range| text.as_bytes().get(range.start) == Some(&b'{'));
    inner.unwrap_or(0..text.len())
}

fn blocks(text: &str, shape: &Shape) -> Option<Vec<Range<usize>>> {
    json::items(text, json::field(text, message(text, shape), "content")?)
}

/// A name as JSON. `None` for names that were replaced by a digest because of their length.
fn quoted(name: &str) -> Option<String> {
    (!name.starts_with("digest:")).then(|| json::quoted(name))
}
