//! The models that write summaries and answer questions: the settings file's table `summariser`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use unforget_engine::Engine;
use unforget_engine::ruler::ModelRuler;
use unforget_engine::summarise::{
    Config, Endpoint, KeySource, Kind, Model, Priced, Summarisers, SystemClock,
};
use unforget_gateway::trace;
use unforget_store::Spend;
use unforget_text::redact;
use unforget_wire::Dialect;

use super::{Env, Wrong};
use crate::failure::{Failure, Outcome};

/// Default window of a model, in tokens.
const WINDOW: u64 = 32_768;

/// The table. An unknown key is an error.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Summariser {
    /// The models in order of priority. By default the host's own, if there is one.
    models: Option<Vec<ModelSetting>>,
    /// Longest answer, in tokens, reasoning included.
    output: Option<u64>,
    /// The operator's wishes about what to keep, as text.
    wishes: Option<String>,
    /// Most that a conversation may cost per hour.
    calls_per_hour: Option<u64>,
    input_per_hour: Option<u64>,
    output_per_hour: Option<u64>,
    money_per_hour: Option<f64>,
}

/// A model.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelSetting {
    /// `openai`, `anthropic`, `command` or `host`.
    kind: String,
    /// Its name at its provider.
    model: Option<String>,
    /// Address including the version.
    base: Option<String>,
    /// Name of the environment variable with the key.
    key_env: Option<String>,
    /// File with the key.
    key_file: Option<PathBuf>,
    /// The command and its arguments.
    #[serde(default)]
    command: Vec<String>,
    /// Its window, in tokens.
    window: Option<u64>,
    /// Price of a million tokens, input and output.
    price_input: Option<f64>,
    price_output: Option<f64>,
    /// Further fields of the request.
    #[serde(default)]
    extra: serde_json::Map<String, serde_json::Value>,
}

impl Summariser {
    /// Whether it configures a model.
    pub(crate) fn is_model(&self) -> bool {
        !self.chain().is_empty()
    }

    /// Whether the host's own model may be asked.
    pub(crate) fn asks_host(&self) -> bool {
        self.models.is_none() || self.chain().iter().any(ModelSetting::is_host)
    }

    /// Files with keys.
    pub(crate) fn key_files(&self) -> impl Iterator<Item = &PathBuf> {
        self.chain().iter().filter_map(|model| model.key_file.as_ref())
    }

    /// The models; `None` if none is configured. Reads the keys, calls no model.
    ///
    /// * `host` - the host's own model, if this process serves a host.
    pub(crate) fn models(
        &self,
        engine: &Engine,
        env: Env<'_>,
        host: Option<&Arc<dyn Model>>,
    ) -> Outcome<Option<Summarisers>> {
        let config = self.config()?;
        let mut chain = Vec::new();
        for model in self.chain() {
            match (model.is_host(), host) {
                (true, None) => {}
                (true, Some(host)) => chain.push(model.with_price(Arc::clone(host))?),
                (false, _) => chain.push(model.priced(env)?),
            }
        }
        if self.models.is_none() {
            chain.extend(host.map(|host| Priced::from(trace::model(Arc::clone(host), "host"))));
        }
        let mut chain = chain.into_iter();
        let Some(first) = chain.next() else { return Ok(None) };
        let caps = config.caps;
        let made = Summarisers::new(engine, first, chain.collect(), config, Arc::new(SystemClock::new()))?;
        may_ask(made.dearest(None), caps)?;
        Ok(Some(made))
    }

    /// All problems. Reads the keys, calls no model.
    pub(crate) fn wrongs(&self, env: Env<'_>) -> Vec<Wrong> {
        let told = |setting: String, failure: Failure| Wrong::new(setting, failure.message, failure.hint);
        let of_all = self.config().err().map(|failure| told("summariser".to_owned(), failure));
        let models = self.chain().iter().enumerate().filter(|(_, model)| !model.is_host());
        let of_models = models.filter_map(|(index, model)| {
            let failure = model.priced(env).err()?;
            Some(told(format!("summariser.models[{index}]"), failure))
        });
        of_all.into_iter().chain(of_models).collect()
    }

    /// For people: kinds and names, in order.
    pub(crate) fn names(&self) -> Option<String> {
        let names: Vec<_> =
            self.chain().iter().map(|model| format!("{} {}", model.kind, model.name())).collect();
        (!names.is_empty()).then(|| names.join(", then "))
    }

    fn chain(&self) -> &[ModelSetting] {
        self.models.as_deref().unwrap_or_default()
    }

    fn config(&self) -> Outcome<Config> {
        let usual = Config::default();
        let rulers: Vec<ModelRuler> = self.chain().iter().map(ModelSetting::ruler).collect();
        let is_one = rulers.windows(2).all(|pair| pair.first() == pair.last());
        let windows = self.chain().iter().map(|model| model.window.unwrap_or(WINDOW));
        let money =
            self.money_per_hour.map(|amount| micros("money_per_hour", amount)).transpose().map_err(wrong)?;
        Ok(Config {
            window: windows.min().unwrap_or(WINDOW),
            output_tokens_max: self.output.unwrap_or(usual.output_tokens_max),
            wishes: self.wishes.clone().unwrap_or_default(),
            caps: Spend {
                calls: self.calls_per_hour.unwrap_or(usual.caps.calls),
                input: self.input_per_hour.unwrap_or(usual.caps.input),
                output: self.output_per_hour.unwrap_or(usual.caps.output),
                micros: money.unwrap_or(usual.caps.micros),
            },
            ruler: rulers.first().copied().filter(|_| is_one).unwrap_or(ModelRuler::Estimate),
            ..usual
        })
    }
}

impl ModelSetting {
    fn priced(&self, env: Env<'_>) -> Outcome<Priced> {
        let model = self.endpoint()?.model(&|name| env(name)).map_err(|error| wrong(error.to_string()))?;
        self.with_price(model)
    }

    fn is_host(&self) -> bool {
        self.kind == "host"
    }

    fn with_price(&self, model: Arc<dyn Model>) -> Outcome<Priced> {
        let price =
            |name, amount: Option<f64>| amount.map_or(Ok(0), |amount| micros(name, amount).map_err(wrong));
        Ok(Priced {
            model: trace::model(model, &self.kind),
            price: (price("price_input", self.price_input)?, price("price_output", self.price_output)?),
        })
    }

    fn endpoint(&self) -> Outcome<Endpoint> {
        let (kind, base) = match self.kind.as_str() {
            "openai" => (Kind::OpenAi, "https://api.openai.com/v1"),
            "anthropic" => (Kind::Anthropic, "https://api.anthropic.com/v1"),
            "command" => {
                let Some((program, arguments)) = self.command.split_first() else {
                    return Err(wrong("command is empty"));
                };
                (Kind::Command(program.into(), arguments.iter().map(OsString::from).collect()), "")
            }
            other => {
                return Err(wrong(format!("kind = {other:?} is none of openai, anthropic, command, host")));
            }
        };
        if self.model.is_none() && !matches!(kind, Kind::Command(..)) {
            return Err(wrong("a model is not named"));
        }
        let key = key_source(self.key_env.as_deref(), self.key_file.as_deref()).map_err(wrong)?;
        let base = self.base.clone().unwrap_or_else(|| base.to_owned());
        Ok(Endpoint { kind, base, model: self.name().to_owned(), key, extra: self.extra.clone() })
    }

    /// Its name in reports.
    fn name(&self) -> &str {
        self.model.as_deref().unwrap_or(&self.kind)
    }

    fn ruler(&self) -> ModelRuler {
        let dialect = if self.kind == "openai" { Dialect::OpenAiChat } else { Dialect::Anthropic };
        ModelRuler::of(Some(self.name()), dialect)
    }
}

/// The place of a key.
///
/// # Errors
/// What is wrong.
pub(super) fn key_source(env: Option<&str>, file: Option<&Path>) -> Result<KeySource, &'static str> {
    match (env, file) {
        (Some(_), Some(_)) => Err("key_env and key_file are both named"),
        (Some(name), None) if is_variable(name) => Ok(KeySource::Env(name.to_owned())),
        // It may be the key itself, so it is not repeated.
        (Some(_), None) => Err("key_env is not the name of an environment variable"),
        (None, Some(path)) => Ok(KeySource::File(path.to_path_buf())),
        (None, None) => Ok(KeySource::None),
    }
}

/// Whether text can be the name of a variable. Keys usually contain other characters.
fn is_variable(name: &str) -> bool {
    let rest = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    name.bytes().all(rest) && name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit())
}

/// Fails if a cap is below the cost of one question, which would prevent all questions.
fn may_ask(least: Spend, caps: Spend) -> Outcome<()> {
    let table = [
        ("calls_per_hour", caps.calls, least.calls),
        ("input_per_hour", caps.input, least.input),
        ("output_per_hour", caps.output, least.output),
        ("money_per_hour", caps.micros, least.micros),
    ];
    match table.into_iter().find(|(_, cap, least)| cap < least) {
        None => Ok(()),
        Some(("money_per_hour", _, least)) => {
            let least = least as f64 / 1_000_000.0;
            Err(wrong(format!("money_per_hour is below {least}, which one question may take")))
        }
        Some((name, _, least)) => {
            Err(wrong(format!("{name} is below {least}, which one question with its retries may take")))
        }
    }
}

/// An amount in millionths.
pub(super) fn micros(name: &str, amount: f64) -> Result<u64, String> {
    if !amount.is_finite() || amount < 0.0 {
        return Err(format!("{name} = {amount} is not an amount"));
    }
    Ok((amount * 1_000_000.0).round() as u64)
}

fn wrong(what: impl std::fmt::Display) -> Failure {
    let what = redact(&format!("summariser in the settings file: {what}")).into_owned();
    Failure::input("config", what, "see docs/models.md")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use unforget_engine::summarise::{Callback, Cause};

    use super::*;

    #[test]
    fn settings_table() {
        let openai = "[[models]]\nkind = \"openai\"\nmodel = \"m\"\nkey_env = \"K\"\n";
        let with = |more: &str| format!("{openai}{more}");
        let table = [
            (String::new(), Some(false), "nothing said: no model"),
            ("models = []".into(), Some(false), "said so"),
            (with(""), Some(true), "a key from the environment"),
            (with(openai), Some(true), "a chain"),
            (with("price_input = 0.25\nprice_output = 2\nwindow = 8192\nextra = {a = 1}"), Some(true), "all"),
            (with("price_input = -1"), None, "a price below zero"),
            (with("price_input = nan"), None, "no number"),
            (with("[[models]]\nkind = \"magic\""), None, "one of a chain is wrong"),
            (openai.replace("\"K\"", "\"NOT\""), None, "the key is not set"),
            (openai.replace("model = \"m\"\n", ""), None, "no model"),
            (openai.replace("openai", "magic"), None, "no such kind"),
            (with("key_file = \"/k\""), None, "two keys"),
            (openai.replace("\"K\"", "\"sk-letters\""), None, "f108: a key where its place should be"),
            ("[[models]]\nkind = \"command\"".into(), None, "no command"),
            ("[[models]]\nkind = \"command\"\ncommand = [\"cat\"]".into(), Some(true), "needs no key"),
            (with("base = \"http://example.org/v1\""), None, "f108: no TLS"),
            (with("base = \"https://me:secret@example.org/v1\""), None, "f108: a password in an address"),
            (format!("calls_per_hour = 2\n{openai}"), None, "a cap below one question"),
            (format!("input_per_hour = 30000\n{openai}"), None, "of tokens, too"),
            (format!("money_per_hour = 0.01\n{openai}price_input = 3"), None, "and of money"),
        ];
        let engine = Engine::in_memory();
        for (text, want, why) in table {
            let settings: Summariser = toml::from_str(&text).unwrap();
            let env = |name: &str| (name == "K").then(|| "letters".to_owned());
            let made = settings.models(&engine, &env, None).map(|models| models.is_some());
            assert_eq!(made.as_ref().ok(), want.as_ref(), "{why}: {made:?}");
            assert!(!format!("{made:?}").contains("letters"), "{why}: {made:?}");
        }
        let host: Arc<dyn Model> = Arc::new(Callback::new("host", "host", |_| Err(Cause::Absent)));
        let with_host = |text: &str| {
            let settings: Summariser = toml::from_str(text).unwrap();
            let env = |_: &str| Some("letters".to_owned());
            settings.models(&engine, &env, Some(&host)).unwrap().is_some()
        };
        assert!(with_host("") && !with_host("models = []"), "a host's model unless none is wanted");
        assert!(with_host("[[models]]\nkind = \"host\""));
        assert!(toml::from_str::<Summariser>("key = \"sk-1\"").is_err(), "a key has no place in the file");
        assert!(toml::from_str::<Summariser>("[[models]]\nkind = \"openai\"\nkey = \"sk-1\"").is_err());
    }
}
