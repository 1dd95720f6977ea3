//! Which models write summaries: the settings file's table `summariser`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use unforget_engine::Engine;
use unforget_engine::ruler::ModelRuler;
use unforget_engine::summarise::{Config, Endpoint, KeySource, Kind, Summarisers, SystemClock};
use unforget_store::Spend;
use unforget_wire::Dialect;

use super::Env;
use crate::failure::{Failure, Outcome};

/// The table. A word that it does not know is an error.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Summariser {
    /// `deterministic` (or nothing), `openai`, `anthropic` or `command`.
    pub(crate) kind: Option<String>,
    /// The model, as its provider calls it.
    pub(crate) model: Option<String>,
    /// Address up to and with the version.
    base: Option<String>,
    /// Name of the environment variable that holds the key.
    key_env: Option<String>,
    /// File that holds the key.
    key_file: Option<PathBuf>,
    /// The command and its arguments.
    command: Vec<String>,
    /// The model's window, in tokens.
    window: Option<u64>,
    /// The longest answer, in tokens.
    output: Option<u64>,
    /// What is to be kept, in words.
    wishes: Option<String>,
    /// The most that a conversation may cost in an hour.
    calls_per_hour: Option<u64>,
    input_per_hour: Option<u64>,
    output_per_hour: Option<u64>,
    money_per_hour: Option<f64>,
    /// What a million tokens cost.
    price_input: Option<f64>,
    price_output: Option<f64>,
}

impl Summariser {
    /// Whether a model is to be asked.
    pub(crate) fn is_model(&self) -> bool {
        !matches!(self.kind.as_deref(), None | Some("deterministic"))
    }

    /// The models; `None` if none is to be asked. Reads the key, calls nobody.
    pub(crate) fn models(&self, engine: &Engine, env: Env<'_>) -> Outcome<Option<Summarisers>> {
        if !self.is_model() {
            return Ok(None);
        }
        let endpoint = self.endpoint()?;
        let model = endpoint.model(&|name| env(name)).map_err(|error| wrong(error.to_string()))?;
        let config = self.config(&endpoint);
        if config.calls.attempts_max > u32::try_from(config.caps.calls).unwrap_or(u32::MAX) {
            let least = config.calls.attempts_max;
            return Err(wrong(format!(
                "calls_per_hour must be {least} at least, which one question may take"
            )));
        }
        Ok(Some(Summarisers::new(engine, model, Vec::new(), config, Arc::new(SystemClock::new()))?))
    }

    fn endpoint(&self) -> Outcome<Endpoint> {
        let kind = self.kind.as_deref().unwrap_or_default();
        let (kind, base) = match kind {
            "openai" => (Kind::OpenAi, "https://api.openai.com/v1"),
            "anthropic" => (Kind::Anthropic, "https://api.anthropic.com/v1"),
            "command" => {
                let Some((program, arguments)) = self.command.split_first() else {
                    return Err(wrong("command is empty".to_owned()));
                };
                (Kind::Command(program.into(), arguments.iter().map(OsString::from).collect()), "")
            }
            other => {
                return Err(wrong(format!(
                    "kind = {other:?} is none of deterministic, openai, anthropic, command"
                )));
            }
        };
        let model = match (&self.model, &kind) {
            (Some(model), _) => model.clone(),
            (None, Kind::Command(..)) => "command".to_owned(),
            (None, _) => return Err(wrong("model is not named".to_owned())),
        };
        let key = match (&self.key_env, &self.key_file) {
            (Some(_), Some(_)) => return Err(wrong("key_env and key_file are both named".to_owned())),
            (Some(name), None) => KeySource::Env(name.clone()),
            (None, Some(path)) => KeySource::File(path.clone()),
            (None, None) => KeySource::None,
        };
        Ok(Endpoint { kind, base: self.base.clone().unwrap_or_else(|| base.to_owned()), model, key })
    }

    fn config(&self, endpoint: &Endpoint) -> Config {
        let usual = Config::default();
        let dialect = if endpoint.kind == Kind::OpenAi { Dialect::OpenAiChat } else { Dialect::Anthropic };
        Config {
            window: self.window.unwrap_or(usual.window),
            output_tokens_max: self.output.unwrap_or(usual.output_tokens_max),
            wishes: self.wishes.clone().unwrap_or_default(),
            caps: Spend {
                calls: self.calls_per_hour.unwrap_or(usual.caps.calls),
                input: self.input_per_hour.unwrap_or(usual.caps.input),
                output: self.output_per_hour.unwrap_or(usual.caps.output),
                micros: self.money_per_hour.map_or(usual.caps.micros, micros),
            },
            price: (self.price_input.map_or(0, micros), self.price_output.map_or(0, micros)),
            ruler: ModelRuler::of(Some(&endpoint.model), dialect),
            ..usual
        }
    }
}

/// Millionths. Negative amounts are nothing.
fn micros(amount: f64) -> u64 {
    (amount * 1_000_000.0).round() as u64
}

fn wrong(what: String) -> Failure {
    Failure::input("config", format!("summariser in the settings file: {what}"), "edit the file")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn settings_table() {
        let table = [
            ("", Some(false), "nothing said: no model"),
            ("kind = \"deterministic\"", Some(false), "said so"),
            ("kind = \"openai\"\nmodel = \"m\"\nkey_env = \"K\"", Some(true), "a key from the environment"),
            ("kind = \"anthropic\"\nmodel = \"m\"\nkey_env = \"NOT\"", None, "the key is not set"),
            ("kind = \"openai\"", None, "no model"),
            ("kind = \"magic\"", None, "no such kind"),
            ("kind = \"command\"", None, "no command"),
            ("kind = \"command\"\ncommand = [\"cat\"]", Some(true), "a command needs no key"),
            (
                "kind = \"openai\"\nmodel = \"m\"\nbase = \"http://example.org/v1\"\nkey_env = \"K\"",
                None,
                "f108: no TLS",
            ),
            (
                "kind = \"openai\"\nmodel = \"m\"\nkey_env = \"K\"\ncalls_per_hour = 1",
                None,
                "a cap below one question",
            ),
        ];
        let engine = Engine::in_memory();
        for (text, want, why) in table {
            let settings: Summariser = toml::from_str(text).unwrap();
            let env = |name: &str| (name == "K").then(|| "letters".to_owned());
            let made = settings.models(&engine, &env).map(|models| models.is_some());
            assert_eq!(made.ok(), want, "{why}");
        }
        assert!(toml::from_str::<Summariser>("key = \"sk-1\"").is_err(), "a key has no place in the file");
    }
}
