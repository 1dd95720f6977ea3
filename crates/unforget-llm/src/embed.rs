//! Models that turn texts into vectors.
//!
//! | adapter | texts go to |
//! |---|---|
//! | [`HttpEmbedder`] | an endpoint `/v1/embeddings`: `OpenAI`, Ollama, vLLM and many others |
//! | [`CommandEmbedder`] | a command that stays alive: a line of JSON in, a line of JSON out |
//! | [`LocalEmbedder`] | a small model of the BERT family in this process, from a folder |

mod answer;
#[cfg(unix)]
mod command;
mod http;
mod local;
mod port;

#[cfg(unix)]
pub use command::CommandEmbedder;
pub use http::HttpEmbedder;
pub use local::{LocalEmbedder, LocalError};
pub use port::{DIMENSION_MAX, Embedded, Embedder, unit_vectors};
