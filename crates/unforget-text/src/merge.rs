//! Merges summaries of neighbouring spans.

use std::borrow::Borrow;
use std::collections::BTreeSet;

use unforget_core::id::Seq;

use crate::aim::is_short;
use crate::discourse::{is_again, option, overturns, refers};
use crate::present::Present;
use crate::sections::{CORRECTED, EARLIER, Item, REMOVED, Section, SectionKind, Span, State, Summary};
use crate::summary::chosen;

/// Number of newest outcomes and decisions that a merge keeps whole; of each older answer only the first statement is
/// kept.
const WHOLE_MAX: usize = 40;

impl Summary {
    /// Merges summaries of neighbouring spans, oldest first, into one.
    ///
    /// Equal items become one, with the sources of all and the newest state; requests of a word or two only if they follow each
    /// other. An open ask that is later marked done or
    /// cancelled keeps the later mark and is no longer among the open asks. Statements of a span's last answer that the
    /// next span's first message corrects are left out. Of old answers only the first statement is kept. Each kind
    /// keeps its newest items, up to a fixed number.
    ///
    /// Cost: O(n log n) in items.
    pub fn merge<S: Borrow<Self>>(parts: &[S]) -> Self {
        let parts: Vec<&Self> = parts.iter().map(Borrow::borrow).collect();
        let mut merged = Self { title: title_of(&parts), span: span_of(&parts), sections: Vec::new() };
        let (asks, open) = settle(&parts);
        let told = told(&parts);
        for kind in SectionKind::ALL {
            let all = || parts.iter().flat_map(|part| part.items(kind)).cloned().collect();
            // `yes` to one question is not `yes` to another.
            let is_one = |item: &Item| kind != SectionKind::Goal || !is_short(item);
            let mut kept = newest(
                is_one,
                match kind {
                    SectionKind::Goal => asks.clone(),
                    SectionKind::OpenAsks => open.clone(),
                    SectionKind::HostSummary => crate::host::newest(all()),
                    SectionKind::Excerpts => Vec::new(),
                    SectionKind::Constraints => in_force(all(), &asks),
                    SectionKind::RepliedTo => replied_to(&parts, &merged),
                    SectionKind::Specs => document(&parts).cloned().into_iter().collect(),
                    SectionKind::Outcomes
                    | SectionKind::Decisions
                    | SectionKind::Causes
                    | SectionKind::Remarks => {
                        told.iter().filter(|(of, _)| *of == kind).map(|(_, item)| item.clone()).collect()
                    }
                    _ => all(),
                },
            );
            if matches!(kind, SectionKind::Outcomes | SectionKind::Decisions | SectionKind::Causes) {
                thin(&mut kept);
            }
            let first =
                (kind == SectionKind::Goal && kept.len() > 1).then(|| kept.first().cloned()).flatten();
            let excess = kept.len().saturating_sub(kind.items_max());
            kept.drain(..excess);
            if let Some(first) = first.filter(|_| excess > 0) {
                kept.insert(0, first);
            }
            if kind == SectionKind::FilesWritten {
                last_deeds(&mut kept);
            }
            if kind == SectionKind::Excerpts {
                kept = excerpts(&parts, kind.items_max());
            }
            if !kept.is_empty() {
                merged.sections.push(Section { kind, items: kept });
            }
        }
        merged
    }

    /// Whether its entries go on with a turn that began before them: no request comes before the first call.
    pub fn begins_inside_a_turn(&self) -> bool {
        self.opening_request().is_none()
    }

    /// The request that the span begins with, and its entry.
    fn opening_request(&self) -> Option<(Seq, &Item)> {
        let ask = self.items(SectionKind::Goal).first().filter(|ask| ask.text != EARLIER)?;
        let asked = ask.seqs.first()?;
        let acted = self.items(SectionKind::Actions).first().and_then(|action| action.seqs.first());
        acted.is_none_or(|acted| acted > asked).then_some((*asked, ask))
    }

    /// What a person at the start of the span corrects of an answer before it.
    fn correction(&self) -> Option<&Item> {
        let open = |item: &&Item| item.state == State::Open && item.text.starts_with(CORRECTED);
        self.items(SectionKind::Decisions).iter().find(open)
    }
}

/// Pieces of neighbouring spans, most telling first: the first of each span, then the second of each. Those of an
/// answer that the next span corrects are left out.
fn excerpts(parts: &[&Summary], most: usize) -> Vec<Item> {
    let kept = |(part, next): (&&Summary, Option<&&Summary>)| {
        let is_corrected = next.is_some_and(|next| next.correction().is_some());
        let answer = part.newest_answer().filter(|_| is_corrected);
        let of = |item: &&Item| answer.is_none() || item.seqs.first().copied() != answer;
        part.items(SectionKind::Excerpts).iter().filter(of).cloned().collect::<Vec<_>>()
    };
    let nexts = parts.iter().skip(1).map(Some).chain([None]);
    let parts: Vec<Vec<Item>> = parts.iter().zip(nexts).map(kept).collect();
    let longest = parts.iter().map(Vec::len).max().unwrap_or_default();
    let mut seen = BTreeSet::new();
    let in_turn = (0..longest).flat_map(|at| parts.iter().filter_map(move |part| part.get(at)));
    in_turn.filter(|item| seen.insert(item.text.as_str())).take(most).cloned().collect()
}

/// Kinds of the model's statements.
const TOLD: [SectionKind; 4] =
    [SectionKind::Outcomes, SectionKind::Decisions, SectionKind::Causes, SectionKind::Remarks];

/// The model's statements in neighbouring spans, without those that a later span's first message corrects.
fn told(parts: &[&Summary]) -> Vec<(SectionKind, Item)> {
    let mut told: Vec<(SectionKind, Item)> = Vec::new();
    let mut offered: &[Item] = &[];
    for part in parts {
        told.extend(choice(offered, part).map(|chosen| (SectionKind::Decisions, chosen)));
        offered = part.items(SectionKind::RepliedTo);
        if let Some(correction) = part.correction().filter(|_| !told.is_empty()) {
            overturn(&mut told, &correction.text);
        }
        // A correction at the very beginning stays open: spans before the first may be merged later.
        let settled = !told.is_empty();
        for kind in TOLD {
            told.extend(part.items(kind).iter().map(|item| {
                let mut item = item.clone();
                if settled && item.text.starts_with(CORRECTED) {
                    item.state = State::Fact;
                }
                (kind, item)
            }));
        }
    }
    told
}

/// Drops the statements of the newest answer that a correction overturns.
fn overturn(told: &mut Vec<(SectionKind, Item)>, correction: &str) {
    let of = |item: &Item| item.seqs.first().copied().filter(|_| !item.text.starts_with(CORRECTED));
    let Some(answer) = told.iter().filter_map(|(_, item)| of(item)).max() else { return };
    let texts: Vec<&str> = told
        .iter()
        .filter(|(_, item)| of(item) == Some(answer))
        .map(|(_, item)| item.text.as_str())
        .collect();
    let mut gone = overturns(correction.trim_start_matches(CORRECTED), &texts).into_iter();
    told.retain(|(_, item)| of(item) != Some(answer) || !gone.next().unwrap_or_default());
}

/// Keeps the first statement of each answer older than the newest ones.
fn thin(items: &mut Vec<Item>) {
    let old = items.len().saturating_sub(WHOLE_MAX);
    let mut at = 0;
    let mut before: Option<Seq> = None;
    items.retain(|item| {
        let answer = item.seqs.first().copied();
        let keep = at >= old || answer.is_none() || answer != before || item.text.starts_with(CORRECTED);
        (at, before) = (at + 1, answer);
        keep
    });
}

/// Keeps of each file the newest: that it was written, or that it was removed.
fn last_deeds(files: &mut Vec<Item>) {
    let mut seen = BTreeSet::new();
    let mut is_newest: Vec<bool> = files
        .iter()
        .rev()
        .map(|file| seen.insert(file.text.strip_suffix(REMOVED).unwrap_or(&file.text)))
        .collect();
    files.retain(|_| is_newest.pop().unwrap_or_default());
}

/// The state of the work at the end of neighbouring spans, oldest first: the newest request, what it replies to and what it
/// agreed to, the newest answer's statements, causes, files and the newest document since, open asks, and all rules. All else
/// is left out.
///
/// Render it with [`crate::render_state`]. Cost: O(n log n) in items.
pub fn state_of<S: Borrow<Summary>>(parts: &[S]) -> Summary {
    let merged = Summary::merge(parts);
    let (present, aim) = (Present::of(&merged), merged.aim());
    let is_kept = |kind: SectionKind, at: usize, item: &Item| match kind {
        SectionKind::Goal => at >= aim,
        SectionKind::Decisions if merged.is_of_aim(item) => true,
        SectionKind::FilesWritten => item.seqs.last().is_some_and(|seq| present.is_behind(*seq)),
        SectionKind::RepliedTo => merged.is_open_reply(item),
        SectionKind::Specs => item.seqs.first().is_some_and(|seq| present.is_behind(*seq)),
        SectionKind::Constraints | SectionKind::OpenAsks => true,
        _ => present.holds(kind, item),
    };
    let kept = merged.sections.iter().map(|Section { kind, items }| {
        let items = items.iter().enumerate().filter(|(at, item)| is_kept(*kind, *at, item));
        Section { kind: *kind, items: items.map(|(_, item)| item.clone()).collect() }
    });
    let sections = kept.filter(|section| !section.items.is_empty()).collect();
    Summary { title: merged.title.clone(), span: merged.span, sections }
}

/// All that still holds of a state of the work once a person has asked for something else: the rules in force at the end of
/// neighbouring spans, oldest first, and the model's last text if that request replies to it.
///
/// * `asked` - the words of the request, if it is the first entry behind the spans.
///
/// Cost: O(n log n) in items.
pub fn state_before<S: Borrow<Summary>>(parts: &[S], asked: Option<&str>) -> Summary {
    let Summary { title, span, mut sections } = Summary::merge(parts);
    for section in &mut sections {
        section.items.retain(|item| match section.kind {
            SectionKind::Constraints => true,
            SectionKind::RepliedTo => {
                item.seqs.len() == 1 && asked.is_some_and(|asked| refers(asked, &item.text))
            }
            _ => false,
        });
    }
    sections.retain(|section| !section.items.is_empty());
    Summary { title, span, sections }
}

/// Walks through the requests of neighbouring spans, oldest first. A mark for [`EARLIER`] settles the request before
/// it; a newer request leaves an open one without a known end. Returns all requests, and those open at the end together
/// with the last span's open questions.
fn settle(parts: &[&Summary]) -> (Vec<Item>, Vec<Item>) {
    let is_left = |ask: &Item| !matches!(ask.state, State::Done | State::Cancelled);
    let mut asks: Vec<Item> = Vec::new();
    for ask in parts.iter().flat_map(|part| part.items(SectionKind::Goal)) {
        match asks.last_mut() {
            Some(last) if ask.text == EARLIER => {
                if last.state == State::Open || last.text == EARLIER {
                    last.absorb(ask);
                }
            }
            Some(last) if last.text == ask.text && last.author == ask.author => last.absorb(ask),
            Some(last) if is_left(last) && last.author == ask.author && is_again(&last.text, &ask.text) => {
                let before = std::mem::replace(last, ask.clone());
                last.seqs.splice(0..0, before.seqs);
            }
            last => {
                if let Some(last) = last.filter(|last| last.state == State::Open) {
                    last.state = State::Fact;
                }
                asks.push(ask.clone());
            }
        }
    }
    let open = asks.last().filter(|ask| ask.state == State::Open && ask.text != EARLIER).cloned();
    let said = parts.last().map(|part| part.items(SectionKind::OpenAsks)).unwrap_or_default();
    let questions = said.iter().filter(|item| !asks.iter().any(|ask| ask.text == item.text)).cloned();
    let open = open.into_iter().chain(questions).collect();
    (asks, open)
}

/// The rules that are in force at the end: a wish that belongs to a request ends with its answer.
fn in_force(rules: Vec<Item>, asks: &[Item]) -> Vec<Item> {
    let is_settled = |rule: &Item| {
        let said = rule.seqs.first();
        let at = asks.iter().position(|ask| said.is_some_and(|said| ask.seqs.contains(said)));
        let is_done = |ask: &Item| matches!(ask.state, State::Done | State::Cancelled);
        at.is_none_or(|at| asks.iter().skip(at).any(is_done))
    };
    rules.into_iter().filter(|rule| rule.state != State::Open || !is_settled(rule)).collect()
}

/// The texts that the newest requests of `merged` reply to, and the newest answer of all, to which a later request may reply.
fn replied_to(parts: &[&Summary], merged: &Summary) -> Vec<Item> {
    let mut texts: Vec<Item> = Vec::new();
    for part in parts {
        let is_whole = |text: &Item| text.seqs.len() == 1;
        if let Some(mut text) = texts.pop_if(|text| is_whole(text)) {
            match part.opening_request() {
                Some((asked, ask)) if refers(&ask.text, &text.text) => {
                    text.seqs.push(asked);
                    texts.push(text);
                }
                None if part.is_blank() => texts.push(text),
                _ => {}
            }
        }
        texts.extend(part.items(SectionKind::RepliedTo).iter().cloned());
    }
    let last = texts.len().saturating_sub(1);
    let is_last = |at: usize, text: &Item| at == last && text.seqs.len() == 1;
    let numbered = texts.into_iter().enumerate();
    let kept = numbered.filter(|(at, text)| is_last(*at, text) || merged.is_reply_of_aim(text));
    kept.map(|(_, text)| text).collect()
}

/// The document that the newest requests may follow: the first one behind a request, or one that a later request brought.
fn document<'a>(parts: &[&'a Summary]) -> Option<&'a Item> {
    let mut kept: Option<&Item> = None;
    let mut asked: Option<Seq> = None;
    for part in parts {
        let before = asked;
        let asks = part.items(SectionKind::Goal).iter().filter(|ask| ask.text != EARLIER);
        asked = asks.filter_map(|ask| ask.seqs.last()).max().copied().or(asked);
        let Some(found) = part.items(SectionKind::Specs).last() else { continue };
        // A part that begins inside a turn does not know that its request has a document.
        let is_answered = kept.is_some_and(|kept| kept.seqs.first().copied() > before) && asked == before;
        if !is_answered {
            kept = Some(found);
        }
    }
    kept
}

/// What a person chose at the beginning of a span with a word or two, of the answer at the end of the span before.
///
/// * `before` - the texts of the span before to which a request may reply.
fn choice(before: &[Item], part: &Summary) -> Option<Item> {
    let text = before.last().filter(|text| text.seqs.len() == 1)?;
    let (asked, ask) = part.opening_request()?;
    Some(chosen(&option(&text.text, &ask.text)?, *text.seqs.first()?, asked))
}

/// Merges equal items of which `is_one` holds, in order of their newest mention.
fn newest(is_one: impl Fn(&Item) -> bool, items: Vec<Item>) -> Vec<Item> {
    let mut order: Vec<(usize, Item)> = items.into_iter().enumerate().collect();
    order.sort_by(|(at, a), (bt, b)| (&a.text, &a.author, at).cmp(&(&b.text, &b.author, bt)));
    let mut kept: Vec<(usize, Item)> = Vec::with_capacity(order.len());
    for (at, item) in order {
        match kept.last_mut() {
            Some((newest, last)) if is_one(&item) && last.text == item.text && last.author == item.author => {
                last.absorb(&item);
                *newest = at;
            }
            _ => kept.push((at, item)),
        }
    }
    kept.sort_by_key(|(at, _)| *at);
    kept.into_iter().map(|(_, item)| item).collect()
}

/// The first and the last title, if they differ.
fn title_of(parts: &[&Summary]) -> String {
    let has_own = parts.iter().any(|part| part.has_own_title());
    let own = parts.iter().filter(|part| !has_own || part.has_own_title());
    let mut titles = own.map(|part| part.title.as_str()).filter(|title| !title.is_empty());
    let Some(first) = titles.next() else { return String::new() };
    let half = |title| crate::clip::clip(title, 70).into_owned();
    // A merged title holds two titles; merging again keeps the outer ones.
    let start = first.split(" … ").next().unwrap_or(first);
    match titles.next_back().map(|last| last.rsplit(" … ").next().unwrap_or(last)) {
        Some(last) if last != start => format!("{} … {}", half(start), half(last)),
        _ => first.to_owned(),
    }
}

fn span_of(parts: &[&Summary]) -> Option<Span> {
    let spans = || parts.iter().filter_map(|part| part.span);
    Some(Span {
        first: spans().map(|span| span.first).min()?,
        last: spans().map(|span| span.last).max()?,
        from: spans().filter_map(|span| span.from).min(),
        to: spans().filter_map(|span| span.to).max(),
    })
}
