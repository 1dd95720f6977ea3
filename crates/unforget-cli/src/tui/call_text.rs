//! A call in full, as lines: its prompt, what changed since the one before, what left.

use std::collections::BTreeSet;

use unforget_core::admit::Sections;
use unforget_core::id::Seq;
use unforget_engine::Engine;
use unforget_engine::prompt::ThreadRef;
use unforget_engine::recall::PageStart;
use unforget_web::figures::{self, CoverCell, ShownCall};

use super::entry_text::cut;
use super::rows::{GaugeShare, LineKind, MapCell, TuiLine, text_lines};
use crate::failure::Outcome;
use crate::text;

/// Entries that are looked through for what left, and things of a kind that are shown.
const ENTRIES: usize = 1_500;
const THINGS: usize = 40;

/// Messages of a side of a diff.
const MESSAGES: usize = 60;

/// A cell of the map.
pub(super) const fn map_cell(cell: CoverCell) -> MapCell {
    match cell {
        CoverCell::Hidden => MapCell::Hidden,
        CoverCell::Summary(_) => MapCell::Summary,
        CoverCell::LeftOut => MapCell::LeftOut,
        CoverCell::Stub => MapCell::Stub,
        CoverCell::Whole => MapCell::Whole,
    }
}

/// Tokens by class.
pub(super) fn shares(sections: &Sections) -> Vec<GaugeShare> {
    let all = [
        ("system+tools", sections.system),
        ("pins", sections.pins),
        ("summaries", sections.summaries),
        ("ledger", sections.ledger),
        ("put back", sections.raised),
        ("carried", sections.carried),
        ("tail", sections.tail),
        ("frame", sections.frame),
    ];
    // Little is put back ever, and lines are few.
    let shown = all.into_iter().filter(|(name, tokens)| *name != "put back" || tokens.expected > 0);
    shown.map(|(name, tokens)| GaugeShare { name, tokens: tokens.expected }).collect()
}

fn span(first: Seq, last: Seq) -> String {
    if first == last { format!("s:{first}") } else { format!("s:{first}-{last}") }
}

/// The request, message by message, and then its bytes.
pub(super) fn prompt_lines(whole: &ShownCall) -> Vec<TuiLine> {
    let mut out = Vec::new();
    if whole.beside > 0 {
        let tokens = text::count(whole.beside);
        let what =
            format!("beside it, {tokens} tokens of the client's instructions and tools, which are not kept");
        out.push(TuiLine::new(LineKind::Dim, what));
        out.push(TuiLine::default());
    }
    for text in &whole.system {
        out.push(TuiLine::new(LineKind::Head, format!("system, {}", text::bytes(text.len() as u64))));
        out.extend(text_lines(LineKind::Plain, text));
        out.push(TuiLine::default());
    }
    for (number, message) in (1..).zip(&whole.messages) {
        let value = serde_json::from_str::<serde_json::Value>(message).unwrap_or_default();
        let role = value.get("role").and_then(serde_json::Value::as_str).unwrap_or("message");
        let bytes = text::bytes(message.len() as u64);
        out.push(TuiLine::new(LineKind::Head, format!("{number} · {role}, {bytes}")));
        for segment in figures::segments(message) {
            let kind = match segment.kind {
                "thinking" | "media" | "other" => LineKind::Dim,
                "call" => LineKind::Tool,
                "result" => LineKind::Code,
                _ => LineKind::Plain,
            };
            out.extend(text_lines(kind, &cut(&segment.text)));
        }
        out.push(TuiLine::default());
    }
    out.push(TuiLine::new(LineKind::Head, format!("the bytes, {}", text::bytes(whole.body.len() as u64))));
    out.extend(text_lines(LineKind::Dim, &whole.body));
    out
}

/// What went and came between two prompts.
pub(super) fn diff_lines(calls: ComparedCalls<'_>) -> Vec<TuiLine> {
    let ComparedCalls { was, is } = calls;
    let same = was.body.bytes().zip(is.body.bytes()).take_while(|(one, other)| one == other).count();
    let share = text::percent(same as f64 / was.body.len().max(1) as f64);
    let (went, came) = figures::sides(&was.messages, &is.messages);
    let mut out = vec![
        TuiLine::new(
            LineKind::Plain,
            format!(
                "common beginning: {} of {} ({share})",
                text::bytes(same as u64),
                text::bytes(was.body.len() as u64)
            ),
        ),
        TuiLine::new(
            LineKind::Plain,
            format!(
                "{} went, {} came",
                text::plural(went.len() as u64, "message"),
                text::plural(came.len() as u64, "message")
            ),
        ),
    ];
    for (sign, kind, side) in [('-', LineKind::Bad, &went), ('+', LineKind::Good, &came)] {
        for message in side.iter().take(MESSAGES) {
            out.push(TuiLine::default());
            for segment in figures::segments(message) {
                out.extend(
                    cut(&segment.text).lines().map(|line| TuiLine::new(kind, format!("{sign}{line}"))),
                );
            }
        }
        if side.len() > MESSAGES {
            out.push(TuiLine::new(LineKind::Dim, format!("{sign} {} more", side.len() - MESSAGES)));
        }
    }
    out
}

/// Lines of the earlier prompt's summaries that do not stand in the later prompt.
fn gone_lines(engine: &Engine, of: ThreadRef, calls: ComparedCalls<'_>) -> Outcome<Vec<String>> {
    let ComparedCalls { was, is } = calls;
    let names: BTreeSet<&str> = is.parts.iter().filter_map(|part| part.how.summary()).collect();
    let mut gone = Vec::new();
    for name in was.parts.iter().filter_map(|part| part.how.summary()).filter(|name| !names.contains(name)) {
        let words = engine.summary_words(Some(of.conversation), name)?;
        let points = words.lines().filter_map(|line| line.strip_prefix("- ")).map(str::trim);
        gone.extend(points.filter(|point| !is.words.contains(point)).map(|point| text::one_line(point, 240)));
    }
    Ok(gone)
}

/// What entries tell.
struct ToldThings {
    /// By kind, each once with its entry.
    of_kinds: Vec<Vec<(String, Seq)>>,
    /// Entries that were not looked through.
    unread: u64,
}

/// What entries tell, as far as they are looked through.
fn things(engine: &Engine, of: ThreadRef, spans: &[(Seq, Seq)]) -> Outcome<ToldThings> {
    let mut all: Vec<Vec<(String, Seq)>> = vec![Vec::new(); figures::KINDS.len()];
    let (mut known, mut looked, mut unread) = (BTreeSet::new(), 0, 0);
    for (first, last) in &figures::joined(spans) {
        let length = usize::try_from(last.0 - first.0 + 1).unwrap_or(ENTRIES);
        let most = length.min(ENTRIES.saturating_sub(looked));
        if most == 0 {
            unread += length as u64;
            continue;
        }
        let page = engine.read_page(of, PageStart::From(*first), most)?;
        let end = page.entries.last().map_or(first.0, |one| one.seq.0);
        if most < length {
            unread += last.0.saturating_sub(end);
        }
        for one in page.entries.iter().filter(|one| one.seq <= *last) {
            looked += 1;
            for (kind, text) in figures::of_entry(&one.entry) {
                if let Some(list) = all.get_mut(kind)
                    && known.insert(text.clone())
                {
                    list.push((text, one.seq));
                }
            }
        }
    }
    Ok(ToldThings { of_kinds: all, unread })
}

/// The names of spans, and how many more there are.
fn span_names(spans: &[(Seq, Seq)]) -> String {
    let mut names: Vec<String> = spans.iter().take(THINGS).map(|(first, last)| span(*first, *last)).collect();
    if spans.len() > THINGS {
        names.push(format!("and {} more", spans.len() - THINGS));
    }
    names.join(" ")
}

/// Says that not every entry was looked through, where that is so.
fn bound_line(unread: u64, entries: u64) -> Option<TuiLine> {
    let (looked, all) = (text::count(entries.saturating_sub(unread)), text::count(entries));
    let what = format!("Only the first {looked} of {all} entries were looked through for the lists below.");
    (unread > 0).then(|| TuiLine::new(LineKind::Warn, what))
}

/// Two prompts of neighbouring calls.
#[derive(Clone, Copy)]
pub(super) struct ComparedCalls<'a> {
    /// The earlier one.
    pub(super) was: &'a ShownCall,
    /// The later one.
    pub(super) is: &'a ShownCall,
}

/// What left the prompt, by kind, and whether its words still stand there.
pub(super) fn left_lines(engine: &Engine, of: ThreadRef, calls: ComparedCalls<'_>) -> Outcome<Vec<TuiLine>> {
    let ComparedCalls { was, is } = calls;
    let spans = figures::left(&was.parts, &is.parts);
    let gone = gone_lines(engine, of, calls)?;
    if spans.is_empty() && gone.is_empty() {
        return Ok(vec![TuiLine::new(LineKind::Good, "No entry left the prompt at this call.")]);
    }
    let entries: u64 = spans.iter().map(|(first, last)| last.0 - first.0 + 1).sum();
    let what = format!("{} stopped standing word for word", text::plural(entries, "entry"));
    let mut out = vec![TuiLine::new(LineKind::Warn, what)];
    out.push(TuiLine::new(LineKind::Dim, span_names(&spans)));
    if !gone.is_empty() {
        out.push(TuiLine::default());
        out.push(TuiLine::new(LineKind::Head, "Lines of summaries (what the merged summary no longer says)"));
        out.extend(gone.iter().take(THINGS).map(|line| TuiLine::new(LineKind::Bad, format!("- {line}"))));
        if gone.len() > THINGS {
            out.push(TuiLine::new(LineKind::Dim, format!("{} more", gone.len() - THINGS)));
        }
    }
    let things = things(engine, of, &spans)?;
    out.extend(bound_line(things.unread, entries));
    for ((name, about), list) in figures::KINDS.iter().zip(&things.of_kinds) {
        if list.is_empty() {
            continue;
        }
        let stand = figures::standing(&is.words, list.iter().map(|(text, _)| text.as_str()));
        let kept = stand.iter().filter(|stands| **stands).count();
        out.push(TuiLine::default());
        out.push(TuiLine::new(LineKind::Head, format!("{name} ({about})")));
        out.push(TuiLine::new(LineKind::Dim, format!("{kept} of {} still stand in the prompt", list.len())));
        for ((text, seq), is_there) in list.iter().zip(stand).take(THINGS) {
            let (mark, kind) = if is_there { ("=", LineKind::Good) } else { ("-", LineKind::Bad) };
            let how = if is_there { String::new() } else { format!("  (expand s:{seq})") };
            out.push(TuiLine::new(kind, format!("{mark} {text}{how}")));
        }
        if list.len() > THINGS {
            out.push(TuiLine::new(LineKind::Dim, format!("{} more", list.len() - THINGS)));
        }
    }
    Ok(out)
}

#[cfg(test)]
mod unit {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::tui::load::lane;

    /// Spans, the entries that are not looked through, the paths that are found, and why.
    type Row = (&'static [(u64, u64)], u64, usize, &'static str);

    #[test]
    fn what_is_not_looked_through_is_told() {
        let engine = Engine::in_memory();
        let message =
            |at: u64| format!(r#"{{"role": "user", "content": "look at /home/ann/loop/f{at}.py"}}"#);
        let text = (0..1_700).map(message).collect::<Vec<_>>().join("\n");
        let key = engine.import_reader(text.as_bytes(), "test").unwrap().conversation.0;
        let of = lane(&engine, &key).unwrap();
        let table: [Row; 4] = [
            (&[(0, 1_499)], 0, 1_500, "as many as are looked through"),
            (&[(0, 1_699)], 200, 1_500, "one long span"),
            (&[(0, 99), (200, 1_699)], 100, 1_500, "the second span is cut"),
            (&[(0, 1_499), (1_500, 1_509), (1_600, 1_600)], 11, 1_500, "later spans are left out"),
        ];
        for (spans, unread, paths, why) in table {
            let spans: Vec<(Seq, Seq)> =
                spans.iter().map(|(first, last)| (Seq(*first), Seq(*last))).collect();
            let found = things(&engine, of, &spans).unwrap();
            assert_eq!(
                (found.unread, found.of_kinds.iter().map(Vec::len).max()),
                (unread, Some(paths)),
                "{why}"
            );
        }
        assert_eq!(bound_line(0, 1_500), None);
        let line = bound_line(200, 1_700).unwrap();
        assert!(line.text.starts_with("Only the first 1,500 of 1,700 entries"), "{line:?}");
        let spans: Vec<(Seq, Seq)> = (0..43).map(|at| (Seq(at * 2), Seq(at * 2))).collect();
        assert!(span_names(&spans).ends_with(" s:78 and 3 more"), "{}", span_names(&spans));
    }
}
