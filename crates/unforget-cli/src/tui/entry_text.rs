//! An entry in full, as lines.

use serde_json::Value;
use unforget_core::entry::Part;
use unforget_core::id::{Seq, Timestamp};
use unforget_core::ledger::Fact;
use unforget_engine::Engine;
use unforget_engine::recall::{PageStart, TurnEntry};

use super::load::{lane, speaker};
use super::rows::{LineKind, RowTarget, TuiLine, text_lines};
use super::state::{CallFace, TuiTold};
use crate::failure::Outcome;
use crate::text;
use crate::when::Clock;

/// Most characters of a heading.
const HEAD_CHARS: usize = 300;

/// Most characters of a text at the right.
const CHARS: usize = 200_000;

/// An entry in full.
pub(super) fn entry(engine: &Engine, key: &str, seq: u64) -> Outcome<TuiTold> {
    let of = lane(engine, key)?;
    let clock = Clock::here();
    let page = engine.read_page(of, PageStart::From(Seq(seq)), 1)?;
    let when =
        |time: Option<Timestamp>| time.map(|time| format!(" · {}", clock.full(time))).unwrap_or_default();
    let found = page.entries.first().filter(|one| one.seq.0 == seq);
    let (title, mut lines) = if let Some(one) = found {
        let (who, _) = speaker(&one.entry);
        (format!("s:{seq} · {who}{}", when(one.time)), entry_lines(one))
    } else {
        // It is of another thread or path.
        let expanded = engine.expand(Some(of.conversation), &format!("s:{seq}"), CHARS as u64 / 4, None)?;
        let role = expanded.items.first().map_or("", |item| item.role.name());
        let time = expanded.items.first().and_then(|item| item.time);
        let lines = expanded.items.iter().flat_map(|item| text_lines(LineKind::Plain, &item.text));
        (format!("s:{seq} · {role}{}", when(time)), lines.collect())
    };
    if lines.is_empty() {
        lines.push(TuiLine::new(LineKind::Dim, "it has no words"));
    }
    let of = RowTarget::Entry { key: key.to_owned(), seq };
    Ok(TuiTold::Text { of, face: CallFace::Gauge, title, lines, panel: None })
}

fn entry_lines(one: &TurnEntry) -> Vec<TuiLine> {
    if one.purged {
        return vec![TuiLine::new(LineKind::Dim, "Its bytes were purged.")];
    }
    let mut facts = unforget_text::facts(&one.entry).into_iter();
    let mut out = Vec::new();
    for part in &one.entry.parts {
        if !out.is_empty() {
            out.push(TuiLine::default());
        }
        match part {
            Part::Text(text) => said(&mut out, text),
            Part::Thinking { text, .. } if text.trim().is_empty() => {
                out.push(TuiLine::new(LineKind::Dim, "(thinking that the provider hid)"));
            }
            Part::Thinking { text, .. } => {
                out.push(TuiLine::new(LineKind::Head, "thinking"));
                out.extend(text_lines(LineKind::Dim, &cut(text)));
            }
            Part::ToolCall(call) => {
                let what = match facts.next() {
                    Some(Fact::Called(called)) => called.what,
                    _ => call.name.clone(),
                };
                out.push(TuiLine::new(LineKind::Tool, format!("→ {}", text::one_line(&what, HEAD_CHARS))));
                out.extend(arguments(&call.arguments));
            }
            Part::ToolResult(result) => {
                let (mark, kind) = if result.is_error {
                    ("✗ failed", LineKind::Bad)
                } else {
                    ("✓ done", LineKind::Good)
                };
                let exit = result.exit_code.map(|code| format!(", exit {code}")).unwrap_or_default();
                out.push(TuiLine::new(kind, format!("{mark} {}{exit}", result.name)));
                for part in &result.content {
                    match part {
                        Part::Text(text) => out.extend(code_lines(&cut(text))),
                        Part::Media(media) => {
                            out.push(TuiLine::new(LineKind::Dim, format!("[{}]", media.mime)));
                        }
                        _ => out.push(TuiLine::new(LineKind::Dim, "[a block of an unknown kind]")),
                    }
                }
            }
            Part::Media(media) => out.push(TuiLine::new(LineKind::Dim, format!("[{}]", media.mime))),
            Part::Opaque { kind, raw } => {
                out.push(TuiLine::new(LineKind::Dim, format!("[{kind}]")));
                out.extend(text_lines(LineKind::Dim, &cut(raw)));
            }
        }
    }
    out
}

/// At most so much of a text, and a line that says so.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(CHARS) {
        Some((at, _)) => {
            let (shown, rest) = text.split_at(at);
            format!("{shown}\n… {} more bytes: unforget expand shows all", text::count(rest.len() as u64))
        }
        None => text.to_owned(),
    }
}

/// Words: headings and code stand out.
fn said(out: &mut Vec<TuiLine>, text: &str) {
    let text = cut(text);
    let mut fence = None;
    for line in text.lines() {
        let mark = line.trim_start().strip_prefix("```");
        match (mark, fence) {
            (Some(kind), None) => fence = Some(kind.trim() == "diff"),
            (Some(_), Some(_)) => fence = None,
            (None, Some(true)) => out.push(diff_line(line)),
            (None, Some(false)) => out.push(TuiLine::new(LineKind::Code, format!("  {line}"))),
            (None, None) if line.starts_with('#') => out.push(TuiLine::new(LineKind::Head, line)),
            (None, None) => out.push(TuiLine::new(LineKind::Plain, line)),
        }
    }
}

fn diff_line(line: &str) -> TuiLine {
    let kind = match line.as_bytes() {
        [b'+', ..] => LineKind::Good,
        [b'-', ..] => LineKind::Bad,
        [b'@', b'@', ..] => LineKind::Person,
        _ => LineKind::Plain,
    };
    TuiLine::new(kind, line)
}

/// Output of a tool: a diff in its colours.
fn code_lines(text: &str) -> Vec<TuiLine> {
    let is_diff = text.starts_with("diff ") || text.starts_with("--- ") || text.contains("\n@@ ");
    if is_diff { text.lines().map(diff_line).collect() } else { text_lines(LineKind::Plain, text) }
}

/// Arguments of a call: an edit as a diff, others by name, each text in lines of its own.
fn arguments(json: &str) -> Vec<TuiLine> {
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(json) else {
        return text_lines(LineKind::Code, &cut(json));
    };
    let mut out = Vec::new();
    for (name, value) in &fields {
        let sign = match name.as_str() {
            "old_string" | "oldText" | "old_str" => Some(('-', LineKind::Bad)),
            "new_string" | "newText" | "new_str" => Some(('+', LineKind::Good)),
            _ => None,
        };
        match (value, sign) {
            (Value::String(text), Some((sign, kind))) => {
                out.extend(cut(text).lines().map(|line| TuiLine::new(kind, format!("{sign}{line}"))));
            }
            (Value::String(text), None) if text.contains('\n') => {
                out.push(TuiLine::new(LineKind::Dim, format!("{name}:")));
                let lines = cut(text);
                out.extend(lines.lines().map(|line| TuiLine::new(LineKind::Code, format!("  {line}"))));
            }
            (Value::String(text), None) => {
                out.extend(text_lines(LineKind::Code, &cut(&format!("{name}: {text}"))));
            }
            (other, _) => out.extend(text_lines(LineKind::Code, &cut(&format!("{name}: {other}")))),
        }
    }
    out
}
