//! Answers of the Responses API that a provider keeps, so that requests may go on from them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

/// By the id of an answer: all items before it and of it.
#[derive(Default)]
pub(super) struct Kept(Mutex<HashMap<String, Vec<Value>>>);

impl Kept {
    /// A request with everything that the model reads in its input. An error if it refers to an answer that is not kept.
    pub(super) fn whole(&self, request: &Value) -> Result<Value, ()> {
        let Some(before) = request.get("previous_response_id").and_then(Value::as_str) else {
            return Ok(request.clone());
        };
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut input = kept.get(before).ok_or(())?.clone();
        input.extend(items(request));
        let mut whole = request.clone();
        whole["input"] = Value::Array(input);
        if let Some(fields) = whole.as_object_mut() {
            fields.remove("previous_response_id");
        }
        Ok(whole)
    }

    /// Keeps an answer, unless the request says that it shall not be kept.
    pub(super) fn keep(&self, request: &Value, answer: &Value) {
        if request.get("store").and_then(Value::as_bool) == Some(false) {
            return;
        }
        let mut all = items(request);
        all.extend(answer["output"].as_array().into_iter().flatten().cloned());
        let id = answer["id"].as_str().unwrap_or_default().to_owned();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id, all);
    }
}

/// The items of a request: a text is a message.
fn items(request: &Value) -> Vec<Value> {
    match &request["input"] {
        Value::Array(items) => items.clone(),
        Value::String(text) => vec![json!({"role": "user", "content": text})],
        _ => Vec::new(),
    }
}
