//! Byte ranges of values in a JSON text, so that one place of a line can change while all other bytes stay.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The text of a body with the same offsets: every byte outside of UTF-8 becomes a question mark.
pub(super) fn text_of(body: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(body) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(body.len());
    for chunk in body.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '?'));
    }
    Cow::Owned(text)
}

/// The value of `key` in an object; of the last duplicate, as in `JSON.parse`.
pub(super) fn field(text: &str, within: Range<usize>, key: &str) -> Option<Range<usize>> {
    let object = text.get(within.clone())?;
    let Fields(fields) = serde_json::from_str(object).ok()?;
    let (_, value) = fields.into_iter().rev().find(|(name, _)| name == key)?;
    range_in(object, value.get(), within.start)
}

/// The elements of an array.
pub(super) fn items(text: &str, within: Range<usize>) -> Option<Vec<Range<usize>>> {
    let array = text.get(within.clone())?;
    let Items(items) = serde_json::from_str(array).ok()?;
    items.into_iter().map(|item| range_in(array, item.get(), within.start)).collect()
}

/// The value at a path of keys.
pub(super) fn at(text: &str, path: &[&str]) -> Option<Range<usize>> {
    path.iter().try_fold(0..text.len(), |within, key| field(text, within, key))
}

/// The value at a path, if it is a string.
pub(super) fn string(text: &str, path: &[&str]) -> Option<String> {
    serde_json::from_str(text.get(at(text, path)?)?).ok()
}

/// The value at a path, if it is a whole number from 0 on.
pub(super) fn number(text: &str, path: &[&str]) -> Option<u64> {
    serde_json::from_str(text.get(at(text, path)?)?).ok()
}

/// Whether the text is one JSON object.
pub(super) fn is_object(text: &str) -> bool {
    serde_json::from_str::<Fields<'_>>(text).is_ok()
}

/// A string as JSON.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn range_in(outer: &str, inner: &str, offset: usize) -> Option<Range<usize>> {
    let start = (inner.as_ptr() as usize).checked_sub(outer.as_ptr() as usize)?;
    (start + inner.len() <= outer.len()).then(|| offset + start..offset + start + inner.len())
}

/// The fields of an object, duplicates included.
struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;
        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(key) = map.next_key::<String>()? {
                    fields.push((Cow::Owned(key), map.next_value()?));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(FieldsVisitor)
    }
}

/// The elements of an array.
struct Items<'a>(Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Items<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ItemsVisitor;
        impl<'de> Visitor<'de> for ItemsVisitor {
            type Value = Items<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = list.next_element()? {
                    items.push(item);
                }
                Ok(Items(items))
            }
        }
        deserializer.deserialize_seq(ItemsVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_table() {
        let table: [(&str, &[&str], Option<&str>, &str); 7] = [
            (r#"{"a":1,"b":{"c":"x"}}"#, &["b", "c"], Some(r#""x""#), "nested"),
            (r#" { "a" : [1, 2] } "#, &["a"], Some("[1, 2]"), "space around it"),
            (r#"{"a":1,"a":2}"#, &["a"], Some("2"), "the last one wins"),
            (r#"{"\u0061":7}"#, &["a"], Some("7"), "an escaped key"),
            (r#"{"a":1}"#, &["b"], None, "not there"),
            ("[1]", &["a"], None, "not an object"),
            (r#"{"a":1"#, &["a"], None, "torn"),
        ];
        for (text, path, want, why) in table {
            assert_eq!(at(text, path).map(|range| &text[range]), want, "{why}: {text}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_keep_their_places() {
        let body = b"{\"a\":\"\xff\xc3\x28\",\"b\":1}";
        let text = text_of(body);
        assert_eq!(text.len(), body.len());
        assert_eq!(at(&text, &["b"]), Some(15..16));
    }
}
