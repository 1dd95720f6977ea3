#![allow(clippy::unwrap_used, reason = "tests")]

use std::cell::Cell;

use super::*;

/// Weeks of side requests, or clients that share the name of a session.
#[test]
fn a_name_is_found_at_once_whatever_the_session_has() {
    for (others, taken, want) in [
        (0, vec![], "s"),
        (50_000, vec![], "s"),
        (50_000, vec!["s"], "s/50001"),
        (50_000, vec!["s", "s/50001"], "s/60001"),
        (0, vec!["s"], "s/60000"),
    ] {
        let asked = Cell::new(0);
        let is_taken = |name: &str| {
            asked.set(asked.get() + 1);
            Ok::<_, ()>(taken.contains(&name))
        };
        assert_eq!(free_name("s", others, Seq(60_000), is_taken).unwrap(), want);
        assert_eq!(asked.get(), taken.len() + 1, "{want}");
    }
}
