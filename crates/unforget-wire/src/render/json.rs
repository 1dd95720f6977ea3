//! Writes JSON text, and checks JSON text that is sent unchanged.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A growing JSON text, always valid UTF-8.
#[derive(Default)]
pub(crate) struct Json(Vec<u8>);

impl Json {
    /// Room for `bytes` of content and some structure.
    pub(crate) fn with_room(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes + bytes / 16 + 256))
    }

    /// Appends JSON text unchanged.
    pub(crate) fn lit(&mut self, json: &str) -> &mut Self {
        self.0.extend_from_slice(json.as_bytes());
        self
    }

    /// Writes text as a JSON string.
    pub(crate) fn string(&mut self, text: &str) -> &mut Self {
        // Writing to a Vec cannot fail.
        serde_json::to_writer(&mut self.0, text).ok();
        self
    }

    /// Writes a comma unless the last byte opened an array or object, or nothing was written.
    pub(crate) fn comma(&mut self) -> &mut Self {
        if !matches!(self.0.last(), None | Some(b'[' | b'{')) {
            self.0.push(b',');
        }
        self
    }

    /// The text.
    pub(crate) fn finish(self) -> String {
        String::from_utf8(self.0)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

/// Deepest nesting of JSON that is sent unchanged; leaves room for the surrounding request. Source: the providers'
/// parsers stop at 128, protobuf's at 100.
const DEPTH_MAX: usize = 80;

/// Whether strict parsers accept `json` as one object: no lone surrogates, no nesting beyond 80.
pub(super) fn is_object(json: &str) -> bool {
    facts(json).is_some_and(|facts| facts.object)
}

/// The block without its own `cache_control`, which clients move from call to call; `None` if it is not a
/// strict JSON object or hides a `cache_control` deeper inside. Everything else stays byte for byte.
pub(super) fn without_cache_control(raw: &str) -> Option<Cow<'_, str>> {
    let facts = facts(raw)?;
    if !facts.object || facts.cache_control_inside {
        return None;
    }
    if !facts.cache_control {
        return Some(Cow::Borrowed(raw));
    }
    let members: Members<'_> = serde_json::from_str(raw).ok()?;
    let mut json = Json::with_room(raw.len());
    json.lit("{");
    for (key, value) in members.0 {
        if key != "cache_control" {
            json.comma().string(&key).lit(":").lit(value.get());
        }
    }
    json.lit("}");
    Some(Cow::Owned(json.finish()))
}

/// The members of an object in order.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Read)
    }
}

/// Findings of one strict pass over JSON text.
#[derive(Default)]
struct Facts {
    depth: usize,
    deepest: usize,
    object: bool,
    cache_control: bool,
    cache_control_inside: bool,
}

/// One strict pass; `None` unless every provider parses the text as JSON.
fn facts(json: &str) -> Option<Facts> {
    let mut facts = Facts::default();
    let mut deserializer = serde_json::Deserializer::from_str(json);
    (&mut facts).deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    (facts.deepest <= DEPTH_MAX).then_some(facts)
}

impl<'de> DeserializeSeed<'de> for &mut Facts {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Facts {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        while seq.next_element_seed(&mut *self)?.is_some() {}
        self.depth -= 1;
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        if self.depth == 0 {
            self.object = true;
        }
        while let Some(is_cache_control) = map.next_key_seed(Key)? {
            if is_cache_control && self.depth == 0 {
                self.cache_control = true;
            } else if is_cache_control {
                self.cache_control_inside = true;
            }
            self.depth += 1;
            self.deepest = self.deepest.max(self.depth);
            map.next_value_seed(&mut *self)?;
            self.depth -= 1;
        }
        Ok(())
    }
}

/// Reads a key and returns whether it is `cache_control`.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = bool;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = bool;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }
    fn visit_str<E: Error>(self, key: &str) -> Result<bool, E> {
        Ok(key == "cache_control")
    }
}
