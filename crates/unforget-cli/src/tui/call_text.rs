//! A call in full, as lines: its prompt, what changed since the one before, what left.

use unforget_core::admit::Sections;
use unforget_core::id::Seq;
use unforget_engine::Engine;
use unforget_engine::calls::{ShownCall, segments};
use unforget_engine::left::{CallPair, GoneLine, LeftQuestion, LeftReach, LeftThing};
use unforget_text::ToldKind;
use unforget_web::figures::{self, CoverCell};

use super::entry_text::cut;
use super::rows::{GaugeShare, LineKind, MapCell, TuiLine, text_lines};
use crate::failure::Outcome;
use crate::text;

/// Things of a kind that are shown.
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
        for segment in segments(message) {
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
pub(super) fn diff_lines(calls: CallPair<'_>) -> Vec<TuiLine> {
    let CallPair { was, is } = calls;
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
            for segment in segments(message) {
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
    let what = format!("Only the newest {looked} of {all} entries were looked through for the lists below.");
    (unread > 0).then(|| TuiLine::new(LineKind::Warn, what))
}

/// What left the prompt, by kind, and whether its words still stand there.
pub(super) fn left_lines(
    engine: &Engine,
    asked: LeftQuestion<'_>,
    calls: CallPair<'_>,
) -> Outcome<Vec<TuiLine>> {
    let answer = engine.left_between(asked, calls)?;
    if answer.is_nothing() {
        return Ok(vec![TuiLine::new(LineKind::Good, "No entry left the prompt at this call.")]);
    }
    let what = format!("{} stopped standing word for word", text::plural(answer.entries, "entry"));
    let mut out = vec![TuiLine::new(LineKind::Warn, what)];
    out.push(TuiLine::new(LineKind::Dim, span_names(&answer.spans)));
    gone_lines(&answer.lines, &mut out);
    out.extend(bound_line(answer.unread, answer.entries));
    if !answer.purged.is_empty() {
        let purged = text::plural(answer.purged.len() as u64, "entry");
        out.push(TuiLine::new(
            LineKind::Bad,
            format!("{purged} of them cannot be reached: a purge took the words."),
        ));
    }
    for kind in ToldKind::ALL {
        kind_lines(kind, &answer.of_kind(kind).collect::<Vec<_>>(), &mut out);
    }
    Ok(out)
}

fn gone_lines(lines: &[GoneLine], out: &mut Vec<TuiLine>) {
    if lines.is_empty() {
        return;
    }
    out.push(TuiLine::default());
    out.push(TuiLine::new(LineKind::Head, "Lines of summaries (what the merged summary no longer says)"));
    let shown = lines.iter().take(THINGS);
    out.extend(shown.map(|line| TuiLine::new(LineKind::Bad, format!("- {}", line.text))));
    if lines.len() > THINGS {
        out.push(TuiLine::new(LineKind::Dim, format!("{} more", lines.len() - THINGS)));
    }
}

fn kind_lines(kind: ToldKind, things: &[&LeftThing], out: &mut Vec<TuiLine>) {
    if things.is_empty() {
        return;
    }
    let kept = things.iter().filter(|thing| thing.reach == LeftReach::Prompt).count();
    out.push(TuiLine::default());
    out.push(TuiLine::new(LineKind::Head, format!("{} ({})", kind.heading(), kind.about())));
    out.push(TuiLine::new(LineKind::Dim, format!("{kept} of {} still stand in the prompt", things.len())));
    for LeftThing { text, seq, reach, .. } in things.iter().take(THINGS) {
        out.push(match reach {
            LeftReach::Prompt => TuiLine::new(LineKind::Good, format!("= {text}")),
            LeftReach::Search(_) | LeftReach::Entry => {
                TuiLine::new(LineKind::Bad, format!("- {text}  (expand s:{seq})"))
            }
        });
    }
    if things.len() > THINGS {
        out.push(TuiLine::new(LineKind::Dim, format!("{} more", things.len() - THINGS)));
    }
}

#[cfg(test)]
mod unit {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn what_is_not_looked_through_is_told() {
        assert_eq!(bound_line(0, 1_500), None);
        let line = bound_line(200, 1_700).unwrap();
        assert!(line.text.starts_with("Only the newest 1,500 of 1,700 entries"), "{line:?}");
        let spans: Vec<(Seq, Seq)> = (0..43).map(|at| (Seq(at * 2), Seq(at * 2))).collect();
        assert!(span_names(&spans).ends_with(" s:78 and 3 more"), "{}", span_names(&spans));
    }
}
