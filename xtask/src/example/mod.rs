//! The example transcript: an invented story of five days on an invented project, written entirely by this generator.
//! `cargo xtask example` writes it, and a test checks that it is current.

mod fake;
mod scenes;
mod session;
mod tasks;

use anyhow::Context as _;

use crate::workspace;
use session::Session;

/// Place of the transcript in the repository.
const PATH: &str = "examples/long-session.jsonl";

/// Writes the transcript.
pub(crate) fn write() -> anyhow::Result<()> {
    let path = workspace::root().join(PATH);
    let text = transcript();
    std::fs::write(&path, &text).with_context(|| format!("writing {}", path.display()))?;
    println!("{PATH}: {} lines, {} bytes", text.lines().count(), text.len());
    Ok(())
}

/// The whole transcript.
fn transcript() -> String {
    let mut session = Session::new(2026);
    scenes::opening(&mut session);
    for (index, task) in tasks::TASKS.iter().enumerate() {
        if index > 0 && index % 8 == 0 {
            session.next_morning();
        }
        scenes::before_task(&mut session, index);
        scenes::task(&mut session, task);
    }
    scenes::closing(&mut session);
    session.finish()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
    use super::*;
    use serde_json::Value;

    #[test]
    fn the_example_is_current() {
        let stored = std::fs::read_to_string(workspace::root().join(PATH)).unwrap();
        assert!(stored == transcript(), "run `cargo xtask example`");
    }

    #[test]
    fn the_example_shows_what_it_is_for() {
        let text = transcript();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let count = |what: &dyn Fn(&Value) -> bool| lines.iter().filter(|line| what(line)).count();
        let of_type = |kind: &'static str| move |line: &Value| line["type"] == kind;
        let stopped = |reason: &'static str| move |line: &Value| line["message"]["stopReason"] == reason;
        assert!((400..=700).contains(&count(&of_type("message"))), "{} messages", count(&of_type("message")));
        assert!((1_000_000..=2_000_000).contains(&text.len()), "{} bytes", text.len());
        assert_eq!(count(&stopped("aborted")), 1);
        assert_eq!(count(&stopped("error")), 1);
        assert_eq!(count(&of_type("compaction")), 1);
        assert_eq!(count(&of_type("branch_summary")), 1);
        assert!(count(&of_type("model_change")) >= 1);
        assert!(count(&of_type("custom")) >= 2);
        let parents: Vec<&Value> = lines.iter().skip(1).map(|line| &line["parentId"]).collect();
        let forks = (1..parents.len()).filter(|at| parents[..*at].contains(&parents[*at])).count();
        assert_eq!(forks, 1, "one rewind");
        assert!(text.contains("partialJson") && text.contains("高松"));
        assert!(count(&|line| line.to_string().matches("\"toolCall\"").count() >= 4) >= 1, "parallel calls");
    }
}
