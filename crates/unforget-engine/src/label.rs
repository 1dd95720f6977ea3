//! What people say of conversations: a title of their own, a star, tags.

use std::collections::BTreeSet;

use unforget_core::id::{ConversationId, Timestamp};
use unforget_store::{LabelRow, Page};
use unforget_text::is_harmful;

use crate::{Engine, EngineError};

/// Most characters of a title.
pub const LABEL_TITLE_CHARS: usize = 200;

/// Most characters of a tag.
pub const TAG_CHARS: usize = 40;

/// Most tags of a conversation.
pub const TAGS_MAX: usize = 24;

/// How often a change is tried while others change the same label.
pub(crate) const TRIES: usize = 8;

/// A change of a label. Without a value, a part stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelChange {
    /// The title; a blank one takes it away.
    pub title: Option<String>,
    /// Whether there is a star.
    pub star: Option<bool>,
    /// Tags to add.
    pub tags: Vec<String>,
    /// Tags to take away, before others are added. Those that are not there are passed over.
    pub untags: Vec<String>,
}

impl LabelChange {
    /// A change of the star alone.
    pub fn star(is_starred: bool) -> Self {
        Self { star: Some(is_starred), ..Self::default() }
    }

    /// The change that leaves exactly these tags.
    ///
    /// * `label` - as it is.
    /// * `text` - the tags, parted by spaces or commas.
    pub fn exact_tags(label: &LabelRow, text: &str) -> Self {
        let tags = text.split([' ', ',']).filter(|tag| !tag.is_empty()).map(str::to_owned).collect();
        Self { tags, untags: label.tags.iter().cloned().collect(), ..Self::default() }
    }

    /// Whether it changes nothing, whatever the label is.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A label after a change.
///
/// # Errors
/// [`EngineError::Usage`] for a title or tag that is too long or cannot be shown as it is, and for too many tags.
fn changed(label: &LabelRow, change: &LabelChange, now: Timestamp) -> Result<LabelRow, EngineError> {
    let title = match &change.title {
        None => label.title.clone(),
        Some(title) if title.trim().is_empty() => None,
        Some(title) => Some(fit(title, "the title", LABEL_TITLE_CHARS)?.to_owned()),
    };
    let named = change.tags.len().max(change.untags.len());
    if named > 2 * TAGS_MAX {
        return Err(too_many(named));
    }
    let gone = change.untags.iter().map(|tag| tag_of(tag)).collect::<Result<BTreeSet<_>, _>>()?;
    let mut tags: BTreeSet<String> = label.tags.difference(&gone).cloned().collect();
    for tag in &change.tags {
        tags.insert(tag_of(tag)?);
    }
    if tags.len() > TAGS_MAX {
        return Err(too_many(tags.len()));
    }
    let is_starred = change.star.unwrap_or(label.is_starred);
    let after = LabelRow { title, is_starred, tags, ..label.clone() };
    Ok(if after == *label { after } else { LabelRow { changed: now, ..after } })
}

/// A tag as it is stored: in lower case.
///
/// # Errors
/// [`EngineError::Usage`] if it is no tag.
fn tag_of(text: &str) -> Result<String, EngineError> {
    let tag = fit(text, "a tag", TAG_CHARS)?;
    if tag.is_empty() || tag.contains(|one: char| one.is_whitespace() || one == ',') {
        let what = "a tag is one word, without spaces and commas".to_owned();
        return Err(EngineError::Usage { what, hint: "join its words by a hyphen: to-review".to_owned() });
    }
    Ok(tag.to_lowercase())
}

/// Whether a title from elsewhere is one that could be given here.
pub(crate) fn is_title(text: &str) -> bool {
    !text.is_empty() && fit(text, "the title", LABEL_TITLE_CHARS).is_ok_and(|title| title == text)
}

/// Whether a tag from elsewhere is one that could be given here.
pub(crate) fn is_tag(text: &str) -> bool {
    tag_of(text).is_ok_and(|tag| tag == text)
}

/// The text without outer blanks. A text with control characters, line ends or marks of direction, or too long a text, is refused.
fn fit<'a>(text: &'a str, what: &str, chars_max: usize) -> Result<&'a str, EngineError> {
    let usage = |what: String, hint: &str| Err(EngineError::Usage { what, hint: hint.to_owned() });
    let text = text.trim();
    // No character has more bytes, so a huge text is refused before its characters are counted.
    let chars = if text.len() > 4 * chars_max { text.len() } else { text.chars().count() };
    if chars > chars_max {
        let unit = if text.len() > 4 * chars_max { "bytes" } else { "characters" };
        return usage(
            format!("{what} has {chars} {unit}, at most {chars_max} characters are kept"),
            "shorten the text",
        );
    }
    let harmful = text.char_indices().find(|(_, one)| is_harmful(*one) || one.is_control());
    match harmful {
        None => Ok(text),
        Some((at, one)) => usage(
            format!("{what} has the character U+{:04X} at byte {at}, which cannot be shown", one as u32),
            "leave control characters, line ends and marks of direction out",
        ),
    }
}

fn too_many(tags: usize) -> EngineError {
    EngineError::Usage {
        what: format!("{tags} tags are too many: a conversation has at most {TAGS_MAX}"),
        hint: "take some away first: unforget label CONVERSATION --untag TAG".to_owned(),
    }
}

impl Engine {
    /// What a person says of a conversation; blank if nothing.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub fn label(&self, id: ConversationId) -> Result<LabelRow, EngineError> {
        let page = Page { after: id.0.checked_sub(1).map(ConversationId), limit: 1 };
        let found = self.store().labels(page)?.pop().filter(|label| label.conversation == id);
        Ok(found.unwrap_or(LabelRow::blank(id)))
    }

    /// Changes what a person says of a conversation. Returns the label as it is then.
    ///
    /// # Errors
    /// [`EngineError::Usage`] for a title or tag that is too long or cannot be shown as it is, for too many tags, and if others change
    /// the label all the time: then nothing was written. [`EngineError::Store`]: what was written before stays.
    pub fn change_label(
        &self,
        id: ConversationId,
        change: &LabelChange,
        now: Timestamp,
    ) -> Result<LabelRow, EngineError> {
        self.restore_label(id)?;
        for _ in 0..TRIES {
            let before = self.label(id)?;
            let after = changed(&before, change, now)?;
            if after == before {
                return Ok(after);
            }
            if self.store().put_label(id, &before, &after)? {
                self.note_label(id, now)?;
                return Ok(after);
            }
        }
        Err(EngineError::Usage {
            what: "the label was changed by others at the same time".to_owned(),
            hint: "look at it, and change it again".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const ID: ConversationId = ConversationId(1);

    fn owned(all: &[&str]) -> Vec<String> {
        all.iter().map(|one| (*one).to_owned()).collect()
    }

    #[test]
    fn changes_table() {
        let old = LabelRow { tags: ["a", "b"].map(str::to_owned).into(), ..LabelRow::blank(ID) };
        let table = [
            (LabelChange::default(), "- - a b", "nothing"),
            (
                LabelChange { title: Some(" T 修 🦀 ".into()), ..LabelChange::default() },
                "T 修 🦀 - a b",
                "a title, trimmed",
            ),
            (
                LabelChange { title: Some(" ".into()), ..LabelChange::default() },
                "- - a b",
                "a blank title is none",
            ),
            (LabelChange::star(true), "- ★ a b", "a star"),
            (
                LabelChange { tags: owned(&["B", "Ünder-way"]), ..LabelChange::default() },
                "- - a b ünder-way",
                "lower case, each once",
            ),
            (
                LabelChange { untags: owned(&["A", "z"]), ..LabelChange::default() },
                "- - b",
                "one that is not there is passed over",
            ),
            (LabelChange::exact_tags(&old, "b, c  d,"), "- - b c d", "these alone"),
            (LabelChange::exact_tags(&old, " "), "- - ", "none"),
        ];
        for (change, want, why) in table {
            let new = changed(&old, &change, Timestamp(9)).unwrap();
            let star = if new.is_starred { "★" } else { "-" };
            let text = format!("{} {star} {}", new.title.as_deref().unwrap_or("-"), new.tags_text());
            assert_eq!(text, want, "{why}");
            assert_eq!(
                new.changed.0,
                if (&new.title, new.is_starred, &new.tags) == (&old.title, old.is_starred, &old.tags) {
                    0
                } else {
                    9
                },
                "{why}"
            );
        }
    }

    #[test]
    fn hostile_labels_are_refused() {
        let titled = |text: &str| LabelChange { title: Some(text.to_owned()), ..LabelChange::default() };
        let tagged = |tags: Vec<String>| LabelChange { tags, ..LabelChange::default() };
        let many = |count: usize| (0..count).map(|at| format!("t{at}")).collect::<Vec<_>>();
        let table = [
            (titled(&"x".repeat(1 << 20)), "1048576 bytes", "a megabyte"),
            (titled(&"修".repeat(201)), "201 characters", "one too many"),
            (titled("a\u{1b}]52;c;x\u{7}"), "U+001B at byte 1", "an escape sequence"),
            (titled("a\nb"), "U+000A at byte 1", "two lines"),
            (titled("x\u{202e}y"), "U+202E at byte 1", "a mark of direction"),
            (tagged(owned(&["two words"])), "one word", "a space"),
            (tagged(owned(&["a,b"])), "one word", "a comma"),
            (tagged(owned(&[""])), "one word", "nothing"),
            (tagged(owned(&["x\u{2066}"])), "U+2066", "a mark of direction"),
            (tagged(vec!["y".repeat(41)]), "41 characters", "a long one"),
            (tagged(many(25)), "25 tags", "one too many"),
            (tagged(many(10_000)), "10000 tags", "ten thousand"),
            (LabelChange { untags: many(10_000), ..LabelChange::default() }, "10000 tags", "to take away"),
        ];
        for (change, want, why) in table {
            let told = changed(&LabelRow::blank(ID), &change, Timestamp(9)).unwrap_err().to_string();
            assert!(told.contains(want), "{why}: {told}");
            assert!(told.len() < 200, "{why}: the text itself is not repeated");
        }
        let all = changed(&LabelRow::blank(ID), &tagged(many(24)), Timestamp(9)).unwrap();
        assert_eq!(all.tags.len(), 24, "as many as are allowed");
        let text = all.tags_text();
        assert_eq!(LabelRow::tags_of(&text), all.tags, "a column holds them");
    }

    #[test]
    fn a_label_stands_before_every_other_title() {
        let engine = Engine::in_memory();
        let text = r#"{"role": "user", "content": "mend the parser"}"#;
        let key = engine.import_reader(text.as_bytes(), "test").unwrap().conversation;
        let id = engine.store().find(&key).unwrap().unwrap().id;
        let one = |engine: &Engine| engine.recognised(&|_| true).unwrap().pop().unwrap();
        assert_eq!(one(&engine).title(), "mend the parser");
        let change =
            LabelChange { title: Some("Parser".into()), tags: owned(&["later"]), ..LabelChange::star(true) };
        engine.change_label(id, &change, Timestamp(9)).unwrap();
        let labelled = one(&engine);
        assert_eq!(labelled.title(), "Parser");
        assert!(
            labelled.has("parser") && labelled.has("later") && labelled.has("mend"),
            "found by all of them"
        );
        assert!(labelled.label.is_starred && engine.label(id).unwrap() == labelled.label);
        engine
            .change_label(
                id,
                &LabelChange { title: Some(String::new()), ..LabelChange::default() },
                Timestamp(10),
            )
            .unwrap();
        assert_eq!(one(&engine).title(), "mend the parser");
    }
}
