//! Recall measured: how much of known evidence a search finds.
//!
//! The flow is `files → sets → arms → report`:
//!
//! - [`Sources`] reads data sets from files and folders and knows each by its content: LoCoMo, BEAM, `LongMemEval`, and
//!   transcripts of agents, whose items are drawn by seed;
//! - an [`Arm`] searches the turns of one case: [`Ranking`] is ours, [`FullText`] is SQLite's FTS5 over the same turns;
//! - [`run`] asks the questions and adds the measures to a [`Report`].
//!
//! # Modules
//!
//! | module | holds |
//! |---|---|
//! | `case` | turns and questions, whatever their data set |
//! | `sets`, `sets/*` | data sets read; the halves; known items drawn from agents' sessions; everything in one store |
//! | `arms` | ways to search |
//! | `measure` | shares of the evidence, by entries, tokens and sessions |

mod arms;
mod case;
mod measure;
mod sets;

pub use arms::{Arm, FullText, Ranking, Vectors};
pub use case::{Case, Question, Turn};
pub use measure::{BUDGETS, HEADS, Report, Row, run};
pub use sets::{EvalSet, Half, SetError, Sources};
