//! Edits of a text as ranges and replacements: everything outside the ranges stays byte for byte.

use std::ops::Range;

use crate::json::Object;

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The bytes to remove; empty for an insertion.
    pub range: Range<usize>,
    /// The replacement.
    pub text: String,
}

impl Edit {
    /// A deletion.
    pub(crate) const fn cut(range: Range<usize>) -> Self {
        Self { range, text: String::new() }
    }
}

/// The text after the edits.
///
/// * `edits` - in any order. An edit that begins inside an earlier one, or lies outside the text, is ignored; several
///   edits at one place are applied in the given order.
///
/// Cost: O(bytes + edits · log edits).
pub fn edited(text: &str, edits: &[Edit]) -> String {
    let mut order: Vec<&Edit> = edits.iter().collect();
    order.sort_by_key(|edit| edit.range.start);
    let added: usize = edits.iter().map(|edit| edit.text.len()).sum();
    let mut out = String::with_capacity(text.len() + added);
    let mut at = 0;
    for edit in order {
        let Some(kept) = text.get(at..edit.range.start).filter(|_| text.get(edit.range.clone()).is_some())
        else {
            continue;
        };
        out.push_str(kept);
        out.push_str(&edit.text);
        at = edit.range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// Deletes the fields whose names `goes` accepts, each with one comma, so that the result is an object again.
pub(crate) fn cut_fields(object: Object<'_>, goes: &dyn Fn(&str) -> bool, edits: &mut Vec<Edit>) {
    let mut kept_end = None;
    let mut leading: Option<Range<usize>> = None;
    for (key, value) in object.members() {
        let (start, end) = (key.range().start, value.range().end);
        let is_gone = key.str().is_some_and(|key| goes(&key));
        match (is_gone, kept_end) {
            // Behind a remaining field: from that field's end, with the comma in front.
            (true, Some(from)) => {
                edits.push(Edit::cut(from..end));
                kept_end = Some(end);
            }
            // In front of all remaining fields: up to the next field, with the comma behind.
            (true, None) => leading = Some(leading.map_or(start, |cut| cut.start)..end),
            (false, _) => {
                if let Some(cut) = leading.take() {
                    edits.push(Edit::cut(cut.start..start));
                }
                kept_end = Some(end);
            }
        }
    }
    edits.extend(leading.map(Edit::cut));
}

/// Adds a field behind the last one of an object that has `fields` fields left.
pub(crate) fn add_field(object: Object<'_>, fields: usize, name: &str, value: &str) -> Edit {
    let end = object.range().end.saturating_sub(1);
    let comma = if fields > 0 { "," } else { "" };
    Edit { range: end..end, text: format!(r#"{comma}"{name}":{value}"#) }
}
