//! The terminal interface: conversations, their entries, and what a model saw of them. `docs/tui.md` shows it.
//!
//! | module | holds |
//! |---|---|
//! | `keys` | every command with its keys and words: help, palette and `docs/tui.md` say the same |
//! | `state`, `rows` | the state as plain values; what stands in its lists |
//! | `update`, `typed`, `told`, `steps`, `label`, `filters`, `lines`, `layout` | what a key, a mouse or an answer does to the state, and what is asked for then: pure |
//! | `view`, `theme` | how the state looks: pure |
//! | `load`, `entry_text`, `tables`, `calls`, `call_text` | what the store says, as rows and lines |
//! | `runner`, `worker`, `saved` | effects: the terminal, the threads that read, the kept state |

mod call_text;
mod calls;
mod entry_text;
mod filters;
mod keys;
mod label;
mod layout;
mod lines;
mod load;
mod rows;
mod runner;
mod saved;
mod state;
mod steps;
mod tables;
#[cfg(test)]
mod tests;
mod theme;
mod told;
mod typed;
mod update;
mod view;
mod worker;

pub(crate) use calls::CallTarget;
pub(crate) use load::picker_rows;
pub(crate) use runner::{TuiOptions, TuiSession};
pub(crate) use state::TuiEnd;
pub(crate) use theme::ThemeName;
pub(crate) use worker::LabelWriter;
