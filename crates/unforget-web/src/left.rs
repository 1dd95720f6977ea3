//! What a break took out of the prompt: decisions, rules, commands, numbers, paths; each with whether it can still be reached, and how.

use std::collections::BTreeSet;

use maud::{Markup, html};
use unforget_core::entry::{Entry, Part as EntryPart};
use unforget_core::id::Seq;
use unforget_core::ledger::Fact;
use unforget_engine::prompt::{How, Part};
use unforget_engine::recall::{PageStart, SearchQuery};
use unforget_text::numbers::{count, one_line, plural};
use unforget_text::{AnchorKind, QuoteKind, anchors, facts, proposals, quotes};

use crate::context::{CallPoint, Series, SeriesRead, ShownCall};
use crate::decide;
use crate::frame::{Frame, Here, Kept, empty, frame};
use crate::reply::{Reply, Trouble, Viewed};
use crate::standing::standing;
use crate::turns::entry_link;
use crate::visit::{Found, Visit};
use crate::words::{shown, time};

/// Entries that are looked through.
const ENTRIES: usize = 1_500;

/// Things of a kind that are shown.
const SHOWN: usize = 40;

/// Things of a kind that are looked for with a search; each takes a search over all of the conversation.
const SEARCHED: usize = 3;

/// Most characters of a thing.
const CHARS: usize = 240;

/// Kinds of things, in the order in which they are shown.
pub const KINDS: [(&str, &str); 5] = [
    ("Rules", "what people asked to hold"),
    ("Decisions", "what was chosen, and why"),
    ("Commands", "what was run or done with tools"),
    ("Numbers", "quantities, versions, names"),
    ("Paths", "files and addresses"),
];

/// A thing that left the prompt.
struct Thing {
    text: String,
    seq: Seq,
    /// Whether the entry says it in these words.
    is_said: bool,
    /// Whether its words stand in the later prompt.
    stands: bool,
}

/// Where a thing can still be found.
enum Reach {
    /// Its words still stand in the prompt.
    Prompt,
    /// A search with its words finds it at this rank, from 1.
    Search(usize),
    /// By its entry.
    Entry,
}

/// Shows the view.
pub(crate) fn show(visit: &Visit) -> Viewed {
    let found = visit.conversation()?;
    let series = match Series::read(visit, &found)? {
        SeriesRead::Done(series) => series,
        SeriesRead::Working(page) => return Ok(page.into_reply(visit, &found, Here::Left)),
    };
    let at = match visit.query.get("at") {
        Some(_) => Some(series.at(visit)?),
        None => series.points.iter().rposition(CallPoint::is_break),
    };
    let body = html! {
        h1 class="quiet" { "What left" }
        (decide::form(visit))
        (decide::standing(visit, &found)?)
        @match at.filter(|at| *at > 0) {
            None => (empty("Nothing left the prompt: it never broke.", &html! { "Everything is still there, word for word. " a href={ (found.address()) "/left?window=32k" } { "See it in a smaller window" } })),
            Some(at) => (one(visit, &found, &series, at)?),
        }
    };
    let title = format!("What left {}", found.one.title());
    Ok(Reply::page(frame(visit, &Frame { title: &title, here: Here::Left, of: Some(&found) }, &body)))
}

fn one(visit: &Visit, found: &Found, series: &Series, at: usize) -> Result<Markup, Trouble> {
    let (Some(before), Some(point)) = (series.points.get(at - 1), series.points.get(at)) else {
        return Err(Trouble::new(404, "there is no such call", "choose one in the context view"));
    };
    let (was, is) = (
        series.call(&visit.engine, found.of.conversation, before)?,
        series.call(&visit.engine, found.of.conversation, point)?,
    );
    let (Some(was), Some(is)) = (was, is) else {
        return Ok(empty(
            "One of the two prompts does not fit its window.",
            &html! { "Take a larger one in the context view." },
        ));
    };
    let spans = left(&was.parts, &is.parts);
    let merged = merged(visit, found, series, &was.parts, &is)?;
    let entries: u64 = spans.iter().map(|(first, last)| last.0 - first.0 + 1).sum();
    let mut things = things(visit, found, &spans)?;
    let stand = standing(&is.words, things.iter().flatten().map(|thing| thing.text.as_str()));
    things.iter_mut().flatten().zip(stand).for_each(|(thing, stands)| thing.stands = stands);
    let (base, key) = (found.address(), &found.resolved.conversation.key.0);
    Ok(html! {
        (choose(visit, found, series, at))
        p {
            "Between call " a href={ (base) "/context" (Kept::with(visit, &[("at", Some(&before.label))])) "#call" } { (before.label) } " and call " a href={ (base) "/context" (Kept::with(visit, &[("at", Some(&point.label))])) "#call" } { (point.label) }
            @if entries > 0 || merged.is_empty() { ", " (plural(entries, "entry")) " stopped standing word for word" } @else { ", summaries of older entries were merged" }
            @if let Some(broken) = point.broken { ": " (broken.cause.words()) }
            ". " (count(was.certificate.total.expected)) " tokens became " (count(is.certificate.total.expected)) ". "
            a href={ (base) "/diff" (Kept::with(visit, &[("from", Some(&before.label)), ("to", Some(&point.label))])) } { "Diff of the two" }
        }
        @if let Some(span) = whole(&spans) {
            @if visit.may_decide { p { "Everything that left here: s:" (span.0) " to s:" (span.1) " " (decide::put_back(visit, key, span.0, span.1)) } }
        }
        @if spans.is_empty() && merged.is_empty() { (empty("No entry changed its form.", &html! { "Something else moved: the diff shows it." })) }
        (gone_lines(found, &merged))
        @for ((name, about), of) in KINDS.iter().zip(&things) { (kind(visit, found, Heading { name, about }, of)?) }
    })
}

/// Breaks to choose from.
fn choose(visit: &Visit, found: &Found, series: &Series, at: usize) -> Markup {
    let breaks: Vec<_> = series.points.iter().enumerate().filter(|(_, point)| point.is_break()).collect();
    html! {
        nav class="tabs small" aria-label="Breaks" {
            @for (index, point) in breaks.iter().rev().take(24) {
                a href={ (found.address()) "/left" (Kept::with(visit, &[("at", Some(&point.label))])) } aria-current=[(*index == at).then_some("page")] { "call " (point.label) " " span class="dim" { (time(visit, point.time)) } }
            }
        }
    }
}

/// Entries that stood word for word in the earlier prompt and do not in the later one, or were shortened and are gone.
///
/// Cost: O(parts log parts).
pub fn left(was: &[Part], is: &[Part]) -> Vec<(Seq, Seq)> {
    let whole = HeldSpans::of(is, |how| *how == How::Whole);
    let any = HeldSpans::of(is, |how| matches!(how, How::Whole | How::Stub));
    let left = was.iter().filter(|part| match part.how {
        How::Whole => !whole.has(part.span.0),
        How::Stub => !any.has(part.span.0),
        How::Summary { .. } | How::Coarse | How::LeftOut => false,
    });
    left.map(|part| part.span).collect()
}

/// Spans in order, each with the last entry of it and all before.
struct HeldSpans(Vec<(Seq, Seq)>);

impl HeldSpans {
    fn of(parts: &[Part], wanted: fn(&How) -> bool) -> Self {
        let mut spans: Vec<_> = parts.iter().filter(|part| wanted(&part.how)).map(|part| part.span).collect();
        spans.sort_unstable();
        let mut last = Seq(0);
        for span in &mut spans {
            last = last.max(span.1);
            span.1 = last;
        }
        Self(spans)
    }

    fn has(&self, seq: Seq) -> bool {
        let behind = self.0.partition_point(|span| span.0 <= seq);
        let before = behind.checked_sub(1).and_then(|at| self.0.get(at));
        before.is_some_and(|span| span.1 >= seq)
    }
}

/// Spans of which neighbours are one, so that they are read at once.
///
/// * `spans` - in order.
pub fn joined(spans: &[(Seq, Seq)]) -> Vec<(Seq, Seq)> {
    let mut all: Vec<(Seq, Seq)> = Vec::new();
    for (first, last) in spans {
        match all.last_mut() {
            Some(before) if before.1.0 + 1 == first.0 => before.1 = *last,
            _ => all.push((*first, *last)),
        }
    }
    all
}

/// A line of a summary that is no longer shown.
struct GoneLine {
    text: String,
    /// First entry that the summary stood for.
    first: Seq,
}

/// Lines of the earlier prompt's summaries that do not stand in the later prompt.
fn merged(
    visit: &Visit,
    found: &Found,
    series: &Series,
    was: &[Part],
    is: &ShownCall,
) -> Result<Vec<GoneLine>, Trouble> {
    let engine = series.engine(&visit.engine);
    let names: BTreeSet<&str> = is.parts.iter().filter_map(|part| part.how.summary()).collect();
    let mut lines = Vec::new();
    for part in was {
        let Some(name) = part.how.summary().filter(|name| !names.contains(name)) else { continue };
        let words = engine.summary_words(Some(found.of.conversation), name)?;
        let points = words.lines().filter_map(|line| line.strip_prefix("- ")).map(str::trim);
        let gone = points.filter(|point| !is.words.contains(point));
        lines.extend(gone.map(|point| GoneLine { text: one_line(point, CHARS), first: part.span.0 }));
    }
    Ok(lines)
}

fn gone_lines(found: &Found, lines: &[GoneLine]) -> Markup {
    if lines.is_empty() {
        return html! {};
    }
    let base = found.address();
    html! {
        section class="left" {
            h2 { "Lines of summaries " span class="dim" { "what the merged summary no longer says" } }
            table class="list" {
                thead { tr { th scope="col" { "What" } th scope="col" class="num" { "From" } } }
                tbody {
                    @for line in lines.iter().take(SHOWN) {
                        tr data-row { td dir="auto" { (shown(&line.text)) } td class="num" { (entry_link(&base, line.first)) } }
                    }
                }
            }
            @if lines.len() > SHOWN { p class="dim" { (count((lines.len() - SHOWN) as u64)) " more" } }
        }
    }
}

fn things(visit: &Visit, found: &Found, spans: &[(Seq, Seq)]) -> Result<[Vec<Thing>; 5], Trouble> {
    let mut all: [Vec<Thing>; 5] = Default::default();
    let mut known: BTreeSet<String> = BTreeSet::new();
    let mut looked = 0;
    for (first, last) in joined(spans) {
        let most =
            usize::try_from(last.0 - first.0 + 1).unwrap_or(ENTRIES).min(ENTRIES.saturating_sub(looked));
        if most == 0 {
            break;
        }
        let page = visit.engine.read_page(found.of, PageStart::From(first), most)?;
        for one in page.entries.iter().filter(|one| one.seq <= last) {
            looked += 1;
            let words = words_of(&one.entry);
            for (kind, text) in of_entry(&one.entry) {
                if let Some(list) = all.get_mut(kind)
                    && known.insert(text.clone())
                {
                    let is_said = words.contains(&text);
                    list.push(Thing { text, seq: one.seq, is_said, stands: false });
                }
            }
        }
    }
    Ok(all)
}

/// What an entry tells, with the index of its kind in [`KINDS`].
pub fn of_entry(entry: &Entry) -> Vec<(usize, String)> {
    let line = |text: &str| one_line(text, CHARS);
    let mut found: Vec<(usize, String)> =
        proposals(entry).iter().map(|proposal| (0, line(proposal.text))).collect();
    for quote in quotes(entry) {
        if quote.kind == QuoteKind::Decided {
            found.push((1, line(&quote.text)));
        }
    }
    for fact in facts(entry) {
        if let Fact::Called(called) = fact {
            found.push((2, line(&called.what)));
        }
    }
    let texts = entry.parts.iter().filter_map(|part| match part {
        EntryPart::Text(text) => Some(text.as_str()),
        _ => None,
    });
    for text in texts {
        for anchor in anchors(text) {
            let kind = match anchor.kind {
                AnchorKind::Path | AnchorKind::Url => 4,
                AnchorKind::Quantity | AnchorKind::Version | AnchorKind::Id => 3,
                AnchorKind::Hash => continue,
            };
            found.push((kind, line(anchor.text)));
        }
    }
    found
}

/// Heading of a kind of things that left.
#[derive(Clone, Copy)]
struct Heading {
    name: &'static str,
    about: &'static str,
}

fn kind(visit: &Visit, found: &Found, heading: Heading, things: &[Thing]) -> Result<Markup, Trouble> {
    if things.is_empty() {
        return Ok(html! {});
    }
    let mut rows = Vec::new();
    let (mut kept, mut searches) = (0, 0);
    for thing in things {
        kept += u64::from(thing.stands);
        if rows.len() >= SHOWN {
            continue;
        }
        let reach = if thing.stands {
            Reach::Prompt
        } else if searches < SEARCHED {
            searches += 1;
            searched(visit, found, thing)?
        } else {
            Reach::Entry
        };
        rows.push((thing, reach));
    }
    let (base, key) = (found.address(), &found.resolved.conversation.key.0);
    Ok(html! {
        section class="left" {
            h2 { (heading.name) " " span class="dim" { (heading.about) } }
            p class="dim" { (count(kept)) " of " (count(things.len() as u64)) " still stand in the prompt in these words; all can be read back by their entry" }
            table class="list" {
                thead { tr { th scope="col" { "What" } th scope="col" { "Reachable" } th scope="col" class="num" { "Entry" } @if visit.may_decide { th scope="col" { "Decide" } } } }
                tbody {
                    @for (thing, reach) in &rows {
                        tr data-row {
                            td dir="auto" { (shown(&thing.text)) }
                            td { (reached(reach, thing)) }
                            td class="num" { (entry_link(&base, thing.seq)) }
                            @if visit.may_decide {
                                td class="acts" { (decide::put_back(visit, key, thing.seq, thing.seq)) " " (decide::reject(visit, key, &format!("s:{}", thing.seq), line_of(thing))) }
                            }
                        }
                    }
                }
            }
            @if things.len() > SHOWN { p class="dim" { (count((things.len() - SHOWN) as u64)) " more" } }
        }
    })
}

/// The words by which a thing is rejected; `None` means the entry, if it does not say them so.
fn line_of(thing: &Thing) -> Option<&str> {
    thing.is_said.then_some(thing.text.as_str())
}

/// What an entry says, with single blanks for all white space.
fn words_of(entry: &Entry) -> String {
    let texts = entry.parts.iter().filter_map(|part| match part {
        EntryPart::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

/// The smallest span that has all of these.
fn whole(spans: &[(Seq, Seq)]) -> Option<(Seq, Seq)> {
    let first = spans.iter().map(|span| span.0).min()?;
    Some((first, spans.iter().map(|span| span.1).max()?))
}

fn reached(reach: &Reach, thing: &Thing) -> Markup {
    match reach {
        Reach::Prompt => html! { span class="state done" { "in the prompt" } " its words still stand there" },
        Reach::Search(rank) => {
            html! { span class="state" { "by search" } " result " (rank) ", or " code { "expand s:" (thing.seq) } }
        }
        Reach::Entry => html! { span class="state" { "by entry" } " " code { "expand s:" (thing.seq) } },
    }
}

/// Whether a search with the words of a thing finds its entry.
fn searched(visit: &Visit, found: &Found, thing: &Thing) -> Result<Reach, Trouble> {
    let query = SearchQuery {
        text: thing.text.clone(),
        conversation: Some(found.of.conversation),
        limit: Some(5),
        now: Some(visit.clock.now()),
        ..SearchQuery::default()
    };
    let answer = visit.engine.search(&query)?;
    let is_it = |hit: &unforget_engine::recall::Hit| {
        hit.seq == thing.seq || hit.also.iter().any(|copy| copy.seq == thing.seq)
    };
    let rank = answer.results.iter().position(is_it);
    Ok(rank.map_or(Reach::Entry, |rank| Reach::Search(rank + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_left_table() {
        let part = |first, last, how: How| Part { span: (Seq(first), Seq(last)), how, tokens: 1 };
        let summary = || How::Summary { name: "sum:1.0.a".to_owned(), by_model: false };
        let was =
            [part(1, 2, How::Whole), part(3, 3, How::Stub), part(4, 5, How::Whole), part(6, 6, summary())];
        let is = [part(1, 3, summary()), part(4, 5, How::Stub), part(6, 6, summary())];
        assert_eq!(left(&was, &is), [(Seq(1), Seq(2)), (Seq(3), Seq(3)), (Seq(4), Seq(5))]);
        assert_eq!(left(&is, &is), [], "a stub still stands");
        assert_eq!(left(&is, &was), [], "nothing left on the way back");
        let all = [part(1, 9, How::Whole), part(2, 3, How::Whole)];
        assert_eq!(left(&[part(8, 8, How::Whole)], &all), [], "a longer span before a shorter one");
        let spans = [(1, 2), (3, 3), (5, 6)].map(|(first, last)| (Seq(first), Seq(last)));
        assert_eq!(joined(&spans), [(Seq(1), Seq(3)), (Seq(5), Seq(6))]);
    }
}
