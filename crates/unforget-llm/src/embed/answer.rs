//! Answers with vectors, read straight into numbers.
//!
//! No tree of JSON is made of an answer: memory is bounded by the number of texts and [`DIMENSION_MAX`], whatever was sent.
//! Fields that nobody asked for are passed over.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::port::DIMENSION_MAX;

/// Most bytes of an error's message that are kept.
const MESSAGE_BYTES_MAX: usize = 4 << 10;

/// The form of an answer.
#[derive(Clone, Copy)]
pub(super) enum AnswerForm {
    /// `{"data":[{"index":0,"embedding":[…]},…],"usage":{"prompt_tokens":12}}`.
    Endpoint,
    /// `{"vectors":[[…],…],"tokens":12}`.
    Command,
}

/// What an answer says of an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ToldError {
    pub(super) cause: String,
    pub(super) message: String,
    pub(super) retry_after_ms: Option<u64>,
}

/// A parsed answer. Nothing of it was compared with the question yet, but for the number of texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct VectorAnswer {
    /// The vectors with the numbers of their texts, as they came; `None` if the answer has none.
    pub(super) vectors: Option<Vec<NumberedVector>>,
    /// Tokens of the texts by the model's count.
    pub(super) tokens: Option<u64>,
    /// The error, if there is one.
    pub(super) error: Option<ToldError>,
}

/// A vector, and the number of its text if the answer gives one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NumberedVector {
    pub(super) index: Option<u64>,
    pub(super) numbers: Vec<f32>,
}

/// Reads an answer.
///
/// * `texts` - number of texts that were sent: an answer with more vectors is refused.
///
/// # Errors
/// What is wrong, with its place: a field, or line and column of the JSON.
///
/// Cost: O(bytes), one pass. Memory: at most `texts` vectors of [`DIMENSION_MAX`] numbers.
pub(super) fn read(body: &[u8], form: AnswerForm, texts: usize) -> Result<VectorAnswer, String> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let answer = AnswerSeed { form, texts }.deserialize(&mut json).and_then(|answer| {
        json.end()?;
        Ok(answer)
    });
    // A parser repeats the wrong value, of any length.
    answer.map_err(|error| error.to_string().chars().take(200).collect())
}

struct AnswerSeed {
    form: AnswerForm,
    texts: usize,
}

impl<'de> DeserializeSeed<'de> for AnswerSeed {
    type Value = VectorAnswer;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<VectorAnswer, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for AnswerSeed {
    type Value = VectorAnswer;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with vectors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<VectorAnswer, A::Error> {
        let Self { form, texts } = self;
        let mut answer = VectorAnswer::default();
        while let Some(name) = fields.next_key::<FieldName>()? {
            match (form, name.0.as_str()) {
                (AnswerForm::Endpoint, "data") | (AnswerForm::Command, "vectors") => {
                    answer.vectors = fields.next_value_seed(VectorsSeed { form, texts })?;
                }
                (AnswerForm::Endpoint, "usage") => answer.tokens = fields.next_value_seed(Told)?.tokens(),
                (AnswerForm::Command, "tokens") => answer.tokens = fields.next_value_seed(Told)?.number,
                (_, "error") => answer.error = fields.next_value_seed(Told)?.error(),
                _ => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        Ok(answer)
    }
}

/// The list of all vectors; `None` for null.
struct VectorsSeed {
    form: AnswerForm,
    texts: usize,
}

impl VectorsSeed {
    const fn place(&self) -> &'static str {
        match self.form {
            AnswerForm::Endpoint => "/data",
            AnswerForm::Command => "/vectors",
        }
    }
}

impl<'de> DeserializeSeed<'de> for VectorsSeed {
    type Value = Option<Vec<NumberedVector>>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for VectorsSeed {
    type Value = Option<Vec<NumberedVector>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of vectors at {}", self.place())
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut vectors = Vec::new();
        loop {
            let place = format!("{}/{}", self.place(), vectors.len());
            let next = match self.form {
                AnswerForm::Endpoint => list.next_element_seed(NumberedSeed(place))?,
                AnswerForm::Command => list
                    .next_element_seed(NumbersSeed(place))?
                    .map(|numbers| NumberedVector { index: None, numbers }),
            };
            let Some(next) = next else { break };
            vectors.push(next);
            if vectors.len() > self.texts {
                let (place, texts) = (self.place(), self.texts);
                return Err(A::Error::custom(format!("{place}, which has more than {texts} vectors")));
            }
        }
        Ok(Some(vectors))
    }
}

/// An object with `index` and `embedding`; the string is its place.
struct NumberedSeed(String);

impl<'de> DeserializeSeed<'de> for NumberedSeed {
    type Value = NumberedVector;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<NumberedVector, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for NumberedSeed {
    type Value = NumberedVector;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with a vector at {}", self.0)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<NumberedVector, A::Error> {
        let (mut index, mut numbers) = (None, None);
        while let Some(name) = fields.next_key::<FieldName>()? {
            match name.0.as_str() {
                "index" => index = fields.next_value_seed(Told)?.number,
                "embedding" => {
                    numbers = Some(fields.next_value_seed(NumbersSeed(format!("{}/embedding", self.0)))?);
                }
                _ => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        let missing = || A::Error::custom(format!("{}/embedding, which is missing", self.0));
        Ok(NumberedVector { index, numbers: numbers.ok_or_else(missing)? })
    }
}

/// A vector; the string is its place.
struct NumbersSeed(String);

impl<'de> DeserializeSeed<'de> for NumbersSeed {
    type Value = Vec<f32>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Vec<f32>, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for NumbersSeed {
    type Value = Vec<f32>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of numbers at {}", self.0)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<f32>, A::Error> {
        let mut numbers = Vec::new();
        let place = self.0;
        let wrong =
            |error: A::Error| A::Error::custom(format!("{place}, which is no list of numbers: {error}"));
        while let Some(number) = list.next_element::<f32>().map_err(wrong)? {
            if numbers.len() == DIMENSION_MAX {
                let what = format!("{place}, which has more than {DIMENSION_MAX} numbers");
                return Err(A::Error::custom(what));
            }
            numbers.push(number);
        }
        Ok(numbers)
    }
}

/// The name of a field. Names are compared and dropped.
struct FieldName(String);

impl<'de> Deserialize<'de> for FieldName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from).map(Self)
    }
}

/// Reads a small value of any shape: a number, words, or an object with the fields that are known here.
struct Told;

#[derive(Default)]
struct ToldValue {
    number: Option<u64>,
    prompt_tokens: Option<u64>,
    total_tokens: Option<u64>,
    words: Option<String>,
    fields: Option<ToldError>,
}

impl ToldValue {
    /// Tokens of an object of usage.
    const fn tokens(&self) -> Option<u64> {
        match self.prompt_tokens {
            Some(tokens) => Some(tokens),
            None => self.total_tokens,
        }
    }

    /// The error that this value tells; null tells none.
    fn error(self) -> Option<ToldError> {
        let of_words = |message| ToldError { message, ..ToldError::default() };
        self.fields.or_else(|| self.words.map(of_words))
    }
}

impl<'de> DeserializeSeed<'de> for Told {
    type Value = ToldValue;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<ToldValue, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Told {
    type Value = ToldValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E: Error>(self) -> Result<ToldValue, E> {
        Ok(ToldValue::default())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<ToldValue, E> {
        Ok(ToldValue::default())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<ToldValue, E> {
        Ok(ToldValue::default())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<ToldValue, E> {
        Ok(ToldValue::default())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<ToldValue, E> {
        Ok(ToldValue { number: Some(number), ..ToldValue::default() })
    }

    fn visit_str<E: Error>(self, words: &str) -> Result<ToldValue, E> {
        let words = words.get(..words.floor_char_boundary(MESSAGE_BYTES_MAX)).unwrap_or_default();
        Ok(ToldValue { words: Some(words.to_owned()), ..ToldValue::default() })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ToldValue, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(ToldValue::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<ToldValue, A::Error> {
        let mut told = ToldValue::default();
        let mut error = ToldError::default();
        while let Some(name) = fields.next_key::<FieldName>()? {
            match name.0.as_str() {
                "prompt_tokens" => told.prompt_tokens = fields.next_value_seed(Told)?.number,
                "total_tokens" => told.total_tokens = fields.next_value_seed(Told)?.number,
                "retry_after_ms" => error.retry_after_ms = fields.next_value_seed(Told)?.number,
                "cause" => error.cause = fields.next_value_seed(Told)?.words.unwrap_or_default(),
                "message" => error.message = fields.next_value_seed(Told)?.words.unwrap_or_default(),
                _ => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        told.fields = Some(error);
        Ok(told)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn answers_are_bounded() {
        let many = format!(r#"{{"vectors":[[{}1]]}}"#, "1,".repeat(DIMENSION_MAX));
        let wide = format!(r#"{{"vectors":[{}[1]]}}"#, "[1],".repeat(3));
        let words = format!(r#"{{"vectors":[["{}"]]}}"#, "x".repeat(1 << 20));
        let deep = format!(r#"{{"more":{}}}"#, "[".repeat(1_000));
        let table = [
            (many.as_str(), "/vectors/0, which has more than 8192 numbers", "numbers"),
            (wide.as_str(), "/vectors, which has more than 2 vectors", "vectors"),
            (words.as_str(), "/vectors/0, which is no list of numbers", "one of a megabyte"),
            (deep.as_str(), "expected value", "a field that nobody asked for, passed over without recursion"),
            (r#"{"vectors":[[1]]} {}"#, "trailing characters", "more than an answer"),
        ];
        for (body, want, why) in table {
            let told = read(body.as_bytes(), AnswerForm::Command, 2).unwrap_err();
            assert!(told.contains(want) && told.len() <= 800, "{why}: {told}");
        }
    }

    #[test]
    fn what_nobody_asked_for_is_passed_over() {
        let error = |cause: &str, message: &str| ToldError {
            cause: cause.to_owned(),
            message: message.to_owned(),
            retry_after_ms: None,
        };
        let table = [
            (r#"{"vectors":null,"tokens":{"a":[1]}}"#, None, None, "null, and no number"),
            (r#"{"error":"no"}"#, None, Some(error("", "no")), "words"),
            (r#"{"error":null,"vectors":[]}"#, Some(0), None, "no error"),
            (
                r#"{"error":{"cause":"policy","message":"no","x":[{}]}}"#,
                None,
                Some(error("policy", "no")),
                "all",
            ),
        ];
        for (body, vectors, want, why) in table {
            let answer = read(body.as_bytes(), AnswerForm::Command, 2).unwrap();
            assert_eq!((answer.vectors.map(|all| all.len()), answer.error), (vectors, want), "{why}");
        }
    }
}
