//! Histories in a tiny language.

#![allow(clippy::panic, reason = "a wrong table should stop its test")]

use unforget_core::entry::{Entry, Origin, Part, Role, Status, ToolCall, ToolResult};

/// Builds a history from words separated by blanks, oldest first.
///
/// | word | entry |
/// |---|---|
/// | `s` `u` `i` `a` | system, human, injected, assistant |
/// | `a[c1,c2]` | assistant that calls `c1` and `c2`; `c1~` is a call that was cut off |
/// | `r1` | result of the call `c1`; `r1+r2` is one entry with two results |
/// | `h` `b` `k` `o` | host summary, bookkeeping, copy, opaque |
///
/// A mark at the end of a word: `!` aborted, `?` error (for a result: the tool failed). Text after a colon is the
/// entry's text, with `_` for a blank: `u:never_touch_it`. The default text is the word and its index: `u0`.
///
/// # Panics
/// On an unknown word, since the test is wrong then.
pub fn path(words: &str) -> Vec<Entry> {
    words.split_whitespace().enumerate().map(|(index, word)| entry(index, word)).collect()
}

fn entry(index: usize, word: &str) -> Entry {
    let (head, said) = match word.split_once(':') {
        Some((head, said)) => (head, said.replace('_', " ")),
        None => (word, format!("{word}{index}")),
    };
    let (head, status) = match head.strip_suffix(['!', '?']) {
        Some(rest) if head.ends_with('!') => (rest, Status::Aborted),
        Some(rest) => (rest, Status::Error),
        None => (head, Status::Complete),
    };
    let (kind, calls) = head.strip_suffix(']').and_then(|rest| rest.split_once('[')).unwrap_or((head, ""));
    let (role, origin) = match kind {
        "s" => (Role::System, Origin::Injected),
        "u" => (Role::User, Origin::Human),
        "i" => (Role::User, Origin::Injected),
        "a" => (Role::Assistant, Origin::Model),
        "h" => (Role::User, Origin::HostSummary),
        "b" => (Role::None, Origin::Bookkeeping),
        "k" => (Role::User, Origin::Copy),
        "o" => (Role::None, Origin::Opaque),
        result if result.starts_with('r') => (Role::Tool, Origin::Tool),
        other => panic!("no such word: {other:?} in {word:?}"),
    };
    let mut entry = Entry { role, host_id: Some(format!("e{index}")), ..Entry::bare(origin) };
    if role == Role::Tool {
        let failed = status != Status::Complete;
        entry.parts = kind.split('+').map(|result| result_part(result, &said, failed)).collect();
        return entry;
    }
    entry.status = status;
    if role != Role::None {
        entry.parts.push(Part::Text(said));
    }
    entry.parts.extend(calls.split(',').filter(|call| !call.is_empty()).map(call_part));
    entry
}

fn call_part(id: &str) -> Part {
    let (id, complete) = id.strip_suffix('~').map_or((id, true), |id| (id, false));
    Part::ToolCall(ToolCall {
        id: id.to_string(),
        name: "bash".to_string(),
        arguments: if complete { r#"{"command":"ls"}"# } else { r#"{"comm"# }.to_string(),
        complete,
        raw: None,
    })
}

fn result_part(word: &str, said: &str, is_error: bool) -> Part {
    Part::ToolResult(ToolResult {
        call_id: word.replacen('r', "c", 1),
        name: "bash".to_string(),
        content: vec![Part::Text(said.to_string())],
        is_error,
        exit_code: Some(i64::from(is_error)),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, reason = "tests")]
    use super::*;

    #[test]
    fn words_become_entries() {
        let history = path("s u:do_it a[c1,c2~]! r1+r2? a");
        let roles: Vec<Role> = history.iter().map(|entry| entry.role).collect();
        assert_eq!(roles, [Role::System, Role::User, Role::Assistant, Role::Tool, Role::Assistant]);
        assert_eq!(history[1].parts, [Part::Text("do it".to_string())]);
        assert_eq!(history[2].status, Status::Aborted);
        assert_eq!(history[2].parts.len(), 3);
        assert_eq!(history[2].live_calls().count(), 0, "aborted");
        let results: Vec<(&str, bool)> =
            history[3].results().map(|r| (r.call_id.as_str(), r.is_error)).collect();
        assert_eq!(results, [("c1", true), ("c2", true)]);
        assert_eq!(history[4].parts, [Part::Text("a4".to_string())]);
    }

    #[test]
    fn a_cut_off_call_is_not_live() {
        let history = path("a[c1,c2~]");
        let live: Vec<&str> = history[0].live_calls().map(|call| call.id.as_str()).collect();
        assert_eq!(live, ["c1"]);
    }

    #[test]
    fn the_empty_language_is_the_empty_history() {
        assert_eq!(path("  "), []);
    }
}
