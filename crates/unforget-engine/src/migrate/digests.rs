//! What is compared of a conversation: one digest per part, over its rows and bytes as the port gives them.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::iter::once;

use unforget_core::digest::{Chain, Digest};
use unforget_core::id::ConversationId;
use unforget_store::{
    ContextRow, Conversation, LabelRow, PAGE_ROWS, Page, SaidRows, Store, StoreError, read_all, walk,
};

use crate::host::{fork_source, with_fork_source};
use crate::rows::stored_portions;

/// Names that are read at once.
pub(super) const NAMES: usize = 4_096;

/// A part of a conversation that is compared on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConversationPart {
    /// The conversation's own row: format, title, parent, counts, current generation and length.
    Head,
    /// Generations of its transcript.
    Generations,
    /// Saves of its transcript.
    Saves,
    /// Rows and bytes of its entries.
    Entries,
    /// What hosts call its entries.
    Names,
    /// Title, star and tags of a person.
    Label,
    /// Pins and their files.
    Pins,
    /// Verdicts on entries.
    Verdicts,
    /// Spans that people put back.
    Raised,
    /// What people said, as it travels.
    Sayings,
    /// States of prompts and lanes.
    Contexts,
    /// Summaries by rules.
    Summaries,
    /// Summaries by models.
    Rewrites,
    /// Which summaries models were or are asked for.
    Jobs,
    /// How prompts were composed.
    Recipes,
    /// What was decided about prompts.
    Decisions,
}

impl ConversationPart {
    /// For people and scripts, in kebab-case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Generations => "generations",
            Self::Saves => "saves",
            Self::Entries => "entries",
            Self::Names => "names",
            Self::Label => "label",
            Self::Pins => "pins",
            Self::Verdicts => "verdicts",
            Self::Raised => "raised",
            Self::Sayings => "sayings",
            Self::Contexts => "contexts",
            Self::Summaries => "summaries",
            Self::Rewrites => "rewrites",
            Self::Jobs => "jobs",
            Self::Recipes => "recipes",
            Self::Decisions => "decisions",
        }
    }
}

/// The digests of a conversation's parts. A part without rows has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConversationDigests(BTreeMap<ConversationPart, Chain>);

impl ConversationDigests {
    /// One digest of all parts.
    pub fn whole(&self) -> Digest {
        let mut whole = Chain::root();
        for (part, chain) in &self.0 {
            whole = whole.next(part.name().as_bytes(), &chain.0.0);
        }
        whole.0
    }

    /// The parts that differ, in order.
    pub fn differing(&self, other: &Self) -> Vec<ConversationPart> {
        let mut parts: Vec<_> = self.0.keys().chain(other.0.keys()).copied().collect();
        parts.sort_unstable();
        parts.dedup();
        parts.retain(|part| self.0.get(part) != other.0.get(part));
        parts
    }

    /// Adds a row. Its debugging form has every field, so that a new one is compared without anybody thinking of it;
    /// digests are compared within one process and never stored.
    fn row(&mut self, part: ConversationPart, row: &impl Debug) {
        self.bytes(part, format!("{row:?}").as_bytes(), &[]);
    }

    fn bytes(&mut self, part: ConversationPart, lead: &[u8], body: &[u8]) {
        let chain = self.0.entry(part).or_insert_with(Chain::root);
        *chain = chain.next(lead, body);
    }
}

/// Reads the digests of a conversation. What differs between equal conversations of two stores is left out: its number,
/// and how often it was written to.
///
/// * `passed` - called with the number of entries, step by step.
pub(super) fn read(
    store: &dyn Store,
    stored: &Conversation,
    passed: &mut dyn FnMut(u64),
) -> Result<ConversationDigests, StoreError> {
    use ConversationPart as Part;
    let (mut all, id) = (ConversationDigests::default(), stored.id);
    let head = Conversation { id: ConversationId(0), revision: 0, names: 0, ..stored.clone() };
    all.row(Part::Head, &head);
    for row in walk(|page| store.generations(id, page)) {
        all.row(Part::Generations, &row?);
    }
    for row in walk(|page| store.snapshots(id, page)) {
        all.row(Part::Saves, &row?);
    }
    for portion in stored_portions(store, id, once(0..stored.entries)) {
        let portion = portion?;
        for (row, raw) in portion.rows.iter().zip(portion.raw(store, id)?) {
            all.row(Part::Entries, row);
            all.bytes(Part::Entries, &raw.lead, &raw.body);
        }
        passed(portion.rows.len() as u64);
    }
    each_name(store, id, &mut |names| {
        for named in names {
            all.row(Part::Names, named);
        }
        Ok(())
    })?;
    let label = label_of(store, id)?;
    if !label.is_blank() {
        all.row(Part::Label, &LabelRow { conversation: ConversationId(0), ..label });
    }
    decided(store, id, &mut all)?;
    made(store, id, &mut all)?;
    Ok(all)
}

/// What people decided.
fn decided(store: &dyn Store, id: ConversationId, all: &mut ConversationDigests) -> Result<(), StoreError> {
    use ConversationPart as Part;
    let SaidRows { pins, files, verdicts, raised } = store.said(id)?;
    for row in &pins {
        all.row(Part::Pins, row);
    }
    for row in &files {
        all.row(Part::Pins, row);
    }
    for row in &verdicts {
        all.row(Part::Verdicts, row);
    }
    for row in &raised {
        all.row(Part::Raised, row);
    }
    for row in walk(|page| store.sayings(id, page)) {
        all.row(Part::Sayings, &row?);
    }
    Ok(())
}

/// What the engine made.
fn made(store: &dyn Store, id: ConversationId, all: &mut ConversationDigests) -> Result<(), StoreError> {
    use ConversationPart as Part;
    for context in contexts(store, id)? {
        // Another store has another number for the conversation that a lane was forked from.
        let key = fork_source(&context).map(|from| Ok::<_, StoreError>(store.conversation(from)?.key));
        all.row(Part::Contexts, &(key.transpose()?, with_fork_source(context, ConversationId(0))));
    }
    for row in walk(|page| store.summaries(id, page)) {
        all.row(Part::Summaries, &row?);
    }
    for keys in read_all(|page| store.rewrites(id, page))?.chunks(PAGE_ROWS) {
        // As many as there are keys, also if one of them went meanwhile.
        let rows = store.rewrites_of(id, keys)?;
        for key in keys {
            all.row(Part::Rewrites, &rows.iter().find(|row| row.key == *key));
        }
    }
    for job in walk(|page| store.jobs(id, page)) {
        let job = job?;
        all.row(Part::Jobs, &(job.key, job.span));
    }
    for row in walk(|page| store.recipes(id, page)) {
        let row = row?;
        all.row(Part::Recipes, &(&row, store.recipe_state(id, &row.context)?));
    }
    for row in store.decisions(id)? {
        all.row(Part::Decisions, &row);
    }
    Ok(())
}

/// Hands all names over, part by part.
pub(super) fn each_name(
    store: &dyn Store,
    id: ConversationId,
    each: &mut dyn FnMut(&[unforget_store::NamedEntry]) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut page = Page::first(NAMES);
    loop {
        let names = store.names(id, page)?;
        each(&names)?;
        match names.last() {
            Some(last) if names.len() >= NAMES => page.after = Some(*last),
            _ => return Ok(()),
        }
    }
}

/// All states of prompts of a conversation.
pub(super) fn contexts(store: &dyn Store, id: ConversationId) -> Result<Vec<ContextRow>, StoreError> {
    let mut all = Vec::new();
    for thread in walk(|page| store.context_threads(id, page)) {
        let thread = thread?;
        all.append(&mut read_all(|page| store.contexts(id, thread, page))?);
    }
    Ok(all)
}

/// What a person says of a conversation.
pub(super) fn label_of(store: &dyn Store, id: ConversationId) -> Result<LabelRow, StoreError> {
    let page = Page { after: id.0.checked_sub(1).map(ConversationId), limit: 1 };
    let label = store.labels(page)?.pop().filter(|label| label.conversation == id);
    Ok(label.unwrap_or_else(|| LabelRow::blank(id)))
}
