//! Meaning: entries get vectors in the background, and a search ranks by them too.
//!
//! An engine [with a model](Engine::set_meaning) turns the texts of entries into vectors, newest first
//! ([`Engine::embed_newest`]); their signs are segments beside those of the search index. A search asks the model for the
//! vector of its query alone, within a bound, and says in its receipt what it did ([`MeaningReceipt`]). Without an answer it
//! ranks by words and says why.
//!
//! | event | consequence |
//! |---|---|
//! | the model fails for a query | that search, and those of the next half minute, rank by words |
//! | the model fails for texts | their conversation waits, a minute at first and an hour at most |
//! | it fails a second time for the same texts | they are asked one by one |
//! | a text fails alone while the model answers to others | it gets no vector, is counted, and is found by words |
//! | the store fails for a conversation | the others go on; it waits for a minute, and twice as long after each failure |
//! | the spending limit of the hour is reached | texts wait for the next hour, and searches rank by words |
//! | vectors of another length come under the same name | an error with both lengths; nothing is replaced |
//! | another model is configured | all entries wait for vectors of its own; those of the old one go with the first of them |
//! | the process dies | at most one call is lost: what is stored is not asked for again |
//! | entries are purged | the segments that cover them go, and are made again without them |

mod background;
mod charge;
mod coverage;
mod endpoint;
mod near;
mod rounds;
mod work;

use std::sync::{Arc, PoisonError};

pub use background::{EmbedNews, Embedding};
pub use coverage::{LengthConflict, MeaningState};
pub use endpoint::{EmbedEndpoint, EmbedSettingError};
pub(crate) use near::Meant;
pub use unforget_llm::embed::Embedder as EmbedderPort;
pub use work::{EmbedStep, PIECES_MAX};

use crate::Engine;
pub use crate::meaning_model::{MeaningConfig, MeaningModel, MeaningReceipt};

impl Engine {
    /// Sets the model of vectors, for this engine and its clones; `None` for searches by words alone.
    pub fn set_meaning(&self, model: Option<Arc<MeaningModel>>) {
        *self.meaning.write().unwrap_or_else(PoisonError::into_inner) = model;
    }

    /// The model of vectors.
    pub fn meaning(&self) -> Option<Arc<MeaningModel>> {
        self.meaning.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
