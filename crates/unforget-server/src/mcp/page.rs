//! Pages of results: as much as fits some tokens, and where the next page begins.

use serde_json::{Map, Value, json};
use unforget_core::estimate::ClassEstimate;
use unforget_core::tokens::Ruler as _;

use super::calls::Trouble;
use super::show;

/// Results of a list that are shown in all, page by page.
const SHOWN_MAX: usize = 2_000;

/// What a call has to say: as text for a model, and as JSON for programs. Each stands alone: clients show a model
/// either.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Told {
    pub(super) text: String,
    pub(super) value: Map<String, Value>,
}

/// A page that is being filled.
pub(super) struct Page {
    left: u64,
    text: String,
    items: Vec<Value>,
}

impl Page {
    /// * `tokens` - what its items may have; the first may exceed it.
    pub(super) fn new(tokens: u64) -> Self {
        Self { left: tokens, text: String::new(), items: Vec::new() }
    }

    /// Adds an item. False if it does not fit any more.
    pub(super) fn add(&mut self, (text, value): (String, Value)) -> bool {
        let tokens = ClassEstimate.count(&text).expected;
        if tokens > self.left && !self.items.is_empty() {
            self.left = 0;
            return false;
        }
        self.left = self.left.saturating_sub(tokens);
        self.text += &text;
        self.text.push('\n');
        self.items.push(value);
        true
    }

    /// Items so far.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// The page with what was looked at, and where the next one begins.
    ///
    /// * `items` - name of the items in the JSON.
    /// * `next` - how the next page is got.
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
    /// The same with something more in the JSON.
    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.value.insert(name.to_owned(), value.into());
        self
    }
}

/// Where a page of an ordered list begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Results of the pages before.
    pub(super) shown: usize,
    /// How much there was to look at; if that changed, the order may have, too.
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

    /// The cursor of the page behind this one.
    pub(super) fn next(self, more: usize, of: u64) -> String {
        format!("{}.{of}", self.shown + more)
    }

    /// What to say if there is more or less to look at than at the page before.
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
        let item = |words: usize| ("word ".repeat(words), json!(words));
        let mut page = Page::new(20);
        assert!(page.add(item(500)), "the first, whatever it has");
        assert!(!page.add(item(1)), "full");
        let mut page = Page::new(20);
        assert!(page.add(item(5)) && page.add(item(5)) && !page.add(item(50)));
        assert!(!page.add(item(1)), "nothing behind what did not fit: order holds");
    }
}
