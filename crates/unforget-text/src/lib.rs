//! Describes text: previews of tool results and deterministic summaries.
//!
//! This crate may look into text in order to describe it. It decides nothing: storing, covering and sending depend on
//! structure alone, and every description can be dropped and made again. Everything is total and deterministic: no
//! input causes a panic, time is linear, and equal input gives equal bytes.
//!
//! # Modules
//!
//! Describes text and decides nothing: `preview/*` (what a long text is), `stub` and `excerpt` (short stand-ins), `summary/*`, `sections`, `merge`,
//! `render/*` (the deterministic summariser), `discourse/*` (what a model's answers say was done, found and decided, and how people take it), `aim` (the newest request), `spoken` (a person's
//! own words, without what they pasted), `typed` (a message without the wrappers of its host), `work/*` (calls and results of every tool vocabulary as facts for the core's
//! `ledger`, and the ledger as text), `draft/*` (what a model's draft of a summary
//! looks like beside its source, for the core's `gate`), `proposals/*` (rules that people give, for summaries and to be pinned), `anchors`, `lines`, `sentences` (what is worth keeping), `secret` (credentials to typed
//! placeholders), `clean` (without credentials, blobs and reasoning), `fence` (the wrapper of our own text in a prompt), `host` (the host's own summary, shortened by its structure), `clip`, `pinned` (words of pinned files), `quotes` (an entry's statements,
//! word for word, for answers without a model), `numbers` (numbers and sizes for people), `outline/*` (what each of many entries says, within few tokens), `repeated` (texts whose words another text has), `told` (what an entry tells that somebody may miss in a prompt), `standing` (which of many texts stand in one), `visible` (text that steers no terminal and no page).

mod aim;
mod anchors;
mod clean;
mod clip;
mod discourse;
mod draft;
mod excerpt;
mod fence;
mod host;
mod lines;
mod memory;
mod merge;
pub mod numbers;
mod outline;
mod pinned;
mod present;
mod preview;
mod proposals;
mod quotes;
mod relayed;
mod render;
mod repeated;
mod secret;
mod sections;
mod sentences;
mod spoken;
mod standing;
mod status_question;
mod struck;
mod stub;
mod summary;
mod title;
mod told;
mod typed;
mod visible;
mod work;

pub use anchors::{Anchor, AnchorKind, anchors};
pub use clean::{clean, without_reasoning};
pub use draft::{Assignment, Inspected, inspect, invented, must_keep};
pub use excerpt::excerpt;
pub use fence::{
    fence, fence_host, fence_ledger, fence_passage, fence_recalled, fence_spans, fence_state, is_invisible,
    time_text,
};
pub use host::{host_text, host_words, without_outlook};
pub use memory::{
    HINT_BYTES, HintMoment, HintSession, MemoryBounds, MemoryItem, MemoryKind, NewestText, SessionMemory,
    ShownMemory, UnaskedHint, chosen, hint, relevance,
};
pub use merge::{state_before, state_of};
pub use outline::{Outline, OutlineEntry, OutlineLine, outline};
pub use pinned::{Beginning, beginning, stands_in};
pub use preview::{Kind, PREVIEW_CHARS, Preview, preview};
pub use proposals::{Proposal, ProposalKind, proposals};
pub use quotes::{Quote, QuoteKind, quotes};
pub use render::{Surroundings, render, render_among, render_state};
pub use repeated::RepeatedWords;
pub use secret::redact;
pub use sections::{Item, ParseError, Section, SectionKind, Span, State, Summary};
pub use standing::standing;
pub use status_question::{StatusKind, StatusQuestion, status_question};
pub use struck::{Strike, is_meant};
pub use stub::{STUB_CHARS, STUB_TOKENS, StubReason, media_stub, stub};
pub use summary::{Source, summarise};
pub use title::{TITLE_CHARS, short_name, title, title_of_message};
pub use told::{TOLD_CHARS, ToldKind, ToldThing, told};
pub use typed::typed;
pub use visible::{is_harmful, visible, visible_name};
pub use work::{facts, render_ledger};
