//! Pages of results: as many as fit a number of tokens, and the beginning of the next page.

use serde_json::{Map, Value, json};
use unforget_core::estimate::ClassEstimate;
use unforget_core::tokens::Ruler as _;

use super::show;
use super::trouble::Trouble;

/// Most results of a list over all pages.
const SHOWN_MAX: usize = 2_000;

/// The result of a call: as text for a model, and as JSON for programs. Each is complete in itself, since clients show
/// a model either of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Told {
    pub(super) text: String,
    pub(super) value: Map<String, Value>,
}

/// A page being filled.
pub(super) struct ToolPage {
    left: u64,
    text: String,
    items: Vec<Value>,
}

/// A thing for a client: as text, and as JSON.
pub(super) struct PageItem {
    pub(super) text: String,
    pub(super) value: Map<String, Value>,
}

impl PageItem {
    /// * `value` - a JSON object.
    pub(super) fn new(text: String, value: Value) -> Self {
        Self { text, value: if let Value::Object(fields) = value { fields } else { Map::new() } }
    }
}

impl ToolPage {
    /// * `tokens` - budget of its items; the first item may exceed it.
    pub(super) fn new(tokens: u64) -> Self {
        Self { left: tokens, text: String::new(), items: Vec::new() }
    }

    /// Adds an item. Returns false if it does not fit.
    pub(super) fn add(&mut self, PageItem { text, value }: PageItem) -> bool {
        let tokens = ClassEstimate.count(&text).expected;
        if tokens > self.left && !self.items.is_empty() {
            self.left = 0;
            return false;
        }
        self.left = self.left.saturating_sub(tokens);
        self.text += &text;
        self.text.push('\n');
        self.items.push(Value::Object(value));
        true
    }

    /// Number of items so far.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// The page with the extent of the search and the beginning of the next page.
    ///
    /// * `items` - name of the items in the JSON.
    /// * `next` - how to request the next page.
    pub(super) fn finish(self, items: &str, receipts: &str, next: Option<&str>) -> Told {
        let mut text = String::new();
        if !self.items.is_empty() {
            text = format!("{}\n\n{}\n", show::UNTRUSTED, self.text);
        }
        text += receipts;
        if let Some(next) = next {
            text.extend(["\nMore: the same call with cursor ", next]);
        }
        let mut value = Map::new();
        value.insert("trust".to_owned(), json!(show::UNTRUSTED));
        value.insert(items.to_owned(), Value::Array(self.items));
        value.insert("receipts".to_owned(), json!(receipts));
        value.insert("cursor".to_owned(), json!(next));
        Told { text, value }
    }
}

impl Told {
    /// Adds a field to the JSON.
    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.value.insert(name.to_owned(), value.into());
        self
    }
}

/// The beginning of a page in an ordered list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Number of results on earlier pages.
    pub(super) shown: usize,
    /// Number of entries searched; a change may have changed the order too.
    of: Option<u64>,
}

impl Place {
    pub(super) fn parse(cursor: Option<&str>) -> Result<Self, Trouble> {
        let Some(text) = cursor else { return Ok(Self::default()) };
        let parsed = text.split_once('.').and_then(|(shown, of)| {
            let shown = shown.parse().ok().filter(|shown| *shown < SHOWN_MAX)?;
            Some(Self { shown, of: Some(of.parse().ok()?) })
        });
        parsed.ok_or_else(|| {
            let what = format!("{text:?} is no cursor of this list");
            Trouble::new(
                what,
                "take it from the page before, or leave it out to begin; ask more closely for less",
            )
        })
    }

    /// The cursor of the next page.
    pub(super) fn next(self, more: usize, of: u64) -> String {
        format!("{}.{of}", self.shown + more)
    }

    /// A note for the case that the number of searched entries changed since the previous page.
    pub(super) fn drift(self, of: u64) -> &'static str {
        if self.of.is_none_or(|before| before == of) {
            return "";
        }
        " Entries came or went since the page before: results may repeat or be missing here."
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn cursors_table() {
        let table = [
            (None, Some((0, "")), "the first page"),
            (Some("7.90"), Some((7, "")), "nothing came"),
            (Some("7.89"), Some((7, " Entries")), "one came"),
            (Some("2000.90"), None, "too far"),
            (Some("-1.90"), None, "negative"),
            (Some("7"), None, "half"),
            (Some("\u{0}.\u{0}"), None, "no numbers"),
        ];
        for (cursor, want, why) in table {
            let place = Place::parse(cursor).ok();
            assert_eq!(place.map(|place| place.shown), want.map(|(shown, _)| shown), "{why}");
            let drift = place.map(|place| place.drift(90)).unwrap_or_default();
            assert!(drift.starts_with(want.map_or("", |(_, drift)| drift)), "{why}: {drift}");
        }
        assert_eq!(Place::parse(Some("7.90")).unwrap().next(3, 91), "10.91");
    }

    #[test]
    fn a_page_has_what_fits_and_at_least_one() {
        let item = |words: usize| PageItem::new("word ".repeat(words), json!({ "words": words }));
        let mut page = ToolPage::new(20);
        assert!(page.add(item(500)), "the first, whatever it has");
        assert!(!page.add(item(1)), "full");
        let mut page = ToolPage::new(20);
        assert!(page.add(item(5)) && page.add(item(5)) && !page.add(item(50)));
        assert!(!page.add(item(1)), "nothing behind what did not fit: order holds");
    }
}
