//! The embeddings endpoint of `OpenAI`, which Ollama, vLLM, LM Studio and most providers speak too.

use std::time::Duration;

use serde_json::{Value, json};

use super::port::{Embedded, Embedder};
use crate::fault::{Account, Cause, Fault};
use crate::http::{Endpoint, Http, SettingError, letters};

/// Most bytes of an answer: 32 vectors of 4,096 numbers with twenty letters each are 2.6 MB.
const ANSWER_BYTES_MAX: u64 = 16 << 20;

/// A model behind an endpoint. The base address ends with `/v1`.
pub struct HttpEmbedder {
    http: Http,
}

impl HttpEmbedder {
    /// A client.
    ///
    /// # Errors
    /// [`SettingError`] if the endpoint is unusable.
    pub fn new(mut endpoint: Endpoint) -> Result<Self, SettingError> {
        endpoint.network.answer_bytes_max = endpoint.network.answer_bytes_max.max(ANSWER_BYTES_MAX);
        Ok(Self { http: Http::new(endpoint, "/embeddings")? })
    }

    /// The vectors of an answer, in the order of the texts, whatever the order of the answer.
    fn read(&self, body: &Value, texts: usize) -> Result<Embedded, Fault> {
        let said = || body.get("error").map(Value::to_string).unwrap_or_default();
        let bad = |place: String| self.http.fault(Cause::BadAnswer { place }, said().as_bytes());
        let data = body.get("data").and_then(Value::as_array).ok_or_else(|| bad("/data".to_owned()))?;
        if data.len() != texts {
            return Err(bad(format!("/data, which has {} vectors for {texts} texts", data.len())));
        }
        let mut vectors = vec![Vec::new(); texts];
        for (place, one) in data.iter().enumerate() {
            // Some servers number all of them 0, or none.
            let index = one.get("index").and_then(Value::as_u64).map_or(place, |index| index as usize);
            let index = if vectors.get(index).is_some_and(Vec::is_empty) { index } else { place };
            let numbers = one.get("embedding").and_then(Value::as_array);
            let numbers = numbers.ok_or_else(|| bad(format!("/data/{place}/embedding")))?;
            let vector: Option<Vec<f32>> =
                numbers.iter().map(|number| number.as_f64().map(|number| number as f32)).collect();
            let vector =
                vector.ok_or_else(|| bad(format!("/data/{place}/embedding, which is no list of numbers")))?;
            if let Some(slot) = vectors.get_mut(index) {
                *slot = vector;
            }
        }
        let tokens = body.pointer("/usage/prompt_tokens").or_else(|| body.pointer("/usage/total_tokens"));
        Ok(Embedded { vectors, tokens: tokens.and_then(Value::as_u64) })
    }
}

impl Embedder for HttpEmbedder {
    fn account(&self) -> &Account {
        &self.http.account
    }

    fn name(&self) -> &str {
        &self.http.endpoint.model
    }

    fn embed(&self, texts: &[&str], within: Duration) -> Result<Embedded, Fault> {
        let key =
            letters(&self.http.endpoint.key).map(|letters| ("authorization", format!("Bearer {letters}")));
        let body = json!({"model": self.name(), "input": texts, "encoding_format": "float"});
        let answer = self.http.post(key.as_slice(), body, within)?;
        self.read(&answer, texts.len())
    }
}
