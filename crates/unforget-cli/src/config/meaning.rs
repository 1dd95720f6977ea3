//! The model of vectors: the settings file's table `meaning`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use unforget_engine::meaning::{EmbedEndpoint, MeaningConfig, MeaningModel};
use unforget_engine::summarise::SystemClock;
use unforget_store::Spend;
use unforget_text::redact;

use super::summariser::{key_source, micros};
use super::{Env, Wrong};
use crate::failure::{Failure, Outcome};

/// Longest and shortest time that a search may wait for the vector of its query.
const QUERY_MS: std::ops::RangeInclusive<u64> = 1..=10_000;

/// Most texts of a call.
const BATCH_MAX: usize = 256;

/// The table. An unknown key is an error.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Meaning {
    /// `openai`, `command` or `local`; without one, searches rank by words.
    kind: Option<String>,
    /// Its name at its provider.
    model: Option<String>,
    /// Address including the version.
    base: Option<String>,
    /// Name of the environment variable with the key.
    key_env: Option<String>,
    /// File with the key.
    key_file: Option<PathBuf>,
    /// The command and its arguments.
    command: Vec<String>,
    /// Folder of a local model.
    path: Option<PathBuf>,
    /// Longest that a search waits for the vector of its query, in milliseconds.
    query_ms: Option<u64>,
    /// Texts of a call.
    batch: Option<usize>,
    /// What stands before a query, and before a text.
    query_prefix: Option<String>,
    text_prefix: Option<String>,
    /// Most that the vectors of a conversation may cost per hour.
    calls_per_hour: Option<u64>,
    input_per_hour: Option<u64>,
    money_per_hour: Option<f64>,
    /// Price of a million tokens.
    price: Option<f64>,
    /// Further fields of the request.
    extra: serde_json::Map<String, serde_json::Value>,
}

impl Meaning {
    /// The model with its limits; `None` if none is configured. Reads the key or the head of a file, calls nothing.
    pub(crate) fn model(&self, env: Env<'_>) -> Outcome<Option<Arc<MeaningModel>>> {
        let Some(endpoint) = self.endpoint()? else { return Ok(None) };
        let config = self.config()?;
        let embedder = endpoint.embedder(&|name| env(name)).map_err(|error| wrong(error.to_string()))?;
        Ok(Some(Arc::new(MeaningModel::new(embedder, config, Arc::new(SystemClock::new())))))
    }

    /// All problems. Calls nothing.
    pub(crate) fn wrongs(&self, env: Env<'_>) -> Vec<Wrong> {
        let told = |failure: Failure| Wrong::new("meaning", failure.message, failure.hint);
        self.model(env).err().map(told).into_iter().collect()
    }

    /// For people: kind and name.
    pub(crate) fn name(&self) -> Option<String> {
        let name = self.model.clone().or_else(|| self.path.as_ref().map(|path| path.display().to_string()));
        self.kind.as_ref().map(|kind| name.map_or_else(|| kind.clone(), |name| format!("{kind} {name}")))
    }

    /// The file with the key.
    pub(crate) fn key_file(&self) -> Option<&PathBuf> {
        self.key_file.as_ref()
    }

    fn endpoint(&self) -> Outcome<Option<EmbedEndpoint>> {
        let Some(kind) = self.kind.as_deref() else {
            return if self.model.is_some() || self.path.is_some() || !self.command.is_empty() {
                Err(wrong("kind is missing: it is one of openai, command, local"))
            } else {
                Ok(None)
            };
        };
        let named = || self.model.clone().ok_or_else(|| wrong("a model is not named"));
        Ok(Some(match kind {
            "openai" => EmbedEndpoint::Http {
                base: self.base.clone().unwrap_or_else(|| "https://api.openai.com/v1".to_owned()),
                model: named()?,
                key: key_source(self.key_env.as_deref(), self.key_file.as_deref()).map_err(wrong)?,
                extra: self.extra.clone(),
            },
            "command" => {
                let Some((program, arguments)) = self.command.split_first() else {
                    return Err(wrong("command is empty"));
                };
                let arguments = arguments.iter().map(OsString::from).collect();
                EmbedEndpoint::Command { program: program.into(), arguments, model: named()? }
            }
            "local" => {
                let folder =
                    self.path.clone().ok_or_else(|| wrong("path, the folder of the model, is missing"))?;
                EmbedEndpoint::Local { folder, model: self.model.clone() }
            }
            other => return Err(wrong(format!("kind = {other:?} is none of openai, command, local"))),
        }))
    }

    fn config(&self) -> Outcome<MeaningConfig> {
        let usual = MeaningConfig::default();
        let query_ms = self.query_ms.unwrap_or(usual.query_within.as_millis() as u64);
        if !QUERY_MS.contains(&query_ms) {
            return Err(wrong(format!("query_ms = {query_ms} is not between 1 and 10000")));
        }
        let batch = self.batch.unwrap_or(usual.batch);
        if !(1..=BATCH_MAX).contains(&batch) {
            return Err(wrong(format!("batch = {batch} is not between 1 and {BATCH_MAX}")));
        }
        let amount =
            |name, amount: Option<f64>| amount.map(|amount| micros(name, amount)).transpose().map_err(wrong);
        Ok(MeaningConfig {
            query_within: Duration::from_millis(query_ms),
            batch,
            query_prefix: self.query_prefix.clone().unwrap_or_default(),
            text_prefix: self.text_prefix.clone().unwrap_or_default(),
            caps: Spend {
                calls: self.calls_per_hour.unwrap_or(usual.caps.calls),
                input: self.input_per_hour.unwrap_or(usual.caps.input),
                output: usual.caps.output,
                micros: amount("money_per_hour", self.money_per_hour)?.unwrap_or(usual.caps.micros),
            },
            price: amount("price", self.price)?.unwrap_or_default(),
            ..usual
        })
    }
}

fn wrong(what: impl std::fmt::Display) -> Failure {
    let what = redact(&format!("meaning in the settings file: {what}")).into_owned();
    Failure::input("config", what, "see docs/models.md")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn settings_table() {
        let http = "kind = \"openai\"\nmodel = \"m\"\nkey_env = \"K\"\n";
        let table = [
            (String::new(), Some(false), "nothing said: words alone"),
            (http.to_owned(), Some(true), "an endpoint with a key"),
            (format!("{http}query_ms = 200\nbatch = 8\nprice = 0.02\nmoney_per_hour = 1"), Some(true), "all"),
            (
                "kind = \"openai\"\nmodel = \"m\"\nbase = \"http://127.0.0.1:11434/v1\"".into(),
                Some(true),
                "no key",
            ),
            ("kind = \"command\"\ncommand = [\"cat\"]\nmodel = \"m\"".into(), Some(true), "a command"),
            ("kind = \"command\"\ncommand = [\"cat\"]".into(), None, "whose vectors are they"),
            ("kind = \"command\"\nmodel = \"m\"".into(), None, "no command"),
            ("kind = \"local\"".into(), None, "no folder"),
            ("kind = \"local\"\npath = \"/nowhere\"".into(), None, "nothing in the folder"),
            ("model = \"m\"".into(), None, "no kind"),
            ("kind = \"magic\"".into(), None, "no such kind"),
            (http.replace("\"K\"", "\"NOT\""), None, "the key is not set"),
            (http.replace("\"K\"", "\"sk-letters\""), None, "f108: a key where its place should be"),
            (format!("{http}base = \"http://example.org/v1\""), None, "f108: no TLS"),
            (format!("{http}query_ms = 0"), None, "no time"),
            (format!("{http}batch = 0"), None, "no texts"),
            (format!("{http}price = -1"), None, "a price below zero"),
        ];
        for (text, want, why) in table {
            let settings: Meaning = toml::from_str(&text).unwrap();
            let env = |name: &str| (name == "K").then(|| "letters".to_owned());
            let made = settings.model(&env).map(|model| model.is_some()).map_err(|failure| failure.message);
            assert_eq!(made.as_ref().ok(), want.as_ref(), "{why}: {made:?}");
            assert_eq!(settings.wrongs(&env).is_empty(), want.is_some(), "{why}");
            assert!(!format!("{made:?}").contains("letters"), "{why}: {made:?}");
        }
        assert!(toml::from_str::<Meaning>("key = \"sk-1\"").is_err(), "a key has no place in the file");
    }
}
