//! Texts that hosts write into invented results. The files have no other mark of an invented result.

use unforget_core::entry::{Part, ToolResult};

/// Beginnings of these texts.
const STARTS: [&str; 4] = [
    // OpenClaw, `session-transcript-repair` and its guard at persist time.
    "[openclaw] missing tool result in session history",
    // pi, `transform-messages`.
    "No result provided",
    // Claude Code, for calls left open by a crash or an interrupt.
    "[Tool result missing due to internal error]",
    // Our own text, used only at send time. We never write it to a transcript.
    unforget_core::pair::NO_RESULT,
];

/// Whether the host invented this result.
pub(super) fn is_synthetic(result: &ToolResult) -> bool {
    match result.content.as_slice() {
        [Part::Text(text)] => STARTS.iter().any(|start| text.starts_with(start)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_table() {
        let table = [
            (vec!["No result provided"], true, "pi"),
            (vec!["[openclaw] missing tool result in session history; inserted"], true, "OpenClaw"),
            (vec!["No results"], false, "a tool that found nothing"),
            (vec!["the log says: No result provided"], false, "a quote"),
            (vec![], false, "empty"),
            (vec!["No result provided", "more"], false, "a tool never says it in two blocks"),
        ];
        for (texts, want, why) in table {
            let content = texts.into_iter().map(|text| Part::Text(text.to_owned())).collect();
            let result = ToolResult {
                call_id: "x".into(),
                name: "t".into(),
                content,
                is_error: true,
                exit_code: None,
            };
            assert_eq!(is_synthetic(&result), want, "{why}");
        }
    }
}
