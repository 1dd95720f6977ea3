//! The structure of JSON.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::Kind;
use crate::clip::{clip, grouped, head};

/// Deepest level shown; deeper values are read and forgotten.
const DEPTH: usize = 3;
/// Most keys shown per object.
const KEYS: usize = 12;

/// The kind of a value, with counts.
enum Shape {
    Word(&'static str),
    List { len: usize, first: Option<Box<Shape>> },
    Object { len: usize, keys: Vec<(String, Shape)> },
}

/// Describes a JSON value or a JSON value per line. `None` if `text` is neither.
pub(super) fn describe(text: &str) -> Option<(Kind, String)> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    if let Some(shape) = read(text) {
        return matches!(shape, Shape::List { .. } | Shape::Object { .. })
            .then(|| (Kind::Json, format!("JSON {shape}")));
    }
    let mut records = 0;
    let mut keys: BTreeMap<String, usize> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        // An invalid line ends the search early, so that text that only looks like JSON costs little.
        match read(line)? {
            Shape::Object { keys: found, .. } => {
                for (key, _) in found {
                    *keys.entry(key).or_default() += 1;
                }
            }
            Shape::List { .. } => {}
            Shape::Word(_) => return None,
        }
        records += 1;
    }
    let mut keys: Vec<(String, usize)> = keys.into_iter().collect();
    keys.sort_by(|(a, x), (b, y)| y.cmp(x).then(a.cmp(b)));
    let keys: Vec<String> = keys.into_iter().map(|(key, _)| key).collect();
    Some((
        Kind::JsonLines,
        format!("JSON lines, {} records with {}", grouped(records), super::some(&keys, KEYS)),
    ))
}

fn read(text: &str) -> Option<Shape> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let shape = Look { depth: DEPTH }.deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    Some(shape)
}

/// Reads a value down to a depth, keeping only its structure.
#[derive(Clone, Copy)]
struct Look {
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Look {
    type Value = Shape;
    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Shape, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Look {
    type Value = Shape;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_bool<E>(self, _: bool) -> Result<Shape, E> {
        Ok(Shape::Word("bool"))
    }
    fn visit_i64<E>(self, _: i64) -> Result<Shape, E> {
        Ok(Shape::Word("number"))
    }
    fn visit_u64<E>(self, _: u64) -> Result<Shape, E> {
        Ok(Shape::Word("number"))
    }
    fn visit_f64<E>(self, _: f64) -> Result<Shape, E> {
        Ok(Shape::Word("number"))
    }
    fn visit_str<E>(self, _: &str) -> Result<Shape, E> {
        Ok(Shape::Word("string"))
    }
    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape::Word("null"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Shape, A::Error> {
        let mut first = None;
        let mut len = 0;
        if self.depth > 0 {
            first = list.next_element_seed(Look { depth: self.depth - 1 })?.map(Box::new);
            len = usize::from(first.is_some());
        }
        while list.next_element::<IgnoredAny>()?.is_some() {
            len += 1;
        }
        Ok(Shape::List { len, first })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shape, A::Error> {
        let (mut len, mut keys) = (0, Vec::new());
        while self.depth > 0 && keys.len() < KEYS {
            let Some(key) = map.next_key::<String>()? else { return Ok(Shape::Object { len, keys }) };
            keys.push((
                clip(head(&key, 256), 40).into_owned(),
                map.next_value_seed(Look { depth: self.depth - 1 })?,
            ));
            len += 1;
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            len += 1;
        }
        Ok(Shape::Object { len, keys })
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => f.write_str(word),
            Self::List { len, first: Some(first) } => write!(f, "[{} × {first}]", grouped(*len)),
            Self::List { len, first: None } => write!(f, "[{}]", grouped(*len)),
            Self::Object { len, keys } => {
                f.write_str("{")?;
                for (at, (key, shape)) in keys.iter().enumerate() {
                    let comma = if at > 0 { ", " } else { "" };
                    match shape {
                        Self::Word(_) => write!(f, "{comma}{key}")?,
                        shape => write!(f, "{comma}{key}: {shape}")?,
                    }
                }
                match len - keys.len() {
                    0 => f.write_str("}"),
                    more if keys.is_empty() => write!(f, "{more} keys}}"),
                    more => write!(f, " and {more} more}}"),
                }
            }
        }
    }
}
