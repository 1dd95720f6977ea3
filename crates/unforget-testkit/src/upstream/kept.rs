//! Stored answers of the Responses API, so that later requests can continue from them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

/// By the id of an answer: all items before it, and its own.
#[derive(Default)]
pub(super) struct Kept(Mutex<HashMap<String, Vec<Value>>>);

impl Kept {
    /// A request with the model's whole input. An error if it refers to an answer that is not stored.
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

    /// Stores an answer, unless the request forbids storing.
    pub(super) fn keep(&self, request: &Value, answer: &Value) {
        if request.get("store").and_then(Value::as_bool) == Some(false) {
            return;
        }
        let mut all = items(request);
        // The ids are the provider's own, so it knows the items before them.
        all.extend(answer["output"].as_array().into_iter().flatten().map(|item| {
            let fields = item.as_object().into_iter().flatten().filter(|(name, _)| *name != "id");
            Value::Object(fields.map(|(name, value)| (name.clone(), value.clone())).collect())
        }));
        let id = answer["id"].as_str().unwrap_or_default().to_owned();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id, all);
    }
}

/// The items of a request: a text counts as a message.
fn items(request: &Value) -> Vec<Value> {
    match &request["input"] {
        Value::Array(items) => items.clone(),
        Value::String(text) => vec![json!({"role": "user", "content": text})],
        _ => Vec::new(),
    }
}
