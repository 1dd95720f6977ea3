//! Makes a model of vectors from settings.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use unforget_llm::embed::{Embedder, HttpEmbedder, LocalEmbedder, LocalError};
use unforget_llm::{KeyError, KeySource, SettingError};

use crate::summarise::classify;

/// Settings of a model of vectors. Contains no key, only the place of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EmbedEndpoint {
    /// An endpoint `/v1/embeddings`.
    Http {
        /// Base address including the version.
        base: String,
        /// The provider's name of the model.
        model: String,
        /// Place of the key.
        key: KeySource,
        /// Further request fields for the provider, such as `dimensions`.
        extra: serde_json::Map<String, serde_json::Value>,
    },
    /// A command with its arguments; lines of JSON on standard input and output.
    Command {
        /// The program.
        program: PathBuf,
        /// Its arguments.
        arguments: Vec<OsString>,
        /// The name of its model.
        model: String,
    },
    /// A folder with a small model that runs in this process.
    Local {
        /// The folder.
        folder: PathBuf,
        /// A name beside that of the folder.
        model: Option<String>,
    },
}

/// Why a model of vectors cannot be made from its settings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedSettingError {
    /// There is no usable key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Another setting is not usable.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The folder holds no such model.
    #[error(transparent)]
    Local(#[from] LocalError),
    /// Commands need a system with process groups.
    #[error("a model that is a command works on Unix only; configure another kind of model")]
    NoCommands,
}

impl EmbedEndpoint {
    /// Makes the model. Reads the key, or the head of the model's file, but makes no call.
    ///
    /// * `env` - returns an environment variable by name.
    ///
    /// # Errors
    /// [`EmbedSettingError`].
    pub fn embedder(
        &self,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Arc<dyn Embedder>, EmbedSettingError> {
        Ok(match self {
            Self::Http { base, model, key, extra } => {
                let usual = unforget_llm::Endpoint::new(base, model, key.load(env)?, classify());
                Arc::new(HttpEmbedder::new(unforget_llm::Endpoint { extra: extra.clone(), ..usual })?)
            }
            #[cfg(unix)]
            Self::Command { program, arguments, model } => {
                Arc::new(unforget_llm::embed::CommandEmbedder::new(program, arguments.clone(), model))
            }
            #[cfg(not(unix))]
            Self::Command { .. } => return Err(EmbedSettingError::NoCommands),
            Self::Local { folder, model } => Arc::new(LocalEmbedder::new(folder, model.as_deref())?),
        })
    }
}
