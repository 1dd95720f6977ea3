//! A session worth summarising, and models in the settings.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::Place;

/// The answer of the good provider.
pub(crate) const GOOD: &str = "The parser kept the last line again";
/// A key that must never appear in any output.
pub(crate) const LETTERS: &str = "sk-hunter2-not-a-real-key";
/// Key of the session.
pub(crate) const KEY: &str = "pi:models";

/// A session of this many turns, in pi's format.
pub(crate) fn transcript(turns: u64) -> String {
    let mut lines =
        r#"{"type":"session","version":3,"id":"models","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#
            .to_owned();
    for n in 0..turns * 2 {
        let parent = if n == 0 { Value::Null } else { json!(format!("{n:08x}")) };
        let turn = n / 2;
        let asks = format!(
            "Look at src/part_{turn}.rs, its parser loses the last line. Ticket PAR-{turn} has the log."
        );
        let tells = format!(
            "I read src/part_{turn}.rs: the loop ended one line early. The tests of part_{turn} pass now."
        );
        let (role, text) = if n % 2 == 0 { ("user", asks) } else { ("assistant", tells) };
        let message = json!({"role": role, "content": [{"type": "text", "text": text.repeat(3)}], "stopReason": "stop"});
        let line = json!({
            "type": "message", "id": format!("{:08x}", n + 1), "parentId": parent,
            "timestamp": format!("2026-01-01T00:00:{:02}.000Z", n % 60), "message": message,
        });
        write!(lines, "\n{line}").unwrap();
    }
    lines + "\n"
}

/// A place with the session imported and these models in its settings.
pub(crate) fn place(models: &[&str]) -> Place {
    let place = Place::new();
    place.write("session.jsonl", &transcript(40));
    place.run(&["import", "session.jsonl", "-q"], 0);
    settings(&place, models);
    place
}

/// Writes settings with these models, by their addresses.
pub(crate) fn settings(place: &Place, models: &[&str]) {
    std::fs::create_dir_all(place.path(".config/unforget")).unwrap();
    let table = |base: &&str| {
        format!(
            "[[summariser.models]]\nkind = \"openai\"\nmodel = \"test\"\nbase = \"{base}/v1\"\nkey_file = \"key\"\n"
        )
    };
    let tables: String = models.iter().map(table).collect();
    place.write(".config/unforget/config.toml", &format!("[summariser]\ncalls_per_hour = 1000\n\n{tables}"));
    place.write("key", &format!("{LETTERS}\n"));
}
