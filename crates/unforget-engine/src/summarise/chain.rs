//! Makes models from settings.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use unforget_llm::{Anthropic, Cause, Classify, KeyError, KeySource, Model, OpenAi, Reply, SettingError};
use unforget_wire::refusal::{self, Headers, Overflow, Refusal};

/// Protocol of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Chat Completions: OpenAI and most other providers.
    OpenAi,
    /// Messages, by Anthropic.
    Anthropic,
    /// An external command with its arguments; JSON on standard input and output.
    Command(PathBuf, Vec<OsString>),
}

/// Settings of one model. Contains no key, only the place of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The protocol.
    pub kind: Kind,
    /// Base address including the version; unused by commands.
    pub base: String,
    /// The provider's name of the model.
    pub model: String,
    /// Place of the key.
    pub key: KeySource,
    /// Further request fields for the provider, such as `reasoning_effort`; unused by commands.
    pub extra: serde_json::Map<String, serde_json::Value>,
}

/// Why a model cannot be made from its settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// There is no usable key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Another setting is not usable.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// Commands need a system with process groups.
    #[error("a model that is an external command works on Unix only; configure another kind of model")]
    NoCommands,
}

impl Endpoint {
    /// Makes the model. Reads the key, but makes no call.
    ///
    /// * `env` - returns an environment variable by name.
    ///
    /// # Errors
    /// [`ChainError`].
    pub fn model(&self, env: &dyn Fn(&str) -> Option<String>) -> Result<Arc<dyn Model>, ChainError> {
        let endpoint = || -> Result<unforget_llm::Endpoint, ChainError> {
            let usual = unforget_llm::Endpoint::new(&self.base, &self.model, self.key.load(env)?, classify());
            Ok(unforget_llm::Endpoint { extra: self.extra.clone(), ..usual })
        };
        Ok(match &self.kind {
            Kind::OpenAi => Arc::new(OpenAi::new(endpoint()?)?),
            Kind::Anthropic => Arc::new(Anthropic::new(endpoint()?)?),
            #[cfg(unix)]
            Kind::Command(program, arguments) => {
                Arc::new(unforget_llm::Command::new(program, arguments.clone(), &self.model))
            }
            #[cfg(not(unix))]
            Kind::Command(..) => return Err(ChainError::NoCommands),
        })
    }
}

/// The classification of error replies for all known providers.
pub fn classify() -> Classify {
    Arc::new(|reply: &Reply<'_>| {
        let headers = Headers {
            retry_after: reply.retry_after,
            retry_after_ms: reply.retry_after_ms,
            error_type: None,
        };
        let told = refusal::Reply { status: Some(reply.status), headers, body: reply.body, provider: None };
        Some(match refusal::classify(&told)? {
            Refusal::Overflow(Overflow { limit, sent, .. }) => Cause::TooLong { limit, sent },
            Refusal::SuspectedOverflow => Cause::TooLong { limit: None, sent: None },
            Refusal::Output { limit, .. } => Cause::OutputTooLong { limit },
            Refusal::RateLimited { largest: Some(limit), .. } => {
                Cause::TooLong { limit: Some(limit), sent: None }
            }
            Refusal::RateLimited { retry_after, .. } => Cause::RateLimited { retry_after },
            Refusal::Overloaded { retry_after } => Cause::Overloaded { retry_after },
            Refusal::Auth => Cause::Auth,
            Refusal::Quota => Cause::Payment,
            Refusal::NotFound => Cause::NotFound,
            Refusal::Policy => Cause::Policy,
            Refusal::Server { retry_after } => Cause::Server { retry_after },
            Refusal::Network => Cause::Broken,
            Refusal::Unknown { status } => Cause::Unknown { status },
            _ => Cause::Invalid,
        })
    })
}
