//! Helpers shared by the tests of this folder.
pub(crate) mod asked;
pub(crate) mod host;

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use unforget_core::id::ConversationKey;
use unforget_engine::Engine;

/// The folder of real transcripts; `None`, with a message, if it does not exist.
pub(crate) fn data() -> Option<PathBuf> {
    let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("UNFORGET_DATA").map_or(usual, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no real transcripts in {}", folder.display());
    None
}

/// An engine on a new database; the folder is deleted when dropped.
pub(crate) fn engine() -> (Engine, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(&folder.path().join("unforget.db")).unwrap();
    (engine, folder)
}

/// All regular files below a folder, sorted.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for item in std::fs::read_dir(folder).unwrap() {
            let item = item.unwrap();
            if item.file_type().unwrap().is_dir() {
                open.push(item.path());
            } else {
                files.push(item.path());
            }
        }
    }
    files.sort();
    files
}

/// The latest snapshot of a conversation.
pub(crate) fn exported(engine: &Engine, key: &ConversationKey) -> Vec<u8> {
    let conversation = engine.store().find(key).unwrap().unwrap();
    let mut bytes = Vec::new();
    engine.export(conversation.id, None, &mut bytes).unwrap();
    bytes
}

/// A small session file in pi's format, version 3: one message per letter.
pub(crate) struct Session {
    lines: Vec<String>,
}

impl Session {
    /// An empty session with this id.
    pub(crate) fn new(id: &str) -> Self {
        Self::begun(id, "2026-01-01T00:00:00.000Z")
    }

    /// A session with this id but another start.
    pub(crate) fn rotated(id: &str) -> Self {
        Self::begun(id, "2026-02-02T00:00:00.000Z")
    }

    fn begun(id: &str, time: &str) -> Self {
        let header =
            format!(r#"{{"type":"session","version":3,"id":"{id}","timestamp":"{time}","cwd":"/w"}}"#);
        Self { lines: vec![header] }
    }

    /// Adds one message per letter, alternating between person and model. Each message follows the previous one.
    #[must_use]
    pub(crate) fn says(mut self, letters: &str) -> Self {
        for letter in letters.chars() {
            let place = self.lines.len();
            let parent = if place > 1 { format!("\"{:08x}\"", place - 1) } else { "null".to_owned() };
            let role = if place % 2 == 1 { "user" } else { "assistant" };
            let text = format!(r#"{{"type":"text","text":"word {letter}"}}"#);
            let stop = if role == "assistant" { r#","stopReason":"stop""# } else { "" };
            self.lines.push(format!(
                r#"{{"type":"message","id":"{place:08x}","parentId":{parent},"timestamp":"2026-01-01T00:00:{:02}.000Z","message":{{"role":"{role}","content":[{text}]{stop}}}}}"#,
                place % 60
            ));
        }
        self
    }

    /// The file.
    pub(crate) fn text(&self) -> String {
        self.lines.join("\n") + "\n"
    }
}
