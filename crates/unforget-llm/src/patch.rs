//! Parses the sections that a model returned, and applies them to existing sections. Pure.

use std::collections::BTreeSet;

use serde::Deserialize;
use unforget_core::id::Seq;
use unforget_text::{Item, Section, SectionKind, State, Summary, clean};

/// Why a model's sections cannot be parsed. None of them is used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the model's sections are not understood at line {line}, column {column}: {what}")]
pub struct PatchError {
    /// Line in the model's text, from 1.
    pub line: usize,
    /// Column in the line, from 1.
    pub column: usize,
    /// The expected or found content, clipped.
    pub what: String,
}

/// A part of a model's sections that was not applied; the existing sections are unchanged there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The item, such as `decisions.2`, or the field, such as `goal`.
    pub item: String,
    /// The reason.
    pub why: Why,
}

/// Why a part was not applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// Its text is empty.
    Blank,
    /// Its text has more than [`TEXT_CHARS_MAX`] characters.
    Long,
    /// It names no entry, or one that the model was not given.
    Source,
    /// It names an item that the model was not given.
    NoItem,
    /// Items of this kind, or in this state, may not change.
    Protected,
    /// The items differ in kind, state or author, or there is only one.
    Apart,
    /// The item was already dropped or merged.
    Twice,
}

/// Most characters of an item's text.
pub const TEXT_CHARS_MAX: usize = 1_200;

/// A model's sections about entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    title: String,
    items: Vec<(SectionKind, DraftItem)>,
}

/// A model's changes to a summary.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Patch {
    #[serde(default)]
    title: String,
    #[serde(default)]
    merge: Vec<MergeItems>,
    #[serde(default)]
    drop: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct DraftItem {
    text: String,
    #[serde(default)]
    seqs: Vec<u64>,
    #[serde(default)]
    state: DraftState,
    #[serde(default)]
    author: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DraftState {
    #[default]
    Fact,
    Open,
    Done,
    Cancelled,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct MergeItems {
    items: Vec<String>,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct DraftJson {
    title: String,
    #[serde(default)]
    goal: Vec<DraftItem>,
    #[serde(default)]
    outcomes: Vec<DraftItem>,
    #[serde(default)]
    constraints: Vec<DraftItem>,
    #[serde(default)]
    decisions: Vec<DraftItem>,
    #[serde(default)]
    actions: Vec<DraftItem>,
    #[serde(default)]
    files_read: Vec<DraftItem>,
    #[serde(default)]
    files_written: Vec<DraftItem>,
    #[serde(default)]
    errors: Vec<DraftItem>,
    #[serde(default)]
    open_asks: Vec<DraftItem>,
    #[serde(default)]
    anchors: Vec<DraftItem>,
}

impl Draft {
    /// Parses a model's text: one JSON object, optionally in one code fence.
    ///
    /// # Errors
    /// [`PatchError`] for anything else: other fields, other types, surrounding text, a cut-off text.
    pub fn parse(text: &str) -> Result<Self, PatchError> {
        let json: DraftJson = read(text)?;
        let sections = [
            (SectionKind::Goal, json.goal),
            (SectionKind::Outcomes, json.outcomes),
            (SectionKind::Constraints, json.constraints),
            (SectionKind::Decisions, json.decisions),
            (SectionKind::Actions, json.actions),
            (SectionKind::FilesRead, json.files_read),
            (SectionKind::FilesWritten, json.files_written),
            (SectionKind::Errors, json.errors),
            (SectionKind::OpenAsks, json.open_asks),
            (SectionKind::Anchors, json.anchors),
        ];
        let items =
            sections.into_iter().flat_map(|(kind, items)| items.into_iter().map(move |item| (kind, item)));
        Ok(Self { title: json.title, items: items.collect() })
    }

    /// Applies the draft to `base`, the deterministic summary of its entries.
    ///
    /// Goals, outcomes, decisions and open asks of the draft replace those of the base from the same entries; their
    /// state stays where the base knows it (F027). Items of other kinds are added, unless the base already contains
    /// them verbatim: rules, actions with their exit codes, files, failures and identifiers are exact there. Everything
    /// else of the base stays, so a draft that forgets something loses nothing. Invalid items are refused by name.
    pub fn apply(self, base: &Summary) -> (Summary, Vec<Refused>) {
        let mut refused = Vec::new();
        let mut summary = base.clone();
        if let Some(title) = title(&self.title, &mut refused) {
            summary.title = title;
        }
        // A draft tells causes among the decisions.
        let mut decided = BTreeSet::new();
        for kind in SectionKind::ALL {
            let mut items = Vec::new();
            for draft in self.items.iter().filter(|(known, _)| *known == kind) {
                match draft.1.item(base) {
                    Ok(item) => items.push(item),
                    Err(why) => refused.push(Refused { item: kind.name().to_owned(), why }),
                }
            }
            if kind == SectionKind::Decisions {
                decided.extend(items.iter().flat_map(|item| &item.seqs).copied());
            }
            let mut items = combined(kind, base.items(kind), items);
            if kind == SectionKind::Causes {
                items.retain(|item| !item.seqs.iter().any(|seq| decided.contains(seq)));
            }
            summary.sections.retain(|section| section.kind != kind);
            if !items.is_empty() {
                summary.sections.push(Section { kind, items });
            }
        }
        (summary, refused)
    }
}

/// The items of a kind from both the base and the draft.
fn combined(kind: SectionKind, base: &[Item], draft: Vec<Item>) -> Vec<Item> {
    let stands_in = matches!(
        kind,
        SectionKind::Goal | SectionKind::Outcomes | SectionKind::Decisions | SectionKind::OpenAsks
    );
    let shares = |a: &Item, b: &Item| a.seqs.iter().any(|seq| b.seqs.contains(seq));
    let is_replaced = |item: &&Item| stands_in && draft.iter().any(|new| shares(new, item));
    let mut items: Vec<Item> = base.iter().filter(|item| !is_replaced(item)).cloned().collect();
    for mut new in draft {
        let known = base.iter().rfind(|item| stands_in && shares(&new, item));
        if let Some(known) = known.filter(|known| matches!(known.state, State::Done | State::Cancelled)) {
            new.state = known.state;
        }
        if !items.iter().any(|item| item.text == new.text && item.author == new.author) {
            items.push(new);
        }
    }
    if stands_in {
        items.sort_by_key(|item| item.seqs.first().copied());
    }
    items
}

impl DraftItem {
    fn item(&self, base: &Summary) -> Result<Item, Why> {
        let text = words(&self.text)?;
        let span = base.span.ok_or(Why::Source)?;
        let mut seqs: Vec<Seq> = self.seqs.iter().copied().map(Seq).collect();
        seqs.sort_unstable();
        seqs.dedup();
        let is_inside = |seq: &Seq| (span.first..=span.last).contains(seq);
        if seqs.is_empty() || !seqs.iter().all(is_inside) {
            return Err(Why::Source);
        }
        seqs.truncate(Item::SEQS_MAX);
        let state = match self.state {
            DraftState::Fact => State::Fact,
            DraftState::Open => State::Open,
            DraftState::Done => State::Done,
            DraftState::Cancelled => State::Cancelled,
        };
        let author = self.author.as_deref().and_then(|author| words(author).ok());
        Ok(Item { text, seqs, state, author })
    }
}

impl Patch {
    /// Parses a model's text. See [`Draft::parse`].
    ///
    /// # Errors
    /// [`PatchError`] if the text is no valid patch.
    pub fn parse(text: &str) -> Result<Self, PatchError> {
        read(text)
    }

    /// Applies the patch to `base`. Items that the patch does not name stay. Changes that it may not make are refused
    /// by name and have no effect.
    ///
    /// * `shown` - whether the model was given an item, by kind and index.
    ///
    /// Constraints, files and anchors are never reworded. Only actions, files that were read, and resolved errors may
    /// be dropped. Items of different states or authors are never merged (F027, F033).
    pub fn apply(
        &self,
        base: &Summary,
        shown: &dyn Fn(SectionKind, usize) -> bool,
    ) -> (Summary, Vec<Refused>) {
        let mut work = Application { base, shown, gone: Vec::new(), texts: Vec::new(), refused: Vec::new() };
        for merge in &self.merge {
            work.merge(merge);
        }
        for name in &self.drop {
            work.drop(name);
        }
        let Application { gone, texts, mut refused, .. } = work;
        let mut summary = base.clone();
        if let Some(title) = title(&self.title, &mut refused) {
            summary.title = title;
        }
        for section in &mut summary.sections {
            let old = std::mem::take(&mut section.items);
            for (at, item) in old.into_iter().enumerate() {
                match texts.iter().find(|(kind, last, _)| (*kind, *last) == (section.kind, at)) {
                    Some((_, _, merged)) => section.items.push(merged.clone()),
                    None if gone.contains(&(section.kind, at)) => {}
                    None => section.items.push(item),
                }
            }
        }
        summary.sections.retain(|section| !section.items.is_empty());
        (summary, refused)
    }
}

/// A patch being applied.
struct Application<'a> {
    base: &'a Summary,
    shown: &'a dyn Fn(SectionKind, usize) -> bool,
    /// Items that no longer exist.
    gone: Vec<(SectionKind, usize)>,
    /// Merged items, each in the place of its newest member.
    texts: Vec<(SectionKind, usize, Item)>,
    refused: Vec<Refused>,
}

impl Application<'_> {
    fn refuse(&mut self, item: &str, why: Why) {
        let item = item.chars().take(60).collect();
        self.refused.push(Refused { item, why });
    }

    /// The item with a name such as `decisions.2`, counted from 1.
    fn find(&self, name: &str) -> Result<(SectionKind, usize, &Item), Why> {
        let (kind, number) = name.split_once('.').ok_or(Why::NoItem)?;
        let kind = SectionKind::ALL.into_iter().find(|known| known.name() == kind).ok_or(Why::NoItem)?;
        let at = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1)).ok_or(Why::NoItem)?;
        let item = self.base.items(kind).get(at).filter(|_| (self.shown)(kind, at)).ok_or(Why::NoItem)?;
        if self.gone.contains(&(kind, at)) { Err(Why::Twice) } else { Ok((kind, at, item)) }
    }

    fn drop(&mut self, name: &str) {
        let found = self.find(name).map(|(kind, at, item)| (kind, at, item.state));
        let may = |kind, state| match kind {
            SectionKind::Actions | SectionKind::FilesRead => true,
            SectionKind::Errors => state == State::Done,
            _ => false,
        };
        match found {
            Ok((kind, at, state)) if may(kind, state) => self.gone.push((kind, at)),
            Ok(_) => self.refuse(name, Why::Protected),
            Err(why) => self.refuse(name, why),
        }
    }

    fn merge(&mut self, merge: &MergeItems) {
        match self.merged(merge) {
            Ok((kind, members, item)) => {
                let last = members.last().copied().unwrap_or_default();
                self.gone.extend(members.iter().map(|at| (kind, *at)));
                self.texts.push((kind, last, item));
            }
            Err(why) => self.refuse(&merge.items.join(","), why),
        }
    }

    fn merged(&self, merge: &MergeItems) -> Result<(SectionKind, Vec<usize>, Item), Why> {
        let text = words(&merge.text)?;
        let found: Vec<_> = merge.items.iter().map(|name| self.find(name)).collect::<Result<_, _>>()?;
        let Some(&(kind, _, first)) = found.first() else { return Err(Why::Apart) };
        let mut members: Vec<usize> = found.iter().map(|(_, at, _)| *at).collect();
        members.sort_unstable();
        members.dedup();
        let alike = |(other, _, item): &(SectionKind, usize, &Item)| {
            *other == kind && item.state == first.state && item.author == first.author
        };
        if members.len() < 2 || members.len() < found.len() || !found.iter().all(alike) {
            return Err(Why::Apart);
        }
        if !matches!(
            kind,
            SectionKind::Goal
                | SectionKind::Outcomes
                | SectionKind::Decisions
                | SectionKind::Causes
                | SectionKind::Actions
                | SectionKind::Errors
                | SectionKind::OpenAsks
        ) {
            return Err(Why::Protected);
        }
        let mut item = Item { text, seqs: Vec::new(), state: first.state, author: first.author.clone() };
        for member in members.iter().filter_map(|at| self.base.items(kind).get(*at)) {
            item.absorb(member);
        }
        Ok((kind, members, item))
    }
}

/// Text on one line, without credentials.
fn words(text: &str) -> Result<String, Why> {
    let clean = clean(text);
    let mut line = String::with_capacity(clean.len());
    for word in clean.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    match line.chars().count() {
        0 => Err(Why::Blank),
        1..=TEXT_CHARS_MAX => Ok(line),
        _ => Err(Why::Long),
    }
}

fn title(text: &str, refused: &mut Vec<Refused>) -> Option<String> {
    match words(text) {
        Ok(title) => Some(title),
        Err(Why::Blank) => None,
        Err(why) => {
            refused.push(Refused { item: "title".to_owned(), why });
            None
        }
    }
}

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, PatchError> {
    let (json, before) = unfenced(text);
    serde_json::from_str(json).map_err(|error| {
        let what = error.to_string();
        // The place is reported separately.
        let what = what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what);
        let what = clean(what).chars().take(160).collect();
        PatchError { line: error.line() + before, column: error.column(), what }
    })
}

/// The inside of a code fence around the whole text, and the number of lines before it.
fn unfenced(text: &str) -> (&str, usize) {
    let inside = text.trim().strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let inside = inside.and_then(|rest| rest.split_once('\n')).filter(|(language, _)| language.len() <= 8);
    inside.map_or((text, 0), |(_, json)| (json, 1))
}

#[cfg(test)]
mod tests;
