//! The transcripts of the recording: the examples, and short sessions of the same invented people.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context as _;
use serde_json::{Value, json};

/// What was said in a turn.
struct Turn {
    asked: &'static str,
    answered: &'static str,
}

/// A short session.
struct Session {
    id: &'static str,
    project: &'static str,
    branch: &'static str,
    /// Date and hour, without minutes.
    begun: &'static str,
    turns: &'static [Turn],
}

const CLAUDE: [Session; 4] = [
    Session {
        id: "a41c7e02-5b1d-4c36-9f0e-7d2a61b8c903",
        project: "seedbank",
        branch: "main",
        begun: "2026-01-19T10",
        turns: &[Turn {
            asked: "Import the donors' spreadsheet; some of them gave seeds twice.",
            answered: "Imported 214 donors. Eleven gave twice; each stands once, with both dates.",
        }],
    },
    Session {
        id: "c90d31f7-2e4a-4b8b-8a55-10fe3b7d2c64",
        project: "bakery",
        branch: "oven-timer",
        begun: "2026-02-18T07",
        turns: &[Turn {
            asked: "The oven timer drifts by a minute per hour. Why?",
            answered: "It adds up the pauses between ticks. I read the clock instead, and the drift is gone.",
        }],
    },
    Session {
        id: "e7720b5a-93c8-4f1d-b6e4-5521a0d9f7ab",
        project: "tideboard",
        branch: "main",
        begun: "2026-03-09T09",
        turns: &[
            Turn {
                asked: "Draw the tide board for Storvik in high contrast.",
                answered: "The board has a high-contrast theme now; Storvik uses it.",
            },
            Turn {
                asked: "Which port does the preview use?",
                answered: "8091; staging's database stays on 6543.",
            },
        ],
    },
    Session {
        id: "1d58f6c3-7ab0-4e29-8c17-f3e9024b6a55",
        project: "bakery",
        branch: "main",
        begun: "2026-03-11T06",
        turns: &[Turn {
            asked: "Print the price list for the shop window in two columns.",
            answered: "Two columns fit on one page; the prices come from prices.csv.",
        }],
    },
];

const CODEX: [Session; 2] = [
    Session {
        id: "019c2f10-4d7e-7a31-9b02-6c8de1f05a77",
        project: "seedbank",
        branch: "labels",
        begun: "2026-02-25T14",
        turns: &[Turn {
            asked: "Labels for the seed jars should have the year of the harvest.",
            answered: "Each label has the year below the name. Jars without a year say so.",
        }],
    },
    Session {
        id: "019ca8e4-0b62-7c15-8d4f-2a91e37bb08c",
        project: "tideboard",
        branch: "main",
        begun: "2026-03-10T16",
        turns: &[Turn {
            asked: "Why does the ingest skip readings around midnight?",
            answered: "The day was taken in local time and the file name in UTC. Both are UTC now.",
        }],
    },
];

/// Places below a home folder, and texts.
pub(super) fn all(root: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let example = |name: &str| {
        let path = root.join("examples").join(name);
        std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
    };
    let bakery = ".claude/projects/-home-mara-bakery/6f1c2a90-0d3b-4e57-8a11-2b7d5e9c4f00.jsonl";
    let tideboard = ".pi/agent/sessions/--home-mara-tideboard--/2026-03-02_0b7e1d42.jsonl";
    let mut files = vec![
        (bakery.to_owned(), example("short-claude-code.jsonl")?),
        (tideboard.to_owned(), example("long-session.jsonl")?),
    ];
    for session in &CLAUDE {
        let path = format!(".claude/projects/-home-mara-{}/{}.jsonl", session.project, session.id);
        files.push((path, claude(session)));
    }
    for session in &CODEX {
        let day = session.begun.get(..10).unwrap_or_default().replace('-', "/");
        let path = format!(".codex/sessions/{day}/rollout-{}-00-00-{}.jsonl", session.begun, session.id);
        files.push((path, codex(session)));
    }
    Ok(files)
}

fn claude(session: &Session) -> String {
    let mut lines = Vec::new();
    let mut parent = Value::Null;
    for (number, turn) in session.turns.iter().enumerate() {
        let model = json!({"role": "assistant", "model": "claude-sonnet-4-5", "content": [{"type": "text", "text": turn.answered}]});
        let person = json!({"role": "user", "content": turn.asked});
        for (voice, minute, message) in [("user", 2 * number, person), ("assistant", 2 * number + 1, model)] {
            let uuid = format!("{}{minute:02x}", session.id.get(..34).unwrap_or_default());
            lines.push(json!({
                "parentUuid": parent, "isSidechain": false, "userType": "external", "version": "2.0.76",
                "cwd": folder(session), "sessionId": session.id, "gitBranch": session.branch,
                "type": voice, "message": message, "uuid": uuid, "timestamp": time(session, minute),
            }));
            parent = json!(uuid);
        }
    }
    text(&lines)
}

fn codex(session: &Session) -> String {
    let meta = json!({
        "id": session.id, "timestamp": time(session, 0), "cwd": folder(session), "originator": "codex_cli_rs",
        "cli_version": "0.98.0", "git": {"branch": session.branch},
    });
    let mut lines = vec![json!({"timestamp": time(session, 0), "type": "session_meta", "payload": meta})];
    for (number, turn) in session.turns.iter().enumerate() {
        let said = [("user", "input_text", turn.asked), ("assistant", "output_text", turn.answered)];
        for (voice, kind, words) in said {
            let message =
                json!({"type": "message", "role": voice, "content": [{"type": kind, "text": words}]});
            lines.push(
                json!({"timestamp": time(session, number), "type": "response_item", "payload": message}),
            );
        }
    }
    text(&lines)
}

fn folder(session: &Session) -> String {
    format!("/home/mara/{}", session.project)
}

fn time(session: &Session, minute: usize) -> String {
    format!("{}:{minute:02}:00.000Z", session.begun)
}

fn text(lines: &[Value]) -> String {
    let mut text = String::new();
    for line in lines {
        let _ = writeln!(text, "{line}");
    }
    text
}
