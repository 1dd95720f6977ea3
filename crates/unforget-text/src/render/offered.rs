//! What a block of a summary's text may show, in the order in which its items are placed.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use unforget_core::id::Seq;

use super::{Block, Place, Surroundings, View, line};
use crate::aim::is_short;
use crate::present::Present;
use crate::sections::{EARLIER, Item, SectionKind, State, Summary};

/// The candidates for a block, most telling first.
pub(super) fn offered(block: Block, view: View<'_>, summary: &Summary) -> Vec<Place> {
    use SectionKind::{
        Actions, Anchors, Causes, Constraints, Decisions, Errors, Excerpts, FilesRead, FilesWritten, Goal,
        OpenAsks, Outcomes, Remarks, RepliedTo, Sightings, Specs,
    };
    let aim = summary.aim();
    let present = Present::of(summary);
    let places = |kind: SectionKind| {
        summary.items(kind).iter().enumerate().rev().map(move |(at, item)| ((kind, at), item))
    };
    let all = |kind: SectionKind| places(kind).map(|(place, _)| place).collect::<Vec<_>>();
    match block {
        Block::Aim => aimed(summary, aim),
        Block::Reply if view == View::State => all(RepliedTo),
        Block::Spec if view == View::State => all(Specs),
        // Their texts stand among the entries of the summary or of the one before it.
        Block::Reply | Block::Spec => Vec::new(),
        Block::Now => {
            let is_aim = |item: &Item| summary.is_of_aim(item);
            let told = places(Outcomes).chain(places(Decisions)).chain(places(Causes));
            let told = told.filter(|(place, item)| present.holds(place.0, item) && !is_aim(item));
            let mut told: Vec<Place> = told.map(|(place, _)| place).collect();
            // In the order of the answer, whose first statement is its summary.
            told.sort_unstable();
            told
        }
        Block::Open if view == View::Among(Surroundings::Followed) => Vec::new(),
        Block::Open => {
            // An open request is shown above already.
            let asked = |item: &Item| summary.items(Goal).iter().any(|ask| ask.text == item.text);
            places(OpenAsks).filter(|(_, item)| !asked(item)).map(|(place, _)| place).collect()
        }
        // A wish that belongs to a request may have ended with it.
        Block::Rules if view == View::Among(Surroundings::Followed) => {
            let lasts = places(Constraints).filter(|(_, rule)| rule.state != State::Open);
            lasts.map(|(place, _)| place).collect()
        }
        Block::Rules => all(Constraints),
        Block::Earlier => orphans(summary, present.answer),
        Block::Story => story(summary, aim, present.answer),
        Block::Reasons => {
            // What a newest request agreed to stands here if it has no room beside the request.
            let is_told =
                |place: Place, item: &Item| present.holds(place.0, item) && !summary.is_of_aim(item);
            let told = places(Decisions).chain(places(Causes));
            let mut told: Vec<_> = told.filter(|(place, item)| !is_told(*place, item)).collect();
            told.sort_by_key(|(_, item)| Reverse(item.seqs.first().copied()));
            told.into_iter().map(|(place, _)| place).collect()
        }
        Block::Written => all(FilesWritten),
        Block::Failures => {
            let mut failures: Vec<_> = places(Errors).collect();
            failures.sort_by_key(|(_, item)| item.state == State::Done);
            failures.into_iter().map(|(place, _)| place).collect()
        }
        Block::Tools => {
            let is_told = |text: &str| !line::is_file_work(text) && !line::is_look(text);
            let mut tools: Vec<_> = places(Actions).filter(|(_, item)| is_told(&item.text)).collect();
            tools.sort_by_key(|(_, item)| !line::tells_an_end(&item.text));
            // Long command lines may differ only in what is cut off.
            let mut seen = BTreeSet::new();
            tools.retain(|(_, item)| seen.insert(line::short_action(&item.text)));
            tools.into_iter().map(|(place, _)| place).collect()
        }
        Block::Read => {
            let written =
                |item: &Item| summary.items(FilesWritten).iter().any(|other| other.text == item.text);
            places(FilesRead).filter(|(_, item)| !written(item)).map(|(place, _)| place).collect()
        }
        Block::Anchors => all(Anchors),
        Block::Remarks => all(Remarks),
        Block::Sightings => all(Sightings),
        // Most telling first, as they are stored.
        Block::Excerpts => places(Excerpts).map(|(place, _)| place).rev().collect(),
    }
}

/// The newest requests, newest first, each with what was agreed to or chosen by it: `b` says nothing alone.
fn aimed(summary: &Summary, aim: usize) -> Vec<Place> {
    let decisions = summary.items(SectionKind::Decisions).iter().enumerate();
    let made: Vec<(usize, &Item)> = decisions.filter(|(_, item)| summary.is_of_aim(item)).collect();
    let asks = summary.items(SectionKind::Goal).iter().enumerate().skip(aim);
    let mut asks: Vec<(usize, &Item)> = asks.filter(|(_, ask)| ask.text != EARLIER).collect();
    asks.reverse();
    let mut places = Vec::new();
    for (at, ask) in asks {
        places.push((SectionKind::Goal, at));
        let is_by = |item: &Item| item.seqs.last().is_some_and(|seq| ask.seqs.contains(seq));
        let by = made.iter().rev().filter(|(_, item)| is_by(item));
        places.extend(by.map(|(at, _)| (SectionKind::Decisions, *at)));
    }
    places
}

/// Outcomes of a request before the span, newest first, without those of the newest answer.
fn orphans(summary: &Summary, newest: Option<Seq>) -> Vec<Place> {
    let told = summary.items(SectionKind::Outcomes).iter().enumerate().rev();
    let told = told.filter(|(_, item)| item.seqs.first().copied() != newest);
    let orphans = told.filter(|(_, item)| request_of(summary, item).is_none());
    orphans.map(|(at, _)| (SectionKind::Outcomes, at)).collect()
}

/// Requests and outcomes before the newest, newest first: each request with the first thing that came of it, and behind all
/// requests what else came of them. The very first request comes second, since it states the whole purpose; requests of
/// which nothing came, and requests with little content, come last.
fn story(summary: &Summary, aim: usize, newest: Option<Seq>) -> Vec<Place> {
    let told = summary.items(SectionKind::Outcomes).iter().enumerate();
    let told = told.filter(|(_, item)| item.seqs.first().copied() != newest);
    let came = |(at, item)| Some((request_of(summary, item)?, (SectionKind::Outcomes, at)));
    let mut came: Vec<(usize, Place)> = told.filter_map(came).collect();
    let asks = summary.items(SectionKind::Goal).iter().enumerate().take(aim);
    let mut asks: Vec<(usize, &Item)> = asks.filter(|(_, ask)| ask.text != EARLIER).collect();
    asks.reverse();
    let had_effect = effective(summary);
    asks.sort_by_key(|(at, ask)| (is_short(ask), !had_effect.contains(at)));
    if let Some(at) = asks.iter().position(|(index, _)| *index == 0).filter(|at| *at > 1) {
        let first = asks.remove(at);
        asks.insert(1, first);
    }
    let mut places = Vec::new();
    for (index, _) in asks {
        places.push((SectionKind::Goal, index));
        if let Some(first) = came.iter().position(|(of, _)| *of == index) {
            places.push(came.remove(first).1);
        }
    }
    places.extend(came.into_iter().rev().map(|(_, place)| place));
    places
}

/// Indices of the requests behind which files were written, or something was decided.
fn effective(summary: &Summary) -> BTreeSet<usize> {
    let kinds = [SectionKind::FilesWritten, SectionKind::Decisions];
    let effects = kinds.into_iter().flat_map(|kind| summary.items(kind));
    effects.flat_map(|effect| &effect.seqs).filter_map(|seq| request_before(summary, *seq)).collect()
}

/// Index of the request that an outcome belongs to.
pub(super) fn request_of(summary: &Summary, outcome: &Item) -> Option<usize> {
    request_before(summary, *outcome.seqs.first()?)
}

/// Index of the request made last before an entry. A repeated request was made several times.
fn request_before(summary: &Summary, came: Seq) -> Option<usize> {
    let made = |ask: &Item| ask.seqs.iter().filter(|seq| **seq <= came).max().copied();
    let asks = summary.items(SectionKind::Goal).iter().enumerate().filter(|(_, ask)| ask.text != EARLIER);
    asks.filter_map(|(at, ask)| Some((made(ask)?, at))).max().map(|(_, at)| at)
}
