//! Meaning: vectors of entries by a model, kept as signs, and how near they are to the vector of a query.
//!
//! This module knows no model. Texts are cut into [`pieces`]; what a model makes of a piece becomes a code of
//! [`CODE_BYTES`] bytes ([`code`]); codes of many entries are a segment ([`MeaningSegment`]) beside the posting lists. For a
//! query, [`Nearness`] has a value per document, which [`crate::rank`] adds to the scores of words.

mod code;
mod nearness;
mod pieces;
mod segment;

pub use code::{CODE_BYTES, CodedQuery, code};
pub use nearness::Nearness;
pub use pieces::{PIECE_TOKENS, pieces};
pub use segment::{
    Coded, MeaningBuilder, MeaningError, MeaningHead, MeaningSegment, VectorModel, is_meaning, merge,
};
