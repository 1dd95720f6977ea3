//! Questions that a scripted model answers.
use std::sync::Arc;

use unforget_engine::Engine;
use unforget_engine::recall::{Answered, Grant, Question, Reader};
use unforget_engine::summarise::{Config, Priced, Summarisers};
use unforget_llm::{Answer, CallPolicy, Cancel, Cause, Model, Scripted, SystemClock};

use super::Session;

/// Imports one pi session with these texts, alternating between user and assistant.
pub(crate) fn import(engine: &Engine, id: &str, texts: &[&str]) {
    let letters: String = "abcdefghijklmnopqrstuvwxyz".chars().take(texts.len()).collect();
    let mut file = Session::new(id).says(&letters).text();
    for (letter, text) in letters.chars().zip(texts) {
        let text = serde_json::to_string(text).unwrap();
        file = file.replace(&format!("\"word {letter}\""), &text);
    }
    engine.import_reader(file.as_bytes(), id).unwrap();
}

/// An answer by a model that replies with these lines, and the texts that the model received.
pub(crate) fn asked(
    engine: &Engine,
    question: &Question<'_>,
    grant: &Grant,
    lines: Vec<Result<Answer, Cause>>,
) -> (Answered, Vec<String>) {
    let clock = Arc::new(SystemClock::new());
    let model = Arc::new(Scripted::new("test", "reader", lines));
    let policy = CallPolicy { attempts_max: 1, ..CallPolicy::default() };
    let config = Config { calls: policy, ..Config::default() };
    let first = Priced::from(Arc::clone(&model) as Arc<dyn Model>);
    let models = Summarisers::new(engine, first, Vec::new(), config, clock).unwrap();
    let cancel = Cancel::default();
    let reader = Reader { models: &models, cancel: &cancel };
    let answered = engine.answer(question, grant, Some(reader)).unwrap();
    (answered, model.heard().into_iter().map(|heard| heard.user).collect())
}
