//! Recall: finds entries by their words ([`rank::search`]) and by any bytes ([`grep`]).
//!
//! Pure functions over plain values. The flow of `search` is
//! `text → terms → document → segment → postings → ranked hits`:
//!
//! - [`terms`] turns text into terms, and [`fields`] adds author, time and tool;
//! - [`segment`] packs the terms of many entries into immutable blocks and reads them back;
//! - [`query`] turns a person's words into weighted terms, [`rank`] scores them over a
//!   [`source::PostingSource`], [`select`] decides which hits are worth showing.
//!
//! The flow of `grep` is `pattern → literals → filter → matches`: [`filter`] excludes chunks that cannot match,
//! [`parts`] large parts of entries, and [`grep`] searches the others.
//!
//! # Modules
//!
//! | module | holds |
//! |---|---|
//! | `term` | terms as hashes, and the classes of bytes |
//! | `terms`, `fields` | text and facts to terms; one analyser for entries and queries |
//! | `stem`, `unicode`, `words` | what it knows about English, scripts and common words |
//! | `segment/*` | immutable, bit-packed posting lists; building, reading, merging |
//! | `query`, `query/dates` | any text to weighted terms, and its time words |
//! | `coverage` | how much of a query a sentence holds |
//! | `near` | English words that mean nearly the same: a table, no model |
//! | `source`, `bm25`, `rank`, `tuning`, `select` | where postings come from; scores of terms; order of entries; weights; a floor and near-copies |
//! | `literals`, `filter`, `parts` | what a pattern cannot match without; which chunks cannot have it; which large parts of entries may |
//! | `grep`, `unescape` | linear-time patterns over bytes, JSON escapes undone |

pub mod calendar;
pub mod coverage;
mod escapes;
pub mod fields;
pub mod filter;
pub mod grep;
pub mod literals;
pub mod meaning;
pub mod near;
pub mod parts;
pub mod query;
pub mod rank;
pub mod segment;
pub mod select;
pub mod source;
pub mod terms;
pub mod tuning;
pub mod unescape;

mod bm25;
mod stem;
mod term;
mod unicode;
mod varint;
mod words;
