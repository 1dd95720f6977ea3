//! The embeddings endpoint of `OpenAI`, which Ollama, vLLM, LM Studio and most providers speak too.

use std::time::Duration;

use serde_json::json;

use super::answer::{self, AnswerForm, NumberedVector, VectorAnswer};
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
    fn read(&self, body: &[u8], texts: usize) -> Result<Embedded, Fault> {
        let bad = |place: String, said: &str| self.http.fault(Cause::BadAnswer { place }, said.as_bytes());
        let VectorAnswer { vectors, tokens, error } =
            answer::read(body, AnswerForm::Endpoint, texts).map_err(|place| bad(place, ""))?;
        let said = error.map(|error| error.message).unwrap_or_default();
        let data = vectors.ok_or_else(|| bad("/data".to_owned(), &said))?;
        if data.len() != texts {
            return Err(bad(format!("/data, which has {} vectors for {texts} texts", data.len()), &said));
        }
        let mut vectors = vec![Vec::new(); texts];
        for (place, NumberedVector { index, numbers }) in data.into_iter().enumerate() {
            // Some servers number all of them 0, or none.
            let index = index.map_or(place, |index| usize::try_from(index).unwrap_or(usize::MAX));
            let index = if vectors.get(index).is_some_and(Vec::is_empty) { index } else { place };
            if let Some(slot) = vectors.get_mut(index) {
                *slot = numbers;
            }
        }
        Ok(Embedded { vectors, tokens })
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
        let answer = self.http.post_for_bytes(key.as_slice(), body, within)?;
        self.read(&answer, texts.len())
    }
}
